"""Sinks: where a stream goes, each with the guarantee it can give."""

from headrace.sinks.kafka import KafkaSink, kafka

__all__ = ["KafkaSink", "kafka"]
