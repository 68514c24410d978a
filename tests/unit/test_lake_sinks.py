"""Sinks of a lake are checked when they are declared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from headrace import Pipeline, Stream, event, kafka, sinks
from headrace.errors import HeadraceError
from headrace.sinks import Sink


@event()
class Sale:
    shop: str
    day: date
    cents: int
    tags: list[str]
    proof: bytes


def sales() -> tuple[Pipeline, Stream]:
    pipeline = Pipeline("sales")
    return pipeline, pipeline.read(kafka("sales", Sale))


@pytest.mark.parametrize(
    ("declare", "slug"),
    [
        (lambda: sinks.delta("lake/sales", mode="overwrite"), "mode-unknown"),
        (lambda: sinks.delta("lake/sales", optimise_every=0), "count-below-one"),
        (lambda: sinks.files("lake/sales", format="csv"), "format-unknown"),
        (lambda: sinks.memory(most=0), "count-below-one"),
        (lambda: sinks.console(rows=0), "count-below-one"),
    ],
)
def test_what_a_sink_cannot_do_is_refused_where_it_is_declared(
    declare: Callable[[], Sink], slug: str
) -> None:
    with pytest.raises(HeadraceError) as refusal:
        declare()

    assert refusal.value.slug == slug
    assert "test_lake_sinks.py" in str(refusal.value.where)


@pytest.mark.parametrize(
    ("sink", "options", "slug"),
    [
        (sinks.delta("lake/sales", mode="merge"), {}, "sink-not-keyed"),
        (sinks.delta("lake/sales", mode="merge", key="till"), {}, "column-unknown"),
        (sinks.delta("lake/sales", partition_by=["year"]), {}, "column-unknown"),
        (sinks.files("lake/s", partition_by=["tags"]), {}, "partition-unsupported"),
        (sinks.files("lake/s", partition_by=["proof"]), {}, "partition-unsupported"),
        (
            sinks.files(
                "lake/sales", partition_by=["shop", "day", "cents", "tags", "proof"]
            ),
            {},
            "partition-unsupported",
        ),
        (sinks.console(), {"delivery": "exactly-once"}, "delivery-unsupported"),
    ],
)
def test_what_an_output_cannot_do_is_refused_where_it_is_written(
    sink: Sink, options: dict[str, Any], slug: str
) -> None:
    pipeline, stream = sales()
    with pytest.raises(HeadraceError) as refusal:
        pipeline.write("copy", stream, sink, **options)

    assert refusal.value.slug == slug


def test_two_outputs_cannot_share_a_table_but_the_console_and_memory() -> None:
    pipeline, stream = sales()
    for name in ("one", "two"):
        pipeline.write(f"look-{name}", stream, sinks.console())
        pipeline.write(f"keep-{name}", stream, sinks.memory())
    pipeline.write("table", stream, sinks.delta("lake/sales"))

    with pytest.raises(HeadraceError, match="target-shared"):
        pipeline.write("again", stream, sinks.delta("lake/sales", partition_by=["day"]))


def test_a_merge_replaces_and_removes_and_an_append_does_neither() -> None:
    append, merge = sinks.delta("lake/a"), sinks.delta("lake/a", mode="merge", key="k")

    assert (append.same_key, append.deletes) == ("append", "refuse")
    assert (merge.same_key, merge.deletes) == ("replace", "remove")


def test_a_place_with_a_slash_is_a_directory_and_one_without_a_name() -> None:
    assert sinks.delta("lake.sales").settings(None)["place"] == "lake.sales"
    assert sinks.delta("s3a://lake/x").settings(None)["place"] == "s3a://lake/x"
    assert sinks.delta("./lake").settings(None)["place"].startswith("/")


def test_explain_says_what_a_lake_promises() -> None:
    pipeline, stream = sales()
    pipeline.write("table", stream, sinks.delta("lake/sales", mode="merge", key="shop"))
    pipeline.write("look", stream, sinks.console())

    table, look = pipeline.explain()["outputs"]
    assert (table["target"], table["same_key"]) == ("table lake/sales", "replace")
    assert (look["delivery"], look["atomic"]) == ("at-least-once", False)
