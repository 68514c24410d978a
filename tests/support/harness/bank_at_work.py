"""A bank's database under work: everything that can happen to rows, concurrently."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

TABLES = {
    "users": "id bigint primary key, name text not null, email text, note text",
    "profiles": "user_id bigint primary key, country text, risk double precision, "
    "tier smallint, updated_at timestamptz",
    "cards": "card_id text primary key, user_id bigint, credit numeric(12,2), "
    "blocked boolean not null",
    "payments": "payment_id bigint primary key, card_id text, cents bigint not null, "
    "made_at timestamptz not null",
    "merchants": "merchant_id text primary key, name text, details jsonb, logo bytea",
}
# Their long values come with every change, also with one of the key.
WHOLE = ("merchants",)

KEYS = {table: columns.split()[0] for table, columns in TABLES.items()}

# What a worker does next, and how often.
WORK = {
    "insert": 40,
    "update": 35,
    "delete": 10,
    "change_key": 5,
    "transaction": 5,
    "roll_back": 3,
    "copy": 2,
}


def made_up(table: str, number: int, chance: random.Random) -> tuple[Any, ...]:
    """Give a row of a table; the number is its key."""
    word = f"{chance.getrandbits(32):08x}"
    if table == "users":
        return (number, f"name {word}", f"{word}@example.org", made_up_note(chance))
    if table == "profiles":
        at = f"2026-01-{number % 28 + 1:02}T12:00:00.{number % 1000000:06}Z"
        return (number, chance.choice(["DE", "FR", None]), chance.random(), 1, at)
    if table == "cards":
        credit = f"{chance.randint(0, 10**9)}.{chance.randint(0, 99):02}"
        return (f"card-{number}", number // 2, credit, chance.random() < 0.1)
    if table == "payments":
        at = f"2026-02-{number % 28 + 1:02}T08:00:00Z"
        return (number, f"card-{number % 997}", chance.randint(-500, 10**12), at)
    return (
        f"m-{number}",
        f'Größe "{word}" \\ \t',
        Jsonb({"word": word, "list": [1, None, 2.5]}),
        chance.randbytes(4000 if chance.random() < 0.1 else 20),
    )


def made_up_note(chance: random.Random) -> str | None:
    """Give a text, or none.

    Many are long enough to be kept outside the row, hence not in the log of an update
    that leaves them as they are.
    """
    if chance.random() < 0.3:
        return None
    words = (f"{chance.getrandbits(64):016x}" for _ in range(chance.randint(1, 250)))
    return "".join(words)


def changed(table: str, chance: random.Random) -> tuple[str, Any]:
    """Give a column to update, and its value; a user's note stays as it is."""
    word = f"{chance.getrandbits(32):08x}"
    return {
        "users": ("name", f"renamed {word}"),
        "profiles": ("risk", chance.choice([0.5, chance.random(), None])),
        "cards": ("credit", f"{chance.randint(0, 999)}.5"),
        "payments": ("cents", chance.randint(0, 10**6)),
        "merchants": ("details", Jsonb({"word": word})),
    }[table]


