"""The services by name, in the order in which they can start."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.errors import ServiceError
from headrace.services.connect import Connect
from headrace.services.kafka import Kafka
from headrace.services.mariadb import MariaDb
from headrace.services.opensearch import OpenSearch
from headrace.services.postgres import Postgres
from headrace.services.redis import Redis
from headrace.services.registry import Registry
from headrace.services.service import Service

# A service stands after those it needs, so this is also the order of starting
# and, backwards, of stopping.
SERVICES: dict[str, Service] = {
    service.name: service
    for service in (
        Kafka(),
        Postgres(),
        MariaDb(),
        OpenSearch(),
        Redis(),
        Registry(),
        Connect(),
    )
}


def with_needs(names: Iterable[str]) -> list[Service]:
    """Give the named services and those they need; without names, the usual ones.

    Raises:
        ServiceError: [service-unknown] there is no such service.
    """
    usual = [name for name, service in SERVICES.items() if service.by_default]
    wanted = list(names) or usual
    for name in wanted:
        if name not in SERVICES:
            raise ServiceError(
                "service-unknown",
                f'there is no service "{name}"',
                hint=f"the services are: {', '.join(SERVICES)}.",
            )
        wanted.extend(need for need in SERVICES[name].needs if need not in wanted)
    return [service for service in SERVICES.values() if service.name in wanted]
