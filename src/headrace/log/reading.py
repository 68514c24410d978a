"""Reading a log without a group: nobody else is disturbed, nothing is committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import cast

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from headrace.errors import LogError
from headrace.log.cluster import client_settings
from headrace.log.offsets import bounds_of, end_offsets
from headrace.log.places import EARLIEST, Place, find_place
from headrace.log.topics import require_partitions

_BATCH = 500
_WAIT_SECONDS = 0.2
_SILENCE_SECONDS = 30.0
_MEMORY_KILOBYTES = 16 * 1024
_TOPIC_IS_GONE = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
}


@dataclass(frozen=True)
class StoredEvent:
    """An event as it lies in the log, in bytes; `time` is milliseconds since 1970."""

    topic: str
    partition: int
    offset: int
    time: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Span:
    """Which events to read: from where, of which partitions, and until when.

    Args:
        place: Where to begin.
        partitions: The partitions to read; by default all.
        follow: Go on with events that are written later; otherwise end where the
            log ended when the reading began.
        uncommitted: Give events of open and aborted transactions too.
    """

    place: Place = EARLIEST
    partitions: tuple[int, ...] = ()
    follow: bool = False
    uncommitted: bool = False


WHOLE = Span()


class Reading:
    """One pass over a topic, in batches; a batch can be empty while it waits.

    Args:
        admin: A client of the cluster.
        bootstrap: The cluster's address.
        topic: The topic to read.
        span: Which events.
        tell: Is told what a reader should know: events that are gone, or withheld.

    Raises:
        LogError: [topic-missing], [partition-missing] there is no such topic or
            partition; [offsets-unknown] the cluster does not say where it ends.

    Example:
        ``for batch in Reading(admin, bootstrap, "payments"): print(len(batch))``
    """

    def __init__(
        self,
        admin: AdminClient,
        bootstrap: str,
        topic: str,
        span: Span = WHOLE,
        tell: Callable[[str], None] = lambda _news: None,
    ) -> None:
        numbers = require_partitions(admin, topic, span.partitions)
        bounds = bounds_of(admin, {topic: numbers})[topic]
        ends: Mapping[int, int] = bounds.end
        if not span.uncommitted:
            ends = end_offsets(admin, topic, numbers, committed_only=True)
        self._topic, self._span, self._tell = topic, span, tell
        self._bootstrap, self._waits = bootstrap, False
        # Events below this are not given, even where the partition is shorter.
        self._first = find_place(admin, topic, span.place, bounds)
        self._ends = ends
        self._begin = {
            p: min(max(first, bounds.begin[p]), bounds.end[p])
            for p, first in self._first.items()
        }
        self._tell_of_gaps(bounds.begin, bounds.end)

    def _tell_of_gaps(self, begin: Mapping[int, int], end: Mapping[int, int]) -> None:
        for p, first in self._first.items():
            if first < begin[p]:
                gone = f"offsets {first} to {begin[p] - 1} are gone"
                self._tell(f"partition {p}: {gone}; reading from {begin[p]}")
            if self._ends[p] < end[p] and not self._span.follow:
                held = f"offsets {self._ends[p]} to {end[p] - 1} are withheld"
                self._tell(f"partition {p}: {held} by a transaction that is open")

    def __iter__(self) -> Iterator[list[StoredEvent]]:
        """Give batch after batch.

        Raises:
            LogError: [events-gone] retention has overtaken the reading;
                [topic-missing] the topic was removed; [reading-failed];
                [broker-unreachable] the cluster is silent before the end is reached.
        """
        follow, ends = self._span.follow, self._ends
        unread = {p for p, at in self._begin.items() if follow or at < ends[p]}
        if not unread:
            return
        settings = _settings(self._bootstrap, self._span)
        consumer = Consumer({**settings, "error_cb": self._listen})
        try:
            places = [TopicPartition(self._topic, p, self._begin[p]) for p in unread]
            consumer.assign(places)
            heard_at = monotonic()
            while unread:
                messages = consumer.consume(_BATCH, _WAIT_SECONDS)
                silence = monotonic() - heard_at
                if not messages and silence > _SILENCE_SECONDS and not follow:
                    raise _silent(self._bootstrap)
                yield [_event(m) for m in messages if self._is_wanted(m, unread)]
                if messages:
                    # After the yield: who takes the events may take their time.
                    heard_at, self._waits = monotonic(), False
        finally:
            consumer.close()

    def _listen(self, error: KafkaError) -> None:
        # Said once: the client tries again every second.
        if error.code() == KafkaError._ALL_BROKERS_DOWN and not self._waits:
            self._waits = True
            self._tell("no broker answers; waiting")

    def _is_wanted(self, message: Message, unread: set[int]) -> bool:
        """Tell whether to give a message, and note a partition that is at its end.

        A transaction ends with a marker that is no event but has an offset, and
        compaction leaves holes, so the last event is not always at the end.
        """
        partition, offset = message.partition() or 0, message.offset() or 0
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise _failure(error, self._topic)
        wanted = error is None and offset >= self._first[partition]
        if self._span.follow:
            return wanted
        end = self._ends[partition]
        wanted = wanted and partition in unread and offset < end
        if offset + (error is None) >= end:
            unread.discard(partition)
        return wanted


def _settings(bootstrap: str, span: Span) -> dict[str, object]:
    return {
        **client_settings(bootstrap),
        # The client wants a name; nothing is ever committed under it.
        "group.id": "headrace-reading",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": "read_uncommitted" if span.uncommitted else "read_committed",
        # What waits in memory is bounded, however slowly it is taken.
        "queued.max.messages.kbytes": _MEMORY_KILOBYTES,
    }


def _event(message: Message) -> StoredEvent:
    kind, time = message.timestamp()
    # A list, though the type allows a dictionary: that is for writing.
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return StoredEvent(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        time=None if kind == TIMESTAMP_NOT_AVAILABLE else time,
        key=message.key(),
        value=message.value(),
        headers=tuple(headers),
    )


def _failure(error: KafkaError, topic: str) -> LogError:
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        return LogError(
            "events-gone",
            f'events of topic "{topic}" were removed while it was read',
            detail=error.str(),
            hint="read again with --from earliest; a longer retention.ms keeps them.",
        )
    if error.code() in _TOPIC_IS_GONE:
        return LogError(
            "topic-missing",
            f'topic "{topic}" was removed while it was read',
            detail=error.str(),
            hint="`headrace topics list` shows the topics that are there.",
        )
    return LogError(
        "reading-failed",
        f'topic "{topic}" cannot be read on',
        detail=error.str(),
        hint="`headrace status` shows whether the brokers are healthy.",
    )


def _silent(bootstrap: str) -> LogError:
    return LogError(
        "broker-unreachable",
        f"the brokers at {bootstrap} are silent, and the end is not reached",
        detail=f"nothing came for {_SILENCE_SECONDS:.0f} seconds.",
        hint="`headrace status` shows what runs; `headrace up kafka` starts one.",
    )
