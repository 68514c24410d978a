"""Turn what Spark says of a failed query into the error that caused it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from headrace.errors import (
    CaptureError,
    DeliveryError,
    HeadraceError,
    LogError,
    SchemaError,
    StepError,
)

_MARK = "headrace-refusal "

# Spark says so when the log of a checkpoint holds a batch that it is about to add.
_TWO_DRIVERS = ("CONCURRENT_STREAM_LOG_UPDATE", "Multiple streaming jobs detected")

# Spark says so at the start of a checkpoint that has batches and no metadata.
_NAMELESS = "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"

_Told = Mapping[str, Any]

# Each name that the JVM gives, spelt out: a page of the docs belongs to each.
_NAMED: Mapping[str, Callable[[_Told], HeadraceError]] = {
    "batch-not-deterministic": lambda t: DeliveryError("batch-not-deterministic", **t),
    "batch-too-large": lambda t: DeliveryError("batch-too-large", **t),
    "broker-unreachable": lambda t: LogError("broker-unreachable", **t),
    "change-unreadable": lambda t: CaptureError("change-unreadable", **t),
    "checkpoint-damaged": lambda t: DeliveryError("checkpoint-damaged", **t),
    "checkpoint-missing": lambda t: DeliveryError("checkpoint-missing", **t),
    "commit-unknown": lambda t: DeliveryError("commit-unknown", **t),
    "group-changed": lambda t: StepError("group-changed", **t),
    "group-out-of-step": lambda t: StepError("group-out-of-step", **t),
    "lanes-changed": lambda t: DeliveryError("lanes-changed", **t),
    "ledger-blocked": lambda t: DeliveryError("ledger-blocked", **t),
    "ledger-gap": lambda t: DeliveryError("ledger-gap", **t),
    "ledger-missing": lambda t: DeliveryError("ledger-missing", **t),
    "memory-full": lambda t: DeliveryError("memory-full", **t),
    "offsets-changed": lambda t: DeliveryError("offsets-changed", **t),
    "output-refused": lambda t: DeliveryError("output-refused", **t),
    "output-unreachable": lambda t: DeliveryError("output-unreachable", **t),
    "password-file-unusable": lambda t: DeliveryError("password-file-unusable", **t),
    "payload-unfit": lambda t: SchemaError("payload-unfit", **t),
    "progress-topic-narrow": lambda t: DeliveryError("progress-topic-narrow", **t),
    "registry-unreachable": lambda t: SchemaError("registry-unreachable", **t),
    "remote-refused": lambda t: StepError("remote-refused", **t),
    "remote-row-unreadable": lambda t: SchemaError("remote-row-unreadable", **t),
    "remote-unreachable": lambda t: DeliveryError("remote-unreachable", **t),
    "row-refused": lambda t: DeliveryError("row-refused", **t),
    "row-without-key": lambda t: StepError("row-without-key", **t),
    "schema-type-unsupported": lambda t: SchemaError("schema-type-unsupported", **t),
    "sink-blocked": lambda t: DeliveryError("sink-blocked", **t),
    "sink-forbidden": lambda t: DeliveryError("sink-forbidden", **t),
    "sink-jars-missing": lambda t: DeliveryError("sink-jars-missing", **t),
    "sink-mismatch": lambda t: DeliveryError("sink-mismatch", **t),
    "sink-unreachable": lambda t: DeliveryError("sink-unreachable", **t),
    "sum-too-large": lambda t: StepError("sum-too-large", **t),
    "table-class-changed": lambda t: StepError("table-class-changed", **t),
    "table-key-missing": lambda t: CaptureError("table-key-missing", **t),
    "table-shape-changed": lambda t: CaptureError("table-shape-changed", **t),
    "table-truncated": lambda t: CaptureError("table-truncated", **t),
    "table-too-large": lambda t: StepError("table-too-large", **t),
    "table-contended": lambda t: DeliveryError("table-contended", **t),
    "target-recreated": lambda t: DeliveryError("target-recreated", **t),
    "too-many-dead-letters": lambda t: DeliveryError("too-many-dead-letters", **t),
    "topic-missing": lambda t: LogError("topic-missing", **t),
    "topic-recreated": lambda t: DeliveryError("topic-recreated", **t),
    "topic-refused": lambda t: LogError("topic-refused", **t),
    "transaction-timeout": lambda t: DeliveryError("transaction-timeout", **t),
    "value-not-sent": lambda t: CaptureError("value-not-sent", **t),
    "versions-exhausted": lambda t: DeliveryError("versions-exhausted", **t),
    "writer-fenced": lambda t: DeliveryError("writer-fenced", **t),
}


def refusal(slug: str, fact: str, detail: str, hint: str) -> str:
    """Give the text by which a named failure is known wherever it turns up.

    Example:
        >>> named_failure(refusal("row-without-key", "a", "b", "c")).slug
        'row-without-key'
    """
    told = {"slug": slug, "fact": fact, "detail": detail, "hint": hint}
    return f"{_MARK}{json.dumps(told)}"


def named_failure(text: str, *, where: str | None = None) -> HeadraceError | None:
    """Give the named error that a failure's text holds; None if it holds none.

    Args:
        text: What Spark or Py4J says, however much it wraps around the cause.
        where: The place it concerns, such as the pipeline.

    Example:
        >>> named_failure("java.lang.OutOfMemoryError: Java heap space")
    """
    told = _refusal(text)
    if told is not None:
        make = _NAMED.get(told["slug"])
        if make is not None:
            parts = {part: told[part] for part in ("fact", "detail", "hint")}
            return make({**parts, "where": where})
    if any(sign in text for sign in _TWO_DRIVERS):
        return DeliveryError(
            "checkpoint-in-use",
            "another driver runs on this checkpoint",
            detail="it has added a batch to the checkpoint's log that this one was "
            "about to add; nothing of it was written twice.",
            hint="stop one of the two, then start the other again.",
            where=where,
        )
    if _NAMELESS in text:
        return DeliveryError(
            "checkpoint-damaged",
            "the checkpoint has batches, but has lost its name",
            detail="its file `metadata`, by which the output's ledger knows it, is not "
            "there; nothing was written.",
            hint="put the file back from a copy, or begin with a new checkpoint, as "
            "the page on checkpoint-missing says.",
            where=where,
        )
    return None


def _refusal(text: str) -> dict[str, Any] | None:
    _, mark, rest = text.partition(_MARK)
    if not mark:
        return None
    try:
        told, _ = json.JSONDecoder().raw_decode(rest)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
