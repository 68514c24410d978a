"""Tables: the last row of each key, and the verbs that make new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import cast

from headrace.errors import DeliveryError, StepError, ViewError
from headrace.plan.columns import require_column_names
from headrace.plan.groups import AskedGroup, group_table
from headrace.plan.steps import Output, Step
from headrace.plan.table import (
    Fixed,
    changes_of,
    computed,
    kept_where,
    require_steady,
    rows_of,
)
from headrace.plan.table_joins import AskedTables, join_tables
from headrace.plan.view import KEY, View, key_expression, pane_key, pane_rows
from headrace.plan.view_sinks import stored_at, view_sink
from headrace.schema.expressions import (
    Expression,
    column,
    read_condition,
    unknown_column,
)
from headrace.schema.origin import declared_at
from headrace.schema.types import Field, Record
from headrace.sinks import Sink
from headrace.stream import Stream
from headrace.trees.model import BoostedTrees, read_value


class Table:
    """A table inside a pipeline; every verb gives a new one and changes nothing.

    Args:
        step: Its changes: the rows before and after each.
        key: The columns of its key, as far as it still has them.
        fixed: The columns that are the same as long as a row is there: those of the
            key, and what is computed from nothing else; each with the parts of the
            key that it comes from. By default the key itself.

    Example:
        ``rich = profiles.where("balance > 100000").select("user_id", "balance")``
    """

    def __init__(
        self, step: Step, key: Sequence[str], fixed: Fixed | None = None
    ) -> None:
        self._step = step
        self.key = tuple(key)
        self.fixed = Fixed.of(key) if fixed is None else fixed

    @property
    def step(self) -> Step:
        """The step that gives the table's changes."""
        return self._step

    @property
    def row(self) -> Record:
        """The columns of a row."""
        return cast("Record", self._step.columns["after"].type)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.row.names

    def where(self, condition: str) -> Table:
        """Keep the rows for which a condition of Spark's SQL is true.

        A row that no longer meets it is deleted here, one that meets it again is
        inserted.

        Raises:
            StepError: The condition cannot be read, names an unknown column, or
                is a value; [expression-not-steady] it gives another answer each time.
        """
        where = declared_at()
        found = read_condition(condition, self.row, where)
        require_steady(found, where)
        return Table(kept_where(self._step, found, where), self.key, self.fixed)

    def select(self, *names: str, **expressions: str | BoostedTrees) -> Table:
        """Give these columns and computed ones, and no others.

        Without the columns of its key a table cannot be written.

        Raises:
            StepError: A column is unknown, is there twice, or an expression cannot
                be read; [feature-not-a-number] a model asks for a column that is none.

        Example:
            ``profiles.select("user_id", rich="balance > 100000")``
        """
        where = declared_at()
        for name in names:
            if name not in self.row:
                raise unknown_column(name, self.row, "select", where)
        chosen = [(name, name) for name in names]
        return self._select([*chosen, *expressions.items()], where)

    def derive(self, **expressions: str | BoostedTrees) -> Table:
        """Add computed columns, or replace existing ones; all others stay.

        Raises:
            StepError: An expression cannot be read or names an unknown column;
                [feature-not-a-number] a model asks for a column that is none.
        """
        where = declared_at()
        kept = [(name, name) for name in self.columns if name not in expressions]
        return self._select([*kept, *expressions.items()], where)

    def rename(self, **names: str) -> Table:
        """Give columns new names: ``rename(balance="money")``.

        Raises:
            StepError: [column-unknown] there is no such column;
                [column-taken] two columns would have the same name.
        """
        where = declared_at()
        for name in names:
            if name not in self.row:
                raise unknown_column(name, self.row, "rename", where)
        chosen = [(names.get(name, name), name) for name in self.columns]
        return self._select(chosen, where)

    def changes(self) -> Stream:
        """Give the table's changes as a stream.

        Its columns are ``op`` (``insert``, ``update`` or ``delete``), ``before`` and
        ``after``, the rows as this table has them, ``position`` and ``changed_at``,
        the event time. What happens to a key within a batch is one change.

        Example:
            ``profiles.changes().where("op = 'update' and after.city <> before.city")``
        """
        return Stream(changes_of(self._step, declared_at()))

    def join(
        self,
        name: str,
        other: Table,
        /,
        *,
        on: str | Mapping[str, str],
        kind: str = "inner",
        prefix: str | None = None,
    ) -> Table:
        """Join two tables: a table that changes whenever either of them does.

        `on` names the key of the other table: this table's own key, or columns that
        name a row of the other one, such as the customer of an order. The result has
        this table's key, its columns, and then those of the other.

        State: the rows of both tables.
        Late events: applied like any other: the order of the log counts, not time.
        After a restart: goes on with the rows of the last committed batch.

        Args:
            name: The step's name, once in a pipeline; its state is kept under it.
            other: The right table.
            on: The column, or a mapping from this table's columns to those of the
                other. A row in which one is null has no partner.
            kind: ``inner``, rows that have a partner; ``left``, all of this table's;
                ``full``, those of either, where both have the same key.
            prefix: What the names of the other's columns begin with in the result.

        Raises:
            StepError: [name-refused], [option-unknown], [join-needs-key],
                [join-key-not-primary], [column-unknown], [column-taken],
                [key-type-unsupported], [key-types-differ].

        Example:
            ``orders.join("named", customers, on="customer_id", kind="left")``
        """
        asked = AskedTables(name, on, kind, prefix)
        step = join_tables(self, other, asked, declared_at())
        # A row of the right alone has of the left only the key.
        return Table(step, self.key, None if kind == "full" else self.fixed)

    def group(
        self, name: str, /, *, by: str | Sequence[str], **aggregates: str
    ) -> Table:
        """Put the rows together that are alike in some columns: a table of groups.

        It has the columns of `by`, which are its key, and the aggregates. A row that
        changes is taken back from its group and added to its new one; a group
        without rows is deleted. Null is a group, as in SQL.

        State: the totals of each group, as long as it has rows; for ``min``, ``max``
            and ``count(distinct x)`` also its different values.
        Late events: applied like any other: the order of the log counts, not time.
        After a restart: goes on with the totals of the last committed batch.

        Args:
            name: The step's name, once in a pipeline; its state is kept under it.
            by: The column or columns of the key.
            aggregates: An aggregate of Spark's SQL for each new column: ``count``,
                ``count_if``, ``sum``, ``avg``, ``min``, ``max``, ``bool_and``,
                ``bool_or``, with expressions inside and around.

        Raises:
            StepError: [name-refused], [table-needs-key], [column-unknown],
                [column-taken], [column-name-reserved], [key-type-unsupported],
                [aggregates-missing], [not-an-aggregate], [aggregate-not-reversible],
                [aggregate-unsupported], [expression-not-steady],
                [expression-unreadable], [types-differ].

        Example:
            ``profiles.group("by-city", by="city", users="count(*)")``
        """
        asked = AskedGroup(name, by, aggregates)
        step = group_table(self, asked, declared_at())
        return Table(step, step.by)

    def _select(
        self, chosen: Sequence[tuple[str, str | BoostedTrees]], where: str
    ) -> Table:
        """Build the columns of new names and what each of them is."""
        row = self.row
        require_column_names([name for name, _ in chosen], where)
        expressions, fields, fixed = {}, [], {}
        # A column under its own name comes before its copies.
        passed: dict[str, str] = {}
        for name, text in chosen:
            if isinstance(text, str) and text in row:
                expressions[name] = column(text, row[text].type)
                fields.append(Field(name, row[text].type, row[text].required))
                passed.setdefault(text, name)
            else:
                expressions[name] = read_value(text, row, where)
                fields.append(Field(name, expressions[name].type, required=False))
            require_steady(expressions[name], where)
            used = _names(expressions[name], row)
            if used and used <= self.fixed.columns.keys():
                fixed[name] = self.fixed.parts_of(used)
        step = computed(self._step, expressions, Record(tuple(fields)), where)
        key = [passed[name] for name in self.key if name in passed]
        return Table(
            step,
            key if len(key) == len(self.key) else (),
            Fixed(fixed, self.fixed.parts),
        )


