"""Sinks: where a stream goes, each with the guarantee it can give."""

from headrace.sinks.console import ConsoleSink, console
from headrace.sinks.delta import DeltaSink, delta
from headrace.sinks.files import FilesSink, files
from headrace.sinks.kafka import KafkaSink, kafka
from headrace.sinks.memory import MemorySink, memory
from headrace.sinks.postgres import PostgresSink, postgres
from headrace.sinks.promises import Servers, Sink
from headrace.sinks.reading import read_files, read_memory

__all__ = [
    "ConsoleSink",
    "DeltaSink",
    "FilesSink",
    "KafkaSink",
    "MemorySink",
    "PostgresSink",
    "Servers",
    "Sink",
    "console",
    "delta",
    "files",
    "kafka",
    "memory",
    "postgres",
    "read_files",
    "read_memory",
]
