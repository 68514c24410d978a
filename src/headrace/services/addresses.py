"""Where a pipeline's servers are: named in the settings, or started by us."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from headrace.errors import ServiceError
from headrace.services.catalog import SERVICES
from headrace.services.stack import Stack
from headrace.settings import Settings


@dataclass(frozen=True)
class Addresses:
    """The addresses of the servers that steps and sinks speak to.

    A server of the settings beats our own; nothing is asked over the network.

    Args:
        settings: What the user has named.
        stack: The run directory whose servers are used otherwise.
    """

    settings: Settings
    stack: Stack

    def database(self, name: str) -> str:
        """Give a database by the name that pipelines use for it.

        A name that the settings do not have is a database of our own PostgreSQL. An
        address of MariaDB without a host, such as ``mariadb:///``, is our own server.

        Raises:
            ServiceError: [server-unknown] there is neither.
        """
        named = self.settings.databases.get(name)
        if named is not None:
            parts = urlsplit(named)
            if parts.scheme not in {"mariadb", "mysql"} or parts.hostname:
                return named
            own = urlsplit(self._own("mariadb", f'server of database "{name}"'))
            return urlunsplit(own._replace(path=parts.path))
        server = urlsplit(self._own("postgres", f'database "{name}"'))
        return urlunsplit(server._replace(path=f"/{name}"))

    def redis(self) -> str:
        """Give the Redis.

        Raises:
            ServiceError: [server-unknown] none is named and none was started.
        """
        return self.settings.redis or self._own("redis", "Redis")

    def opensearch(self) -> str:
        """Give the OpenSearch.

        Raises:
            ServiceError: [server-unknown] none is named and none was started.
        """
        return self.settings.opensearch or self._own("opensearch", "OpenSearch")

    def connect(self) -> str:
        """Give the Kafka Connect.

        Raises:
            ServiceError: [server-unknown] none is named and none was started.
        """
        return self.settings.connect or self._own("connect", "Kafka Connect")

    def _own(self, service: str, shown: str) -> str:
        site = self.stack.site()
        if service not in site.run.services:
            setting = "databases" if service in {"postgres", "mariadb"} else service
            raise ServiceError(
                "server-unknown",
                f"no {shown} is known here",
                detail=f'the setting "{setting}" does not name it, and `headrace up` '
                f"has not started {service} in this run directory.",
                hint=f"start it with `headrace up {service}`, or name it in the "
                "settings.",
                where=str(self.stack.run_directory.path),
            )
        return SERVICES[service].address(site)
