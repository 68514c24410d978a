"""A second place for the same rows: what a replay writes, beside what is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from headrace.sinks.delta import DeltaSink
from headrace.sinks.files import FilesSink
from headrace.sinks.kafka import KafkaSink
from headrace.sinks.opensearch import OpenSearchSink
from headrace.sinks.postgres import PostgresSink
from headrace.sinks.promises import Sink
from headrace.sinks.redis import RedisSink


def beside(sink: Sink, version: str) -> Sink:
    """Give the sink of a version: the same, with the version behind its name.

    A sink that keeps nothing, such as a console, stays what it is.
    """
    changed: dict[str, str] = {}
    match sink:
        case KafkaSink():
            changed = {"topic": f"{sink.topic}-{version}"}
        case RedisSink():
            changed = {"keyspace": f"{sink.keyspace}-{version}"}
        case OpenSearchSink():
            changed = {"index": f"{sink.index}-{version}"}
        case DeltaSink():
            changed = {"place": f"{sink.place.rstrip('/')}-{version}"}
        case FilesSink():
            changed = {"path": f"{sink.path.rstrip('/')}-{version}"}
        case PostgresSink():
            # Names of tables have no dashes, for those who write them without quotes.
            changed = {"table": f"{sink.table}_{version.replace('-', '_')}"}
    return cast("Sink", replace(cast("Any", sink), **changed))
