"""How the processes of a run are doing, found by using them."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.services.service import NotReadyError, Service, Site


@dataclass(frozen=True)
class ProcessStatus:
    """How a process is doing; `health` is healthy, unhealthy, dead or stopped."""

    service: str
    process: str
    health: str
    pid: int | None
    port: int
    address: str
    memory_bytes: int
    problem: str | None = None


def problem_of(service: Service, site: Site) -> str | None:
    """Say what keeps a service from doing its work, or None."""
    try:
        service.check(site)
    except NotReadyError as problem:
        return str(problem)
    return None


def look_at(service: Service, site: Site) -> list[ProcessStatus]:
    """Give the status of each process of a service."""
    processes = [site.process(name) for name in service.process_names(site.brokers)]
    running = [process for process in processes if process.pid is not None]
    problem = problem_of(service, site) if running else None
    found = []
    for process in processes:
        if process in running:
            health = "unhealthy" if problem else "healthy"
        else:
            health = "dead" if process.was_started else "stopped"
        found.append(
            ProcessStatus(
                service=service.name,
                process=process.name,
                health=health,
                pid=process.pid,
                port=site.port(process.name),
                address=service.address(site),
                memory_bytes=process.memory(),
                problem=problem if process in running else None,
            )
        )
    return found
