"""Sources: where a stream comes from."""

from headrace.sources.kafka import KafkaSource, kafka

__all__ = ["KafkaSource", "kafka"]
