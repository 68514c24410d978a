"""Give each process its ports before any starts: brokers must know each other's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.errors import SettingsError
from headrace.services.catalog import SERVICES
from headrace.services.ports import choose_port, require_free
from headrace.services.process import ServerProcess
from headrace.services.rundir import Run, RunDirectory
from headrace.services.service import Service
from headrace.settings import Settings


def check_port_names(settings: Settings) -> None:
    """Refuse a port that was set for something that does not exist.

    Raises:
        SettingsError: [port-name-unknown] no process has a port of that name.
    """
    known = {
        port
        for service in SERVICES.values()
        for process in service.process_names(3)
        for port in service.ports(process)
    }
    unknown = sorted(set(settings.ports) - known)
    if unknown:
        raise SettingsError(
            "port-name-unknown",
            f'[ports] names "{unknown[0]}", which is no process',
            hint=f"the names are: {', '.join(sorted(known))}.",
        )


def assign_ports(
    run: Run,
    services: Iterable[Service],
    settings: Settings,
    run_directory: RunDirectory,
) -> Run:
    """Fill in the ports of all processes that are about to start.

    A running process keeps its ports, whatever the settings say now.

    Raises:
        ServiceError: [port-taken] a port that the settings fix is in use.
    """
    ports = dict(run.ports)
    for service in services:
        for process in service.process_names(run.brokers or 1):
            if ServerProcess(run_directory, process).pid is not None:
                continue
            for name, among in service.ports(process).items():
                fixed = settings.ports.get(name)
                if fixed is not None:
                    require_free(fixed, name)
                    ports[name] = fixed
                    continue
                others = {port for other, port in ports.items() if other != name}
                others |= set(settings.ports.values())
                seed = f"{run_directory.path}/{name}"
                ports[name] = choose_port(ports.get(name), seed, others, among)
    return replace(run, ports=ports)
