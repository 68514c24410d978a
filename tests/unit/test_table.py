"""Tables and change streams as they are declared, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest

from headrace import Pipeline, Stream, Table, cdc, event, kafka, sinks
from headrace.plan.changes import KeepTable
from headrace.plan.steps import Stateful, walk
from support.harness.refusals import refused


@event(key="user_id")
class User:
    user_id: int
    city: str
    share: float
    joined_at: datetime
    note: str | None = None


@event()
class Keyless:
    user_id: int


SOURCE = cdc.postgres("bank", "public.users", User)


def users(**options: Any) -> Table:
    return Pipeline("bank").table(SOURCE, **options)


def kept(table: Table) -> KeepTable:
    (step,) = (step for step in walk(table.step) if isinstance(step, Stateful))
    assert isinstance(step, KeepTable)
    return step


def test_a_table_has_the_columns_and_the_key_of_its_class() -> None:
    table = users()

    assert table.columns == ["user_id", "city", "share", "joined_at", "note"]
    assert table.key == ("user_id",)
    assert kept(table).name == "bank-public-users"
    assert kept(users(name="people")).name == "people"


def test_a_table_can_have_another_key() -> None:
    assert users(key="city").key == ("city",)
    assert users(key=("city", "user_id")).key == ("city", "user_id")


def test_changes_have_the_rows_before_and_after() -> None:
    changes = Pipeline("bank").changes(SOURCE)

    assert isinstance(changes, Stream)
    assert changes.columns == [
        "op",
        "before",
        "after",
        "position",
        "transaction",
        "is_snapshot",
        "changed_at",
        "unchanged",
    ]
    assert changes.step.time == "changed_at"
    assert changes.where("after.city = before.city").columns == changes.columns


def test_verbs_give_new_tables() -> None:
    table = users()
    assert table.where("city = 'Rome'").columns == table.columns
    assert table.select("user_id", upper="upper(city)").columns == ["user_id", "upper"]
    assert table.derive(city="upper(city)").columns[-1] == "city"
    assert table.rename(user_id="id").key == ("id",)
    assert table.changes().columns == [
        "op",
        "before",
        "after",
        "position",
        "changed_at",
    ]


def test_a_table_knows_which_columns_stay_the_same() -> None:
    table = users(key=("user_id", "city"))
    made = table.derive(
        id="concat(user_id, city)", upper="upper(note)", one="1", again="`user_id` + 1"
    )

    assert made.fixed.columns.keys() == {"user_id", "city", "id", "again"}


@pytest.mark.parametrize(
    ("condition", "slug"),
    [
        ("town = 'Rome'", "column-unknown"),
        ("city", "condition-not-boolean"),
        ("city = ", "expression-unreadable"),
        ("count(*) > 1", "expression-not-per-event"),
        ("rand() < 0.5", "expression-not-steady"),
        ("joined_at < current_timestamp", "expression-not-steady"),
        ("joined_at < now()", "expression-not-steady"),
    ],
)
def test_a_condition_is_checked_where_it_is_declared(condition: str, slug: str) -> None:
    table = users()

    with refused(slug):
        table.where(condition)


def test_columns_are_checked_where_they_are_declared() -> None:
    table = users()
    with refused("column-unknown"):
        table.select("town")
    with refused("column-unknown"):
        table.rename(town="city")
    with refused("column-taken"):
        table.rename(city="note")
    with refused("column-name-reserved"):
        table.derive(_deleted="true")
    with refused("expression-not-steady"):
        table.derive(token="uuid()")


def test_the_key_is_checked_where_it_is_declared() -> None:
    bank = Pipeline("bank")
    with refused("column-unknown"):
        bank.table(SOURCE, key="id")
    with refused("key-type-unsupported"):
        bank.table(SOURCE, key="share")
    with refused("event-field-optional"):
        bank.table(SOURCE, key="note")
    with refused("table-needs-key"):
        bank.table(cdc.postgres("bank", "public.users", Keyless))
    with refused("table-needs-key"):
        bank.table(kafka("users", Keyless))
    with refused("table-needs-key"):
        bank.table(kafka("users", User), key=("user_id", "city"))
    with refused("name-refused"):
        bank.table(SOURCE, name="My users")
    with refused("duration-negative"):
        bank.table(SOURCE, remember_deleted=timedelta(-1))


def test_rows_without_a_class_are_refused() -> None:
    undeclared = cdc.postgres("bank", "public.users")
    with refused("rows-undeclared"):
        Pipeline("bank").table(undeclared)
    with refused("rows-undeclared"):
        Pipeline("bank").changes(undeclared)


def test_a_table_is_written_by_its_key() -> None:
    bank = Pipeline("bank")
    table = bank.table(SOURCE)
    bank.write("users", table, sinks.kafka("users"))
    bank.write("ids", table.rename(user_id="id"), sinks.kafka("ids"))

    assert [output.key for output in bank.outputs] == ["user_id", "id"]


def test_a_table_is_not_written_by_another_column() -> None:
    bank = Pipeline("bank")
    table = bank.table(SOURCE)
    with refused("table-key-differs"):
        bank.write("users", table, sinks.kafka("users", key="city"))
    with refused("table-key-differs"):
        bank.write("users", table.select("city"), sinks.kafka("users"))
    with refused("table-key-differs"):
        bank.write("users", table, sinks.kafka("users", key="town"))


def test_a_table_of_several_key_columns_is_written_by_all_of_them() -> None:
    bank = Pipeline("bank")
    pair = bank.table(SOURCE, key=("user_id", "city"))
    bank.write("users", pair.rename(city="town"), sinks.kafka("users"))
    with refused("table-key-differs"):
        bank.write("towns", pair.select("city"), sinks.redis("towns"))

    (output,) = bank.outputs
    assert (output.key, output.keys) == (None, ("user_id", "town"))


def test_a_part_of_a_key_does_not_tell_rows_apart() -> None:
    pair = Pipeline("bank").table(SOURCE, key=("user_id", "city"))
    moved = pair.rename(user_id="id").derive(half="string(id)", note="string(city)")

    def write(key: str) -> None:
        named = moved.derive(whole="to_json(struct(half, note))")
        Pipeline("bank").write("users", named, sinks.redis("users", key=key))

    write("whole")
    for part in ("id", "half", "note"):
        with refused("table-key-differs"):
            write(part)


@dataclass(frozen=True)
class Lines:
    """A sink that can only add."""

    key: str | None = None
    system: ClassVar[str] = "lines"
    target: ClassVar[str] = "lines"
    guarantees: ClassVar[tuple[str, ...]] = ("at-least-once",)
    same_key: ClassVar[str] = "append"
    deletes: ClassVar[str] = "refuse"
    atomic: ClassVar[bool] = False
    takes: ClassVar[str] = "documents"
    artifacts: ClassVar[tuple[str, ...]] = ()


def test_a_sink_that_can_only_add_takes_no_table() -> None:
    bank = Pipeline("bank")
    table = bank.table(SOURCE)
    lines: Any = Lines()
    with refused("sink-not-keyed"):
        bank.write("users", table, lines)

    bank.write("users", table.changes(), lines)


def test_two_tables_do_not_share_a_topic() -> None:
    bank = Pipeline("bank")
    table = bank.table(SOURCE)
    bank.write("rome", table.where("city = 'Rome'"), sinks.kafka("users"))
    with refused("topic-shared"):
        bank.write("oslo", table.where("city = 'Oslo'"), sinks.kafka("users"))


def test_two_tables_of_one_topic_need_two_names() -> None:
    bank = Pipeline("bank")
    bank.write("users", bank.table(SOURCE), sinks.kafka("users"))
    with refused("step-name-taken"):
        bank.write("again", bank.table(SOURCE), sinks.kafka("again"))


def test_a_table_is_told_without_running() -> None:
    bank = Pipeline("bank")
    bank.write("users", bank.table(SOURCE), sinks.kafka("users"))

    read, table, rows = bank.explain()["steps"]

    assert (read["verb"], read["topic"]) == ("changes", "bank.public.users")
    assert (table["verb"], table["engine"]) == ("table", "operator")
    assert table["state"].startswith("the row of each user_id")
    assert list(rows["columns"]) == users().columns