@dataclass
class Bank:
    """A database with five tables, and workers that change their rows.

    Args:
        server: Where the server is; the database is made there.
        name: The database's name.
        seed: Of all that workers choose.
    """

    server: str
    name: str = "bank"
    seed: int = 1
    done: int = 0
    _next: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        return psycopg.conninfo.make_conninfo(self.server, dbname=self.name)

    def create(self) -> None:
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(f"create database {self.name}")
        with self._connect() as connection:
            for table, columns in TABLES.items():
                connection.execute(f"create table {table} ({columns})")
            for table in WHOLE:
                connection.execute(f"alter table {table} replica identity full")

    def load(self, rows: int) -> None:
        """Fill the tables, a fifth of the rows each, each by one COPY."""
        chance = random.Random(self.seed)  # noqa: S311
        first = self._take(rows // len(TABLES))
        with self._connect() as connection:
            for table in TABLES:
                numbers = range(first, first + rows // len(TABLES))
                _copy(connection, table, [made_up(table, n, chance) for n in numbers])

    def rows(self, table: str) -> dict[Any, tuple[Any, ...]]:
        """Give what a table holds now, by key, in the columns it was made with."""
        columns = ", ".join(part.split()[0] for part in TABLES[table].split(", "))
        with self._connect() as connection:
            query = f"select {columns} from {table}"  # noqa: S608 - our own names
            found = connection.execute(query)
            return {row[0]: row for row in found.fetchall()}

    def add_column(self) -> None:
        """Change a table as an application's next version does."""
        with self._connect() as connection:
            connection.execute("alter table users add column phone text")
            connection.execute("update users set phone = '112' where id % 50 = 0")

    def work(self, changes: int, *, workers: int = 3) -> Working:
        """Let workers make so many changes together, in the background."""
        working = Working(self.done + changes)
        for number in range(workers):
            chance = random.Random(  # noqa: S311
                f"{self.seed} {number} {self.done}"
            )
            thread = threading.Thread(
                target=self._work, args=(working, chance), daemon=True
            )
            working.threads.append(thread)
            thread.start()
        return working

    def _work(self, working: Working, chance: random.Random) -> None:
        """Go on whatever becomes of the server: a killed one comes back."""
        names, weights = list(WORK), list(WORK.values())
        while not working.has_ended(self.done):
            try:
                with self._connect() as connection:
                    while not working.has_ended(self.done):
                        what = chance.choices(names, weights)[0]
                        with connection.transaction():
                            count = self._one(connection, what, chance)
                        with self._lock:
                            self.done += count
            except psycopg.errors.UniqueViolation:
                continue
            except psycopg.OperationalError:
                # Killed, or starting: whoever kills it also brings it back.
                time.sleep(0.05)
            except Exception as problem:
                working.problems.append(problem)
                raise

    def _one(
        self, connection: psycopg.Connection[Any], what: str, chance: random.Random
    ) -> int:
        table = chance.choice(list(TABLES))
        if what == "transaction":
            return sum(
                self._one(connection, chance.choice(["insert", "update"]), chance)
                for _ in range(chance.randint(2, 10))
            )
        if what == "roll_back":
            with connection.transaction(force_rollback=True):
                self._one(connection, chance.choice(["insert", "delete"]), chance)
            return 0
        if what == "copy":
            count = chance.randint(5, 50)
            numbers = range(first := self._take(count), first + count)
            _copy(connection, table, [made_up(table, n, chance) for n in numbers])
            return count
        if what == "insert":
            row = made_up(table, self._take(1), chance)
            values = sql.SQL(", ").join([sql.Placeholder()] * len(row))
            query = sql.SQL("insert into {} values ({})")
            if table == "users":
                query = sql.SQL("insert into {} (id, name, email, note) values ({})")
            connection.execute(query.format(sql.Identifier(table), values), row)
            return 1
        return self._change(connection, table, what, chance)

    def _change(
        self,
        connection: psycopg.Connection[Any],
        table: str,
        what: str,
        chance: random.Random,
    ) -> int:
        key, one = KEYS[table], self._some_key(table, chance)
        name, own = sql.Identifier(table), sql.Identifier(key)
        if what == "delete":
            query = sql.SQL("delete from {} where {} = %s").format(name, own)
            return connection.execute(query, [one]).rowcount
        column, value = changed(table, chance)
        if what == "change_key":
            column, value = key, made_up(table, self._take(1), chance)[0]
        if what == "change_key" and table == "users":
            # A note that the database does not send would be lost with the old key.
            noted = "update users set id = %s, note = %s where id = %s"
            note = made_up_note(chance)
            return connection.execute(noted, [value, note, one]).rowcount
        query = sql.SQL("update {} set {} = %s where {} = %s").format(
            name, sql.Identifier(column), own
        )
        return connection.execute(query, [value, one]).rowcount

    def _some_key(self, table: str, chance: random.Random) -> Any:
        return made_up(table, chance.randrange(max(self._next, 1)), chance)[0]

    def _take(self, count: int) -> int:
        with self._lock:
            self._next += count
            return self._next - count

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.address, autocommit=True, connect_timeout=5)


@dataclass
class Working:
    """Workers in the background."""

    until: int
    threads: list[threading.Thread] = field(default_factory=list)
    problems: list[Exception] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def has_ended(self, done: int) -> bool:
        return done >= self.until or self.stopped.is_set()

    def wait(self, seconds: float = 300) -> None:
        """Wait for all workers; fail with what one of them failed with."""
        deadline = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            assert not thread.is_alive(), "the workers have not finished"
        assert not self.problems, self.problems[0]


def _copy(
    connection: psycopg.Connection[Any], table: str, rows: list[tuple[Any, ...]]
) -> None:
    names = [part.split()[0] for part in TABLES[table].split(", ")]
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    query = sql.SQL("copy {} ({}) from stdin").format(sql.Identifier(table), columns)
    with connection.cursor().copy(query) as copy:
        for row in rows:
            copy.write_row(row)
