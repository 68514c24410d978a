"""Pipelines: named programs of sources, steps and sinks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from headrace.errors import DeliveryError, StepError
from headrace.event import event_type
from headrace.plan.explain import explain
from headrace.plan.steps import Output, Read, Stateful, Step, walk
from headrace.plan.targets import require_target
from headrace.plan.window import require_replaceable
from headrace.schema.names import require_name
from headrace.schema.origin import declared_at
from headrace.sinks import Sink
from headrace.sources import KafkaSource
from headrace.stream import Stream
from headrace.windows.watermarks import Strategy, by_partition

DELIVERIES = ("exactly-once", "at-least-once")


class Pipeline:
    """A named program: streams that are read, changed and written.

    Declaring one starts nothing and needs no JVM; ``headrace run FILE`` runs it.

    Args:
        name: Its name in lower-case letters, digits and dashes. Topics, groups and
            checkpoints are called after it, so it stays the same for life.
        lanes: How many transactional writers share a batch. With one, a batch is
            atomic over all topics; more are faster, and each is atomic by itself.
        dead_letter_limit: The share of inputs that may be unreadable before the
            pipeline stops, from 0 to 1.

    Example:
        >>> from headrace import event, kafka, sinks
        >>> @event(key="card")
        ... class Payment:
        ...     card: str
        ...     cents: int
        >>> big = Pipeline("big-payments")
        >>> payments = big.read(kafka("payments", Payment))
        >>> big.write("big", payments.where("cents > 100000"), sinks.kafka("big"))
        >>> [output.name for output in big.outputs]
        ['big']
    """

    def __init__(
        self, name: str, *, lanes: int = 1, dead_letter_limit: float = 0.5
    ) -> None:
        self.where = declared_at()
        require_name(name, "a pipeline", self.where)
        if lanes < 1:
            raise StepError(
                "lanes-below-one",
                f"a pipeline cannot write through {lanes} lanes",
                hint="use one lane, or more for throughput.",
                where=self.where,
            )
        if not 0 <= dead_letter_limit <= 1:
            raise StepError(
                "share-out-of-range",
                f"dead_letter_limit is {dead_letter_limit}, not a share from 0 to 1",
                where=self.where,
            )
        self.name = name
        self.lanes = lanes
        self.dead_letter_limit = dead_letter_limit
        self._outputs: list[Output] = []

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What the pipeline writes, in the order of declaration."""
        return tuple(self._outputs)

    @property
    def dead_letter_topic(self) -> str:
        """The topic of the inputs that could not be read."""
        return f"{self.name}.dead-letters"

    def explain(self) -> dict[str, Any]:
        """Give graph, schemas, state and guarantees as plain data."""
        return explain(
            self.name,
            self.outputs,
            lanes=self.lanes,
            dead_letter_topic=self.dead_letter_topic,
        )

    def read(
        self,
        source: KafkaSource,
        *,
        out_of_order: timedelta | None = None,
        watermark: Strategy | None = None,
    ) -> Stream:
        """Read a topic as a stream of its events.

        Args:
            source: The topic, from ``kafka(...)``.
            out_of_order: How much later than its successors in the partition an event
                may arrive: short for ``watermarks.by_partition(out_of_order)``, and
                zero unless given.
            watermark: How event time is followed, from ``watermarks``.

        Raises:
            SchemaError: [not-an-event] the source's class was not declared.
            StepError: [duration-negative] `out_of_order` is below zero;
                [watermark-twice] both ways to say it were used.
        """
        where = declared_at()
        event = event_type(source.event)
        if watermark is None:
            watermark = by_partition(out_of_order or timedelta(0))
        elif out_of_order is not None:
            raise StepError(
                "watermark-twice",
                f'topic "{source.topic}" is read with out_of_order and a watermark',
                detail="out_of_order is short for watermarks.by_partition(...).",
                hint="give the strategy alone, with the lag in it.",
                where=where,
            )
        return Stream(
            Read(event.record, event.key, event.time, where, source, watermark)
        )

    def write(
        self,
        name: str,
        stream: Stream,
        sink: Sink,
        *,
        delivery: str | None = None,
    ) -> None:
        """Write a stream into a sink.

        Several outputs may share a topic if their columns, format and key are the
        same. A topic that the pipeline reads cannot be one that it writes.

        Args:
            name: The output's name, once in a pipeline.
            stream: What to write.
            sink: Where to, from ``sinks``.
            delivery: ``exactly-once``, or ``at-least-once``, which is cheaper and
                may repeat events after a crash; the best that the sink gives unless
                set.

        Raises:
            StepError: [output-name-taken], [column-unknown], [key-type-unsupported],
                [name-refused], [step-name-taken], [target-shared], [topic-reserved],
                [topic-read-and-written], [topic-shared].
            DeliveryError: [delivery-unknown] there is no such delivery;
                [delivery-unsupported] the sink does not give it; [sink-not-keyed]
                there is no key to replace by.
        """
        where = declared_at()
        require_name(name, "an output", where)
        delivery = delivery or sink.guarantees[0]
        if delivery not in DELIVERIES:
            raise DeliveryError(
                "delivery-unknown",
                f'there is no delivery "{delivery}"',
                hint=f"choose from {', '.join(DELIVERIES)}.",
                where=where,
            )
        if any(output.name == name for output in self._outputs):
            raise StepError(
                "output-name-taken",
                f'pipeline "{self.name}" has an output "{name}" already',
                hint="give each output a name of its own.",
                where=where,
            )
        output = Output(name, stream.step, sink, delivery, where)
        require_target(
            output,
            self._outputs,
            pipeline=self.name,
            dead_letters=self.dead_letter_topic,
        )
        require_replaceable(output)
        _require_step_names([*(o.step for o in self._outputs), stream.step])
        self._outputs.append(output)


def _require_step_names(ends: Sequence[Step]) -> None:
    """Refuse two steps of one name: their state and metrics would be mistaken."""
    named: dict[str, Stateful] = {}
    for step in (step for end in ends for step in walk(end)):
        if not isinstance(step, Stateful):
            continue
        first = named.setdefault(step.name, step)
        if first is not step:
            raise StepError(
                "step-name-taken",
                f'two steps are called "{step.name}"',
                detail=f"the other one is declared at {first.where}; state is kept "
                "under a step's name.",
                hint="give each a name of its own, or declare the step once and use "
                "its stream twice.",
                where=step.where,
            )
