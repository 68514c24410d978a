"""Test whole pipelines without Kafka, and sinks against the contract of all."""

from headrace._spark import session
from headrace.testing.contract import SinkContract, SinkRow
from headrace.testing.rig import DeadLetter, Rig

__all__ = ["DeadLetter", "Rig", "SinkContract", "SinkRow", "session"]
