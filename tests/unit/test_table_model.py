"""The model of tables against databases whose rows are known."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from support.cases.table_cases import (
    KEYS,
    Database,
    batched,
    lived,
    partitioned,
    regrown,
    seeded,
)
from support.models.table_model import Change, Net, Place, Table, ValueNotSentError

HISTORIES = 400


def change(
    amount: int | None, lsn: int = 0, *, at: int = 0, offset: int = 0, commit: int = 0
) -> Change:
    """Give a change of row ``a``; without an amount, its deletion."""
    row = None if amount is None else {"id": "a", "amount": amount, "note": None}
    return Change("a", row, at, 0, offset, Place(commit, lsn))


def ended(database: Database, chance: random.Random) -> Table:
    """Give the table that the changes of a database lead to."""
    table = Table()
    changes = partitioned(database.log, chance.randint(1, 3))
    for batch in batched(changes, chance, chance.randint(1, 8)):
        table.batch(batch)
    return table


@pytest.mark.parametrize("block", range(5))
def test_a_table_ends_as_its_database_does(block: int) -> None:
    for seed in range(block * HISTORIES, (block + 1) * HISTORIES):
        chance = seeded(seed)
        full = chance.random() < 0.2
        database = lived(chance, chance.randrange(5, 60), is_full=full)

        assert ended(database, chance).rows == database.rows, f"seed {seed}"


def test_a_table_that_went_by_the_largest_lsn_would_differ() -> None:
    differ = 0
    for seed in range(HISTORIES):
        chance = seeded(seed)
        database = lived(chance, 40, is_full=True)
        last: dict[str, tuple[int, dict[str, object] | None]] = {}
        for told in database.log:
            lsn = told.place.lsn if told.place else 0
            if lsn >= last.get(told.key, (-1, None))[0]:
                last[told.key] = (lsn, told.row)
        rows = {key: row for key, (_, row) in last.items() if row is not None}
        differ += rows != database.rows

    assert differ > HISTORIES // 10


def test_changes_of_a_grown_topic_end_right_where_places_tell_their_order() -> None:
    for seed in range(HISTORIES):
        chance = seeded(seed)
        database = Database(chance, is_full=True)
        for _ in range(30):
            chance.choice([database.write, database.write, database.end])()
        while database.open:
            database.end()
        changes = regrown(database.log, chance.randint(0, len(database.log)))
        table = Table()
        for batch in batched(changes, chance, 5):
            table.batch(batch)

        # Where the clock went back, a place below and a time above are taken for a
        # database that was put back.
        times = [told.at for told in database.log]
        if times == sorted(times):
            assert table.rows == database.rows, f"seed {seed}"


def test_the_histories_hold_what_they_are_for() -> None:
    logs = [lived(seeded(seed), 40).log for seed in range(50)]
    told = [entry for log in logs for entry in log]

    assert any(t.unsent for t in told)
    assert any(t.row is None and t.place is None for t in told)
    assert any(
        later.place and row.place and later.place.lsn < row.place.lsn
        for log in logs
        for row, later in pairwise(log)
        if row.is_snapshot and row.key == later.key and not later.is_snapshot
    )
    assert {t.key for t in told} == set(KEYS)


def test_the_changes_of_a_batch_are_one_net_change() -> None:
    table = Table()
    table.batch([change(1, 1)])

    net = table.batch([change(2, 2, at=5, offset=1), change(3, 3, at=6, offset=2)])

    assert net["a"].before == change(1).row
    assert net["a"].after == change(3).row
    assert (net["a"].position, net["a"].at) == (3, 6)


def test_a_row_that_comes_and_goes_in_a_batch_was_never_there() -> None:
    assert Table().batch([change(1, 1), change(None, 2, offset=1)]) == {}


def test_a_repeated_change_does_not_bring_a_deleted_row_back() -> None:
    table = Table()
    table.batch([change(1, 1), change(None, 2, offset=1)])

    assert table.batch([change(1, 1, offset=2)]) == {}
    assert table.outdated == 1


def test_a_deletion_is_forgotten_when_the_watermark_is_beyond_it() -> None:
    table = Table(remembered=10_000)
    table.batch([change(None, 2, at=5_000)])
    table.batch([], watermark=15)
    assert "a" in table.kept

    table.batch([], watermark=16)
    assert "a" not in table.kept


def test_what_is_not_sent_is_taken_from_the_row_before() -> None:
    table = Table()
    first = change(1, 1)
    assert first.row is not None
    table.batch([replace(first, row=first.row | {"note": "long"})])
    update = replace(change(2, 2, offset=1), unsent=frozenset({"note"}))

    assert table.batch([update])["a"] == Net(
        {"id": "a", "amount": 1, "note": "long"},
        {"id": "a", "amount": 2, "note": "long"},
        2,
        0,
    )


def test_what_is_not_sent_and_not_known_is_an_error() -> None:
    with pytest.raises(ValueNotSentError):
        Table().batch([replace(change(1, 1), unsent=frozenset({"note"}))])
