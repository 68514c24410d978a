"""MariaDB with a row-based binary log, for change data capture."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from headrace.artifacts import platform_tag
from headrace.artifacts.unpack import extract_tree, unpack
from headrace.cdc.my_preparing import verifier
from headrace.errors import MachineError
from headrace.services.ports import LOOPBACK
from headrace.services.process import Command
from headrace.services.service import NotReadyError, Service, Site

USER = "headrace"

# What modes its files and directories get, whatever the process's own umask.
_CLOSED = {"UMASK": "0600", "UMASK_DIR": "0700"}
_PLATFORMS = ("linux-amd64", "darwin-arm64")
_TABLES = (
    "mariadb_system_tables.sql",
    "mariadb_performance_tables.sql",
    "mariadb_system_tables_data.sql",
)


class MariaDb(Service):
    """One database server; its password lies in files that only we can read."""

    name: ClassVar[str] = "mariadb"
    # Few need it beside PostgreSQL, and not every platform has its binaries.
    by_default: ClassVar[bool] = False

    def artifacts(self) -> tuple[str, ...]:
        """Give this platform's binaries.

        Raises:
            MachineError: [platform-unsupported] there are none.
        """
        tag = platform_tag()
        if tag not in _PLATFORMS:
            raise MachineError(
                "platform-unsupported",
                f"there are no binaries of MariaDB for {tag}",
                hint="name a server of your own in the settings: databases = "
                '{ shop = "mariadb://..." }.',
            )
        return (f"mariadb-{tag}",)

    def prepare(self, site: Site, process: str) -> None:
        """Make the data directory once, and write the settings anew."""
        directory = site.make(process, ".")
        site.make(process, "tmp")
        if not (directory / "data").exists():
            _initialise(site, process)
        site.write(process, "my.cnf", _options("mariadbd", _settings(site)))
        password = (directory / "password").read_text().strip()
        # In quotes, as the clients read it, since it may hold any sign.
        login = {"user": USER, "password": f'"{password}"'}
        site.write(process, "client.cnf", _options("client", login))

    def command(self, site: Site, process: str) -> Command:
        """Run the server in the foreground of its own session."""
        base = _unpacked(site, self.artifacts()[0])
        directory = site.run_directory.path / process
        options = [
            # The first option: no other file is read, whatever the machine has.
            "--defaults-file=my.cnf",
            # Not in the file, where some signs of a path would mean something.
            f"--basedir={base}",
            f"--datadir={directory / 'data'}",
            f"--tmpdir={directory / 'tmp'}",
        ]
        return Command([base / "bin" / "mariadbd", *options], _CLOSED)

    def check(self, site: Site) -> None:
        """Run a query."""
        import pymysql  # noqa: PLC0415 - only `up` and `status` need it

        if not site.process(self.name).listens_on(site.port(self.name)):
            raise NotReadyError("it does not listen yet")
        try:
            connection = pymysql.connect(
                host=LOOPBACK,
                port=site.port(self.name),
                read_default_file=str(_login_file(site)),
                connect_timeout=5,
                read_timeout=5,
            )
            with connection, connection.cursor() as cursor:
                cursor.execute("select 1")
        except pymysql.MySQLError as error:
            raise NotReadyError(str(error)) from error

    def address(self, site: Site) -> str:
        """Give the address; it points at the password, and has none."""
        server = f"{USER}@{LOOPBACK}:{site.port(self.name)}"
        file = quote(str(_login_file(site)))
        return f"mariadb://{server}/?read_default_file={file}"


def _login_file(site: Site) -> Path:
    return site.run_directory.path / "mariadb" / "client.cnf"


def _unpacked(site: Site, group: str) -> Path:
    (archive,) = site.jars(group)
    extract = extract_tree("bin/mariadbd", "share")
    return unpack(archive, extract, site.settings.cache_dir)


def _initialise(site: Site, process: str) -> None:
    """Make the data directory aside: making it can be killed half-way."""
    directory = site.run_directory.path / process
    password = secrets.token_urlsafe(24)
    site.write(process, "password", password)
    draft = directory / "data.draft"
    shutil.rmtree(draft, ignore_errors=True)
    site.make(process, draft.name)
    base = _unpacked(site, MariaDb().artifacts()[0])
    tables = [(base / "share" / name).read_text() for name in _TABLES]
    arguments: list[str | Path] = [
        base / "bin" / "mariadbd",
        *("--no-defaults", "--bootstrap", "--silent-startup"),
        *(f"--basedir={base}", f"--datadir={directory / draft.name}"),
        *("--log-warnings=0", "--enforce-storage-engine=", "--skip-log-bin"),
        "--max-allowed-packet=8M",
    ]
    statements = ["create database mysql;", "use mysql;", *tables, _accounts(password)]
    site.format_storage(process, Command(arguments, _CLOSED), "\n".join(statements))
    draft.rename(directory / "data")


def _accounts(password: str) -> str:
    """Give the statements that leave one account: ours, with a password."""
    account = f"'{USER}'@'{LOOPBACK}'"
    return f"""
delete from global_priv where User <> 'mariadb.sys';
delete from proxies_priv;
flush privileges;
create user {account} identified by password '{verifier(password)}';
grant all privileges on *.* to {account} with grant option;
"""  # noqa: S608 - all of it is ours


def _options(group: str, settings: Mapping[str, object]) -> str:
    rows = "".join(f"{name} = {value}\n" for name, value in settings.items())
    return f"[{group}]\n{rows}"


def _settings(site: Site) -> dict[str, object]:
    return {
        "bind_address": LOOPBACK,
        "port": site.port("mariadb"),
        # Relative to the data: a socket's path may have 107 characters only.
        "socket": "mariadb.sock",
        "pid_file": "mariadb.pid",
        "skip_name_resolve": "on",
        # On loopback; each start would make a new key, for seconds.
        "ssl": "off",
        "server_id": 1,
        "log_bin": "bin",
        "log_bin_index": "bin.index",
        "binlog_format": "row",
        "binlog_row_image": "full",
        "gtid_strict_mode": "on",
        # What was committed is in the log and in the tables, or in neither.
        "sync_binlog": 1,
        "innodb_flush_log_at_trx_commit": 1,
        # A log that nobody reads must not fill the disk.
        "max_binlog_total_size": "4G",
        "slave_connections_needed_for_purge": 0,
        "innodb_buffer_pool_size": "64M",
        "innodb_log_file_size": "48M",
        "max_connections": 50,
        "table_open_cache": 400,
        "character_set_server": "utf8mb4",
        "default_time_zone": "'+00:00'",
    }
