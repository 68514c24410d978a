"""Views while they are declared: their keys, and what cannot be one."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from headrace import (
    HeadraceError,
    Pipeline,
    Table,
    after,
    assigned,
    counted,
    event,
    everything,
    hours,
    kafka,
    minutes,
    refire,
    sessions,
    tumbling,
)
from headrace.plan.view import View
from headrace.sinks import KafkaSink
from headrace.stream import Stream
from headrace.views.keys import key_of, prefix_of
from headrace.windows.kinds import Kind

PAGE = Path(__file__).parents[2] / "docs" / "views.md"


@event(key="card", time="at")
class Payment:
    card: str
    cents: int
    at: datetime
    country: str | None = None


def bank() -> tuple[Pipeline, Stream, Table]:
    made = Pipeline("bank")
    return (
        made,
        made.read(kafka("payments", Payment)),
        made.table(kafka("last", Payment)),
    )


def declared(rows: Stream | Table, made: Pipeline) -> View:
    made.view("newest", rows)
    return made.views[0]


def windowed(stream: Stream, kind: Kind, **more: str) -> Stream:
    return stream.window("w", kind, by=more.get("by", "card"), n="count(*)")


@pytest.mark.parametrize(
    ("kind", "by", "key"),
    [
        (tumbling(minutes(5)), "card", ("card", "window_start")),
        (sessions(minutes(5)), "card", ("card", "window_start")),
        (
            assigned(start="at", end="at"),
            "card",
            ("card", "window_start", "window_end"),
        ),
        (counted(10), "card", ("window_id",)),
        (tumbling(minutes(5)), None, ("window_start",)),
    ],
)
def test_panes_are_keyed_by_what_tells_windows_apart(
    kind: Kind, by: str | None, key: tuple[str, ...]
) -> None:
    made, payments, _ = bank()
    view = declared(payments.window("w", kind, by=by, n="count(*)"), made)

    assert view.key == key
    assert view.is_plain == (key == ("window_id",))


def test_panes_without_an_end_are_keyed_by_their_columns() -> None:
    made, payments, _ = bank()
    early = after(events=1)
    total = payments.window("w", everything(), by="card", early=early, n="count(*)")

    assert (declared(total, made).key, made.views[0].is_plain) == (("card",), True)


def test_a_key_that_may_be_null_is_written_as_json() -> None:
    made, payments, _ = bank()
    early = after(events=1)
    total = payments.window("w", everything(), by="country", early=early, n="count(*)")
    view = declared(total, made)

    assert key_of(view, {"country": "de"}) == b'{"country":"de"}'
    assert key_of(view, '{"country":null}') == b'{"country":null}'


def test_a_view_is_an_output_into_a_stamped_topic() -> None:
    made, _, last = bank()
    made.view("newest", last.where("cents > 5").select("card", euros="cents div 100"))
    (output,) = made.outputs

    assert isinstance(output.sink, KafkaSink)
    assert output.sink.settings(None) == {
        "topic": "bank.view.newest",
        "stamped": "true",
    }
    assert (output.key, output.delivery) == ("card", "exactly-once")


def test_columns_of_the_key_may_be_renamed() -> None:
    made, payments, _ = bank()
    panes = windowed(payments, tumbling(minutes(5))).rename(
        card="id", window_start="at"
    )
    view = declared(panes.select("id", "at", "n", "is_retraction"), made)

    assert view.key == ("id", "at")
    assert "is_retraction" not in view.columns
    assert prefix_of(view, {"id": 'c"1'}) == b'{"id":"c\\"1",'


def lost(made: Pipeline, payments: Stream, last: Table) -> None:
    made.view("v", windowed(payments, tumbling(minutes(5))).select("card", "n"))


def keyless(made: Pipeline, payments: Stream, last: Table) -> None:
    made.view("v", last.select("cents"))


def events(made: Pipeline, payments: Stream, last: Table) -> None:
    made.view("v", payments)


def filtered(made: Pipeline, payments: Stream, last: Table) -> None:
    made.view("v", windowed(payments, tumbling(minutes(5))).where("n > 1"))


def discarding(made: Pipeline, payments: Stream, last: Table) -> None:
    late = refire(hours(1))
    kind = tumbling(minutes(5))
    parts = payments.window("w", kind, late=late, panes="discarding", n="count(*)")
    made.view("v", parts)


def twice(made: Pipeline, payments: Stream, last: Table) -> None:
    made.view("v", last)
    made.view("v", last)


def strange_store(made: Pipeline, payments: Stream, last: Table) -> None:
    made.view("v", last, store="mysql")


def bad_name(made: Pipeline, payments: Stream, last: Table) -> None:
    made.view("A view", last)


def backwards(made: Pipeline, payments: Stream, last: Table) -> None:
    made.view("v", last, history=timedelta(seconds=-1))


@pytest.mark.parametrize(
    ("declare", "slug"),
    [
        (lost, "view-key-lost"),
        (keyless, "view-key-lost"),
        (events, "view-unsupported"),
        (filtered, "view-unsupported"),
        (discarding, "view-unsupported"),
        (twice, "view-name-taken"),
        (strange_store, "view-store-unknown"),
        (bad_name, "name-refused"),
        (backwards, "duration-negative"),
    ],
)
def test_what_cannot_be_a_view_is_named(declare: object, slug: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        declare(*bank())  # type: ignore[operator]

    assert caught.value.slug == slug
    assert "test_view_declared.py" in str(caught.value.where)


def test_the_example_of_the_page_declares_its_views() -> None:
    first = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)[0]
    names: dict[str, object] = {"__name__": "fraud"}
    exec(compile(first, "fraud.py", "exec", dont_inherit=True), names)  # noqa: S102
    made = names["fraud"]

    assert isinstance(made, Pipeline)
    assert [view.name for view in made.views] == ["velocity", "profiles"]
