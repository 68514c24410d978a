"""PostgreSQL with logical decoding, for change data capture."""

from __future__ import annotations

import secrets
import shutil
import signal
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from headrace.artifacts import platform_tag
from headrace.artifacts.unpack import extract_tar_in_jar, unpack
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
        if not (directory / "data").exists():
            _initialise(site, process)
        # The main file, and not the one that a user's ALTER SYSTEM writes.
        site.write(process, "data/postgresql.conf", _configuration(site))
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
        server = f"{USER}@{LOOPBACK}:{site.port(self.name)}"
        return f"postgresql://{server}/{DATABASE}?passfile={quote(str(passfile))}"


def _binaries(site: Site) -> Path:
    (archive,) = site.jars(f"postgres-{platform_tag()}")
    return unpack(archive, extract_tar_in_jar, site.settings.cache_dir) / "bin"


def _initialise(site: Site, process: str) -> None:
    """Make the data directory aside: `initdb` can be killed half-way."""
    directory = site.run_directory.path / process
    password = site.write(process, "password", secrets.token_urlsafe(24))
    draft = directory / "data.draft"
    shutil.rmtree(draft, ignore_errors=True)
    arguments: list[str | Path] = [
        _binaries(site) / "initdb",
        *("-D", draft.name, "-U", USER, f"--pwfile={password}"),
        *("--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"),
        "--no-instructions",
    ]
    site.format_storage(process, Command(arguments))
    draft.rename(directory / "data")


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
