"""The formats that events are written in, and what the JVM is told about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import SchemaError
from headrace.schema.avro import avro_schema
from headrace.schema.json_schema import json_schema
from headrace.schema.names import FORMATS
from headrace.schema.protobuf import numbered, proto_schema
from headrace.schema.registry import REGISTERED, Registered, Registry

# How Spark's own to_json writes what the decoder reads.
TO_JSON_OPTIONS = {
    # An absent field and a null one are the same to no reader but ours.
    "ignoreNullFields": "false",
    # Spark's own pattern ends at milliseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'",
    "timeZone": "UTC",
}


@dataclass(frozen=True)
class Format:
    """How one side of one topic is read or written.

    Attributes:
        schema: The Spark schema to read or write by, completed where the format
            needs more than it says.
        text: The schema in the format's own language; none for plain JSON.
        options: What ``io.headrace.formats`` is given.
    """

    schema: dict[str, Any]
    text: str | None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def schema_json(self) -> str:
        """The Spark schema as text."""
        return json.dumps(self.schema)


@dataclass(frozen=True)
class Side:
    """The keys or the values of a topic.

    Example:
        >>> Side("payments").subject
        'payments-value'
    """

    topic: str
    what: str = "value"

    @property
    def subject(self) -> str:
        """The name that its schema is registered under."""
        return f"{self.topic}-{self.what}"


def reading(
    format_: str, schema: Mapping[str, Any], side: Side, registry: Registry | None
) -> Format:
    """Prepare to read a topic's events; nothing is registered.

    Raises:
        SchemaError: [format-unknown], [registry-needed] the format is not one, or
            cannot be read without a registry; [schema-incompatible],
            [schema-type-unsupported] the event does not fit the topic's schema;
            [registry-unreachable] the registry does not answer.
    """
    options = {"format": format_, "what": side.what}
    if format_ == "json":
        return Format(dict(schema), None, options)
    registry = _needed(format_, registry)
    options["registry"] = registry.address
    if format_ != "protobuf":
        return Format(dict(schema), None, options)
    latest = registry.latest(side.subject)
    return Format(numbered(schema, latest.text if latest else None), None, options)


def writing(
    format_: str,
    schema: Mapping[str, Any],
    side: Side,
    registry: Registry | None,
    *,
    name: str,
) -> Format:
    """Prepare to write events to a topic, and register their schema.

    Args:
        format_: One of `FORMATS`.
        schema: The Spark schema of what is written.
        side: Where to.
        registry: Where the schema is registered; plain JSON needs none.
        name: What the event is called in the schema.

    Raises:
        SchemaError: [format-unknown], [registry-needed], [schema-name-unsupported],
            [schema-type-unsupported] the events cannot be written so;
            [schema-incompatible] the registry holds a schema they do not follow;
            [schema-rejected], [registry-unreachable] it did not take the new one.
    """
    completed, text = dict(schema), None
    options = {"format": format_, "what": side.what}
    if format_ != "json":
        registry = _needed(format_, registry)
        completed, text = _described(
            format_, schema, name, registry.latest(side.subject)
        )
        options["schema_id"] = str(registry.register(side.subject, format_, text))
    options["schema"] = json.dumps(completed)
    return Format(completed, text, options)


def _described(
    format_: str, schema: Mapping[str, Any], name: str, latest: Registered | None
) -> tuple[dict[str, Any], str]:
    if format_ == "avro":
        return dict(schema), avro_schema(schema, name)
    if format_ == "json-schema":
        return dict(schema), json_schema(schema, name)
    before = latest.text if latest else None
    completed = numbered(schema, before)
    return completed, proto_schema(completed, name, before)


def _needed(format_: str, registry: Registry | None) -> Registry:
    if format_ not in REGISTERED:
        raise SchemaError(
            "format-unknown",
            f'there is no format "{format_}"',
            hint=f"the formats are {', '.join(FORMATS)}.",
        )
    if registry is None:
        raise SchemaError(
            "registry-needed",
            f"{format_} is not read or written without a schema registry",
            detail="its values carry the id of a schema, and the registry holds it.",
            hint="start one (headrace up registry), name yours in the settings, or "
            "use plain JSON.",
        )
    return registry
