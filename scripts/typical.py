"""A pipeline with the usual steps, whose classes archives hold."""

from __future__ import annotations

from datetime import datetime

from headrace import (
    Pipeline,
    event,
    kafka,
    minutes,
    refire,
    seconds,
    sinks,
    sliding,
    tumbling,
    watermarks,
)


@event(key="card", time="at")
class Payment:
    """What all topics hold."""

    id: int
    card: str
    cents: int
    at: datetime


def pipeline() -> Pipeline:
    """Return the pipeline."""
    made = Pipeline("typical")
    late = watermarks.by_partition(seconds(30), idle=None)
    payments = made.read(kafka("payments", Payment), watermark=late)
    refunds = made.read(kafka("refunds", Payment), watermark=late)
    once = payments.dedupe("once", by="id", within=minutes(10))
    spent = once.window(
        "spent", tumbling(minutes(5)), by="card", late=refire(minutes(5)), n="count(*)"
    )
    recent = once.window("recent", sliding(minutes(5)), by="card", total="sum(cents)")
    refunded = payments.join(
        "refunded", refunds, on="card", within=minutes(1), prefix="refund_"
    )
    made.write("refunded", refunded, sinks.kafka("refunded"))
    made.write("spent", spent, sinks.kafka("spent"))
    made.write("recent", recent.where("total > 5"), sinks.kafka("recent"))
    made.write("late", spent.late, sinks.kafka("late"))
    return made
