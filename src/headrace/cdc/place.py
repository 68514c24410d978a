"""One capture: which database it is of, and where its servers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from headrace.cdc.sources import require_database_name, topic_of
from headrace.errors import CaptureError

_OURS = "headrace.cdc"
_SYSTEMS = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
}


@dataclass(frozen=True)
class Capture:
    """A captured database by its name, with the addresses of three servers.

    Args:
        database: The name that pipelines, topics and the connector use for it.
        url: The database's address; one that points at a password file.
        connect: The address of Kafka Connect's REST interface.
        kafka: The settings of a Kafka client, as `headrace.log.client_settings`
            gives them.

    Example:
        >>> here = {"bootstrap.servers": "127.0.0.1:9092"}
        >>> bank = Capture("bank", "postgresql:///bank", "http://127.0.0.1:8083", here)
        >>> bank.connector, bank.slot, bank.topic("public.users")
        ('headrace-bank', 'headrace_bank', 'bank.public.users')

    Raises:
        StepError: [database-name-refused] no slot or topic could be called so.
        CaptureError: [database-unsupported] it is not a database we can capture.
    """

    database: str
    url: str = field(repr=False)
    connect: str
    kafka: Mapping[str, Any] = field(repr=False)

    def __post_init__(self) -> None:
        require_database_name(self.database)
        if urlsplit(self.url).scheme not in _SYSTEMS:
            raise CaptureError(
                "database-unsupported",
                f'database "{self.database}" is not one that can be captured',
                detail=f"its address begins with {urlsplit(self.url).scheme}://.",
                hint="PostgreSQL (postgresql://), MariaDB (mariadb://) and MySQL "
                "(mysql://) can.",
            )

    @property
    def system(self) -> str:
        """The kind of database: ``postgres`` or ``mysql``."""
        return _SYSTEMS[urlsplit(self.url).scheme]

    @property
    def connector(self) -> str:
        """The connector's name in Kafka Connect."""
        return f"headrace-{self.database}"

    @property
    def slot(self) -> str:
        """What the slot, the publication and the role are called by default."""
        return f"headrace_{self.database.replace('-', '_')}"

    @property
    def bootstrap(self) -> str:
        """The addresses of the Kafka brokers."""
        return str(self.kafka["bootstrap.servers"])

    @property
    def notices(self) -> str:
        """The topic in which the connector says how far its snapshots are."""
        return f"{_OURS}.{self.database}.notices"

    @property
    def shapes(self) -> str:
        """The topic in which a connector keeps the shapes that tables have had."""
        return f"{_OURS}.{self.database}.shapes"

    @property
    def heartbeats(self) -> str:
        """The topic that the connector writes to when nothing changes."""
        return f"{HEARTBEATS}.{self.database}"

    def topic(self, table: str) -> str:
        """Give the topic of a table's changes."""
        return topic_of(self.database, table)


HEARTBEATS = f"{_OURS}.heartbeats"
"""What the names of heartbeat topics begin with."""
