"""What the sides of a join need before and behind it, in frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import functions as sql
from pyspark.sql.types import IntegralType

from headrace.plan.join_keys import key_types_differ
from headrace.plan.table_joins import JoinTables, joined_row

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from headrace.plan.join_steps import Join
    from headrace.plan.lookup_steps import LookUp
    from headrace.plan.remote_steps import RemoteRows
    from headrace.plan.surroundings import Surroundings


def alike(step: Join, left: DataFrame, right: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Give the columns of the key the same type on both sides."""
    for one, other in step.sides.on:
        kinds = left.schema[one].dataType, right.schema[other].dataType
        if all(isinstance(kind, IntegralType) for kind in kinds):
            left = left.withColumn(one, sql.col(f"`{one}`").cast("bigint"))
            right = right.withColumn(other, sql.col(f"`{other}`").cast("bigint"))
        else:
            require_same_kind(step.name, (one, other), kinds, step.where)
    return left, right


def require_same_kind(
    name: str, on: tuple[str, str], kinds: tuple[DataType, DataType], where: str
) -> None:
    """Refuse columns of a key whose types differ.

    Raises:
        StepError: [key-types-differ] they do.
    """
    one, other = (kind.simpleString() for kind in kinds)
    if one != other:
        raise key_types_differ(name, (on[0], one), (on[1], other), where)


def joined_rows(step: JoinTables, when: str) -> Column:
    """Give the row of two tables before or after a change; null if there is none."""
    left, right = f"_left_{when}", f"_right_{when}"
    renamed = {called: name for name, called in step.sides.renamed.items()}
    found = []
    for name in joined_row(step).names:
        of_left = sql.col(f"{left}.`{name}`")
        of_right = sql.col(f"{right}.`{renamed.get(name, name)}`")
        if name in step.sides.merged:
            value = sql.coalesce(of_left, of_right)
        else:
            value = of_right if name in renamed else of_left
        found.append(value.alias(name))
    is_there = sql.isnotnull(left) | sql.isnotnull(right)
    return sql.when(is_there, sql.struct(*found))


def remote_terms(
    step: LookUp, rows: RemoteRows, around: Surroundings
) -> dict[str, Any]:
    """Give what executors have to know to ask for rows.

    Raises:
        ServiceError: [server-unknown] nobody knows the table's server.
        SettingsError: [password-in-address] its address holds a password.
    """
    table = rows.table
    return {
        "name": step.name,
        "run": uuid4().hex,
        "system": table.place.system,
        "settings": table.place.settings(around.servers),
        "row": table.event.record.spark,
        "key": step.sides.on[0][0],
        "table_key": table.key,
        "tells_missing": step.kind == "left",
        **step.lookup.terms,
    }
