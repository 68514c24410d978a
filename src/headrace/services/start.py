"""Start services side by side, and wait until they do their work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from headrace.errors import ServiceError
from headrace.services.disk import require_space
from headrace.services.process import ServerProcess
from headrace.services.service import Service, Site
from headrace.services.status import problem_of

Tell = Callable[[str, str], None]
"""Called with a service's name and what has become of it."""


def start_all(services: list[Service], site: Site, tell: Tell) -> None:
    """Start the services, each after those it needs.

    An interrupt ends the waiting, not the servers: what was started stays, with its
    note, and nothing more is started.

    Raises:
        ServiceError: A service did not start; the others go on.
    """
    tasks: dict[str, Future[None]] = {}
    halt = threading.Event()

    def start(service: Service) -> None:
        for need in service.needs:
            tasks[need].result()
        _start(site, service, tell, halt)

    with ThreadPoolExecutor(len(services)) as pool:
        try:
            for service in services:
                tasks[service.name] = pool.submit(start, service)
            wait(tasks.values())
        except BaseException:
            halt.set()
            raise
    for task in tasks.values():
        task.result()


class _HaltedError(Exception):
    """The user does not want to wait any longer."""


def _start(site: Site, service: Service, tell: Tell, halt: threading.Event) -> None:
    began = time.monotonic()
    missing = [
        process
        for process in map(site.process, service.process_names(site.brokers))
        if process.pid is None
    ]
    with ThreadPoolExecutor(max(1, len(missing))) as pool:
        list(pool.map(lambda p: service.prepare(site, p.name), missing))
    for process in missing:
        if halt.is_set():
            raise _HaltedError
        process.start(service.command(site, process.name))
    _await_health(site, service, halt)
    service.settle(site)
    took = time.monotonic() - began
    tell(service.name, f"ready in {took:.1f} s" if missing else "runs already")


def _await_health(site: Site, service: Service, halt: threading.Event) -> None:
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
        if halt.wait(0.1):
            raise _HaltedError


def _died(site: Site, process: ServerProcess) -> ServiceError:
    require_space(site.run_directory.path)
    return ServiceError(
        "service-died",
        f"{process.name} stopped while starting",
        detail=process.log_tail() or "it logged nothing.",
        hint=f"`headrace logs {process.name}` shows more.",
        where=str(process.log),
    )
