"""Start a query that delivers its rows, and watch it."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException

from headrace._spark.delivery import (
    attach_delivery,
    close_delivery,
    delivery_report,
    told_batches,
)
from headrace.delivery.checkpoint import CheckpointLock
from headrace.delivery.failures import named_failure
from headrace.delivery.terms import Terms
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_POOL = "spark.scheduler.pool"


def deliver(
    outgoing: DataFrame,
    terms: Terms,
    *,
    every: timedelta | None = None,
    until_end: bool = False,
    output_mode: str = "append",
) -> Delivering:
    """Start a query that writes its outgoing rows into their sinks.

    Args:
        outgoing: A stream with the columns ``sink`` (a place in the terms' sinks),
            ``key``, ``value``, ``headers`` and ``timestamp``.
        terms: From which query to which sinks, and how strictly.
        every: How often to begin a batch; by default as soon as there is input.
        until_end: Whether to stop by itself at what is the input's end now.
        output_mode: Spark's output mode.

    Raises:
        DeliveryError: [checkpoint-in-use] another driver runs on the checkpoint;
            [speculation-on] Spark would run a lane twice at once.
        DeliveryError: [sink-mismatch], [sink-unreachable], [sink-jars-missing] a sink
            cannot be written as it is.
        LogError: [broker-unreachable], [topic-refused] the topics could not be made.
    """
    _require_no_speculation(outgoing, terms)
    lock = CheckpointLock(terms.checkpoint)
    if not terms.take_over:
        lock.take()
    name = f"{terms.pipeline}.{terms.query}"
    writer = (
        outgoing.writeStream.outputMode(output_mode)
        .queryName(name)
        .option("checkpointLocation", terms.checkpoint)
    )
    if until_end:
        writer = writer.trigger(availableNow=True)
    elif every is not None:
        milliseconds = every // timedelta(milliseconds=1)
        writer = writer.trigger(processingTime=f"{milliseconds} milliseconds")
    try:
        with _own_pool(outgoing.sparkSession, name):
            query = attach_delivery(writer, terms.options()).start()
    except (Py4JJavaError, PySparkException) as error:
        lock.release()
        named = named_failure(str(error), where=f'pipeline "{terms.pipeline}"')
        if named is None:
            raise
        raise named from error
    except BaseException:
        lock.release()
        raise
    return Delivering(outgoing.sparkSession, query, terms, lock)


@contextmanager
def _own_pool(spark: SparkSession, name: str) -> Iterator[None]:
    """Let the jobs of a query have their share beside those of others.

    A query takes what is set for the thread that starts it. Without a pool, its tasks
    would wait behind all that another query of the session has begun before.
    """
    context = spark.sparkContext
    context.setLocalProperty(_POOL, name)
    try:
        yield
    finally:
        context.setLocalProperty(_POOL, None)  # type: ignore[arg-type]


class Delivering:
    """A query that is delivering, or has been.

    Args:
        spark: The session that it runs in.
        query: Spark's own handle of it.
        terms: What it was started with.
        lock: Held until the query has ended.
    """

    def __init__(
        self,
        spark: SparkSession,
        query: StreamingQuery,
        terms: Terms,
        lock: CheckpointLock,
    ) -> None:
        self._spark = spark
        self.query = query
        self.terms = terms
        self._lock = lock

    def await_end(self, timeout: timedelta | None = None) -> bool:
        """Wait until the query has ended; False if it has not in this time.

        Raises:
            DeliveryError, LogError: The named reason why it could not go on.
            StreamingQueryException: It failed for a reason that has no name here.
        """
        seconds = None if timeout is None else timeout.total_seconds()
        try:
            # Spark takes whole seconds or fractions, and None for ever.
            ended = self.query.awaitTermination(seconds)  # type: ignore[arg-type]
        except StreamingQueryException as error:
            self._close()
            named = named_failure(str(error), where=f'pipeline "{self.terms.pipeline}"')
            if named is None:
                raise
            raise named from error
        if ended or timeout is None:
            self._close()
            return True
        return False

    def stop(self) -> None:
        """End the query after its batch, and give the checkpoint back."""
        self.query.stop()
        self._close()

    def batches(self, after: int) -> list[dict[str, Any]]:
        """Give what Spark tells of the batches that ended after a given one."""
        return told_batches(self._spark, self.query, after)

    def report(self) -> dict[str, Any]:
        """Give what was delivered since the start.

        ``rows`` by sink, ``dead_letters``, ``batches`` and among them
        ``held_batches``, which every sink held already, and ``held_by_sink``, those
        that each did; ``last_batch``; and ``last_phases_ms``, the time that each
        phase of it took.
        """
        return delivery_report(self._spark, self.terms.pipeline, self.terms.query)

    def _close(self) -> None:
        close_delivery(self._spark, self.terms.pipeline, self.terms.query)
        self._lock.release()


def _require_no_speculation(outgoing: DataFrame, terms: Terms) -> None:
    conf = outgoing.sparkSession.sparkContext.getConf()
    speculates = str(conf.get("spark.speculation", "false")).lower() == "true"
    if speculates and terms.delivery == "exactly-once":
        raise DeliveryError(
            "speculation-on",
            "Spark would run slow tasks twice at once",
            detail="two attempts of one lane would fence each other for ever.",
            hint="leave spark.speculation at false, or use at-least-once.",
            where=f'pipeline "{terms.pipeline}"',
        )
