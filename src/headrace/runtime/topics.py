"""Make the topics that a pipeline writes to, where they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import LogError
from headrace.log import COMPACTED, cleanup_policy, create_topic, describe_topic
from headrace.plan.changes import TableRows
from headrace.plan.steps import source_topics
from headrace.sinks import KafkaSink

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from headrace.pipeline import Pipeline


def make_missing_topics(admin: AdminClient, pipeline: Pipeline) -> list[str]:
    """Make the output topics that are not there; give their names.

    A new output has as many partitions as the widest topic that the pipeline reads,
    so that whoever reads on can do so as widely. Dead letters have one. The topic of
    a table is compacted.

    Raises:
        LogError: [topic-missing] a topic that the pipeline reads is not there;
            [topic-refused] the cluster does not make one; [topic-not-compacted] one
            that is there would lose rows of a table.
    """
    widest = max(len(describe_topic(admin, t)) for t in source_topics(pipeline.outputs))
    sinks = [output.sink for output in pipeline.outputs]
    wanted = {sink.topic: widest for sink in sinks if isinstance(sink, KafkaSink)}
    wanted.setdefault(pipeline.dead_letter_topic, 1)
    tables = table_topics(pipeline)
    existing = set(admin.list_topics(timeout=30).topics)
    made = []
    for topic, partitions in wanted.items():
        if topic in existing:
            if topic in tables:
                _require_compacted(topic, cleanup_policy(admin, topic))
            continue
        config = COMPACTED if topic in tables else None
        try:
            create_topic(admin, topic, partitions=partitions, config=config)
        except LogError as error:
            # Another driver may have been faster, which serves as well.
            if error.slug != "topic-exists":
                raise
        made.append(topic)
    return made


def table_topics(pipeline: Pipeline) -> list[str]:
    """Give the topics that the pipeline writes tables to."""
    return [
        output.sink.topic
        for output in pipeline.outputs
        if isinstance(output.step, TableRows) and isinstance(output.sink, KafkaSink)
    ]


def _require_compacted(topic: str, cleanup: str) -> None:
    if cleanup != "compact":
        raise LogError(
            "topic-not-compacted",
            f'topic "{topic}" would lose rows of the table that is written to it',
            detail=f"its cleanup.policy is {cleanup}: a row that does not change is "
            "removed with the records of its time.",
            hint=f"set cleanup.policy=compact for it, or choose another topic than "
            f'"{topic}", which is then made so.',
        )
