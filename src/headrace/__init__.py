"""Stream processing for Python teams, on Spark."""

from headrace.errors import (
    FetchError,
    HeadraceError,
    LogError,
    MachineError,
    ServiceError,
    SettingsError,
    StepError,
)

__all__ = [
    "FetchError",
    "HeadraceError",
    "LogError",
    "MachineError",
    "ServiceError",
    "SettingsError",
    "StepError",
]
