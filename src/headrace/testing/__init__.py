"""Test whole pipelines: the rig, without Kafka and with the same semantics."""

from headrace._spark import session
from headrace.testing.rig import DeadLetter, Rig

__all__ = ["DeadLetter", "Rig", "session"]
