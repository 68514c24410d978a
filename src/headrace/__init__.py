"""Stream processing for Python teams, on Spark."""

from headrace import sinks
from headrace.durations import days, hours, milliseconds, minutes, seconds
from headrace.errors import (
    DeliveryError,
    FetchError,
    HeadraceError,
    LogError,
    MachineError,
    SchemaError,
    ServiceError,
    SettingsError,
    StepError,
)
from headrace.event import event
from headrace.pipeline import Pipeline
from headrace.schema.hints import digits
from headrace.sources.kafka import kafka
from headrace.stream import Stream

__all__ = [
    "DeliveryError",
    "FetchError",
    "HeadraceError",
    "LogError",
    "MachineError",
    "Pipeline",
    "SchemaError",
    "ServiceError",
    "SettingsError",
    "StepError",
    "Stream",
    "days",
    "digits",
    "event",
    "hours",
    "kafka",
    "milliseconds",
    "minutes",
    "seconds",
    "sinks",
]
