"""OpenSearch, as a single node."""

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
    http_json,
    java_command,
    rolling_log,
)


class OpenSearch(Service):
    """One node whose cluster is named after the run."""

    name: ClassVar[str] = "opensearch"

    def ports(self, process: str) -> Mapping[str, range]:
        """Give it a port for clients and one for the (absent) other nodes."""
        # The runner looks for a port itself and gives up above 9299.
        return {process: range(9201, 9300), f"{process}-transport": FREE_RANGE}

    def artifacts(self) -> tuple[str, ...]:
        """Give the node's jars with the modules that it loads."""
        return ("opensearch",)

    def prepare(self, site: Site, process: str) -> None:
        """Write the node's configuration."""
        settings = {
            "cluster.name": _cluster_name(site),
            "network.host": LOOPBACK,
            "transport.port": site.port(f"{process}-transport"),
            "discovery.type": "single-node",
            "action.auto_create_index": "true",
            # A laptop's disk is rarely less than 90 % full; a full one is an error.
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }
        site.make(process, "config")
        site.write(
            process,
            "config/opensearch.yml",
            "".join(f"{key}: {value}\n" for key, value in settings.items()),
        )
        site.write(process, "log4j2.properties", rolling_log(process))

    def command(self, site: Site, process: str) -> Command:
        """Run the node through its runner, which needs no installed modules."""
        directory = site.run_directory.path / process
        return java_command(
            site,
            heap_mb=384,
            options=[
                "-XX:TieredStopAtLevel=1",
                "-Dlog4j2.configurationFile=log4j2.properties",
            ],
            run=[
                *class_path(site.jars("opensearch")),
                "org.codelibs.opensearch.runner.OpenSearchRunner",
                *("-basePath", directory, "-confPath", directory / "config"),
                *("-clusterName", _cluster_name(site), "-numOfNode", "1"),
                # The runner adds the node's number to the base.
                *("-baseHttpPort", str(site.port(process) - 1), "-useLogger"),
            ],
        )

    def check(self, site: Site) -> None:
        """Ask for the cluster's health and its name."""
        port = site.port(self.name)
        if not site.process(self.name).listens_on(port):
            raise NotReadyError("it does not listen yet")
        health = http_json(port, "/_cluster/health")
        if health["cluster_name"] != _cluster_name(site):
            raise NotReadyError(f"another cluster answers: {health['cluster_name']}")
        if health["status"] == "red":
            raise NotReadyError("the cluster's health is red")

    def address(self, site: Site) -> str:
        """Give the address of the REST interface."""
        return f"http://{LOOPBACK}:{site.port(self.name)}"


def _cluster_name(site: Site) -> str:
    return f"headrace-{site.run.run_id}"
