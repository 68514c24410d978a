"""Sinks: where a stream goes, each with the guarantee it can give."""

from headrace.sinks.kafka import KafkaSink, kafka
from headrace.sinks.postgres import PostgresSink, postgres
from headrace.sinks.promises import Servers, Sink

__all__ = ["KafkaSink", "PostgresSink", "Servers", "Sink", "kafka", "postgres"]
