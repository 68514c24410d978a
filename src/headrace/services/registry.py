"""Apicurio Registry: schemas, kept in the log itself, behind Confluent's API."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from headrace.artifacts.unpack import extract_tar, unpack
from headrace.services.ports import FREE_RANGE, LOOPBACK
from headrace.services.process import Command
from headrace.services.service import (
    NotReadyError,
    Service,
    Site,
    http_json,
    java_command,
    properties,
)

CONFLUENT_API = "/apis/ccompat/v7"


class Registry(Service):
    """The schema registry; evolution is checked backwards unless a user says not."""

    name: ClassVar[str] = "registry"
    needs: ClassVar[tuple[str, ...]] = ("kafka",)

    def ports(self, process: str) -> Mapping[str, range]:
        """Give it a port for clients and one for its management."""
        return {process: FREE_RANGE, f"{process}-management": FREE_RANGE}

    def artifacts(self) -> tuple[str, ...]:
        """Give the application's archive."""
        return ("registry",)

    def prepare(self, site: Site, process: str) -> None:
        """Write the application's properties."""
        settings = {
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": site.port(process),
            "quarkus.management.host": LOOPBACK,
            "quarkus.management.port": site.port(f"{process}-management"),
            "quarkus.log.file.enable": "false",
            "apicurio.storage.kind": "kafkasql",
            "apicurio.kafkasql.bootstrap.servers": site.bootstrap,
            "apicurio.kafkasql.topic": "headrace.registry.journal",
            "apicurio.kafkasql.snapshots.topic": "headrace.registry.snapshots",
            "apicurio.events.kafka.topic": "headrace.registry.events",
        }
        site.write(process, "application.properties", properties(settings))

    def command(self, site: Site, process: str) -> Command:
        """Run the application's jar."""
        configuration = site.run_directory.path / process / "application.properties"
        return java_command(
            site,
            heap_mb=256,
            options=[
                "-XX:TieredStopAtLevel=1",
                # As an address: a path may hold spaces and commas.
                f"-Dquarkus.config.locations={configuration.as_uri()}",
            ],
            run=["-jar", _runner(site)],
        )

    def check(self, site: Site) -> None:
        """List the subjects, once it has read all of them from the log."""
        port = site.port(self.name)
        if not site.process(self.name).listens_on(port):
            raise NotReadyError("it does not listen yet")
        # It answers from the start, and with what it has read so far.
        http_json(port, "/health/ready")
        http_json(port, f"{CONFLUENT_API}/subjects")

    def settle(self, site: Site) -> None:
        """Have new schemas checked against old ones; the user may change that later."""
        settled = site.run_directory.path / self.name / "settled"
        if not settled.exists():
            body = {"compatibility": "BACKWARD"}
            api = f"{CONFLUENT_API}/config"
            http_json(site.port(self.name), api, body=body, method="PUT")
            site.write(self.name, settled.name, "")

    def address(self, site: Site) -> str:
        """Give the address of Confluent's API."""
        return f"http://{LOOPBACK}:{site.port(self.name)}{CONFLUENT_API}"


def _runner(site: Site) -> Path:
    (archive,) = site.jars("registry")
    directory = unpack(archive, extract_tar, site.settings.cache_dir)
    return next(directory.glob("*-runner.jar"))
