"""Sinks: where a stream goes, each with the guarantee it can give."""

from headrace.sinks.console import ConsoleSink, console
from headrace.sinks.delta import DeltaSink, delta
from headrace.sinks.files import FilesSink, files
from headrace.sinks.kafka import KafkaSink, kafka
from headrace.sinks.memory import MemorySink, memory
from headrace.sinks.opensearch import OpenSearchSink, opensearch
from headrace.sinks.postgres import PostgresSink, postgres
from headrace.sinks.promises import Servers, Sink
from headrace.sinks.reading import read_files, read_memory
from headrace.sinks.redis import RedisSink, redis

__all__ = [
    "ConsoleSink",
    "DeltaSink",
    "FilesSink",
    "KafkaSink",
    "MemorySink",
    "OpenSearchSink",
    "PostgresSink",
    "RedisSink",
    "Servers",
    "Sink",
    "console",
    "delta",
    "files",
    "kafka",
    "memory",
    "opensearch",
    "postgres",
    "read_files",
    "read_memory",
    "redis",
]
