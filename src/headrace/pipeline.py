"""Pipelines: named programs of sources, steps and sinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from headrace.cdc import CapturedTable
from headrace.durations import days, hours
from headrace.errors import DeliveryError, StepError
from headrace.event import event_type
from headrace.plan.changes import keep_table, read_changes
from headrace.plan.explain import explain
from headrace.plan.lookups import require_correctable
from headrace.plan.peeking import require_shared_view
from headrace.plan.remote_steps import require_repeatable
from headrace.plan.step_names import require_step_names
from headrace.plan.steps import Output, Read
from headrace.plan.targets import require_target
from headrace.plan.view import View, require_view
from headrace.plan.window import require_replaceable
from headrace.schema.names import require_name
from headrace.schema.origin import declared_at
from headrace.sinks import Sink
from headrace.sinks.beside import beside
from headrace.sources import KafkaSource
from headrace.stream import Stream
from headrace.table import Table, viewed_rows, written_rows
from headrace.windows.watermarks import Strategy, by_partition

DELIVERIES = ("exactly-once", "at-least-once")

REMEMBERED = days(7)
"""How long it is known of a deleted key that it was deleted, unless told otherwise."""

HISTORY = hours(1)
"""How far back a view can be asked, unless told otherwise."""


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
        self._views: list[View] = []
        self._change_reads = 0

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What the pipeline writes, in the order of declaration."""
        return tuple(self._outputs)

    @property
    def views(self) -> tuple[View, ...]:
        """What can be asked while the pipeline runs, in the order of declaration."""
        return tuple(self._views)

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
        strategy = _strategy(source.topic, out_of_order, watermark, where)
        return Stream(
            Read(event.record, event.key, event.time, where, source, strategy)
        )

    def changes(
        self,
        source: CapturedTable | KafkaSource,
        *,
        out_of_order: timedelta | None = None,
        watermark: Strategy | None = None,
    ) -> Stream:
        """Read every change of a table as a stream.

        Its columns are ``op`` (``insert``, ``update``, ``delete``, or ``snapshot`` for
        a row that was there before), ``before`` and ``after``, the rows, as far as
        the database tells them; ``position`` in the database's log, ``transaction``,
        ``is_snapshot``, ``changed_at``, the event time; and ``unchanged``, the columns
        of ``after`` that the database has not sent because they stayed the same. The
        records of a topic have ``op`` ``upsert`` or ``delete``.

        A change that cannot be read stops the pipeline: [table-shape-changed],
        [table-truncated], [change-unreadable].

        Args:
            source: The table, from ``cdc.postgres(...)``, or a topic whose records are
                its rows, from ``kafka(...)``.
            out_of_order: As for `read`.
            watermark: As for `read`.

        Raises:
            SchemaError: [not-an-event] the source's class was not declared.
            StepError: [rows-undeclared] it has no class; [table-needs-key],
                [duration-negative], [watermark-twice].

        Example:
            ``bank.changes(cdc.postgres("bank", "public.users", User))``
        """
        where = declared_at()
        strategy = _strategy(source.topic, out_of_order, watermark, where)
        return Stream(read_changes(source, (), strategy, self._next_read(), where))

    def table(
        self,
        source: CapturedTable | KafkaSource,
        *,
        key: str | Sequence[str] | None = None,
        name: str | None = None,
        remember_deleted: timedelta = REMEMBERED,
        watermark: Strategy | None = None,
    ) -> Table:
        """Keep a table: the last row of each key.

        State: for each key its row; of a deleted key the place of its deletion,
            until the watermark is `remember_deleted` beyond it.
        Late events: applied like any other: the order of the log counts, not time.
        After a restart: goes on with the rows of the last committed batch.

        Args:
            source: A captured table, from ``cdc.postgres(...)``, or a topic whose
                records are its rows, from ``kafka(...)``: one without a value takes
                away the row of its key.
            key: The column or columns of the key; by default the key of the class.
            name: What its state is kept under, once in a pipeline; by default the
                topic's name.
            remember_deleted: How long it is known of a deleted key that it was
                deleted, so that an older change that comes late does not bring it
                back.
            watermark: As for `read`; by it alone deleted keys are forgotten.

        Raises:
            SchemaError: [not-an-event] the source's class was not declared.
            StepError: [rows-undeclared], [table-needs-key], [column-unknown],
                [key-type-unsupported], [event-field-optional], [name-refused],
                [duration-negative], [table-starts-late].

        Example:
            ``bank.table(cdc.postgres("bank", "public.users", User), key="user_id")``
        """
        where = declared_at()
        by = (key,) if isinstance(key, str) else tuple(key or ())
        strategy = _strategy(source.topic, None, watermark, where)
        read = read_changes(source, by, strategy, self._next_read(), where)
        return Table(keep_table(read, name, remember_deleted, where), read.by)

    def _next_read(self) -> int:
        self._change_reads += 1
        return self._change_reads

    def write(
        self,
        name: str,
        stream: Stream | Table,
        sink: Sink,
        *,
        delivery: str | None = None,
    ) -> None:
        """Write a stream or a table into a sink.

        Of a table the sink gets each row that has changed, by its key, and of a
        deleted row that it is gone.

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
                [topic-read-and-written], [topic-shared], [table-key-differs],
                [peek-not-shared].
            DeliveryError: [delivery-unknown] there is no such delivery;
                [delivery-unsupported] the sink does not give it; [sink-not-keyed]
                there is no key to replace or to delete by; [answers-not-repeatable]
                a join asks a database, which may answer differently.
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
        step = stream.step
        if isinstance(stream, Table):
            step = written_rows(stream, sink, name, where)
        self._write(Output(name, step, sink, delivery, where))

    def view(
        self,
        name: str,
        rows: Table | Stream,
        *,
        store: str = "embedded",
        history: timedelta = HISTORY,
    ) -> None:
        """Keep the newest state where it can be asked: `headrace view`, ViewClient.

        Of a table it is the row of each key. Of the panes of a window it is the
        newest one of each window, keyed by the columns of ``by`` and the window's
        start. A view is written exactly once, with the batch's other outputs.

        State: the rows, and what they were within `history`, in the store.
        Late events: corrections replace their panes.
        After a restart: goes on; readers see whole batches only.

        Args:
            name: The view's name, once in a pipeline.
            rows: A table, or the stream of a window.
            store: ``embedded``: a compacted topic, which `headrace view serve`
                follows; ``redis`` or ``postgres``: there, and asked there.
            history: How far back an embedded view can be asked, and watched from.

        Raises:
            ViewError: [view-name-taken], [view-store-unknown], [view-unsupported],
                [view-key-lost].
            StepError: [name-refused], [duration-negative], [column-taken],
                [key-type-unsupported], [output-name-taken].

        Example:
            ``fraud.view("velocity", velocity, history=hours(6))``
        """
        where = declared_at()
        require_name(name, "a view", where)
        require_view(name, store, history, self._views, where)
        view, output = viewed_rows(rows, (self.name, name, store, history), where)
        self._write(output)
        self._views.append(view)

    def beside(self, version: str) -> Pipeline:
        """Give the same program under another name, with outputs of its own.

        It has its own checkpoint, its own state and its own dead letters, and each
        topic, table, index and keyspace that it writes has the version behind its
        name. So a new version of the code reads all that there is, while the old one
        goes on. Views are left out.

        Args:
            version: In lower-case letters, digits and dashes, such as ``v2``.

        Raises:
            StepError: [name-refused] the version is no name.

        Example:
            ``fraud.beside("v2")`` writes ``fraud-alerts-v2``.
        """
        require_name(version, "a version", declared_at())
        other = Pipeline(
            f"{self.name}-{version}",
            lanes=self.lanes,
            dead_letter_limit=self.dead_letter_limit,
        )
        views = {view.output for view in self._views}
        for output in self._outputs:
            if output.name not in views:
                other._write(replace(output, sink=beside(output.sink, version)))
        return other

    def _write(self, output: Output) -> None:
        """Add an output, unless it cannot be.

        Raises:
            StepError, DeliveryError: As `write`.
        """
        if any(other.name == output.name for other in self._outputs):
            raise StepError(
                "output-name-taken",
                f'pipeline "{self.name}" has an output "{output.name}" already',
                hint="give each output a name of its own.",
                where=output.where,
            )
        require_target(
            output,
            self._outputs,
            pipeline=self.name,
            dead_letters=self.dead_letter_topic,
        )
        require_replaceable(output)
        require_correctable(output)
        require_repeatable(output, self.lanes)
        ends = [*(o.step for o in self._outputs), output.step]
        require_step_names(ends)
        require_shared_view(ends)
        self._outputs.append(output)


def _strategy(
    topic: str,
    out_of_order: timedelta | None,
    watermark: Strategy | None,
    where: str,
) -> Strategy:
    if watermark is None:
        return by_partition(out_of_order or timedelta(0))
    if out_of_order is not None:
        raise StepError(
            "watermark-twice",
            f'topic "{topic}" is read with out_of_order and a watermark',
            detail="out_of_order is short for watermarks.by_partition(...).",
            hint="give the strategy alone, with the lag in it.",
            where=where,
        )
    return watermark
