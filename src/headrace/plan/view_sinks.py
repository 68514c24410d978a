"""What a view is written to: a stamped topic, or a place in a store of its own."""

from __future__ import annotations

from headrace.plan.view import view_topic
from headrace.sinks import KafkaSink, PostgresSink, RedisSink, Sink

SCHEMA = "public"
DATABASE = "postgres"


def view_sink(pipeline: str, name: str, store: str, key: str, where: str) -> Sink:
    """Give the sink of a view.

    Args:
        pipeline: The pipeline's name.
        name: The view's name.
        store: Where it is kept.
        key: The column that holds its key.
        where: The line that declares it.
    """
    match store:
        case "redis":
            return RedisSink(f"{pipeline}:view:{name}", key, "json", None, None, where)
        case "postgres":
            table = f"{pipeline}_view_{name}".replace("-", "_")[:63]
            return PostgresSink(table, SCHEMA, DATABASE, key, "upsert", where)
    topic = view_topic(pipeline, name)
    return KafkaSink(topic, key, "json", where, is_stamped=True)


def stored_at(sink: Sink) -> str:
    """Name what a view's sink writes to, as who reads it has to know it."""
    match sink:
        case KafkaSink():
            return sink.topic
        case RedisSink():
            return sink.keyspace
        case PostgresSink():
            return sink.table
    raise TypeError(f"no view is written to {sink.target}")
