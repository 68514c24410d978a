"""Name what ended a query, where the delivery has no name for it."""

from __future__ import annotations

import re
from pathlib import PurePath

from headrace.errors import HeadraceError, LogError, StepError

_CAUSE = re.compile(r"terminated with exception:\s*(.+)", re.DOTALL)
_DEEPER = re.compile(r"^Caused by: [\w.$]+: (.+)$", re.MULTILINE)
_DATA_LOST = ("KAFKA_DATA_LOSS", "Some data may have been lost")
_STATE_DIFFERS = re.compile(
    r"STATE_STORE_(?:KEY_SCHEMA_NOT_COMPATIBLE|VALUE_SCHEMA_NOT_COMPATIBLE"
    r"|COLUMN_FAMILY_SCHEMA_INCOMPATIBLE|INVALID_VARIABLE_TYPE_CHANGE)"
    r"|STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
)
_TRACE = "Traceback (most recent call last):"
_CALL = re.compile(r'^  File "(.+)", line (\d+), in (.+)$', re.MULTILINE)
_RAISED = re.compile(r"^(?! |Traceback)\S.*$", re.MULTILINE)
_STATE = re.compile(r"\s*SQLSTATE: \w+.*")


def name_failure(text: str, pipeline: str) -> HeadraceError:
    """Turn what Spark says of a failed query into an error that a user can read.

    Example:
        >>> spark = "[STREAM_FAILED] Query terminated with exception: boom"
        >>> print(name_failure(spark, "fraud").detail)
        boom
    """
    where = f'pipeline "{pipeline}"'
    if any(sign in text for sign in _DATA_LOST):
        return LogError(
            "data-lost",
            "events that the pipeline had still to read are gone from the log",
            detail=_cause(text),
            hint="retention or a deletion took them; nothing was written past the gap. "
            "Restore the topic, or begin anew with another checkpoint.",
            where=where,
        )
    if _STATE_DIFFERS.search(text):
        return StepError(
            "state-differs",
            "a step keeps its state in another form than the checkpoint has it",
            detail=_cause(text),
            hint="put the declaration back as it was, or begin anew with another "
            "checkpoint.",
            where=where,
        )
    return StepError(
        "batch-failed",
        "a batch failed, and nothing of it was written",
        detail=_cause(text),
        hint="mend what the detail names and run again: the batch is repeated. "
        "`headrace --debug` shows the whole trace.",
        where=where,
    )


def _cause(text: str) -> str:
    """Give the innermost line that says something."""
    if _TRACE in text:
        return _raised(text)
    found = _CAUSE.search(text)
    deeper = _DEEPER.findall(text)
    line = deeper[-1] if deeper else (found.group(1) if found else text)
    return _STATE.sub("", line.strip().splitlines()[0])[:500]


def _raised(text: str) -> str:
    """Say which exception a user's function has raised, and where."""
    trace = text.rsplit(_TRACE, maxsplit=1)[-1]
    calls = list(_CALL.finditer(trace))
    behind = trace[calls[-1].end() :] if calls else trace
    raised = _RAISED.search(behind)
    line = _STATE.sub("", raised[0] if raised else behind.strip().splitlines()[0])
    if not calls:
        return line[:500]
    file, number, function = calls[-1].groups()
    return f"{line[:400]}, raised by {function} at {PurePath(file).name}:{number}"
