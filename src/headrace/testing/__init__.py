"""Test whole pipelines without Kafka, and sinks against the contract of all."""

from headrace._spark import session
from headrace.testing.changes import captured
from headrace.testing.contract import SinkContract, SinkRow
from headrace.testing.records import DeadLetter, Tombstone
from headrace.testing.rig import Rig

__all__ = [
    "DeadLetter",
    "Rig",
    "SinkContract",
    "SinkRow",
    "Tombstone",
    "captured",
    "session",
]
