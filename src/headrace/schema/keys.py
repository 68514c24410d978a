"""Which types can be a key: the same value must always have the same bytes."""

from __future__ import annotations

from headrace.schema.types import FieldType, ListOf, Real, Record


def why_no_key(kind: FieldType) -> str | None:
    """Say why values of a type cannot be keys or ids; None if they can.

    A type that only Spark can tell passes; it is looked at when the pipeline is
    planned.

    Example:
        >>> from headrace.schema.types import Text
        >>> why_no_key(Real())
        'keys are compared by their bytes, and 0.0 and -0.0 are equal and differ there.'
        >>> why_no_key(Text()) is None
        True
    """
    match kind:
        case Real():
            return (
                "keys are compared by their bytes, and 0.0 and -0.0 are equal and "
                "differ there."
            )
        case ListOf():
            return (
                "keys are compared by their bytes, and a list has no text or bytes of "
                "its own."
            )
        case Record():
            return (
                "keys are compared by their bytes, and a nested event has no text or "
                "bytes of its own."
            )
    return None


def derived_key(name: str, kind: FieldType) -> str:
    """Give the expression that makes a key of a column that cannot be one.

    Example:
        >>> derived_key("share", Real())
        'derive(share_text="string(share)")'
    """
    call = "to_json" if isinstance(kind, ListOf | Record) else "string"
    return f'derive({name}_text="{call}({name})")'
