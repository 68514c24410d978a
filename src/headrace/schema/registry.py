"""A small client of the schema registry, over Confluent's HTTP interface."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import SchemaError

# The registry's word for each format that has a schema there.
REGISTERED = {"avro": "AVRO", "protobuf": "PROTOBUF", "json-schema": "JSON"}

_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_PATIENCE_SECONDS = 10
_SUBJECT_MISSING = {40401, 40402}
_SCHEMA_MISSING = 40403
_REJECTED = {400, 422}


@dataclass(frozen=True)
class Registered:
    """A schema that the registry holds."""

    id: int
    type: str
    text: str


@dataclass(frozen=True)
class _Answer:
    status: int
    body: Any

    @property
    def code(self) -> int:
        return int(self.body.get("error_code", 0))

    @property
    def message(self) -> str:
        return str(self.body.get("message", f"status {self.status}"))


@dataclass(frozen=True)
class Registry:
    """The schema registry at an address, such as ``http://127.0.0.1:8081``.

    Example:
        >>> Registry("http://127.0.0.1:8081/").address
        'http://127.0.0.1:8081'
    """

    address: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", self.address.rstrip("/"))

    def register(self, subject: str, format_: str, text: str) -> int:
        """Register a schema, or find it registered, and give its id.

        Raises:
            SchemaError: [schema-incompatible] values by the schemas before it could
                not be read by it; [schema-rejected] the registry cannot read it;
                [registry-unreachable].
        """
        body = {"schema": text, "schemaType": REGISTERED[format_]}
        answer = self._ask(f"{_path(subject)}/versions", body)
        if answer.status == http.client.CONFLICT:
            raise SchemaError(
                "schema-incompatible",
                f'"{subject}" has a schema that the new one does not follow',
                detail=_reason(answer.message),
                hint="add fields as optional ones, keep names and types of the others; "
                "or write to a new topic.",
            )
        if answer.status in _REJECTED:
            raise SchemaError(
                "schema-rejected",
                f'the registry does not take the schema for "{subject}"',
                detail=answer.message,
                hint="look at the schema with `headrace inspect`.",
            )
        return int(self._expected(answer)["id"])

    def latest(self, subject: str) -> Registered | None:
        """Give the latest schema of a subject, if there is one.

        Raises:
            SchemaError: [registry-unreachable].
        """
        answer = self._ask(f"{_path(subject)}/versions/latest")
        if answer.code in _SUBJECT_MISSING:
            return None
        found = self._expected(answer)
        return Registered(found["id"], _type(found), found["schema"])

    def by_id(self, schema_id: int) -> Registered | None:
        """Give the schema of an id, if there is one.

        Raises:
            SchemaError: [registry-unreachable].
        """
        answer = self._ask(f"/schemas/ids/{schema_id}")
        if answer.code == _SCHEMA_MISSING:
            return None
        found = self._expected(answer)
        return Registered(schema_id, _type(found), found["schema"])

    def accepts(self, subject: str, format_: str, text: str) -> bool:
        """Tell whether `register` would find a schema compatible.

        Raises:
            SchemaError: [registry-unreachable].
        """
        body = {"schema": text, "schemaType": REGISTERED[format_]}
        path = f"/compatibility{_path(subject)}/versions/latest"
        answer = self._ask(path, body)
        if answer.code in _SUBJECT_MISSING:
            return True
        return bool(self._expected(answer)["is_compatible"])

    def _expected(self, answer: _Answer) -> Any:
        if answer.status != http.client.OK:
            raise self._unreachable(f"it answered with status {answer.status}.")
        return answer.body

    def _ask(self, path: str, body: Mapping[str, str] | None = None) -> _Answer:
        request = urllib.request.Request(  # noqa: S310 - the user's own address
            self.address + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": _CONTENT_TYPE, "Accept": _CONTENT_TYPE},
        )
        try:
            with _opener(self.address).open(
                request, timeout=_PATIENCE_SECONDS
            ) as answer:
                return _Answer(answer.status, json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                return _Answer(error.code, _object(error.read()))
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._unreachable(f"{error}.") from error

    def _unreachable(self, detail: str) -> SchemaError:
        return SchemaError(
            "registry-unreachable",
            f"the schema registry at {self.address} does not answer as one",
            detail=detail,
            hint="start it (headrace up registry), or mend its address.",
        )


def _path(subject: str) -> str:
    return f"/subjects/{urllib.parse.quote(subject, safe='')}"


def _type(found: Mapping[str, Any]) -> str:
    # The registry leaves the word out for the oldest of its formats.
    return str(found.get("schemaType", "AVRO"))


def _object(body: bytes) -> Any:
    """Read an error's body, which need not be JSON where a proxy answers."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _reason(message: str) -> str:
    """Leave out the name of the exception that some registries put first."""
    head, _, rest = message.partition(": ")
    return rest if rest and " " not in head else message


def _opener(address: str) -> urllib.request.OpenerDirector:
    # A proxy set for the outside must not see loopback traffic.
    host = urllib.parse.urlsplit(address).hostname
    loopback = host in {"127.0.0.1", "localhost", "::1"}
    handlers = [urllib.request.ProxyHandler({})] if loopback else []
    return urllib.request.build_opener(*handlers)
