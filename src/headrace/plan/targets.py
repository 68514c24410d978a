"""Check where an output goes while it is declared, and its key once Spark knows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.errors import DeliveryError, StepError
from headrace.plan.changes import TableRows
from headrace.plan.steps import Output, Read, walk
from headrace.schema.keys import derived_key, why_no_key
from headrace.schema.names import OUR_TOPICS
from headrace.schema.types import Binary, ListOf, Record, Unknown
from headrace.sinks import (
    ConsoleSink,
    DeltaSink,
    FilesSink,
    KafkaSink,
    MemorySink,
    OpenSearchSink,
    RedisSink,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def require_target(
    new: Output, others: Sequence[Output], *, pipeline: str, dead_letters: str
) -> None:
    """Refuse an output whose key, delivery or target cannot be what it asks for.

    Args:
        new: The output that is declared.
        others: Those that the pipeline has already.
        pipeline: The pipeline's name.
        dead_letters: The topic of its dead letters.

    Raises:
        DeliveryError: [sink-not-keyed] the sink replaces rows by a key, and there is
            none; [delivery-unsupported] it cannot deliver so.
        StepError: [column-unknown], [key-type-unsupported] the key does not serve;
            [target-shared] another output writes there;
            [topic-reserved] the topic is that of the dead letters;
            [topic-read-and-written] the pipeline would read what it writes;
            [topic-shared] another output writes there, and is not alike;
            [types-differ], [version-type-unsupported] a column that the sink uses
            has another type.
    """
    _require_keys(new)
    _require_delivery(new)
    sink = new.sink
    if not isinstance(sink, KafkaSink):
        if isinstance(sink, OpenSearchSink | RedisSink):
            sink.require_columns(new.step.columns, new.where)
        _require_own_target(new, others)
        if isinstance(sink, DeltaSink | FilesSink):
            _require_partitions(new, sink.partition_by)
        return
    if sink.topic == dead_letters:
        raise StepError(
            "topic-reserved",
            f'output "{new.name}" would write into the topic of the dead letters',
            detail=f'"{dead_letters}" holds what pipeline "{pipeline}" could not read, '
            "byte for byte and with the reason.",
            hint="choose another topic.",
            where=new.where,
        )
    _require_no_circle([*others, new], pipeline, dead_letters, new.where)
    for other in others:
        there = other.sink
        if isinstance(there, KafkaSink) and there.topic == sink.topic:
            _require_alike(other, new, (there, sink))


def require_key_found(output: Output, payload: DataFrame) -> None:
    """Refuse a key whose type only Spark could tell, and which cannot be one.

    Raises:
        StepError: [key-type-unsupported] equal values of its type can differ in
            bytes.
    """
    for key in output.keys:
        if isinstance(output.step.columns[key].type, Unknown):
            _require_found(output, key, payload)


def _require_found(output: Output, key: str, payload: DataFrame) -> None:
    # Spark is there by now, and the check is the operators' own.
    from headrace._spark.columns import require_key  # noqa: PLC0415

    try:
        require_key(payload.select(f"`{key}`"), key)
    except StepError as error:
        kind = payload.schema[key].dataType.simpleString()
        raise StepError(
            "key-type-unsupported",
            f'output "{output.name}" is keyed by "{key}" of type {kind}, which cannot '
            "be a key",
            detail="keys are compared by their bytes, and values of this type have "
            "none that are always the same.",
            hint=error.hint,
            where=output.where,
        ) from error


def _require_keys(output: Output) -> None:
    if not output.keys:
        _require_no_key_needed(output)
    for key in output.keys:
        _require_key(output, key)


def _require_key(output: Output, key: str) -> None:
    columns = output.step.columns
    if key not in columns:
        raise StepError(
            "column-unknown",
            f'the sink is keyed by "{key}", which is not a column',
            detail=f"the columns are {', '.join(columns.names)}.",
            where=output.where,
        )
    kind = columns[key].type
    reason = why_no_key(kind)
    if reason is not None:
        raise StepError(
            "key-type-unsupported",
            f'output "{output.name}" is keyed by "{key}" of type {kind.sql}, which '
            "cannot be a key",
            detail=reason,
            hint=f"add a key of another type: {derived_key(key, kind)}.",
            where=output.where,
        )


def _require_no_key_needed(output: Output) -> None:
    if output.sink.same_key == "append":
        return
    raise DeliveryError(
        "sink-not-keyed",
        f'output "{output.name}" has no key for {output.sink.target}',
        detail="a row there stands in the place of the one before it with its key.",
        hint='name a column: key="..."; or give the event one: @event(key="...").',
        where=output.where,
    )


def _require_delivery(output: Output) -> None:
    guarantees = output.sink.guarantees
    if output.delivery in guarantees:
        return
    raise DeliveryError(
        "delivery-unsupported",
        f'output "{output.name}" cannot be {output.delivery}',
        detail=f"{output.sink.target} gives {' or '.join(guarantees)}.",
        hint=f'leave the delivery out, or set delivery="{guarantees[0]}".',
        where=output.where,
    )


def _require_own_target(new: Output, others: Sequence[Output]) -> None:
    """Refuse two outputs into one target: each would have a ledger of its own there."""
    if isinstance(new.sink, MemorySink | ConsoleSink):
        # What an output has there is kept or shown under its own name.
        return
    for other in others:
        if (other.sink.system, other.sink.target) == (new.sink.system, new.sink.target):
            raise StepError(
                "target-shared",
                f'outputs "{other.name}" and "{new.name}" cannot share '
                f"{new.sink.target}",
                detail="each is written by itself, so between the two no order of a "
                f'key would be kept ("{other.name}" is declared at {other.where}).',
                hint="write the union of the streams with one output.",
                where=new.where,
            )


def _require_partitions(output: Output, names: Sequence[str]) -> None:
    """Refuse columns that no directory can be named after."""
    columns = output.step.columns
    for name in names:
        if name not in columns:
            raise StepError(
                "column-unknown",
                f'{output.sink.target} is partitioned by "{name}", which is not a '
                "column",
                detail=f"the columns are {', '.join(columns.names)}.",
                where=output.where,
            )
        kind = columns[name].type
        if isinstance(kind, Record | ListOf | Binary):
            raise StepError(
                "partition-unsupported",
                f'{output.sink.target} cannot be partitioned by "{name}" of type '
                f"{kind.sql}",
                detail="the values become names of directories.",
                hint="derive a column of another type from it.",
                where=output.where,
            )
    if names and set(names) == set(columns.names):
        raise StepError(
            "partition-unsupported",
            f"{output.sink.target} cannot be partitioned by all of its columns",
            detail="its files would hold nothing.",
            hint="partition by columns that have few values, such as a date.",
            where=output.where,
        )


def _require_no_circle(
    outputs: Sequence[Output], pipeline: str, dead_letters: str, where: str
) -> None:
    """Refuse to read what the pipeline itself writes, directly or by another output."""
    written = {
        output.sink.topic: output
        for output in outputs
        if isinstance(output.sink, KafkaSink)
    }
    reads = [step for o in outputs for step in walk(o.step) if isinstance(step, Read)]
    for read in reads:
        topic = read.source.topic
        if topic in written:
            fact = f'pipeline "{pipeline}" writes into topic "{topic}", which it reads'
            detail = (
                f'output "{written[topic].name}" writes it, and it is read at '
                f"{read.where}: what a batch writes would be the input of the next."
            )
            hint = (
                "write into another topic. To go on from an output, use its stream; "
                "where a circle is meant, declare two pipelines."
            )
        elif topic == dead_letters or topic.startswith(f"{OUR_TOPICS}{pipeline}."):
            fact = f'pipeline "{pipeline}" reads topic "{topic}", which is its own'
            detail = (
                f"it is read at {read.where}, and the pipeline writes it while it "
                "reads: what a batch writes would be the input of the next."
            )
            hint = "read it in a pipeline of another name."
        else:
            continue
        raise StepError(
            "topic-read-and-written", fact, detail=detail, hint=hint, where=where
        )


def _require_alike(
    one: Output, other: Output, sinks: tuple[KafkaSink, KafkaSink]
) -> None:
    """Refuse two outputs that readers of their topic could tell apart."""
    difference = _difference(one, other, [sink.format for sink in sinks])
    if difference is None:
        return
    raise StepError(
        "topic-shared",
        f'outputs "{one.name}" and "{other.name}" cannot share topic '
        f'"{sinks[1].topic}"',
        detail=f'{difference} ("{one.name}" is declared at {one.where}).',
        hint="give each a topic of its own, or make them alike with select, derive "
        "and rename.",
        where=other.where,
    )


def _difference(one: Output, other: Output, formats: Sequence[str]) -> str | None:
    if one.step is other.step:
        return "both write the same stream, so each event would be there twice"
    if any(isinstance(output.step, TableRows) for output in (one, other)):
        return "what a table deletes would take away what the other has written"
    if formats[0] != formats[1]:
        return f"one writes {formats[0]}, the other {formats[1]}"
    if one.key != other.key:
        shown = [output.key or "nothing" for output in (one, other)]
        return f"one is keyed by {shown[0]}, the other by {shown[1]}"
    if formats[0] != "json":
        return (
            f"a topic has one schema, and in {formats[0]} it bears the name of "
            "its output; a union of the streams has one output"
        )
    return _column_difference(one.step.columns, other.step.columns)


def _column_difference(one: Record, other: Record) -> str | None:
    left = {field.name: field.type.sql for field in one}
    right = {field.name: field.type.sql for field in other}
    for name in sorted(left.keys() | right.keys()):
        here, there = left.get(name, "absent"), right.get(name, "absent")
        if here != there:
            return f'"{name}" is {_told(here)} in one and {_told(there)} in the other'
        if here == Unknown().sql:
            return f'only Spark can tell the type of "{name}"; a cast would say it'
    return None


def _told(sql: str) -> str:
    return "of a type that only Spark can tell" if sql == Unknown().sql else sql
