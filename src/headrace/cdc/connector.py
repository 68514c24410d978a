"""The connector's settings: what decoding, order and completeness rely on."""

from __future__ import annotations

import zlib
from urllib.parse import parse_qs, unquote, urlsplit

from headrace.cdc.notes import SETTING, Notes
from headrace.cdc.place import HEARTBEATS, Capture
from headrace.cdc.wishes import HEARTBEAT_SECONDS, Login, Wish

MESSAGE = "headrace"
"""The prefix of the messages that keep a quiet database's slot moving."""

NOTICES = "notification.sink.topic.name"
"""The setting of a connector that says how far its snapshots are."""

POLL_MILLISECONDS = 100
"""How often a quiet connector looks for changes, unless a capture's settings say it."""

# Transactional: a message outside a transaction has no number, which incremental
# snapshots need. Every role may send one, and no table is written.
_HEARTBEAT = f"select pg_logical_emit_message(true, '{MESSAGE}', '')"

OWN_POSTGRES = "io.headrace.connect.PostgresCaptureConnector"
"""Debezium's connector, except that it can be killed between any two rows."""

_JSON = "org.apache.kafka.connect.json.JsonConverter"


def common_settings(capture: Capture, wish: Wish, notes: Notes) -> dict[str, str]:
    """Give the settings that captures of every kind of database share."""
    converters = {
        f"{part}.converter{setting}": value
        for part in ("key", "value")
        for setting, value in {
            "": _JSON,
            ".schemas.enable": "false",
            # Otherwise a null in a column with a default arrives as the default.
            ".replace.null.with.default": "false",
        }.items()
    }
    return {
        # Twice a change waits for so long at the most: to be read, and to be sent.
        "poll.interval.ms": str(POLL_MILLISECONDS),
        **wish.settings,
        **converters,
        "topic.prefix": capture.database,
        "table.include.list": ",".join(map(_exactly, notes.tables)),
        "snapshot.mode": wish.snapshot_mode,
        "tasks.max": "1",
        "exactly.once.support": "required",
        "transaction.boundary": "poll",
        "decimal.handling.mode": "string",
        "time.precision.mode": "isostring",
        "binary.handling.mode": "base64",
        "provide.transaction.metadata": "true",
        "tombstones.on.delete": "true",
        "skipped.operations": "none",
        # Four headers a record that say what the topic says.
        "extended.headers.enabled": "false",
        "heartbeat.interval.ms": str(HEARTBEAT_SECONDS * 1000),
        "topic.heartbeat.prefix": HEARTBEATS,
        "notification.enabled.channels": "sink",
        NOTICES: capture.notices,
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "-1",
        SETTING: notes.text,
    }


def postgres_settings(
    capture: Capture, wish: Wish, notes: Notes, login: Login
) -> dict[str, str]:
    """Give all settings of a connector for PostgreSQL."""
    return {
        **common_settings(capture, wish, notes),
        **_address(capture.url),
        "connector.class": OWN_POSTGRES,
        "database.user": login.user,
        "database.password": login.reference,
        "plugin.name": "pgoutput",
        "slot.name": wish.slot or capture.slot,
        "publication.name": wish.publication or capture.slot,
        "publication.autocreate.mode": "disabled",
        "publish.via.partition.root": "true",
        # A query that row-level security would hide rows from fails instead.
        "database.initial.statements": "set row_security = off",
        # The role may not write: snapshots of single tables do without.
        "read.only": "true",
        "offset.mismatch.strategy": "trust_offset",
        "lsn.flush.mode": "connector",
        "hstore.handling.mode": "json",
        "interval.handling.mode": "string",
        "unavailable.value.placeholder": "__debezium_unavailable_value",
        "heartbeat.action.query": _HEARTBEAT,
        "message.prefix.exclude.list": MESSAGE,
    }


def binlog_settings(
    capture: Capture,
    wish: Wish,
    notes: Notes,
    login: Login,
    server: tuple[str, int],
    is_mariadb: bool,
) -> dict[str, str]:
    """Give all settings of a connector for MariaDB or MySQL."""
    connector = "mariadb.MariaDbConnector" if is_mariadb else "mysql.MySqlConnector"
    shapes = "schema.history.internal"
    return {
        **common_settings(capture, wish, notes),
        # Numbers of 64 bits without a sign are the only decimals that are no texts.
        "key.converter.decimal.format": "NUMERIC",
        "value.converter.decimal.format": "NUMERIC",
        "bigint.unsigned.handling.mode": "precise",
        "connector.class": f"io.debezium.connector.{connector}",
        "database.hostname": server[0],
        "database.port": str(server[1]),
        "database.user": login.user,
        "database.password": login.reference,
        # The server tells its readers apart by it, and drops one of two that share it.
        "database.server.id": str(_reader_number(capture)),
        f"{shapes}.kafka.bootstrap.servers": capture.bootstrap,
        f"{shapes}.kafka.topic": capture.shapes,
        f"{shapes}.store.only.captured.tables.ddl": "true",
        # After so long at the most a server that has come back is read again.
        "connect.keep.alive.interval.ms": "5000",
        "include.schema.changes": "false",
        "inconsistent.schema.handling.mode": "fail",
        # Years of two digits are the server's to read, and it has done so.
        "enable.time.adjuster": "false",
    }


def _reader_number(capture: Capture) -> int:
    """Give a number that no other reader of the server is likely to have."""
    mark = f"{capture.bootstrap}/{capture.database}"
    return 2**30 + zlib.crc32(mark.encode()) % 2**30


def _exactly(table: str) -> str:
    """Give the expression that matches one table: the list holds expressions."""
    return table.replace(".", r"\.")


def _address(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    found = {
        "database.hostname": parts.hostname or options.get("host", "localhost"),
        "database.port": str(parts.port or options.get("port", 5432)),
        "database.dbname": unquote(parts.path.lstrip("/")) or options.get("dbname", ""),
    }
    for name in ("sslmode", "sslcert", "sslkey", "sslrootcert"):
        if name in options:
            found[f"database.{name}"] = options[name]
    return found
