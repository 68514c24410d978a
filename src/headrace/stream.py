"""Streams: events in order of arrival, and the verbs that make new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from headrace.errors import StepError
from headrace.event import event_type
from headrace.joins.interval import Between
from headrace.joins.lookup import Lookup
from headrace.plan.columns import require_column_names, require_same_columns
from headrace.plan.dedupe import dedupe_step
from headrace.plan.join_asked import AskedAny, any_join
from headrace.plan.join_steps import Joined
from headrace.plan.joins import late_rows
from headrace.plan.lookups import Kept, missing_rows
from headrace.plan.steps import Select, Step, Transform, Union, Where
from headrace.plan.window import Asked, late_step, window_step
from headrace.remote import RemoteTable
from headrace.schema.expressions import (
    column,
    read_condition,
    unknown_column,
)
from headrace.schema.origin import declared_at
from headrace.schema.types import Field, Record
from headrace.trees.model import BoostedTrees, read_value
from headrace.windows.firing import After, Firing, Refire
from headrace.windows.kinds import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Stream:
    """A stream inside a pipeline; every verb gives a new one and changes nothing.

    Example:
        ``large = payments.where("amount > 1000").derive(cents="amount * 100")``
    """

    def __init__(self, step: Step) -> None:
        self._step = step

    @property
    def step(self) -> Step:
        """The step that makes this stream."""
        return self._step

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._step.columns.names

    def where(self, condition: str) -> Stream:
        """Keep the events for which a condition of Spark's SQL is true.

        Raises:
            StepError: The condition cannot be read, names an unknown column, or
                is a value.
        """
        where = declared_at()
        before = self._step
        found = read_condition(condition, before.columns, where)
        return Stream(
            Where(before.columns, before.key, before.time, where, before, found)
        )

    def select(self, *names: str, **expressions: str | BoostedTrees) -> Stream:
        """Give these columns and computed ones, and no others.

        Raises:
            StepError: A column is unknown, is there twice, or an expression cannot
                be read; [feature-not-a-number] a model asks for a column that is none.

        Example:
            ``payments.select("card_id", cents="amount * 100")``
        """
        where = declared_at()
        for name in names:
            if name not in self._step.columns:
                raise unknown_column(name, self._step.columns, "select", where)
        chosen = [(name, name) for name in names]
        return self._select([*chosen, *expressions.items()], where)

    def derive(self, **expressions: str | BoostedTrees) -> Stream:
        """Add computed columns, or replace existing ones; all others stay.

        Raises:
            StepError: An expression cannot be read or names an unknown column;
                [feature-not-a-number] a model asks for a column that is none.

        Example:
            ``payments.derive(fee="amount / 100", risk=BoostedTrees.load(path))``
        """
        where = declared_at()
        kept = [(name, name) for name in self.columns if name not in expressions]
        return self._select([*kept, *expressions.items()], where)

    def rename(self, **names: str) -> Stream:
        """Give columns new names: ``rename(amount="spent")``.

        Raises:
            StepError: [column-unknown] there is no such column;
                [column-taken] two columns would have the same name.
        """
        where = declared_at()
        for name in names:
            if name not in self._step.columns:
                raise unknown_column(name, self._step.columns, "rename", where)
        chosen = [(names.get(name, name), name) for name in self.columns]
        return self._select(chosen, where)

    def _select(
        self, chosen: Sequence[tuple[str, str | BoostedTrees]], where: str
    ) -> Stream:
        """Build a Select of new names and what each of them is."""
        before = self._step
        require_column_names([name for name, _ in chosen], where)
        expressions, fields = {}, []
        # A column under its own name comes before its copies.
        passed: dict[str, str] = {}
        for name, text in chosen:
            if isinstance(text, str) and text in before.columns:
                field = before.columns[text]
                expressions[name] = column(field.name, field.type)
                fields.append(Field(name, field.type, field.required))
                passed.setdefault(text, name)
            else:
                expressions[name] = read_value(text, before.columns, where)
                fields.append(Field(name, expressions[name].type, required=False))
        return Stream(
            Select(
                Record(tuple(fields)),
                passed.get(before.key) if before.key else None,
                passed.get(before.time) if before.time else None,
                where,
                before,
                expressions,
            )
        )

    def union(self, *others: Stream) -> Stream:
        """Put streams together that have the same columns, in any order.

        Raises:
            StepError: [union-columns-differ] they have not.
        """
        where = declared_at()
        before = self._step
        for other in others:
            require_same_columns(before, other.step, where)
        steps = (before, *(other.step for other in others))
        columns = tuple(
            Field(
                field.name,
                field.type,
                all(step.columns[field.name].required for step in steps),
            )
            for field in before.columns
        )
        key = before.key if all(s.key == before.key for s in steps) else None
        time = before.time if all(s.time == before.time for s in steps) else None
        return Stream(Union(Record(columns), key, time, where, steps))

    def dedupe(self, name: str, *, by: str, within: timedelta) -> Stream:
        """Keep the first event of each id; drop and count those that repeat it.

        Two events of an id are the same if their event times are at most `within`
        apart. Of those in one batch the earliest is the first; between batches it is
        the one that came first. An event without an id passes.

        State: for each id the times of its events that passed, until the watermark
            is more than `within` beyond them, and up to twice as long again.
        Late events: judged like any other, never dropped for being late. The id of
            one that passes is remembered until the watermark has moved on by
            `within`. A duplicate that comes after its id was forgotten passes.
        After a restart: goes on with the ids of the last committed batch.

        Args:
            name: The step's name, once in a pipeline; its state is kept under it.
            by: The column that holds the id.
            within: How far apart the same events can be, in event time.

        Raises:
            StepError: [name-refused], [dedupe-needs-time], [column-unknown],
                [key-type-unsupported], [within-not-positive], [dedupe-after-window].

        Example:
            ``payments.dedupe("once", by="payment_id", within=hours(1))``
        """
        return Stream(dedupe_step(self._step, name, by, within, declared_at()))

    def window(  # noqa: PLR0913 - a user's words, each with a default
        self,
        name: str,
        kind: Kind,
        /,
        *,
        by: str | Sequence[str] | None = None,
        early: After | None = None,
        late: str | Refire = "side-output",
        panes: str = "accumulating",
        having: str | None = None,
        hot_keys: str | None = None,
        **aggregates: str,
    ) -> Stream:
        """Put events together by key and time, and tell something of each window.

        The stream has the columns of `by`, ``window_start`` and ``window_end``, the
        aggregates, and what tells panes apart: ``pane`` (``early``, ``on-time`` or
        ``late``), ``pane_number``, ``is_final``, ``is_retraction`` and ``window_id``.

        State: for each key and open window the state of its aggregates, until the
            watermark passes its end and the time of `refire`; ``sliding`` keeps the
            events themselves, ``everything`` keeps its windows for ever.
        Late events: those whose windows are all over go to ``stream.late``, or are
            dropped with ``late="drop"``; with ``late=refire(...)`` they first correct
            the panes they belong to. All are counted.
        After a restart: goes on with the windows of the last committed batch.

        Args:
            name: The step's name, once in a pipeline; its state is kept under it.
            kind: Which events belong together: ``tumbling(minutes(5))``, ``hopping``,
                ``sliding``, ``sessions``, ``counted``, ``assigned``, ``everything``.
            by: The column or columns of the key; None puts all events under one.
            early: When to fire before a window is complete: ``after(events=100)``.
            late: ``side-output``, ``drop``, or ``refire(minutes(10))``.
            panes: What a pane holds that is not the first of its window: all events
                (``accumulating``), those since the last pane (``discarding``), or all,
                after the last pane has been taken back (``retracting``).
            having: A condition over the aggregates; panes that do not meet it are
                not told.
            hot_keys: ``spread`` puts the events of each key together in parts, by
                several cores.
            aggregates: An aggregate of Spark's SQL for each new column.

        Raises:
            StepError: [name-refused], [window-kind-unknown], [window-needs-time],
                [window-after-window], [window-never-fires], [firing-unsupported],
                [hot-keys-unsupported], [option-unknown], [column-unknown],
                [column-taken], [column-name-reserved], [key-type-unsupported],
                [aggregates-missing], [not-an-aggregate], [aggregate-unsupported],
                [types-differ], [expression-unreadable], [condition-not-boolean].

        Example:
            ``payments.window("velocity", tumbling(minutes(5)), by="card",
            having="payments > 10", payments="count(*)", spent="sum(amount)")``
        """
        firing = Firing(early, panes, late)
        asked = Asked(name, kind, by, having, firing, hot_keys, aggregates)
        return Stream(window_step(self._step, asked, declared_at()))

    def join(  # noqa: PLR0913 - a user's words, each with a default
        self,
        name: str,
        other: Stream | Kept | RemoteTable,
        /,
        *,
        on: str | Mapping[str, str],
        within: Between | timedelta | None = None,
        lookup: Lookup | None = None,
        kind: str | None = None,
        late: str = "side-output",
        prefix: str | None = None,
    ) -> Stream:
        """Put rows together by key: of two streams, or of this one and a table.

        Rows of two streams belong together within an interval of event time; an event
        is answered with the row that a table had at the event's own time.

        The result has the columns of this stream, then those of the other side, null
        where there is no row; a column of the key with one name on both sides is
        there once. Its event time is that of this stream, with ``kind="right"`` that
        of the other one; a full join has none.

        State: the rows of both sides, each until the watermark has passed the last
            moment at which a partner could come, half an interval more at the most.
            Of a table the versions of each row for the retention, and the last one.
        Late events: rows older than the watermark, or with a table by more than the
            retention, join nothing, and go to ``stream.late`` and
            ``stream.late_right``, or are dropped with ``late="drop"``. All are
            counted.
        After a restart: goes on with the rows of the last committed batch.

        Args:
            name: The step's name, once in a pipeline; its state is kept under it.
            other: The right side, a stream or a table; or one that stays in its
                database, from ``remote``.
            on: The column of the key, or a mapping from this stream's columns to
                those of the other. A row in which one is null has no partner.
            within: How long after this stream's row the other's may be, from
                ``between(...)``; a duration alone is either way. Not of a table.
            lookup: When a table answers and by which row: ``settled()``, the default,
                ``known()``, ``latest()``, or ``broadcast()``, with which every task
                holds the table and the stream is not shuffled. Of a remote table
                ``asking()``.
            kind: ``inner``, ``left``, ``right``, ``full``: pairs, and rows of a side
                that had no partner; ``semi``, ``anti``: this stream's rows that had
                one, or none. ``inner`` for streams and ``left`` for a table unless
                set; a table takes no others.
            late: ``side-output`` or ``drop``.
            prefix: What the names of the other's columns begin with in the result.

        Raises:
            StepError: [name-refused], [join-without-bound], [interval-reversed],
                [option-unknown], [join-needs-key], [join-needs-time],
                [join-after-window], [late-rows-followed], [column-unknown],
                [column-taken], [key-type-unsupported], [key-types-differ],
                [duration-unreadable], [duration-too-long], [duration-negative],
                [join-option-unfit], [join-key-not-primary], [retention-too-short],
                [corrections-followed], [count-below-one],
                [duration-not-positive].

        Example:
            ``payments.join("profile", profiles, on="user_id")`` and
            ``impressions.join("clicked", clicks, on="ad_id", kind="left",
            within=between(seconds(0), minutes(10)))``
        """
        asked = AskedAny(name, on, within, lookup, kind, late, prefix)
        right = other.step if isinstance(other, Stream) else other
        return Stream(any_join(self._step, right, asked, declared_at()))

    @property
    def missing(self) -> Stream:
        """The events for which the table of this join had no row.

        They have the columns, key and time that they came with.

        Raises:
            StepError: [missing-rows-absent] this is not the stream that a join with a
                table gave, or it does not set them apart.
        """
        return Stream(missing_rows(self._step, declared_at()))

    @property
    def late(self) -> Stream:
        """The events that came too late for this window, or for this join.

        They have the columns, key and time that they came with, and ``late_by_ms``:
        how far the watermark was beyond their time. Of a join these are the rows of
        its left side.

        Raises:
            StepError: [late-events-absent] this is not the stream that a window or a
                join gave, or it drops them.

        Example:
            ``fraud.write("late", velocity.late, sinks.kafka("late-payments"))``
        """
        return Stream(late_step(self._step, declared_at()))

    @property
    def late_right(self) -> Stream:
        """The rows of a join's right side that came too late for it.

        They have the columns, key and time that they came with, and ``late_by_ms``.

        Raises:
            StepError: [late-events-absent] this is not the stream that a join gave,
                or it drops them.
        """
        where = declared_at()
        step = self._step
        if not isinstance(step, Joined):
            raise StepError(
                "late-events-absent",
                f"a stream made by {step.verb} has no right side",
                hint="late_right is that of a join: stream.join(...).late_right.",
                where=where,
            )
        return Stream(late_rows(step.input, is_left=False, where=where))

    def transform(
        self, function: Callable[[DataFrame], DataFrame], *, gives: type | None = None
    ) -> Stream:
        """Let plain PySpark change the stream.

        The function is called once, when the pipeline is planned, with a data frame
        that has this stream's columns.

        Args:
            function: Takes a streaming data frame and gives one.
            gives: The event whose fields the result has; by default the same
                columns as before. The result is checked against them.
        """
        where = declared_at()
        before = self._step
        columns, key, time = before.columns, before.key, before.time
        if gives is not None:
            given = event_type(gives)
            columns, key, time = given.record, given.key, given.time
        return Stream(Transform(columns, key, time, where, before, function))
