"""The bank's servers, and what they hold before the first transaction."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import psycopg
from people import Person
from transactions import Profile, avro_schema

from headrace.log import administer, create_topic
from headrace.schema.registry import Registry
from headrace.services import Stack

SERVERS = ("kafka", "postgres", "redis", "opensearch", "registry", "connect")
TOPIC = "transactions"
PARTITIONS = 2

_TABLE = """
create table profiles (
  user_id bigint primary key, home_country text not null,
  usual_cents bigint not null, risk_tier text not null
)"""
_COPY = "copy profiles (user_id, home_country, usual_cents, risk_tier) from stdin"
_CHANGE = """
update profiles set home_country = %s, usual_cents = %s, risk_tier = %s
where user_id = %s"""


class Bank:
    """The bank: its database, its log, and the schema of its transactions."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.bootstrap = stack.address("kafka")
        self.admin = administer(self.bootstrap, stack.site().run.cluster_id)
        self._server = stack.address("postgres")
        self._database = psycopg.conninfo.make_conninfo(self._server, dbname="bank")

    def open(self, crowd: Sequence[Person]) -> int:
        """Make the database, have it captured, and make the topic.

        Gives the number under which the registry knows the transactions' schema.
        """
        with psycopg.connect(self._server, autocommit=True) as server:
            server.execute("create database bank")
        with (
            psycopg.connect(self._database) as database,
            database.cursor() as cursor,
        ):
            cursor.execute(_TABLE)
            with cursor.copy(_COPY) as rows:
                for person in crowd:
                    rows.write_row(_row(person.profile))
        self._capture()
        create_topic(self.admin, TOPIC, partitions=PARTITIONS)
        registry = Registry(self.stack.address("registry"))
        return registry.register(f"{TOPIC}-value", "avro", avro_schema())

    def change(self, profile: Profile) -> None:
        """Give a user another profile."""
        user_id, *values = _row(profile)
        with psycopg.connect(self._database) as database:
            database.execute(_CHANGE, (*values, user_id))

    def _capture(self) -> None:
        directory = str(self.stack.run_directory.path)
        command = ("cdc", "add", "bank", "--tables", "public.profiles")
        subprocess.run(
            [*headrace(), *command, "--dir", directory],
            check=True,
            stdout=subprocess.DEVNULL,
        )


def headrace() -> list[str]:
    """Give the command that this Python has headrace under."""
    return [sys.executable, "-c", "from headrace.cli import main; main()"]


def _row(profile: Profile) -> tuple[object, ...]:
    return (
        profile.user_id,
        profile.home_country,
        profile.usual_cents,
        profile.risk_tier,
    )
