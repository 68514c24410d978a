"""Event schemas: field types, from hints to engines and formats."""

from headrace.schema.hints import digits
from headrace.schema.types import Field, FieldType, Record

__all__ = ["Field", "FieldType", "Record", "digits"]
