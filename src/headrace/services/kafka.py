"""Kafka: one broker or three, each also a controller, without ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from headrace.services.ports import FREE_RANGE, LOOPBACK
from headrace.services.process import Command
from headrace.services.service import (
    NotReadyError,
    Service,
    Site,
    class_path,
    java_command,
    properties,
    rolling_log,
)


class Kafka(Service):
    """A KRaft cluster whose id belongs to this run directory alone."""

    name: ClassVar[str] = "kafka"

    def process_names(self, brokers: int) -> tuple[str, ...]:
        """Name the brokers kafka-1, kafka-2, kafka-3."""
        return tuple(f"kafka-{n}" for n in range(1, brokers + 1))

    def ports(self, process: str) -> Mapping[str, range]:
        """Give a broker its clients' port and its controller's."""
        return {process: FREE_RANGE, f"{process}-controller": FREE_RANGE}

    def artifacts(self) -> tuple[str, ...]:
        """Give the broker's own jars."""
        return ("kafka",)

    def prepare(self, site: Site, process: str) -> None:
        """Write the broker's properties and format its storage once."""
        site.write(process, "log4j2.properties", rolling_log(process))
        settings = properties(_broker_settings(site, process))
        file = site.write(process, "server.properties", settings)
        data = site.make(process, "data")
        if not (data / "meta.properties").exists():
            _format(site, process, str(file))

    def command(self, site: Site, process: str) -> Command:
        """Run one broker with its controller in one JVM."""
        return java_command(
            site,
            heap_mb=384,
            options=[
                "-Dlog4j2.configurationFile=log4j2.properties",
                *site.archived("kafka"),
            ],
            run=[*class_path(site.jars("kafka")), "kafka.Kafka", "server.properties"],
        )

    def check(self, site: Site) -> None:
        """Ask for the cluster's id and its brokers."""
        from headrace.log import describe_cluster  # noqa: PLC0415 - loads librdkafka

        for name in self.process_names(site.brokers):
            if not site.process(name).listens_on(site.port(name)):
                raise NotReadyError(f"{name} does not listen yet")
        cluster = describe_cluster(site.bootstrap)
        if cluster is None:
            raise NotReadyError("no broker answers")
        if cluster.cluster_id != site.run.cluster_id:
            raise NotReadyError(f"another cluster answers: {cluster.cluster_id}")
        if cluster.brokers < site.brokers:
            raise NotReadyError(f"{cluster.brokers} of {site.brokers} brokers are up")

    def address(self, site: Site) -> str:
        """Give the bootstrap servers."""
        return site.bootstrap


def _broker_settings(site: Site, process: str) -> dict[str, object]:
    nodes = range(1, site.brokers + 1)
    voters = [f"{n}@{LOOPBACK}:{site.port(f'kafka-{n}-controller')}" for n in nodes]
    clients = f"PLAINTEXT://{LOOPBACK}:{site.port(process)}"
    controller = f"CONTROLLER://{LOOPBACK}:{site.port(f'{process}-controller')}"
    replicas = min(site.brokers, 3)
    in_sync = 2 if site.brokers >= 3 else 1
    return {
        "process.roles": "broker,controller",
        "node.id": process.removeprefix("kafka-"),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{clients},{controller}",
        "advertised.listeners": clients,
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": "data",
        # Topics are made on purpose: a misspelt name is an error, not a topic.
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": 8,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": 8,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": 8,
        # A laptop's consumers come one by one; there is no crowd to wait for.
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "log.cleaner.dedupe.buffer.size": 16 * 2**20,
    }


def _format(site: Site, process: str, file: str) -> None:
    """Give the storage the run's cluster id; a broker refuses any other later."""
    jvm = java_command(
        site,
        heap_mb=128,
        options=["-XX:TieredStopAtLevel=1", *site.archived("kafka")],
        run=[*class_path(site.jars("kafka")), "kafka.tools.StorageTool", "format"],
    )
    arguments = [*jvm.arguments, "-t", site.run.cluster_id, "-c", file]
    site.format_storage(process, Command(arguments))
