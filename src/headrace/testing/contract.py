"""The contract of sinks: facts that hold for every sink, whatever it writes to.

A sink's tests subclass `SinkContract`, deliver batches through the sink's own code,
and read back what a reader sees. The facts are methods that pytest finds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from headrace.sinks.promises import DELETES, GUARANTEES, SAME_KEY, Sink

_LONG = 1_000_000

_TEXTS = {
    "null": None,
    "empty": "",
    "blank": " \t\r\n",
    "quoted": '"quoted" \'twice\' \\ {"a": [1]} %s ;--',
    "latin": "Grüße aus Köln",
    "far": "汉字 עברית हिन्दी",
    "beyond sixteen bits": "🦆👩🏽‍🔬",
    "schlüssel-🔑": "the key is not ASCII",
}


@dataclass(frozen=True)
class SinkRow:
    """A row that the contract has written: a key, a number and a text or nothing."""

    key: str
    number: int
    text: str | None = None


class SinkContract(ABC):
    """The facts that a sink must prove; pytest runs them in each subclass.

    Every fact begins with an empty sink and an empty ledger, so a subclass makes
    both anew for each test, in a fixture. Batches are numbered from 0. A number that
    comes again comes with the same rows.

    Example:
        ``class TestFiles(SinkContract): ...`` in a test module, with `sink`, `write`,
        `fail_before_commit` and `rows`.
    """

    @property
    @abstractmethod
    def sink(self) -> Sink:
        """The sink under test, as a pipeline declares it, keyed by ``key``."""

    @abstractmethod
    def write(self, batch: int, rows: Sequence[SinkRow]) -> None:
        """Deliver a batch through the sink's real delivery code.

        Args:
            batch: Its number; a number that was delivered before is a repetition.
            rows: Its rows, in order.
        """

    @abstractmethod
    def fail_before_commit(self, batch: int, rows: Sequence[SinkRow]) -> None:
        """Begin to deliver a batch, fail after rows were sent, and return.

        The failure is a real one: what was sent has reached the sink's server or
        disk, and the batch was not completed. Nothing is cleaned up afterwards that
        would not be after a crash.
        """

    @abstractmethod
    def rows(self) -> Sequence[SinkRow]:
        """Give what a reader of the sink sees now, the rows of each key in order."""

    def test_the_sink_says_what_it_promises(self) -> None:
        """A pipeline is planned by what its sinks say of themselves."""
        sink = self.sink
        said: dict[str, Any] = {
            name: getattr(sink, name, None)
            for name in ("guarantees", "same_key", "deletes", "atomic")
        }
        guarantees = said["guarantees"] or ()
        ranked = [word for word in GUARANTEES if word in guarantees]
        _require(bool(ranked) and list(guarantees) == ranked, f"guarantees: {said}")
        _require(said["same_key"] in SAME_KEY, f"same_key: {said}")
        _require(said["deletes"] in DELETES, f"deletes: {said}")
        _require(isinstance(said["atomic"], bool), f"atomic: {said}")
        _require(sink.key in (None, "key"), f"the sink is keyed by {sink.key}")

    def test_what_is_written_can_be_read(self) -> None:
        """Rows arrive, in each batch."""
        first, second = _rows(0, 10), _rows(10, 10)
        self.write(0, first)
        self._require_rows(first)
        self.write(1, second)
        self._require_rows(first, second)

    def test_a_batch_that_is_delivered_twice_ends_the_same(self) -> None:
        """A driver that dies before it has noted a batch delivers it again."""
        batches = [_rows(0, 10), _rows(10, 10)]
        for number, batch in enumerate(batches):
            self.write(number, batch)
            self.write(number, batch)
            self._require_rows(*batches[: number + 1])

    def test_a_batch_below_the_ledgers_is_not_written_again(self) -> None:
        """An older copy of the checkpoint repeats batches that later ones followed."""
        batches = [_rows(0, 6), _rows(6, 6), _rows(12, 6)]
        for number, batch in enumerate(batches):
            self.write(number, batch)
        self.write(0, batches[0])
        self._require_rows(*batches)
        self.write(1, batches[1])
        self._require_rows(*batches)

        last = _rows(18, 6)
        self.write(3, last)
        self._require_rows(*batches, last)

    def test_an_empty_batch_changes_nothing(self) -> None:
        """A batch whose events were all filtered out is a batch."""
        rows = _rows(0, 5)
        self.write(0, [])
        self._require_rows([])
        self.write(1, rows)
        self.write(2, [])
        self.write(2, [])
        self._require_rows(rows)

    def test_the_rows_of_a_key_keep_their_order(self) -> None:
        """Over the batches and within each of them."""
        batches = [_rows(start, 200, keys=7) for start in (0, 200)]
        for number, batch in enumerate(batches):
            self.write(number, batch)
        self._require_rows(*batches)

    def test_a_batch_that_fails_half_way_can_be_delivered_again(self) -> None:
        """Where the sink is atomic, nothing of it can be seen until then."""
        before, failing = _rows(0, 10), _rows(10, 40)
        self.write(0, before)

        self.fail_before_commit(1, failing)
        self._require_unfinished([before], failing)
        self.write(1, failing)

        self._require_rows(before, failing)
        last = _rows(50, 5)
        self.write(2, last)
        self._require_rows(before, failing, last)

    def test_the_first_batch_may_fail_half_way(self) -> None:
        """Before there is anything in the ledger, too."""
        failing = _rows(0, 40)

        self.fail_before_commit(0, failing)
        self._require_unfinished([], failing)
        self.write(0, failing)

        self._require_rows(failing)

    def test_every_text_survives(self) -> None:
        """Nothing, empty, blank, quoted and in any script."""
        texts = enumerate(_TEXTS.items())
        rows = [SinkRow(key, number, text) for number, (key, text) in texts]
        self.write(0, rows)
        self._require_rows(rows)

    def test_a_text_of_a_megabyte_survives(self) -> None:
        """As it is, between two short ones of its key."""
        long = "".join(f"{number:09} " for number in range(_LONG // 10))
        texts = ["before", long, "after"]
        rows = [SinkRow("k", number, text) for number, text in enumerate(texts)]
        self.write(0, rows)
        self._require_rows(rows)

    def _require_rows(self, *batches: Sequence[SinkRow]) -> None:
        """Compare what a reader sees with what these batches leave, key by key."""
        wanted = self._left_by(chain.from_iterable(batches))
        found = _by_key(self.rows())
        faults = [
            f"{key}: {_told(found[key])} instead of {_told(wanted[key])}"
            for key in sorted(wanted.keys() | found.keys())
            if found[key] != wanted[key]
        ]
        _require(not faults, "\n".join(["the sink holds other rows", *faults]))

    def _require_unfinished(
        self, before: Sequence[Sequence[SinkRow]], failing: Sequence[SinkRow]
    ) -> None:
        """Look at the sink after a failure: nothing new, or nothing foreign."""
        if self.sink.atomic:
            self._require_rows(*before)
            return
        known = {*chain.from_iterable(before), *failing}
        strange = [row for row in self.rows() if row not in known]
        _require(not strange, f"nobody has sent {_told(strange)}")

    def _left_by(self, rows: Iterable[SinkRow]) -> dict[str, list[SinkRow]]:
        """Give what a sink that does as it says holds after these rows."""
        by_key = _by_key(rows)
        if self.sink.same_key == "replace":
            for of_key in by_key.values():
                del of_key[:-1]
        return by_key


def _rows(start: int, count: int, *, keys: int = 3) -> list[SinkRow]:
    numbers = range(start, start + count)
    return [SinkRow(f"key-{n % keys}", n, f"text {n}") for n in numbers]


def _by_key(rows: Iterable[SinkRow]) -> dict[str, list[SinkRow]]:
    by_key: dict[str, list[SinkRow]] = defaultdict(list)
    for row in rows:
        by_key[row.key].append(row)
    return by_key


def _told(rows: Sequence[SinkRow]) -> str:
    """Show rows in a line, without the middle of long texts and long lists."""
    shown = [f"{row.number}:{_short(repr(row.text))}" for row in rows]
    return "[" + _short(", ".join(shown), 400) + "]"


def _short(text: str, most: int = 60) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}…{len(text) - 2 * half} more…{text[-half:]}"


def _require(fact: bool, otherwise: str) -> None:
    """Fail as an assertion does, with a text: pytest rewrites only tests' asserts."""
    if not fact:
        raise AssertionError(otherwise)
