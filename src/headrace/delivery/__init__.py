"""Delivery: each row once in its topic, or a named reason why not."""

from headrace.delivery.checkpoint import CheckpointLock
from headrace.delivery.delivering import Delivering, deliver
from headrace.delivery.failures import named_failure
from headrace.delivery.terms import ADOPTABLE, DELIVERIES, SinkTopic, Terms

__all__ = [
    "ADOPTABLE",
    "DELIVERIES",
    "CheckpointLock",
    "Delivering",
    "SinkTopic",
    "Terms",
    "deliver",
    "named_failure",
]