def written_rows(table: Table, sink: Sink, output: str, where: str) -> Step:
    """Give the rows of a table as a sink takes them: by key, and with deletions.

    Raises:
        DeliveryError: [sink-not-keyed] the sink cannot take a row away.
        StepError: [table-key-differs] the sink's key is not one of the table.
    """
    if sink.deletes == "refuse":
        raise DeliveryError(
            "sink-not-keyed",
            f'the sink of output "{output}" cannot take a table',
            detail="rows of a table change and are deleted, and the sink has no key "
            "to find them by.",
            hint="write into a keyed sink, or write the changes themselves: "
            "table.changes().",
            where=where,
        )
    if sink.key is None and table.key:
        return rows_of(table.step, table.key, where)
    key = sink.key
    if key is None or key not in table.row or not table.fixed.tells_apart(key):
        raise _key_differs(table, sink, output, where)
    return rows_of(table.step, [key], where)


def viewed_rows(
    rows: Table | Stream, asked: tuple[str, str, str, timedelta], where: str
) -> tuple[View, Output]:
    """Give a view of a table or of a window's panes, and the output that writes it.

    Args:
        rows: What it is of.
        asked: The pipeline's name and the view's, its store, and its history.
        where: The line that declares it.

    Raises:
        ViewError: [view-unsupported], [view-key-lost] the rows cannot be one.
        StepError: [column-taken], [key-type-unsupported] their key cannot.
    """
    pipeline, name, store, history = asked
    key = rows.key if isinstance(rows, Table) else pane_key(rows.step, where)
    if not key:
        raise ViewError(
            "view-key-lost",
            f'view "{name}" is of a table whose key was left out',
            hint="keep the columns of the key.",
            where=where,
        )
    columns = rows.row if isinstance(rows, Table) else rows.step.columns
    made = key_expression(columns, key, where)
    key_column = key[0] if made is None else KEY
    if made is not None:
        rows = rows.derive(**{KEY: made})
    sink = view_sink(pipeline, name, store, key_column, where)
    output = f"view-{name}"
    step = (
        written_rows(rows, sink, output, where)
        if isinstance(rows, Table)
        else pane_rows(rows.step, key_column, where)
    )
    target = stored_at(sink)
    return (
        View(
            name,
            pipeline,
            step.columns,
            tuple(key),
            key_column,
            store,
            history,
            target,
            where,
        ),
        Output(output, step, sink, "exactly-once", where),
    )


def _key_differs(table: Table, sink: Sink, output: str, where: str) -> StepError:
    given = f'is keyed by "{sink.key}"' if sink.key else "has no one key"
    key = ", ".join(table.key)
    detail = f"the key of the table is {key}." if key else "its key was left out."
    parts = ", ".join(table.key if len(table.key) > 1 else ("order_id", "line"))
    return StepError(
        "table-key-differs",
        f'output "{output}" of a table {given}, which does not tell its rows apart',
        detail=f"{detail} A row that changes stays under its key in the sink, and is "
        "deleted by it.",
        hint="key the sink by the table's key, or by a column that is computed from "
        f'all of it and nothing else: derive(id="to_json(struct({parts}))").',
        where=where,
    )


def _names(expression: Expression, row: Record) -> set[str]:
    """Give the columns that an expression looks at."""
    found = set()
    for position in expression.columns_at:
        text = expression.text[position:]
        quoted = text.startswith("`")
        names = [
            name
            for name in row.names
            if text.startswith(f"`{name}`" if quoted else name)
        ]
        # Of `id` and `id_card` the longer one is meant; Spark takes either case.
        found.add(max(names, key=len, default=text))
    return found
