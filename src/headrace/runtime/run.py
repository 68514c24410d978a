"""Run a pipeline: start its query, report each batch, stop when told to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

from headrace.delivery import Delivering, SinkTerms, Terms, deliver
from headrace.errors import CaptureError, StepError
from headrace.plan.clock import Clocks
from headrace.plan.outgoing import outgoing
from headrace.plan.states import state_owners
from headrace.plan.steps import Output, Read
from headrace.plan.surroundings import Surroundings
from headrace.runtime.coding import Encoder, decoded
from headrace.runtime.failures import name_failure
from headrace.runtime.progress import BatchProgress, batches_after
from headrace.runtime.propagation import readers
from headrace.runtime.reading import kafka_rows
from headrace.runtime.targets import sink_terms
from headrace.runtime.watching import CaptureGuard
from headrace.schema.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.pipeline import Pipeline
    from headrace.sinks import Servers

_LOOK_EVERY = timedelta(milliseconds=200)
_FINISH_SECONDS = 120.0
# Events that come a few at a time wait for half of this, on average, and one that comes
# alone does not. Five batches a second keep a fifth of a core busy.
_PACE = timedelta(milliseconds=200)


@dataclass(frozen=True)
class Conditions:
    """Under which conditions a pipeline runs.

    Args:
        bootstrap: The brokers' addresses.
        checkpoint: Where Spark keeps offsets and state.
        registry: The schema registry's address, if there is one.
        until_caught_up: Whether to stop at what is the input's end at the start.
        every: How often a batch begins; by default as soon as there is input, but
            for a moment in which few events become some more.
        most_per_batch: How many records of each topic a batch takes at the most.
        adopt: What to take over as it is, once.
        take_over: Whether to start although another driver may run.
        servers: Where the servers of sinks are; only those that are needed are
            asked for.
    """

    bootstrap: str
    checkpoint: str
    registry: str | None = None
    until_caught_up: bool = False
    every: timedelta | None = None
    most_per_batch: int | None = None
    adopt: frozenset[str] = frozenset()
    take_over: bool = False
    servers: Servers | None = None


def require_outputs(pipeline: Pipeline) -> None:
    """Refuse a pipeline that would read and do nothing.

    Raises:
        StepError: [pipeline-writes-nothing] it has no output.
    """
    if not pipeline.outputs:
        raise StepError(
            "pipeline-writes-nothing",
            f'pipeline "{pipeline.name}" writes nothing',
            hint=f'add {pipeline.name}.write("name", stream, sinks.kafka("topic")).',
            where=pipeline.where,
        )


def start(
    pipeline: Pipeline, spark: SparkSession, conditions: Conditions
) -> Delivering:
    """Start a pipeline's query.

    Raises:
        StepError: [pipeline-writes-nothing] it has no output.
        HeadraceError: What is wrong with the plan, the topics or the checkpoint.
    """
    require_outputs(pipeline)
    outputs = pipeline.outputs
    address = conditions.registry
    registry = None if address is None else Registry(address)
    clocks = Clocks(outputs, client={"bootstrap.servers": conditions.bootstrap})

    paced = conditions.every is None and not conditions.until_caught_up
    pace = _PACE if paced else None

    def open_source(read: Read) -> DataFrame:
        most = conditions.most_per_batch
        rows = kafka_rows(
            spark, read, conditions.bootstrap, most_per_batch=most, pace=pace
        )
        return clocks.driving(decoded(rows, read, registry), read)

    encoder = Encoder(spark, registry)
    around = Surroundings(conditions.checkpoint, conditions.servers)
    sent = outgoing(outputs, open_source, encoder, around)
    rows = clocks.waking(sent)
    exactly_once = any(output.delivery == "exactly-once" for output in outputs)
    sinks = sink_terms(outputs, encoder.schemas, conditions.servers)
    terms = Terms(
        pipeline=pipeline.name,
        query="main",
        bootstrap=conditions.bootstrap,
        checkpoint=conditions.checkpoint,
        sinks=(
            *sinks,
            SinkTerms.of_topic("dead-letters", pipeline.dead_letter_topic),
        ),
        delivery="exactly-once" if exactly_once else "at-least-once",
        lanes=pipeline.lanes,
        adopt=conditions.adopt,
        take_over=conditions.take_over,
        dead_letters=len(outputs),
        dead_letter_limit=pipeline.dead_letter_limit,
    )
    return deliver(
        rows, terms, every=conditions.every, until_end=conditions.until_caught_up
    )


def follow(
    delivering: Delivering,
    tell: Callable[[BatchProgress], None],
    enough: Event,
    *,
    outputs: Sequence[Output] = (),
    guard: CaptureGuard | None = None,
    look: Callable[[], None] = lambda: None,
) -> None:
    """Report each batch until the query ends, or the batch in hand is finished.

    Args:
        delivering: The running query.
        tell: Is given each batch's progress, in order.
        enough: Set by anybody, such as a signal's handler, to end the query.
        outputs: What the query writes, to tell whose state is how large.
        guard: Looks after the captures that are read.
        look: Is called again and again while the query runs, batches or not.

    Raises:
        HeadraceError: The named reason why the query could not go on.
        CaptureError: What is wrong with a capture; the batch in hand was finished.
    """
    last = -1
    ended = False
    owners, changes_of = state_owners(outputs), readers(outputs)

    def tell_since(last: int) -> int:
        for progress in batches_after(delivering, last, owners, changes_of):
            tell(progress)
            last = progress.batch
        return last

    try:
        while not ended and not enough.is_set():
            ended = delivering.await_end(_LOOK_EVERY)
            last = tell_since(last)
            look()
            if guard is not None:
                guard.check()
        if not ended:
            _finish_batch(delivering)
    except CaptureError:
        _finish_batch(delivering)
        raise
    except StreamingQueryException as error:
        raise name_failure(str(error), delivering.terms.pipeline) from error
    finally:
        tell_since(last)


def _finish_batch(delivering: Delivering) -> None:
    """Let the batch in hand end, then stop.

    A batch that begins in this very moment is broken off. That is safe: nothing of
    it was committed, and the next run does it again.
    """
    query = delivering.query
    before = query.lastProgress
    deadline = time.monotonic() + _FINISH_SECONDS
    while (
        query.isActive
        and query.status["isTriggerActive"]
        and query.lastProgress == before
        and time.monotonic() < deadline
    ):
        time.sleep(0.02)
    delivering.stop()
