"""Values that name a schema of the registry, decoded by that schema."""

from __future__ import annotations

import http.client
import io
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from headrace.errors import SchemaError
from headrace.schema.wire import HEADER_LENGTH, unframe

_SECONDS = 10.0
_TYPE = "application/vnd.schemaregistry.v1+json"


@dataclass(frozen=True)
class Schema:
    """A schema of the registry; `kind` is AVRO, JSON or PROTOBUF.

    `form` is the schema as the decoder of its kind wants it.
    """

    id: int
    kind: str
    form: Any = None


class SchemaBook:
    """The schemas that values name by id, asked for once each.

    Args:
        address: The registry's address, up to Confluent's API.
    """

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._known: dict[int, Schema | None] = {}
        # A proxy set for the outside must not see loopback traffic.
        near = urlsplit(address).hostname in {"127.0.0.1", "::1", "localhost"}
        proxies = [urllib.request.ProxyHandler({})] if near else []
        self._opener = urllib.request.build_opener(*proxies)

    def schema_of(self, data: bytes) -> Schema | None:
        """Give the schema that a value names; None if it names none there is.

        Raises:
            SchemaError: [registry-unreachable] the registry does not answer;
                [schema-unusable] it answers with something that is no schema.
        """
        if len(data) < HEADER_LENGTH or data[0] != 0:
            return None
        number, _ = unframe(data)
        if number not in self._known:
            self._known[number] = self._look_up(number)
        return self._known[number]

    def _look_up(self, number: int) -> Schema | None:
        found = self._get(f"/schemas/ids/{number}")
        if found is None:
            return None
        try:
            kind = str(found.get("schemaType") or "AVRO").upper()
            form = self._avro(found, {}) if kind == "AVRO" else None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SchemaError(
                "schema-unusable",
                f"schema {number} of the registry cannot be used",
                detail=f"{type(error).__name__}: {error}",
                hint="--registry none shows the values as they are.",
                where=self._address,
            ) from error
        return Schema(number, kind, form)

    def _avro(self, found: dict[str, Any], named: dict[str, Any]) -> Any:
        """Give the schema with all schemas that it refers to, parsed into `named`."""
        from fastavro import parse_schema  # noqa: PLC0415 - only Avro needs it

        for reference in found.get("references") or []:
            subject = quote(reference["subject"], safe="")
            path = f"/subjects/{subject}/versions/{reference['version']}"
            referred = self._get(path)
            if referred is None:
                raise ValueError(f"it refers to {subject}, which is not there")
            self._avro(referred, named)
        return parse_schema(json.loads(found["schema"]), named_schemas=named)

    def _get(self, path: str) -> dict[str, Any] | None:
        request = urllib.request.Request(  # noqa: S310 - http and https alone
            self._address + path, headers={"Accept": f"{_TYPE}, application/json"}
        )
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return None
                raise self._unreachable(f"it answers {error.code}.") from error
        except (OSError, ValueError, TypeError, http.client.HTTPException) as error:
            raise self._unreachable(f"{error}.") from error

    def _unreachable(self, detail: str) -> SchemaError:
        return SchemaError(
            "registry-unreachable",
            f"the schema registry at {self._address} does not answer as one",
            detail=detail,
            hint="`headrace up registry` starts it; `headrace consume --registry none` "
            "shows values without it.",
        )


def decode_avro(data: bytes, schema: Schema) -> Any:
    """Decode a value by the schema it was written with.

    Raises:
        ValueError: The value is not one of this schema.
    """
    from fastavro import schemaless_reader  # noqa: PLC0415 - only Avro needs it

    stream = io.BytesIO(data[HEADER_LENGTH:])
    try:
        value = schemaless_reader(stream, schema.form, None)
    # What fastavro raises on damaged bytes depends on where the damage is.
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if stream.read(1):
        raise ValueError("bytes are left over")
    return value
