"""Redis as a sink: a hash or a JSON text for each key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from headrace.errors import StepError
from headrace.schema.origin import declared_at
from headrace.schema.types import Day, Moment, Record, Unknown, Whole
from headrace.sinks.promises import Servers
from headrace.sinks.servers import given, require_target_name, without_password

FORMS = ("hash", "json")

# What orders itself the same as a text: whole numbers by sign and length.
_ORDERED = (Day, Moment, Whole)


@dataclass(frozen=True)
class RedisSink:
    """A keyspace to write to; each row is at a key of its own.

    What it promises is said in the words of `headrace.sinks.promises`.
    """

    keyspace: str
    key: str | None
    form: str
    ttl: timedelta | None
    version: str | None
    where: str

    system: ClassVar[str] = "redis"
    guarantees: ClassVar[tuple[str, ...]] = ("exactly-once",)
    same_key: ClassVar[str] = "replace"
    deletes: ClassVar[str] = "remove"
    atomic: ClassVar[bool] = False
    takes: ClassVar[str] = "documents"
    artifacts: ClassVar[tuple[str, ...]] = ("spark-redis",)

    @property
    def target(self) -> str:
        """The keys."""
        return f"Redis {self.keyspace}:*"

    def settings(self, servers: Servers | None) -> dict[str, str]:
        """Give the server's address, the keys and their form.

        Raises:
            ServiceError: [server-unknown] nobody knows a Redis.
            SettingsError: [password-in-address] the address holds a password.
        """
        address = given(servers, "Redis", self.where).redis()
        told = {
            "address": without_password(address, "Redis"),
            "keyspace": self.keyspace,
            "as": self.form,
        }
        if self.ttl is not None:
            told["ttl_ms"] = str(self.ttl // timedelta(milliseconds=1))
        if self.version is not None:
            told["version"] = self.version
        return told

    def require_columns(self, columns: Record, where: str) -> None:
        """Refuse a version that is not a column, or does not order rows.

        Raises:
            StepError: [column-unknown] it is not among the columns;
                [version-type-unsupported] its type has no order here.
        """
        if self.version is None:
            return
        if self.version not in columns:
            raise StepError(
                "column-unknown",
                f'the version is "{self.version}", which is not a column',
                detail=f"the columns are {', '.join(columns.names)}.",
                where=where,
            )
        kind = columns[self.version].type
        if not isinstance(kind, (*_ORDERED, Unknown)):
            raise StepError(
                "version-type-unsupported",
                f'"{self.version}" of type {kind.sql} cannot be a version',
                detail="Redis compares versions as texts, which orders whole numbers, "
                "times and days alone.",
                hint="use the time of the event, or a number that counts its changes.",
                where=where,
            )


def redis(
    keyspace: str,
    *,
    key: str | None = None,
    as_: str = "hash",
    ttl: timedelta | None = None,
    version: str | None = None,
) -> RedisSink:
    """Write rows to Redis, each at the key ``<keyspace>:<key>``.

    Args:
        keyspace: What the keys begin with, before a colon.
        key: The column that tells rows apart; by default the events' own key.
        as_: ``hash``: a hash whose fields are the columns; or ``json``: one JSON
            text.
        ttl: How long a row stays after it was last written; by default for ever.
        version: A column that grows from row to row of a key: a row whose version is
            not greater than the one that is there is left out. For keys that more
            than one pipeline writes.

    Raises:
        StepError: [target-name-refused] the keyspace cannot have the name;
            [option-unknown] there is no such form; [duration-not-positive] the time
            to live is below a millisecond.
    """
    where = declared_at()
    require_target_name(
        keyspace,
        "[A-Za-z0-9._:-]{1,200}",
        "letters, digits, dots, dashes, colons and underscores, 200 at the most.",
        "keys in Redis",
        where,
    )
    if as_ not in FORMS:
        raise StepError(
            "option-unknown",
            f'rows cannot be written to Redis as "{as_}"',
            hint=f"choose from {', '.join(FORMS)}.",
            where=where,
        )
    if ttl is not None and ttl < timedelta(milliseconds=1):
        raise StepError(
            "duration-not-positive",
            f"a row cannot live for {ttl.total_seconds():g} seconds",
            hint="give a time above zero: hours(1).",
            where=where,
        )
    return RedisSink(keyspace, key, as_, ttl, version, where)
