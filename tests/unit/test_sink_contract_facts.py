"""The contract of sinks is kept by a sink that works, and broken by each defect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import pytest

from headrace.sinks import Servers, kafka
from headrace.testing import SinkContract, SinkRow

FACTS = [name for name in vars(SinkContract) if name.startswith("test_")]


class Memory:
    """A sink in this process: a list of rows, and the last batch that is in it."""

    guarantees: ClassVar[tuple[str, ...]] = ("exactly-once",)
    same_key: ClassVar[str] = "append"
    deletes: ClassVar[str] = "refuse"
    atomic: ClassVar[bool] = True
    key = None
    system: ClassVar[str] = "memory"
    takes: ClassVar[str] = "rows"
    artifacts: ClassVar[tuple[str, ...]] = ()
    target = "a list"
    where = "a test"

    def __init__(self) -> None:
        self.held: list[SinkRow] = []
        self.last = -1

    def deliver(self, batch: int, rows: Sequence[SinkRow]) -> None:
        if batch > self.last:
            self.held += rows
            self.last = batch

    def settings(self, servers: Servers | None) -> dict[str, str]:
        return {}

    def fail(self, batch: int, rows: Sequence[SinkRow]) -> None:
        pass

    def seen(self) -> list[SinkRow]:
        return self.held


class MemoryContract(SinkContract):
    kind: ClassVar[type[Memory]] = Memory

    @pytest.fixture(autouse=True)
    def empty(self) -> None:
        self._sink = self.kind()

    @property
    def sink(self) -> Memory:
        return self._sink

    def write(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self.sink.deliver(batch, rows)

    def fail_before_commit(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self.sink.fail(batch, rows)

    def rows(self) -> list[SinkRow]:
        return self.sink.seen()


class TestAppending(MemoryContract):
    pass


class Latest(Memory):
    """Keeps one row for each key; half a batch can be seen in it."""

    same_key = "replace"
    atomic = False

    def fail(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self.held += rows[: len(rows) // 2]

    def seen(self) -> list[SinkRow]:
        return list({row.key: row for row in self.held}.values())


class TestReplacing(MemoryContract):
    kind = Latest


class Forgetful(Memory):
    def deliver(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self.held += rows


class ForgetfulOfAllButTheLast(Memory):
    def deliver(self, batch: int, rows: Sequence[SinkRow]) -> None:
        if batch != self.last:
            self.held += rows
            self.last = batch


class Unsorted(Memory):
    def deliver(self, batch: int, rows: Sequence[SinkRow]) -> None:
        super().deliver(batch, rows[::-1])


class LeavesHalves(Memory):
    def fail(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self.held += rows[:1]


class CountsFailures(Memory):
    def fail(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self.last = batch


class WithoutEmptyBatches(Memory):
    def deliver(self, batch: int, rows: Sequence[SinkRow]) -> None:
        if batch != self.last + 1 and batch > self.last:
            raise AssertionError("a gap")
        if rows:
            super().deliver(batch, rows)


def changing(text: Callable[[str | None], str | None]) -> type[Memory]:
    class Changing(Memory):
        def seen(self) -> list[SinkRow]:
            return [SinkRow(r.key, r.number, text(r.text)) for r in self.held]

    return Changing


class Silent(Memory):
    deletes = None  # type: ignore[assignment]


class WeakestFirst(Memory):
    guarantees = ("at-least-once", "exactly-once")


DEFECTS = [
    (Forgetful, "a_batch_that_is_delivered_twice_ends_the_same"),
    (ForgetfulOfAllButTheLast, "a_batch_below_the_ledgers_is_not_written_again"),
    (Unsorted, "the_rows_of_a_key_keep_their_order"),
    (LeavesHalves, "a_batch_that_fails_half_way_can_be_delivered_again"),
    (LeavesHalves, "the_first_batch_may_fail_half_way"),
    (CountsFailures, "a_batch_that_fails_half_way_can_be_delivered_again"),
    (WithoutEmptyBatches, "an_empty_batch_changes_nothing"),
    (changing(lambda text: text or None), "every_text_survives"),
    (changing(lambda text: text or ""), "every_text_survives"),
    (changing(lambda text: text and text.strip()), "every_text_survives"),
    (changing(lambda text: text and text[:65_535]), "a_text_of_a_megabyte_survives"),
    (changing(lambda _: "other"), "what_is_written_can_be_read"),
    (Silent, "the_sink_says_what_it_promises"),
    (WeakestFirst, "the_sink_says_what_it_promises"),
]


@pytest.mark.parametrize(("defect", "fact"), DEFECTS)
def test_a_defect_breaks_the_fact_that_forbids_it(
    defect: type[Memory], fact: str
) -> None:
    contract = MemoryContract()
    contract._sink = defect()

    with pytest.raises(AssertionError):
        getattr(contract, f"test_{fact}")()


def test_every_fact_is_broken_by_some_defect() -> None:
    assert {f"test_{fact}" for _, fact in DEFECTS} == set(FACTS)


def test_a_broken_fact_shows_keys_and_not_a_megabyte() -> None:
    contract = MemoryContract()
    contract._sink = changing(lambda text: text and text[:65_535])()

    with pytest.raises(AssertionError) as caught:
        contract.test_a_text_of_a_megabyte_survives()

    assert "the sink holds other rows\nk: [0:'before', 1:'000000000" in str(
        caught.value
    )
    assert len(str(caught.value)) < 1000


def test_kafka_says_what_it_promises() -> None:
    sink = kafka("out")

    assert sink.guarantees[0] == "exactly-once"
    assert (sink.same_key, sink.deletes, sink.atomic) == ("append", "tombstone", True)
