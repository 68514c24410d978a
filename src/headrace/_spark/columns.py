"""Check the columns a step names, while the pipeline is planned."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from headrace.errors import StepError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEY_TYPES = (
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    TimestampNTZType,
    TimestampType,
)


def require_column(df: DataFrame, name: str) -> None:
    """Refuse a name that is not exactly one column of `df`.

    Raises:
        StepError: [column-unknown] there is none of that name;
            [column-ambiguous] there are several.
    """
    found = df.columns.count(name)
    if not found:
        close = difflib.get_close_matches(name, df.columns, n=1, cutoff=0.5)
        raise StepError(
            "column-unknown",
            f'there is no column "{name}"',
            detail=f"the columns are {', '.join(df.columns) or 'none'}.",
            hint=f'did you mean "{close[0]}"?' if close else "name one of these.",
        )
    if found > 1:
        raise StepError(
            "column-ambiguous",
            f'there are {found} columns "{name}"',
            detail=f"the columns are {', '.join(df.columns)}.",
            hint="rename or drop all but one of them before this step.",
        )


def require_key(df: DataFrame, name: str) -> None:
    """Refuse a column that state cannot be kept by.

    Two keys are the same to the state store when their bytes are. A type where
    equal values have different bytes, such as 0.0 and -0.0, would give one key
    two states.

    Raises:
        StepError: [column-unknown], [column-ambiguous] as `require_column`;
            [key-type-unsupported] equal values of its type can differ in bytes.
    """
    require_column(df, name)
    kind = df.schema[name].dataType
    if not identified_by_bytes(kind):
        raise StepError(
            "key-type-unsupported",
            f'column "{name}" of type {kind.simpleString()} cannot be a key',
            detail="state is found by the key's bytes, and equal values of this type "
            "can differ in them, or cannot be stored as a key.",
            hint="cast it first: to string, a whole number, decimal, date, timestamp, "
            "binary or boolean.",
        )


def require_free(df: DataFrame, key: str, *added: str) -> None:
    """Refuse a key whose name is that of a column the step adds.

    Raises:
        StepError: [column-taken] the output would hold the name twice.
    """
    for name in added:
        # Spark tells columns apart without regard to case.
        if key.lower() == name.lower():
            raise StepError(
                "column-taken",
                f'the step adds a column "{name}", and the key is called "{key}"',
                detail=f"the columns are {', '.join(df.columns)}.",
                hint=f'rename the key: df.withColumnRenamed("{key}", ...).',
            )


def identified_by_bytes(kind: DataType) -> bool:
    """Tell whether equal values of a type have the same bytes."""
    if isinstance(kind, StringType):
        return kind.isUTF8BinaryCollation()
    return isinstance(kind, _KEY_TYPES)
