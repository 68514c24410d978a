"""Give each process its ports before any starts: brokers must know each other's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headrace.errors import ServiceError, SettingsError
from headrace.services.catalog import SERVICES
from headrace.services.ports import FREE_RANGE, choose_port, require_free
from headrace.services.process import ServerProcess
from headrace.services.rundir import Run, RunDirectory
from headrace.services.service import Service
from headrace.settings import Settings


def check_fixed_ports(settings: Settings) -> None:
    """Refuse ports that no server could use.

    Raises:
        SettingsError: [port-name-unknown] no process has a port of that name;
            [setting-rejected] the server takes no such port.
    """
    known = {
        port: among
        for service in SERVICES.values()
        for process in service.process_names(3)
        for port, among in service.ports(process).items()
    }
    unknown = sorted(set(settings.ports) - set(known))
    if unknown:
        raise SettingsError(
            "port-name-unknown",
            f'[ports] names "{unknown[0]}", which is no process',
            hint=f"the names are: {', '.join(sorted(known))}.",
        )
    for name, port in settings.ports.items():
        among = known[name]
        if among is not FREE_RANGE and port not in among:
            raise SettingsError(
                "setting-rejected",
                f'setting "ports.{name}" cannot be used: {port} is out of range',
                hint=f"this server takes ports from {min(among)} to {max(among)}.",
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
                    _require_unshared(fixed, settings.ports)
                    ports[name] = fixed
                    continue
                others = {port for other, port in ports.items() if other != name}
                others |= set(settings.ports.values())
                seed = f"{run_directory.path}/{name}"
                ports[name] = choose_port(ports.get(name), seed, others, among)
    return replace(run, ports=ports)


def _require_unshared(port: int, fixed: Mapping[str, int]) -> None:
    names = sorted(name for name, other in fixed.items() if other == port)
    if len(names) > 1:
        raise ServiceError(
            "port-taken",
            f"port {port} is set for {' and '.join(names)}",
            hint="change one of them under [ports] in the settings.",
        )
