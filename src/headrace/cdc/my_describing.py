"""An event's class for the rows of a table of MariaDB or MySQL."""

from __future__ import annotations

import re

from headrace.cdc.classes import Column, class_text
from headrace.cdc.my_catalogue import MyColumn, columns_of, tables_of
from headrace.cdc.my_session import Session
from headrace.errors import CaptureError

# What a change carries, as a type hint.
_HINTS = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext"), "str"),
    **dict.fromkeys(("longtext", "json", "set", "time"), "str"),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob"), "bytes"),
    **dict.fromkeys(("mediumblob", "longblob"), "bytes"),
    **dict.fromkeys(("datetime", "timestamp"), "datetime"),
    "date": "date",
    "year": "int",
}
_LABEL = re.compile(r"'((?:[^']|'')*)'")


def describe_table(session: Session, database: str, table: str) -> str:
    """Give an event's class for a table's rows, as Python.

    Raises:
        CaptureError: [capture-table-missing] there is no such table.
    """
    found = tables_of(session, [table]).get(table)
    if found is None:
        raise CaptureError(
            "capture-table-missing",
            f'"{database}" has no table {table}',
            hint="name tables with their databases, as in shop.orders.",
        )
    columns = [column_hint(column) for column in columns_of(session, table)]
    return class_text(table, columns, found.key)


def column_hint(column: MyColumn) -> Column:
    """Give a column with its type hint.

    Example:
        >>> column_hint(MyColumn("price", "decimal(9,2)", "decimal", True, 9, 2)).hint
        'Annotated[Decimal, digits(9, 2)]'
    """
    hint = _HINTS.get(column.type_name)
    if column.type_name == "enum":
        labels = tuple(
            label.replace("''", "'") for label in _LABEL.findall(column.shown)
        )
        return Column(column.name, column.shown, None, column.required, labels)
    if column.type_name == "decimal":
        hint = _decimal(column.precision or 10, column.scale or 0)
    elif column.type_name == "bigint" and "unsigned" in column.shown:
        # Half of its numbers are above those of 64 bits with a sign.
        hint = _decimal(20, 0)
    elif column.type_name == "bit":
        hint = "bool" if column.shown == "bit(1)" else "bytes"
    return Column(column.name, column.shown, hint, column.required)


def _decimal(precision: int, scale: int) -> str | None:
    if precision > 38:
        return None
    return f"Annotated[Decimal, digits({precision}, {scale})]"
