"""Stream processing for Python teams, on Spark."""

from headrace import cdc, remote, sinks
from headrace.durations import days, hours, milliseconds, minutes, seconds
from headrace.errors import (
    CaptureError,
    DeliveryError,
    FetchError,
    HeadraceError,
    LogError,
    MachineError,
    SchemaError,
    ServiceError,
    SettingsError,
    StepError,
    ViewError,
)
from headrace.event import event
from headrace.joins.asking import asking
from headrace.joins.interval import between
from headrace.joins.lookup import broadcast, known, latest, settled
from headrace.pipeline import Pipeline
from headrace.schema.hints import digits
from headrace.sources.kafka import kafka
from headrace.stream import Stream
from headrace.table import Table
from headrace.trees.model import BoostedTrees
from headrace.windows import watermarks
from headrace.windows.firing import after, refire
from headrace.windows.kinds import (
    assigned,
    counted,
    everything,
    hopping,
    sessions,
    sliding,
    tumbling,
)

__all__ = [
    "BoostedTrees",
    "CaptureError",
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
    "Table",
    "ViewError",
    "after",
    "asking",
    "assigned",
    "between",
    "broadcast",
    "cdc",
    "counted",
    "days",
    "digits",
    "event",
    "everything",
    "hopping",
    "hours",
    "kafka",
    "known",
    "latest",
    "milliseconds",
    "minutes",
    "refire",
    "remote",
    "seconds",
    "sessions",
    "settled",
    "sinks",
    "sliding",
    "tumbling",
    "watermarks",
]
