"""The terms of a delivery: from which query, to which sinks, how strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from headrace.errors import DeliveryError

DELIVERIES = ("exactly-once", "at-least-once")

# What a user can say to take over as it is; docs/delivery.md says what each means.
ADOPTABLE = ("checkpoint", "ledger", "gap", "topics", "lanes", "batch")


@dataclass(frozen=True)
class SinkTerms:
    """A sink of a query: the rows name it by its place among the others.

    Args:
        name: The output's name; with the pipeline's, it names the sink's ledger.
        system: What it writes to, such as ``kafka`` or ``postgres``.
        settings: What the system's classes are told.
    """

    name: str
    system: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_topic(cls, name: str, topic: str) -> SinkTerms:
        """Give a topic of Kafka's as a sink."""
        return cls(name, "kafka", {"topic": topic})


@dataclass(frozen=True)
class Terms:
    """How the outgoing rows of one query get into their sinks.

    Args:
        pipeline: The pipeline's name.
        query: The query's name in it. With the pipeline's, it is the name under
            which the brokers know its lanes.
        bootstrap: The brokers' addresses; None where there is no Kafka, and topics
            get nothing.
        checkpoint: Spark's checkpoint directory, local or of any file system.
        sinks: In the order in which the rows count them.
        delivery: ``exactly-once`` or ``at-least-once``.
        lanes: How many writers share a batch. With one, a batch appears at once in
            all topics.
        only_query: Whether the pipeline has no other query, so that the progress
            topic can have its name alone.
        adopt: What to take over as it is, once: any of `ADOPTABLE`.
        take_over: Whether to start although another driver may hold the checkpoint;
            it loses its lanes.
        create_topics: Whether to make output topics that are not there.
        dead_letters: The place of the dead letters among the sinks.
        dead_letter_limit: The largest share of dead letters, from 0 to 1.
        patience: How long to wait for a sink's server that is away; Kafka's clients
            have time-outs of their own.
        client: Settings of the Kafka clients, as Kafka names them.

    Raises:
        DeliveryError: [delivery-unknown], [adopt-unknown] there is no such value.
    """

    pipeline: str
    query: str
    bootstrap: str | None
    checkpoint: str
    sinks: tuple[SinkTerms, ...]
    delivery: str = "exactly-once"
    lanes: int = 1
    only_query: bool = True
    adopt: frozenset[str] = frozenset()
    take_over: bool = False
    create_topics: bool = False
    dead_letters: int | None = None
    dead_letter_limit: float = 1.0
    patience: timedelta = timedelta(minutes=2)
    client: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.delivery not in DELIVERIES:
            raise DeliveryError(
                "delivery-unknown",
                f'there is no delivery "{self.delivery}"',
                hint=f"use one of {', '.join(DELIVERIES)}.",
            )
        unknown = sorted(self.adopt - set(ADOPTABLE))
        if unknown:
            raise DeliveryError(
                "adopt-unknown",
                f'there is nothing called "{unknown[0]}" to adopt',
                hint=f"name any of {', '.join(ADOPTABLE)}.",
            )

    @property
    def progress_topic(self) -> str:
        """The topic that holds the ledger, one partition for each lane."""
        own = "" if self.only_query else f".{self.query}"
        return f"headrace.{self.pipeline}{own}.progress"

    @property
    def group(self) -> str:
        """The consumer group that shows how far the pipeline has come."""
        return f"headrace.{self.pipeline}"

    def options(self) -> dict[str, str]:
        """Give the terms as the JVM reads them."""
        sinks = [
            {"name": s.name, "system": s.system, "settings": dict(s.settings)}
            for s in self.sinks
        ]
        dead_letters = -1 if self.dead_letters is None else self.dead_letters
        return {
            "pipeline": self.pipeline,
            "query": self.query,
            "delivery": self.delivery,
            "lanes": str(self.lanes),
            "sinks": json.dumps(sinks),
            "progress_topic": self.progress_topic,
            "checkpoint": self.checkpoint,
            "adopt": ",".join(sorted(self.adopt)),
            "group": self.group,
            "create_topics": str(self.create_topics).lower(),
            "dead_letter_sink": str(dead_letters),
            "dead_letter_limit": str(self.dead_letter_limit),
            "patience_ms": str(self.patience // timedelta(milliseconds=1)),
            **({} if self.bootstrap is None else {"bootstrap": self.bootstrap}),
            **{f"client.{name}": str(value) for name, value in self.client.items()},
        }
