"""The stack: all servers of one run directory, started, looked at and stopped."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from headrace.artifacts import fetch, find_java
from headrace.errors import ServiceError
from headrace.services.assign import assign_ports, check_fixed_ports
from headrace.services.catalog import SERVICES, with_needs
from headrace.services.disk import require_space
from headrace.services.process import ServerProcess, await_burial
from headrace.services.rundir import Run, RunDirectory
from headrace.services.service import Service, Site
from headrace.services.start import Tell, start_all
from headrace.services.status import ProcessStatus, look_at
from headrace.settings import Settings, load_settings


class Stack:
    """The servers of one run directory.

    Args:
        directory: The run directory; by default the project's own.
        settings: By default those of this machine and project.

    Example:
        ``Stack().up(["kafka"])`` starts one broker, unless it runs already.
    """

    def __init__(
        self, directory: Path | None = None, settings: Settings | None = None
    ) -> None:
        self._settings = settings or load_settings()
        self.run_directory = RunDirectory(self._settings, directory)

    def up(
        self,
        names: Iterable[str] = (),
        *,
        brokers: int | None = None,
        fresh: bool = False,
        tell: Tell = lambda _service, _news: None,
    ) -> list[ProcessStatus]:
        """Start the named services and those they need; without names, the usual.

        What runs already is left alone, what died is started again on its data.

        Args:
            names: Services, such as ``kafka`` and ``postgres``.
            brokers: How many Kafka brokers, 1 or 3; fixed once there is data.
            fresh: Stop everything and begin with no data.
            tell: Is told what becomes of each service.

        Raises:
            ServiceError: A service did not start; the others go on.
            MachineError, FetchError: Something the services need is not there.
        """
        services = with_needs(names)
        _check_brokers(brokers)
        check_fixed_ports(self._settings)
        java = find_java(self._settings)
        directory = self.run_directory
        directory.create()
        directory.account.require_reach(self._settings.cache_dir)
        directory.account.require_reach(java.executable.resolve())
        with directory.locked():
            if fresh:
                self._stop_all(tell)
                directory.clear(
                    process
                    for service in SERVICES.values()
                    for process in service.process_names(3)
                )
            require_space(directory.path)
            started = {service.name for service in services}
            run = _with_brokers(
                directory.read(),
                brokers,
                directory.path,
                with_kafka="kafka" in started,
            )
            fetch(
                *(group for service in services for group in service.artifacts()),
                settings=self._settings,
            )
            run = assign_ports(run, services, self._settings, directory)
            known = tuple(n for n in SERVICES if n in started | set(run.services))
            run = replace(run, services=known)
            directory.remember(run)
            site = Site(directory, run, self._settings, java)
            start_all(services, site, tell)
        return self.status()

    def down(self, tell: Tell = lambda _service, _news: None) -> list[str]:
        """Stop every server of this run directory; give the names of those stopped."""
        if not self.run_directory.exists:
            return []
        with self.run_directory.locked():
            return self._stop_all(tell)

    def kill(self) -> None:
        """Kill every server of this run directory at once, whoever else acts on it."""
        for service in SERVICES.values():
            for process in self._processes(service):
                process.kill()

    def _stop_all(self, tell: Tell) -> list[str]:
        """Stop by the notes on disk: they know of servers that nothing else does."""
        stopped = []
        pids = []
        for service in reversed(SERVICES.values()):
            running = [p for p in self._processes(service) if p.was_started]
            if not running:
                continue
            pids += [process.pid for process in running]
            with ThreadPoolExecutor(len(running)) as pool:
                forced = list(
                    pool.map(
                        lambda p, s=service: p.stop(s.stop_signal, s.stop_patience),
                        running,
                    )
                )
            stopped += [process.name for process in running]
            tell(service.name, "killed" if any(forced) else "stopped")
        await_burial(pids)
        return stopped

    def _processes(self, service: Service) -> list[ServerProcess]:
        names = service.process_names(3)
        processes = [ServerProcess(self.run_directory, name) for name in names]
        return [process for process in processes if process.directory.is_dir()]

    def site(self) -> Site:
        """Give what is needed to use the services.

        Raises:
            ServiceError: [nothing-started] no server was ever started here.
        """
        if not self.run_directory.exists:
            raise ServiceError(
                "nothing-started",
                "no servers were started here",
                hint="start them with `headrace up`.",
                where=str(self.run_directory.path),
            )
        return Site(
            self.run_directory,
            self.run_directory.read(),
            self._settings,
            find_java(self._settings),
        )

    def address(self, service: str) -> str:
        """Give the address at which clients find a service."""
        return SERVICES[service].address(self.site())

    def status(self) -> list[ProcessStatus]:
        """Look at every process of every service that was ever started here."""
        if not self.run_directory.exists:
            return []
        site = self.site()
        services = [SERVICES[name] for name in site.run.services]
        with ThreadPoolExecutor(max(1, len(services))) as pool:
            found = pool.map(lambda service: look_at(service, site), services)
        return [status for statuses in found for status in statuses]


def _check_brokers(brokers: int | None) -> None:
    if brokers not in (None, 1, 3):
        raise ServiceError(
            "brokers-not-1-or-3",
            f"{brokers} brokers were asked for",
            detail="one broker is quick; three can lose one and go on.",
            hint="use --brokers 1 or --brokers 3.",
        )


def _with_brokers(
    run: Run, brokers: int | None, path: Path, *, with_kafka: bool
) -> Run:
    if run.brokers is not None and brokers not in (None, run.brokers):
        raise ServiceError(
            "brokers-fixed",
            f"this cluster has {run.brokers} broker(s), not {brokers}",
            detail="a cluster's members are written into its data when it is made.",
            hint="use --fresh to begin without data, or another directory with --dir.",
            where=str(path),
        )
    return replace(run, brokers=run.brokers or brokers or 1) if with_kafka else run
