"""Make the topics that a pipeline writes to, where they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import LogError
from headrace.log import create_topic, describe_topic
from headrace.plan.steps import source_topics
from headrace.sinks import KafkaSink

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from headrace.pipeline import Pipeline


def make_missing_topics(admin: AdminClient, pipeline: Pipeline) -> list[str]:
    """Make the output topics that are not there; give their names.

    A new output has as many partitions as the widest topic that the pipeline reads,
    so that whoever reads on can do so as widely. Dead letters have one.

    Raises:
        LogError: [topic-missing] a topic that the pipeline reads is not there;
            [topic-refused] the cluster does not make one.
    """
    widest = max(len(describe_topic(admin, t)) for t in source_topics(pipeline.outputs))
    sinks = [output.sink for output in pipeline.outputs]
    wanted = {sink.topic: widest for sink in sinks if isinstance(sink, KafkaSink)}
    wanted.setdefault(pipeline.dead_letter_topic, 1)
    existing = set(admin.list_topics(timeout=30).topics)
    made = []
    for topic, partitions in wanted.items():
        if topic in existing:
            continue
        try:
            create_topic(admin, topic, partitions=partitions)
        except LogError as error:
            # Another driver may have been faster, which serves as well.
            if error.slug != "topic-exists":
                raise
        made.append(topic)
    return made
