"""What a connector is to read stands in its position, and its silence is noticed."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from headrace.cdc.connect import ConnectCluster
from headrace.cdc.place import Capture
from headrace.cdc.reading import Reading, Silence, asking_for
from headrace.cdc.snapshots import Progress, TableScan, progress_of
from headrace.errors import CaptureError

TABLES = "incremental_snapshot_collections"
PLACE = {"lsn": 26_000_000_000, "txId": 755, "messageType": "MESSAGE"}


def waiting(offset: dict[str, object]) -> list[str]:
    """Give the tables that a position says are to be read, in their order."""
    return [entry[f"{TABLES}_id"] for entry in json.loads(str(offset[TABLES]))]


def test_the_place_itself_stays_as_it_is() -> None:
    asked = asking_for(PLACE, ["public.cards", "public.users"])

    assert waiting(asked) == ["public.cards", "public.users"]
    assert {name: asked[name] for name in PLACE} == PLACE


def test_a_table_that_is_being_read_goes_on_and_others_follow_it() -> None:
    begun = {**asking_for(PLACE, ["public.cards"])}
    begun["incremental_snapshot_primary_key"] = "aced0005"
    asked = asking_for(begun, ["public.users", "public.cards"])

    assert waiting(asked) == ["public.cards", "public.users"]
    assert asked | {TABLES: ""} == begun | {TABLES: ""}


def test_a_place_without_a_transaction_is_given_one_below_all_others() -> None:
    place = {"lsn": 7, "messageType": "MESSAGE"}

    assert asking_for(place, ["public.cards"])["txId"] == 0


def scanned(status: str) -> dict[str, object]:
    about = {"scanned_collection": "public.cards", "status": status}
    return {
        "aggregate_type": "Incremental Snapshot",
        "type": "TABLE_SCAN_COMPLETED",
        "additional_data": about | {"total_rows_scanned": "0"},
    }


def test_only_a_table_that_was_read_or_is_empty_is_held() -> None:
    ends = {s: progress_of([scanned(s)]) for s in ("SUCCEEDED", "EMPTY", "SKIPPED")}
    ends["SQL_EXCEPTION"] = progress_of(
        [scanned("SUCCEEDED"), scanned("SQL_EXCEPTION")]
    )

    assert {s for s, found in ends.items() if found.holds(["public.cards"])} == {
        "SUCCEEDED",
        "EMPTY",
    }
    assert ends["SKIPPED"].tables["public.cards"].is_given_up
    assert ends["SQL_EXCEPTION"].tables["public.cards"].is_given_up


def test_silence_lasts_only_where_nothing_is_heard_and_nothing_excuses_it() -> None:
    now = 0.0
    silence = Silence(lambda: now)
    seen = []
    for at, heard, excused in [
        (100, 0, False),
        (130, 0, False),
        (140, 1, False),
        (250, 1, False),
        (255, 1, True),
        (370, 1, False),
        (380, 1, False),
    ]:
        now = at
        seen.append(silence.lasts(heard, excused))

    assert seen == [False, True, False, False, False, False, True]


class Asked(Reading):
    """A reading of the cards that counts how often it asks."""

    def __init__(self) -> None:
        self.times = 0
        self.told: list[str] = []
        capture = Capture("bank", "postgresql:///bank", "http://nowhere:1", {})
        cluster = ConnectCluster(capture.connect)
        super().__init__(cluster, capture, ["public.cards"], self.told.append)

    def ask(self, config: Mapping[str, str] | None = None) -> None:
        self.times += 1


@pytest.mark.parametrize(
    ("found", "problems", "slug"),
    [
        (Progress(), [CaptureError("capture-failed", "it has")], "capture-failed"),
        (
            Progress(tables={"public.cards": TableScan("sql_exception", 0)}),
            [],
            "capture-table-unread",
        ),
    ],
)
def test_a_reading_is_begun_again_five_times_and_then_said_to_fail(
    found: Progress, problems: list[CaptureError], slug: str
) -> None:
    reading = Asked()
    for _ in range(5):
        reading.judge(found, problems)

    with pytest.raises(CaptureError, match=slug):
        reading.judge(found, problems)
    assert reading.times == 5
    assert reading.told[-1].endswith("; starting it again (5 of 5)")


def test_a_reading_that_goes_on_is_left_alone() -> None:
    reading = Asked()
    reading.judge(Progress(tables={"public.cards": TableScan("running")}, heard=3), [])

    assert reading.times == 0
