"""PostgreSQL with logical decoding, for change data capture."""

from __future__ import annotations

import secrets
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

from headrace.artifacts import platform_tag
from headrace.artifacts.unpack import extract_tar_in_jar, unpack
from headrace.errors import ServiceError
from headrace.services.disk import require_space
from headrace.services.ports import LOOPBACK
from headrace.services.process import Command
from headrace.services.service import NotReadyError, Service, Site

USER = "headrace"
DATABASE = "postgres"


class Postgres(Service):
    """One database server; its password lies in a file that only we can read."""

    name: ClassVar[str] = "postgres"
    # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients to leave.
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT

    def artifacts(self) -> tuple[str, ...]:
        """Give this platform's binaries."""
        return (f"postgres-{platform_tag()}",)

    def prepare(self, site: Site, process: str) -> None:
        """Make the data directory once, and write the settings anew."""
        directory = site.make(process, ".")
        data = directory / "data"
        if not (data / "PG_VERSION").exists():
            _initialise(site, process)
        site.write(process, "data/postgresql.auto.conf", _configuration(site))
        port = site.port(process)
        password = (directory / "password").read_text().strip()
        site.write(process, "pgpass", f"{LOOPBACK}:{port}:*:{USER}:{password}\n")

    def command(self, site: Site, process: str) -> Command:
        """Run the server in the foreground of its own session."""
        return Command([_binaries(site) / "postgres", "-D", "data"])

    def check(self, site: Site) -> None:
        """Run a query."""
        import psycopg  # noqa: PLC0415 - only `up` and `status` need it

        if not site.process(self.name).listens_on(site.port(self.name)):
            raise NotReadyError("it does not listen yet")
        try:
            with psycopg.connect(self.address(site), connect_timeout=5) as connection:
                connection.execute("select 1")
        except psycopg.Error as error:
            raise NotReadyError(str(error)) from error

    def address(self, site: Site) -> str:
        """Give the connection string; it points at the password, and has none."""
        passfile = site.run_directory.path / self.name / "pgpass"
        port = site.port(self.name)
        return f"postgresql://{USER}@{LOOPBACK}:{port}/{DATABASE}?passfile={passfile}"


def _binaries(site: Site) -> Path:
    (archive,) = site.jars(f"postgres-{platform_tag()}")
    return unpack(archive, extract_tar_in_jar, site.settings.cache_dir) / "bin"


def _initialise(site: Site, process: str) -> None:
    directory = site.run_directory.path / process
    password = site.write(process, "password", secrets.token_urlsafe(24) + "\n")
    account = site.run_directory.account
    done = subprocess.run(
        [
            _binaries(site) / "initdb",
            *("-D", "data", "-U", USER, f"--pwfile={password}"),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"),
            "--no-instructions",
        ],
        cwd=directory,
        user=account.uid,
        group=account.gid,
        extra_groups=None if account.uid is None else (),
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        require_space(directory)
        raise ServiceError(
            "storage-not-formatted",
            f"the storage of {process} could not be made",
            detail=(done.stdout + done.stderr).strip(),
            where=str(directory),
        )


def _configuration(site: Site) -> str:
    settings = {
        "listen_addresses": f"'{LOOPBACK}'",
        "port": site.port("postgres"),
        # A socket's path may have 107 characters; run directories can be longer.
        "unix_socket_directories": "''",
        "wal_level": "logical",
        "max_wal_senders": 10,
        "max_replication_slots": 10,
        # A slot nobody reads must not fill the disk.
        "max_slot_wal_keep_size": "'4GB'",
        "shared_buffers": "'64MB'",
        "max_connections": 50,
        "log_line_prefix": "'%m [%p] '",
        "timezone": "'UTC'",
        "log_timezone": "'UTC'",
    }
    return "".join(f"{key} = {value}\n" for key, value in settings.items())
