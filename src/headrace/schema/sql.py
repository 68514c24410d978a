"""Analyse SQL expressions without Spark: their columns, and the type they give."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from headrace.errors import StepError
from headrace.schema.expressions import Expression, unknown_column
from headrace.schema.types import (
    Day,
    FieldType,
    Moment,
    Real,
    Record,
    Text,
    Truth,
    Unknown,
    Whole,
)

_TABLE = "stream"

# In brackets, so that an expression is no statement. The line break ends a comment.
_BEFORE, _AFTER = "SELECT (", "\n)"

_SEVERAL_EVENTS = (exp.AggFunc, exp.Any, exp.Query, exp.RowNumber, exp.Window)
_SEVERAL_ROWS = (exp.Explode, exp.Inline, exp.Stack, exp.UDTF)

# What sqlglot takes for a plain function; Spark's other aggregates hold "_agg".
_AGGREGATE = re.compile(
    r"\w+_agg(_\w+)?|count_min_sketch|every|histogram_numeric|mean|measure|some|std"
    r"|try_avg|try_sum|(session_)?window"
)


def analyse(text: str, columns: Record, where: str) -> Expression:
    """Check an expression; `read_expression` says what for.

    Raises:
        StepError: [expression-unreadable] it is not SQL;
            [column-unknown] it names something that is not there;
            [expression-not-per-event] it aggregates, ranks, multiplies or queries;
            [types-differ] it compares or computes with what does not go together.
    """
    tree = parse(text, where)
    _refuse_more_than_a_row(tree, text, where)
    positions, kind = [], None
    for column in tree.find_all(exp.Column):
        found = _column_type(column, columns, text, where)
        positions.append(column.parts[0].meta["start"] - len(_BEFORE))
        kind = found if column is tree else None
    typed = _annotate(tree, columns)
    _refuse_mixed_types(typed, text, where)
    return Expression(text, kind or _our_type(typed), tuple(positions))


def parse(text: str, where: str) -> exp.Expr:
    """Read one expression, whatever it looks at.

    Raises:
        StepError: [expression-unreadable] it is not SQL, or not one value.
    """
    try:
        tree = sqlglot.parse_one(f"{_BEFORE}{text}{_AFTER}", dialect="spark")
        closed = _closes_what_it_opens(text)
    except Exception as error:
        # Its own errors, and others for functions that lack their arguments.
        raise _unreadable(text, "is not an expression", where, error) from error
    if not isinstance(tree, exp.Select) or not closed:
        raise _unreadable(text, "has brackets that do not match", where)
    value = tree.selects[0].unnest()
    if isinstance(value, exp.Tuple):
        many = "more than one" if value.expressions else "no"
        raise _unreadable(text, f"is {many} expression", where)
    if isinstance(value, exp.Alias | exp.Star):
        raise _unreadable(text, "is not one value without a name", where)
    if value.find(exp.Parameter, exp.Placeholder):
        raise _unreadable(text, "has a place that is left open", where)
    return value


def _unreadable(
    text: str, fact: str, where: str, error: Exception | None = None
) -> StepError:
    told = str(error or "").partition(" Line")[0]
    return StepError(
        "expression-unreadable",
        f"`{text}` {fact}",
        # The parser speaks of its own classes where it does not know better.
        detail=told if told.startswith("Expecting") else None,
        hint="give one expression of Spark's SQL; column names that are words of SQL, "
        "or have letters beyond ASCII, stand between backticks.",
        where=where,
    )


def _closes_what_it_opens(text: str) -> bool:
    """Tell whether every bracket is closed after it was opened, inside the text."""
    depth = 0
    for token in sqlglot.tokenize(text, dialect="spark"):
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            return False
    return depth == 0


def _refuse_more_than_a_row(tree: exp.Expr, text: str, where: str) -> None:
    for node in tree.walk():
        plain = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        aggregate = _AGGREGATE.fullmatch(plain)
        if plain == "inline_outer" or isinstance(node, _SEVERAL_ROWS):
            hint = "lists stay lists: use transform, filter or aggregate on them."
            fact = "gives more than one row for an event"
        elif aggregate or isinstance(node, _SEVERAL_EVENTS):
            hint = "give each event a value of its own."
            fact = "looks at more than one event"
        else:
            continue
        raise StepError(
            "expression-not-per-event",
            f"`{text}` {fact}",
            detail=f"`{node.sql(dialect='spark')}` does.",
            hint=hint,
            where=where,
        )


def _column_type(
    column: exp.Column, columns: Record, text: str, where: str
) -> FieldType:
    """Check a column's name, and what it names inside; give its type."""
    path = [part.name for part in column.parts]
    for part in column.parts:
        if not part.args.get("quoted") and not part.name.isascii():
            raise _unreadable(text, f"has the name {part.name} as it is", where)
    inside: FieldType = columns
    for step, name in enumerate(path):
        if not isinstance(inside, Record):
            # Spark reads a field out of each element of a list.
            return Unknown()
        if name not in inside:
            raise unknown_column(".".join(path[: step + 1]), inside, text, where)
        inside = inside[name].type
    return inside


