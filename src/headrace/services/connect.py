"""Kafka Connect with Debezium's connectors for PostgreSQL, MariaDB and MySQL."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from headrace.artifacts import connect_jar
from headrace.artifacts.unpack import gather, keep
from headrace.services.ports import LOOPBACK
from headrace.services.process import Command
from headrace.services.service import (
    NotReadyError,
    Service,
    Site,
    class_path,
    http_json,
    java_command,
    properties,
    rolling_log,
)

CONNECTORS = ("connect-postgres", "connect-mariadb", "connect-mysql")


class Connect(Service):
    """One distributed worker; its connectors and offsets live in Kafka."""

    name: ClassVar[str] = "connect"
    needs: ClassVar[tuple[str, ...]] = ("kafka",)

    def artifacts(self) -> tuple[str, ...]:
        """Give the worker's jars, and those of each connector."""
        return ("connect", *CONNECTORS)

    def prepare(self, site: Site, process: str) -> None:
        """Write the worker's properties."""
        site.write(process, "log4j2.properties", rolling_log(process))
        site.write(process, "connect.properties", properties(_worker_settings(site)))

    def command(self, site: Site, process: str) -> Command:
        """Run the worker."""
        return java_command(
            site,
            heap_mb=320,
            options=[
                "-Dlog4j2.configurationFile=log4j2.properties",
                *site.archived("connect"),
            ],
            run=[
                *class_path(site.jars("connect")),
                "org.apache.kafka.connect.cli.ConnectDistributed",
                "connect.properties",
            ],
        )

    def check(self, site: Site) -> None:
        """Ask for the Kafka cluster it works on, and for its connectors."""
        port = site.port(self.name)
        if not site.process(self.name).listens_on(port):
            raise NotReadyError("it does not listen yet")
        worker = http_json(port, "/")
        if worker["kafka_cluster_id"] != site.run.cluster_id:
            raise NotReadyError("another worker answers")
        http_json(port, "/connectors")

    def address(self, site: Site) -> str:
        """Give the address of the REST interface."""
        return f"http://{LOOPBACK}:{site.port(self.name)}"


def _worker_settings(site: Site) -> dict[str, object]:
    replicas = min(site.brokers, 3)
    converter = "org.apache.kafka.connect.json.JsonConverter"
    return {
        "bootstrap.servers": site.bootstrap,
        "group.id": "headrace-connect",
        "listeners": f"http://{LOOPBACK}:{site.port('connect')}",
        "rest.advertised.host.name": LOOPBACK,
        "key.converter": converter,
        "key.converter.schemas.enable": "false",
        "value.converter": converter,
        "value.converter.schemas.enable": "false",
        "config.storage.topic": "headrace.connect.configs",
        "config.storage.replication.factor": replicas,
        "offset.storage.topic": "headrace.connect.offsets",
        "offset.storage.replication.factor": replicas,
        "offset.storage.partitions": 4,
        "status.storage.topic": "headrace.connect.status",
        "status.storage.replication.factor": replicas,
        "status.storage.partitions": 2,
        "plugin.discovery": "service_load",
        # Each connector apart: they are of different versions.
        "plugin.path": _plugins(site),
        # A connector names a file and never a secret, which the log would keep:
        # ${directory:<run directory>/postgres:password}.
        "config.providers": "directory",
        "config.providers.directory.class": "org.apache.kafka.common.config.provider"
        ".DirectoryConfigProvider",
        "config.providers.directory.param.allowed.paths": site.run_directory.path,
        # Source records and their positions in one transaction.
        "exactly.once.source.support": "enabled",
        # There is one worker: after a restart nobody else is to be waited for.
        "scheduled.rebalance.max.delay.ms": 0,
        "offset.flush.interval.ms": 5000,
    }


def _plugins(site: Site) -> Path:
    cache = site.settings.cache_dir
    connectors = {group: [*site.jars(group)] for group in CONNECTORS}
    # Ours is made of Debezium's for PostgreSQL, so it has to stand beside it.
    connectors["connect-postgres"].append(keep(connect_jar(), cache))
    return gather(connectors, cache)
