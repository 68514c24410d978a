"""Names that a user chooses: topics and formats, checked when they are declared."""

from __future__ import annotations

import re

from headrace.errors import SchemaError, StepError

FORMATS = ("json", "avro", "protobuf", "json-schema")

OUR_TOPICS = "headrace."
"""What the names of headrace's own topics begin with: ledgers, above all."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def require_name(name: str, what: str, where: str) -> None:
    """Refuse a name that topics, checkpoints and state could not be called by.

    Raises:
        StepError: [name-refused] it has other characters, or too many.
    """
    if not _NAME.fullmatch(name):
        raise StepError(
            "name-refused",
            f'"{name}" cannot be the name of {what}',
            detail="lower-case letters, digits and dashes, a letter first, 63 at most.",
            where=where,
        )


def require_topic_name(topic: str, where: str) -> None:
    """Refuse a name that Kafka would refuse in the first batch.

    Raises:
        StepError: [topic-name-refused] Kafka does not allow the name.
    """
    if not _TOPIC.fullmatch(topic) or topic in {".", ".."}:
        raise StepError(
            "topic-name-refused",
            f'"{topic}" cannot be the name of a topic',
            detail="letters, digits, dots, dashes and underscores, 249 at the most.",
            where=where,
        )


def require_writable_topic(topic: str, where: str) -> None:
    """Refuse to write events where headrace keeps its own records.

    Raises:
        StepError: [topic-reserved] the topic is one of ours.
    """
    if topic.startswith(OUR_TOPICS):
        raise StepError(
            "topic-reserved",
            f'topic "{topic}" cannot be written to: its name is one of headrace\'s own',
            detail=f'topics that begin with "{OUR_TOPICS}" hold the ledgers of '
            "pipelines, and a strange record there could stop one.",
            hint="choose another name.",
            where=where,
        )


def require_format(name: str, where: str) -> None:
    """Refuse a format that does not exist.

    Raises:
        SchemaError: [format-unknown] there is no such format.
    """
    if name not in FORMATS:
        raise SchemaError(
            "format-unknown",
            f'there is no format "{name}"',
            hint=f"choose from {', '.join(FORMATS)}.",
            where=where,
        )
