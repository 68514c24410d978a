"""The real servers a laptop runs: fetched, started, looked at and stopped by us."""

from headrace.services.catalog import SERVICES
from headrace.services.stack import Stack
from headrace.services.status import ProcessStatus

__all__ = ["SERVICES", "ProcessStatus", "Stack"]
