"""Places in a log: read strictly, found in the bounds of a topic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import cast

import pytest
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import LogError
from headrace.log import EARLIEST, LATEST, Bounds, Place, parse_place
from headrace.log.places import find_place, require_inside

BOUNDS = Bounds(begin={0: 5, 1: 0}, end={0: 40, 1: 20})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("earliest", EARLIEST),
        ("latest", LATEST),
        ("offset:0", Place("offset", 0)),
        ("offset:9223372036854775807", Place("offset", 2**63 - 1)),
        ("time:1970-01-01T00:00:00Z", Place("time", 0)),
        ("time:1970-01-01T01:00:00.25+01:00", Place("time", 250)),
        ("time:2026-11-15T10:00:00-05:00", Place("time", 1794754800000)),
    ],
)
def test_a_place_is_read_in_each_of_its_forms(text: str, place: Place) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize(
    "text",
    [
        "",
        "begin",
        "Earliest",
        "earliest:",
        " latest",
        "42",
        "offset",
        "offset:",
        "offset:-1",
        "offset:+1",
        "offset: 1",
        "offset:1_000",
        "offset:1.0",
        "offset:٣",
        "offset:9223372036854775808",
        "offset:" + "9" * 5000,
        "time:",
        "time:now",
        "time:2026",
        "time:2026-11-15",
        "time:2026-11-15T10:00:00",
        "time:2026-13-15T10:00:00Z",
        "time:1794733200000",
        "time:1969-12-31T23:59:59.999Z",
    ],
)
def test_a_place_in_any_other_form_is_refused_with_the_forms_there_are(
    text: str,
) -> None:
    with pytest.raises(LogError) as caught:
        parse_place(text)

    assert caught.value.slug == "place-unreadable"
    assert text in caught.value.fact
    assert "time:2026-11-15T10:00:00Z" in str(caught.value.hint)


def test_a_time_without_a_zone_is_told_how_to_name_one() -> None:
    with pytest.raises(LogError) as caught:
        parse_place("time:2026-11-15T10:00:00")

    assert "no zone; Z at its end stands for UTC" in str(caught.value.detail)


@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)), st.integers(-23, 23))
def test_no_event_before_the_moment_is_behind_the_place(
    written: datetime, hours: int
) -> None:
    moment = written.replace(tzinfo=timezone(timedelta(hours=hours)))
    place = parse_place(f"time:{moment.isoformat()}")

    first = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=place.number)
    assert timedelta(0) <= first - moment < timedelta(milliseconds=1)


def test_the_beginning_and_the_end_are_each_partitions_own() -> None:
    # Neither the beginning nor the end nor an offset takes a request.
    admin = cast("AdminClient", None)
    assert find_place(admin, "t", EARLIEST, BOUNDS) == {0: 5, 1: 0}
    assert find_place(admin, "t", LATEST, BOUNDS) == {0: 40, 1: 20}
    assert find_place(admin, "t", Place("offset", 30), BOUNDS) == {0: 30, 1: 30}


def test_an_offset_inside_every_partition_is_accepted() -> None:
    require_inside({0: 5, 1: 0}, BOUNDS, "t")
    require_inside({0: 40, 1: 20}, BOUNDS, "t")


@pytest.mark.parametrize("offsets", [{0: 4, 1: 4}, {0: 30, 1: 30}])
def test_an_offset_outside_a_partition_is_refused_and_the_partition_named(
    offsets: dict[int, int],
) -> None:
    with pytest.raises(LogError) as caught:
        require_inside(offsets, BOUNDS, "t")

    assert caught.value.slug == "place-outside"
    assert f"partition {0 if offsets[0] == 4 else 1}" in caught.value.fact
    assert "--partition" in str(caught.value.hint)


def test_the_events_of_a_topic_are_counted_from_begin_to_end() -> None:
    assert BOUNDS.events == 55
