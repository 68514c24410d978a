"""Sinks: where a stream goes, each with the guarantee it can give."""

from headrace.sinks.kafka import KafkaSink, kafka
from headrace.sinks.opensearch import OpenSearchSink, opensearch
from headrace.sinks.postgres import PostgresSink, postgres
from headrace.sinks.promises import Servers, Sink
from headrace.sinks.redis import RedisSink, redis

__all__ = [
    "KafkaSink",
    "OpenSearchSink",
    "PostgresSink",
    "RedisSink",
    "Servers",
    "Sink",
    "kafka",
    "opensearch",
    "postgres",
    "redis",
]
