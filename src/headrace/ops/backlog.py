"""The lag of a pipeline: what its topics hold that no batch has finished.

The progress of a batch does not tell it: a batch that takes all there is has nothing
before it when it begins, however long it then takes. So the brokers are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from headrace.errors import LogError
from headrace.log import GroupOffsets, bounds_of, require_partitions

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

EVERY = timedelta(seconds=5)
_END_SECONDS = 10

Places = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class Reader:
    """Who reads what.

    Args:
        bootstrap: The brokers' addresses.
        group: The consumer group to which the pipeline tells how far it has come.
        topics: The topics that it reads.
    """

    bootstrap: str
    group: str
    topics: Sequence[str]


class Backlog:
    """Asks for the lag in a thread of its own, as long as it is open.

    Args:
        admin: A client of the cluster.
        reader: Whose lag it is.
        tell: Is given the lag of each partition, by topic.
        warn: Is told, once, if the brokers do not say.
        every: How often to ask.
    """

    def __init__(
        self,
        admin: AdminClient,
        reader: Reader,
        tell: Callable[[Places], None],
        *,
        warn: Callable[[str], None],
        every: timedelta = EVERY,
    ) -> None:
        self._admin, self._reader = admin, reader
        self._tell, self._warn, self._every = tell, warn, every
        self._reached: dict[str, dict[int, int]] | None = None
        self._lock = Lock()
        self._enough = Event()
        self._thread = Thread(target=self._ask_on, name="backlog", daemon=True)

    def __enter__(self) -> Backlog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join(_END_SECONDS)

    def reach(self, places: Mapping[str, Mapping[str, int]]) -> None:
        """Note where the next batch begins, as a batch tells it."""
        reached = {
            topic: {int(partition): offset for partition, offset in offsets.items()}
            for topic, offsets in places.items()
        }
        with self._lock:
            self._reached = (self._reached or {}) | reached

    def ask(self) -> dict[str, dict[int, int]]:
        """Give the lag by topic and partition.

        Until the first batch has ended, what an earlier run told its consumer group
        counts; a partition that was never read has all of it before it.

        Raises:
            LogError: [offsets-unknown], [topic-missing] the cluster does not say.
        """
        topics = self._reader.topics
        partitions = {topic: require_partitions(self._admin, topic) for topic in topics}
        with self._lock:
            reached = self._reached
        if reached is None:
            with GroupOffsets(self._reader.bootstrap, self._reader.group) as group:
                reached = {t: group.committed(t, of) for t, of in partitions.items()}
        found = {}
        for topic, bounds in bounds_of(self._admin, partitions).items():
            at = reached.get(topic, {})
            found[topic] = {
                partition: max(0, end - at.get(partition, bounds.begin[partition]))
                for partition, end in bounds.end.items()
            }
        return found

    def _ask_on(self) -> None:
        is_silent = False
        while True:
            try:
                self._tell(self.ask())
                is_silent = False
            except LogError as error:
                if not is_silent:
                    self._warn(f"the lag is not known: {error.fact}")
                is_silent = True
            if self._enough.wait(self._every.total_seconds()):
                return
