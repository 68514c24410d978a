"""A window that cannot work is refused where it is declared; others are explained."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest

from headrace import (
    Pipeline,
    StepError,
    Stream,
    after,
    assigned,
    counted,
    digits,
    event,
    everything,
    hopping,
    hours,
    kafka,
    minutes,
    refire,
    seconds,
    sessions,
    sinks,
    sliding,
    tumbling,
    watermarks,
)
from headrace.plan.explain import explain_text
from headrace.plan.window_steps import LateEvents, Panes, Window
from headrace.schema.types import Record
from support.harness.refusals import refused


@event(key="card", time="made_at")
class Payment:
    card: str
    country: str
    amount: Annotated[Decimal, digits(12, 2)]
    share: float
    parts: list[int]
    made_at: datetime
    note: str | None = None


@event(key="sensor")
class Reading:
    sensor: str
    value: float


FIVE = tumbling(minutes(5))
SPREADABLE = (
    FIVE,
    hopping(hours(1), every=minutes(5)),
    assigned(start="made_at", end="made_at + interval 1 hour"),
)


@pytest.fixture
def shop() -> Pipeline:
    return Pipeline("shop")


@pytest.fixture
def payments(shop: Pipeline) -> Stream:
    return shop.read(kafka("payments", Payment), out_of_order=seconds(10))


@pytest.fixture
def readings(shop: Pipeline) -> Stream:
    return shop.read(kafka("readings", Reading))


def window(stream: Stream) -> Window:
    assert isinstance(stream.step, Panes)
    return stream.step.input


def test_a_pane_has_key_bounds_aggregates_and_its_place(payments: Stream) -> None:
    told = payments.window(
        *("velocity", FIVE), by="card", spent="sum(amount)", n="count(*)"
    )

    assert [(f.name, f.type.sql, f.required) for f in told.step.columns] == [
        ("card", "string", True),
        ("window_start", "timestamp", True),
        ("window_end", "timestamp", True),
        ("spent", "decimal(22,2)", False),
        ("n", "bigint", True),
        ("pane", "string", True),
        ("pane_number", "bigint", True),
        ("is_final", "boolean", True),
        ("is_retraction", "boolean", True),
        ("window_id", "string", True),
    ]
    assert (told.step.key, told.step.time) == ("card", "window_end")
    assert told.step.where.startswith("test_window_step.py:")


@pytest.mark.parametrize(
    ("by", "key", "columns"),
    [
        (None, None, []),
        ("country", "country", ["country"]),
        (["country"], "country", ["country"]),
        (["country", "card"], None, ["country", "card"]),
        ("note", "note", ["note"]),
    ],
)
def test_the_key_is_the_column_of_by_if_it_is_one(
    payments: Stream, by: Any, key: str | None, columns: list[str]
) -> None:
    told = payments.window("w", FIVE, by=by, n="count(*)")

    assert told.step.key == key
    assert told.columns[: len(columns) + 1] == [*columns, "window_start"]


def test_a_window_without_an_end_has_no_time(
    payments: Stream, readings: Stream
) -> None:
    ever = payments.window("e", everything(), early=after(events=1), n="count(*)")
    tens = readings.window("t", counted(10), by="sensor", mean="avg(value)")
    timed = payments.window("c", counted(10), n="count(*)")

    for stream in (ever, tens):
        assert stream.step.time is None
        assert not stream.step.columns["window_end"].required
    assert timed.step.time == "window_end"


def test_late_events_are_as_they_came_and_say_how_late(payments: Stream) -> None:
    late = payments.window("w", FIVE, by="country", n="count(*)").late

    assert isinstance(late.step, LateEvents)
    assert late.columns == [*payments.columns, "late_by_ms"]
    assert (late.step.key, late.step.time) == ("card", "made_at")


def test_only_the_stream_of_a_window_has_late_events(
    payments: Stream, readings: Stream
) -> None:
    told = payments.window("w", FIVE, n="count(*)")
    for stream, fact in (
        (payments, "made by read"),
        (told.where("n > 1"), 'behind window "w" a where keeps no late events'),
        (told.select("n"), "a select keeps"),
        (told.union(told), "a union keeps"),
        (told.late, "a late keeps"),
        (payments.window("d", FIVE, late="drop", n="count(*)"), 'has late="drop"'),
        (readings.window("c", counted(3), n="count(*)"), "looks at no time"),
    ):
        with refused("late-events-absent") as caught:
            _ = stream.late
        assert fact in caught.value.fact


def test_an_aggregate_may_be_called_as_the_first_parameters_are(
    payments: Stream,
) -> None:
    told = payments.window("w", FIVE, name="count(*)", kind="max(card)")

    assert {"name", "kind"} <= set(told.columns)


@pytest.mark.parametrize(
    "name", ["card", "window_start", "pane", "window_id", "Pane", "is_final"]
)
def test_a_column_that_is_there_already_is_refused(payments: Stream, name: str) -> None:
    taken: dict[str, Any] = {name: "count(*)"}
    with refused("column-taken"):
        payments.window("w", FIVE, by="card", **taken)


def test_a_key_is_named_once(payments: Stream) -> None:
    with refused("column-taken"):
        payments.window("w", FIVE, by=["card", "card"], n="count(*)")


def test_a_column_of_ours_is_refused(payments: Stream) -> None:
    with refused("column-name-reserved"):
        payments.window("w", FIVE, _n="count(*)")
    timed = payments.derive(late_by_ms="1L")
    with refused("column-taken"):
        timed.window("w", FIVE, n="count(*)")

    assert timed.window("w", FIVE, late="drop", n="count(*)")


def test_a_window_needs_a_time_of_which_every_event_has_one(
    payments: Stream, readings: Stream
) -> None:
    step = payments.step
    fields = (replace(f, required=f.name != "made_at") for f in step.columns)
    optional = Stream(replace(step, columns=Record(tuple(fields))))
    for stream in (readings, payments.select("card"), optional):
        for kind in (FIVE, sliding(hours(1)), sessions(hours(1)), everything()):
            with refused("window-needs-time"):
                stream.window("w", kind, early=after(events=1), n="count(*)")

    assert payments.rename(made_at="at").window("w", FIVE, n="count(*)")


@pytest.mark.parametrize("kind", [minutes(5), "tumbling", None, tumbling])
def test_a_kind_is_a_kind(payments: Stream, kind: Any) -> None:
    with refused("window-kind-unknown"):
        payments.window("w", kind, n="count(*)")


def test_the_bounds_of_an_assigned_window_are_times(payments: Stream) -> None:
    month = "date_trunc('month', made_at)"
    end = f"{month} + interval 1 month"
    assert payments.window("w", assigned(start=month, end=end), n="count(*)")

    with refused("types-differ"):
        payments.window("w", assigned(start="card", end=end), n="count(*)")
    with refused("column-unknown"):
        payments.window("w", assigned(start=month, end="valid_to"), n="count(*)")


def test_a_key_is_a_column_that_bytes_identify(payments: Stream) -> None:
    with refused("column-unknown") as caught:
        payments.window("w", FIVE, by=["card", "contry"], n="count(*)")
    assert caught.value.hint == 'did you mean "country"?'

    for by in ("share", "parts"):
        with refused("key-type-unsupported"):
            payments.window("w", FIVE, by=by, n="count(*)")


def test_aggregates_are_checked_where_they_are_declared(payments: Stream) -> None:
    with refused("aggregates-missing"):
        payments.window("w", FIVE)
    with refused("types-differ"):
        payments.window("w", FIVE, n="sum(card)")
    with refused("column-unknown"):
        payments.window("w", FIVE, having="m > 1", n="count(*)")


@pytest.mark.parametrize(
    "option",
    [
        {"panes": "replacing"},
        {"late": "keep"},
        {"late": minutes(5)},
        {"early": 100},
        {"hot_keys": "split"},
        {"hot_keys": True},
    ],
    ids=repr,
)
def test_an_option_that_does_not_exist_is_refused(
    payments: Stream, option: dict[str, Any]
) -> None:
    with refused("option-unknown") as caught:
        payments.window("w", FIVE, n="count(*)", **option)

    assert "choose from" in (caught.value.hint or "")


def test_a_window_that_never_ends_fires_early(payments: Stream) -> None:
    with refused("window-never-fires"):
        payments.window("w", everything(), n="count(*)")


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (sliding(hours(1)), {"panes": "discarding"}),
        (sliding(hours(1)), {"early": after(time=minutes(1))}),
        (sliding(hours(1)), {"early": after(events=1, time=minutes(1))}),
        (counted(3), {"early": after(time=minutes(1))}),
        (counted(3), {"late": refire(minutes(1))}),
    ],
    ids=repr,
)
def test_a_kind_that_cannot_fire_so_is_refused(
    payments: Stream, kind: Any, option: dict[str, Any]
) -> None:
    with refused("firing-unsupported"):
        payments.window("w", kind, n="count(*)", **option)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        *(
            (kind, option)
            for kind in SPREADABLE
            for option in (
                {"early": after(events=1)},
                {"early": after(time=minutes(1))},
                {"early": after(events=1, time=minutes(1))},
                {"late": refire(minutes(1))},
            )
        ),
        (sessions(hours(1)), {}),
        (sliding(hours(1)), {}),
        (counted(3), {}),
        (everything(), {"early": after(events=1)}),
    ],
    ids=repr,
)
def test_keys_are_spread_only_where_a_window_fires_once(
    payments: Stream, kind: Any, option: dict[str, Any]
) -> None:
    with refused("hot-keys-unsupported"):
        payments.window("w", kind, hot_keys="spread", n="count(*)", **option)


@pytest.mark.parametrize(
    "option",
    [
        {},
        {"late": "drop"},
        *({"panes": panes} for panes in ("discarding", "retracting")),
        {"by": ["card", "country"]},
        {"having": "n > 1"},
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", SPREADABLE, ids=lambda kind: kind.name)
def test_the_operator_is_told_over_how_many_parts_to_spread(
    payments: Stream, kind: Any, option: dict[str, Any]
) -> None:
    spread = payments.window("w", kind, hot_keys="spread", n="count(*)", **option)
    plain = payments.window("w", kind, n="count(*)", **option)

    assert window(spread).terms["spread"] > 1
    assert window(plain).terms["spread"] == 0


def test_a_step_that_keeps_state_cannot_follow_a_window(payments: Stream) -> None:
    first = payments.window("first", FIVE, by="card", n="count(*)")
    for stream in (first, first.where("n > 1").union(first), first.late):
        with refused("window-after-window") as caught:
            stream.window("second", tumbling(hours(1)), n="count(*)")
        assert first.step.where in (caught.value.detail or "")
        with refused("dedupe-after-window"):
            stream.dedupe("second", by=stream.columns[0], within=hours(1))

    once = payments.dedupe("once", by="card", within=hours(1))
    assert once.window("second", FIVE, n="count(*)")


def test_names_are_unique_among_all_steps_that_keep_state(
    shop: Pipeline, payments: Stream
) -> None:
    one = payments.dedupe("same", by="card", within=hours(1))
    other = payments.window("same", FIVE, by="card", n="count(*)")
    shop.write("one", one, sinks.kafka("one"))

    with pytest.raises(StepError, match="step-name-taken") as caught:
        shop.write("other", other, sinks.kafka("other"))
    assert caught.value.where == other.step.where
    with refused("name-refused"):
        payments.window("Same", FIVE, n="count(*)")


REPLACING: list[dict[str, Any]] = [
    {"late": refire(minutes(1))},
    {"early": after(events=1)},
    {"early": after(events=1), "panes": "retracting"},
]


@pytest.mark.parametrize("option", REPLACING, ids=repr)
def test_panes_that_replace_each_other_need_a_key(
    shop: Pipeline, payments: Stream, option: dict[str, Any]
) -> None:
    told = payments.window("w", FIVE, n="count(*)", **option)
    for stream in (told, told.where("n > 1"), told.select("n").union(told.select("n"))):
        with refused("sink-not-keyed") as caught:
            shop.write("out", stream, sinks.kafka("out"))
        assert 'window "w"' in caught.value.fact

    shop.write("keyed", told, sinks.kafka("keyed", key="window_id"))
    shop.write("late", told.late.select("country"), sinks.kafka("late"))
    assert len(shop.outputs) == 2


def test_panes_that_stand_need_no_key(shop: Pipeline, payments: Stream) -> None:
    once = payments.window("once", FIVE, n="count(*)")
    parts = payments.window(
        "parts", FIVE, early=after(events=1), panes="discarding", n="count(*)"
    )
    keyed = payments.window("keyed", FIVE, by="card", late=refire(hours(1)), n="sum(1)")
    for name, stream in (("once", once), ("parts", parts), ("keyed", keyed)):
        shop.write(name, stream, sinks.kafka(name))

    assert [output.key for output in shop.outputs] == [None, None, "card"]


def test_the_operator_is_told_all_terms(payments: Stream) -> None:
    told = payments.window(
        *("velocity", hopping(minutes(5), every=minutes(1))),
        by=["card", "country"],
        early=after(events=100, time=seconds(30)),
        late=refire(minutes(10)),
        panes="retracting",
        having="n > 10",
        n="count(*)",
        last="last(note)",
    )

    assert window(told).terms == {
        "name": "velocity",
        "kind": "hopping",
        "size_us": 300_000_000,
        "every_us": 60_000_000,
        "offset_us": 0,
        "by": ["card", "country"],
        "time": "made_at",
        "names": ["n", "last", "_having"],
        "aggregates": [
            "count(*)",
            "max_by(note, struct(`made_at`, _origin.partition, _origin.offset, "
            "_origin.topic))",
            "(count(*)\n) > 10",
        ],
        "having": True,
        "early_events": 100,
        "early_time_us": 30_000_000,
        "panes": "retracting",
        "allowed_us": 600_000_000,
        "keep_late": True,
        "spread": 0,
        "behind_us": None,
    }


def test_without_options_the_terms_say_so(readings: Stream) -> None:
    terms = window(readings.window("w", counted(3), late="drop", n="count(*)")).terms

    assert (terms["by"], terms["time"], terms["count"]) == ([], None, 3)
    assert (terms["early_events"], terms["early_time_us"]) == (None, None)
    assert (terms["allowed_us"], terms["keep_late"], terms["having"]) == (
        *(0, False, False),
    )
    assert terms["names"] == ["n"]


def explained(pipeline: Pipeline, verb: str = "window") -> dict[str, Any]:
    return next(s for s in pipeline.explain()["steps"] if s["verb"] == verb)


def test_an_explanation_shows_a_window_with_its_state_and_late_events(
    shop: Pipeline, payments: Stream
) -> None:
    told = payments.window(
        *("velocity", FIVE),
        by="card",
        early=after(events=9),
        late=refire(hours(1)),
        having="n > 1",
        n="count(*)",
    )
    shop.write("velocity", told.where("n > 2"), sinks.kafka("velocity"))
    shop.write("late", told.late, sinks.kafka("late"))

    step = explained(shop)

    assert step["does"] == (
        '"velocity", tumbling 0:05:00, by card, early after 9 events, accumulating, '
        "having n > 1: n = count(*)"
    )
    assert step["engine"] == "operator"
    assert step["state"] == (
        "the aggregates of each card and window until the watermark passes its end "
        "by 1:00:00"
    )
    assert step["late"] == "correct their panes for 1:00:00, then go to the side output"
    assert next(iter(step["columns"])) == "card"
    graph = [(s["verb"], s["from"]) for s in shop.explain()["steps"]]
    assert graph == [("read", []), ("window", [1]), ("where", [2]), ("late", [2])]
    assert shop.explain()["evaluations"] == 1


def test_late_events_that_nobody_writes_are_told(
    shop: Pipeline, payments: Stream
) -> None:
    kept = payments.window("kept", FIVE, n="count(*)")
    shop.write("kept", kept, sinks.kafka("kept"))

    said = "go to the side output, which no output writes: counted and not kept"
    assert explained(shop)["late"] == said
    assert f"late events: {said}" in explain_text(shop.explain())

    shop.write("late", kept.late, sinks.kafka("late"))
    assert explained(shop)["late"] == "go to the side output"


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (sliding(hours(1)), "the events until the watermark is 2:00:00 beyond them"),
        (counted(3), "the aggregates until its window is full"),
        (everything(), "the aggregates, for ever"),
        (FIVE, "the aggregates of each window until the watermark passes its end"),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_the_state_of_each_kind_is_told(
    payments: Stream, kind: Any, state: str
) -> None:
    late: Any = refire(hours(1)) if kind.name == "sliding" else "side-output"
    told = payments.window("w", kind, early=after(events=1), late=late, n="count(*)")

    assert window(told).state == state


def native(shop: Pipeline, **changed: Any) -> str:
    strategy = changed.pop("watermark", watermarks.lagging(seconds(10)))
    stream = shop.read(kafka("payments", Payment), watermark=strategy)
    if changed.pop("once", False):
        stream = stream.dedupe("once", by="card", within=hours(1))
    if changed.pop("changed", False):
        stream = stream.transform(lambda df: df)
    kind = changed.pop("kind", FIVE)
    told = stream.window("w", kind, **{"late": "drop", "n": "count(*)"} | changed)
    return window(told).engine


def test_spark_itself_takes_windows_that_fire_once_and_drop(shop: Pipeline) -> None:
    assert native(shop) == "native"
    assert native(shop, having="n > 1", by="card") == "native"
    assert native(shop, kind=hopping(hours(1), every=minutes(1))) == "native"
    for strategy in watermarks.by_partition(seconds(10)), watermarks.arrival():
        assert native(shop, watermark=strategy) == "native"


@pytest.mark.parametrize(
    "changed",
    [
        {"late": "side-output"},
        {"late": refire(minutes(1))},
        {"early": after(events=1)},
        {"panes": "discarding"},
        {"hot_keys": "spread"},
        {"kind": sliding(hours(1))},
        {"kind": sessions(hours(1))},
        {"by": ["card", "made_at"]},
        {"watermark": watermarks.observed()},
        {"watermark": watermarks.by_partition(seconds(10), peek=True)},
        {"kind": tumbling(hours(1), staggered=True), "by": "card"},
        {"once": True},
        {"changed": True},
    ],
    ids=repr,
)
def test_the_operator_takes_all_others(shop: Pipeline, changed: dict[str, Any]) -> None:
    assert native(shop, **changed) == "operator"


def test_behind_a_watermark_that_peeks_events_are_judged_by_the_one_before(
    shop: Pipeline,
) -> None:
    plain, peeking = (
        shop.read(
            kafka(f"payments-{peek}", Payment),
            watermark=watermarks.by_partition(seconds(10), peek=peek),
        )
        for peek in (False, True)
    )

    assert window(plain.window("w1", FIVE, n="count(*)")).terms["behind_us"] is None
    assert window(peeking.window("w2", FIVE, n="count(*)")).terms["behind_us"] == 0
    with refused("hot-keys-unsupported"):
        peeking.window("w3", FIVE, hot_keys="spread", n="count(*)")


def test_staggered_windows_are_told_as_they_were_declared(shop: Pipeline) -> None:
    own = tumbling(hours(1), staggered=True)
    payments = shop.read(kafka("payments", Payment))
    counted_ones = payments.window("w", own, by="card", n="count(*)")
    kind = window(counted_ones).kind

    assert kind.summary == "tumbling 1:00:00 by each key's own clock"
    assert kind.name == "staggered"


def test_without_a_key_there_is_nothing_to_stagger(shop: Pipeline) -> None:
    own = tumbling(hours(1), staggered=True)
    payments = shop.read(kafka("payments", Payment))

    assert window(payments.window("w", own, n="count(*)")).kind == tumbling(hours(1))


def test_a_watermark_that_peeks_is_that_of_all_steps(shop: Pipeline) -> None:
    peeking = watermarks.by_partition(seconds(10), peek=True)
    ahead = shop.read(kafka("ahead", Payment), watermark=peeking)
    plain = shop.read(kafka("plain", Payment))
    n = "count(*)"
    shop.write("ahead", ahead.window("w1", FIVE, n=n), sinks.kafka("a"))
    # What counts events, or both together, does not judge by the one that is alone.
    shop.write("ten", plain.window("w2", counted(10), n=n), sinks.kafka("b"))
    both = ahead.union(plain).window("w3", FIVE, n=n)
    shop.write("both", both, sinks.kafka("c"))

    sink = sinks.kafka("d")
    with refused("peek-not-shared"):
        shop.write("d", plain.window("w4", FIVE, n=n), sink)
    with refused("peek-not-shared"):
        shop.write("d", plain.dedupe("w5", by="card", within=hours(1)), sink)
