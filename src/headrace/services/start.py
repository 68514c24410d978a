"""Start services side by side, and wait until they do their work."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from headrace.errors import ServiceError
from headrace.services.disk import require_space
from headrace.services.process import ServerProcess
from headrace.services.service import Service, Site
from headrace.services.status import problem_of

Tell = Callable[[str, str], None]
"""Called with a service's name and what has become of it."""


def start_all(services: list[Service], site: Site, tell: Tell) -> None:
    """Start the services, each after those it needs.

    Raises:
        ServiceError: A service did not start; the others go on.
    """
    tasks: dict[str, Future[None]] = {}

    def start(service: Service) -> None:
        for need in service.needs:
            tasks[need].result()
        _start(site, service, tell)

    with ThreadPoolExecutor(len(services)) as pool:
        for service in services:
            tasks[service.name] = pool.submit(start, service)
    for task in tasks.values():
        task.result()


def _start(site: Site, service: Service, tell: Tell) -> None:
    began = time.monotonic()
    missing = [
        process
        for process in map(site.process, service.process_names(site.brokers))
        if process.pid is None
    ]
    with ThreadPoolExecutor(max(1, len(missing))) as pool:
        list(pool.map(lambda p: service.prepare(site, p.name), missing))
    for process in missing:
        process.start(service.command(site, process.name))
    _await_health(site, service)
    service.settle(site)
    took = time.monotonic() - began
    tell(service.name, f"ready in {took:.1f} s" if missing else "runs already")


def _await_health(site: Site, service: Service) -> None:
    """Wait until the service does its work, or one of its processes is gone."""
    deadline = time.monotonic() + service.start_patience
    processes = [site.process(name) for name in service.process_names(site.brokers)]
    while True:
        problem = problem_of(service, site)
        if problem is None:
            return
        for process in processes:
            if process.pid is None:
                raise _died(site, process)
        if time.monotonic() > deadline:
            raise ServiceError(
                "service-not-ready",
                f"{service.name} is not ready after {service.start_patience:.0f} s",
                detail=problem,
                hint=f"`headrace logs {service.name}` shows what it does.",
                where=str(site.run_directory.path),
            )
        time.sleep(0.1)


def _died(site: Site, process: ServerProcess) -> ServiceError:
    require_space(site.run_directory.path)
    return ServiceError(
        "service-died",
        f"{process.name} stopped while starting",
        detail=process.log_tail() or "it logged nothing.",
        hint=f"`headrace logs {process.name}` shows more.",
        where=str(process.log),
    )
