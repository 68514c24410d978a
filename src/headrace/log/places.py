"""Places in a log: its beginning, its end, an offset, or a moment in time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from confluent_kafka.admin import AdminClient

from headrace.errors import LogError
from headrace.log.offsets import Bounds, offsets_at

EPOCH = datetime.fromtimestamp(0, UTC)

_LARGEST_OFFSET = 2**63 - 1


@dataclass(frozen=True)
class Place:
    """Where to read from: `kind` is earliest, latest, offset or time.

    `number` is the offset, or the time in milliseconds since 1970.
    """

    kind: str
    number: int = 0


EARLIEST = Place("earliest")
LATEST = Place("latest")


def parse_place(text: str) -> Place:
    """Read a place as a user writes it.

    A time names its zone, so that it means the same on every machine; events that
    have exactly this time are behind the place.

    Raises:
        LogError: [place-unreadable] it is none of the four forms.

    Example:
        >>> parse_place("offset:42")
        Place(kind='offset', number=42)
        >>> parse_place("time:1970-01-01T00:00:01.5Z").number
        1500
    """
    kind, colon, rest = text.partition(":")
    if text in {"earliest", "latest"}:
        return Place(text)
    if kind == "offset" and colon:
        return Place(kind, _offset(rest, text))
    if kind == "time" and colon:
        return Place(kind, _milliseconds(rest, text))
    raise _unreadable(text, "it begins with none of earliest, latest, offset:, time:.")


def _offset(digits: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", digits) or int(digits) > _LARGEST_OFFSET:
        raise _unreadable(text, f'"{digits}" is not an offset: a whole number from 0.')
    return int(digits)


def _milliseconds(written: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(written)
    except ValueError as error:
        detail = f'"{written}" is not a time of day with its date, in ISO 8601.'
        raise _unreadable(text, detail) from error
    if moment.tzinfo is None:
        raise _unreadable(text, "the time has no zone; Z at its end stands for UTC.")
    # Rounded up: the log counts milliseconds, and none before the moment may pass.
    milliseconds = -((EPOCH - moment) // timedelta(milliseconds=1))
    if milliseconds < 0:
        raise _unreadable(text, "the log has no times before 1970.")
    return milliseconds


def _unreadable(text: str, detail: str) -> LogError:
    return LogError(
        "place-unreadable",
        f'"{text}" is not a place in a log',
        detail=detail,
        hint="write earliest, latest, offset:42 or time:2026-11-15T10:00:00Z.",
    )


def find_place(
    admin: AdminClient, topic: str, place: Place, bounds: Bounds
) -> dict[int, int]:
    """Give the offset of a place in each partition.

    An offset is given as it is, even where the partition does not have it; a time
    after the last event is at the end.

    Args:
        admin: A client of the cluster.
        topic: The topic.
        place: The place to find.
        bounds: Where each partition that counts begins and ends.

    Raises:
        LogError: [offsets-unknown] the cluster does not say.
    """
    if place.kind == "earliest":
        return dict(bounds.begin)
    if place.kind == "latest":
        return dict(bounds.end)
    if place.kind == "offset":
        return dict.fromkeys(bounds.end, place.number)
    found = offsets_at(admin, topic, bounds.end, place.number)
    return {p: found.get(p, end) for p, end in bounds.end.items()}


def require_inside(offsets: Mapping[int, int], bounds: Bounds, topic: str) -> None:
    """Refuse offsets that a partition does not have.

    Raises:
        LogError: [place-outside] a partition begins later or ends earlier.
    """
    for partition, offset in sorted(offsets.items()):
        begin, end = bounds.begin[partition], bounds.end[partition]
        if begin <= offset <= end:
            continue
        raise LogError(
            "place-outside",
            f'offset {offset} is not in partition {partition} of topic "{topic}"',
            detail=f"the partition has offsets {begin} to {end}, its end.",
            hint="choose another place, or with --partition the partitions that have "
            "it.",
        )