def _annotate(tree: exp.Expr, columns: Record) -> exp.Expr:
    """Let sqlglot work out the types; what it cannot stays unknown."""
    known = {
        field.name: field.type.sql
        for field in columns
        if not isinstance(field.type, Unknown)
    }
    try:
        query = exp.select(exp.alias_(tree.copy(), "_value")).from_(_TABLE)
        qualified = qualify(
            query,
            schema={_TABLE: known},
            dialect="spark",
            validate_qualify_columns=False,
            quote_identifiers=False,
            identify=False,
        )
        schema = MappingSchema({_TABLE: known}, dialect="spark")
        typed = annotate_types(qualified, schema=schema, dialect="spark")
    except Exception:
        # What it stumbles over, Spark may well know.
        return tree
    assert isinstance(typed, exp.Select)  # noqa: S101 - we built it above
    return typed.selects[0].unalias()


_NUMBERS = exp.DataType.NUMERIC_TYPES
_TEXTS = exp.DataType.TEXT_TYPES


def _refuse_mixed_types(tree: exp.Expr, text: str, where: str) -> None:
    """Refuse what Spark would only find out in a batch, by failing it."""
    for node in tree.find_all(exp.Binary):
        sides = [_kind(side) for side in (node.left, node.right)]
        arithmetic = isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod)
        compared = isinstance(node, exp.Predicate)
        if arithmetic and "text" in sides:
            problem = "computes with a text"
        elif compared and {"text", "number"} == set(sides):
            problem = "compares a text with a number"
        elif compared and {"truth", "number"} == set(sides):
            problem = "compares a truth with a number"
        else:
            continue
        raise StepError(
            "types-differ",
            f"`{_text(node)}` {problem}",
            detail=f"in `{text}`.",
            hint="cast one side: `cast(x as double)`, `cast(x as string)`.",
            where=where,
        )


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="spark").replace(f"{_TABLE}.", "")


def _kind(node: exp.Expr) -> str | None:
    kind = node.type.this if node.type else None
    if kind in _NUMBERS:
        return "number"
    if kind in _TEXTS:
        return "text"
    if kind in exp.DataType.TEMPORAL_TYPES:
        return "time"
    return "truth" if kind == exp.DataType.Type.BOOLEAN else None


def _our_type(tree: exp.Expr) -> FieldType:
    found = tree.type
    if found is None:
        return Unknown()
    kind = found.this
    if kind in exp.DataType.INTEGER_TYPES:
        return Whole()
    if kind in _TEXTS:
        return Text()
    if kind in {exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT}:
        return Real()
    if isinstance(tree, exp.Sub) and _kind(tree.right) == "time":
        # What lies between two times is none itself.
        return Unknown()
    # Spark widens decimals by rules of its own, so they are not told here.
    by_kind: dict[object, FieldType] = {
        exp.DataType.Type.BOOLEAN: Truth(),
        exp.DataType.Type.TIMESTAMP: Moment(),
        exp.DataType.Type.TIMESTAMPTZ: Moment(),
        exp.DataType.Type.DATE: Day(),
    }
    return by_kind.get(kind, Unknown())
