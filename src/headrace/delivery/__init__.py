"""Delivery: each row once in its sink, or a named reason why not."""

from headrace.delivery.checkpoint import CheckpointLock
from headrace.delivery.delivering import Delivering, deliver
from headrace.delivery.failures import named_failure
from headrace.delivery.terms import ADOPTABLE, DELIVERIES, SinkTerms, Terms

__all__ = [
    "ADOPTABLE",
    "DELIVERIES",
    "CheckpointLock",
    "Delivering",
    "SinkTerms",
    "Terms",
    "deliver",
    "named_failure",
]
