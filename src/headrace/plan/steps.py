"""The steps of a pipeline: what was declared, and where, before any engine runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from headrace.cdc import CapturedTable
from headrace.schema.expressions import Expression
from headrace.schema.types import Record
from headrace.sinks import Sink
from headrace.sources import KafkaSource
from headrace.windows.watermarks import Strategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class Step:
    """One step: its output's columns, key and time, and the step's origin.

    Two steps are the same only if they are the same object: a pipeline may well
    declare two equal ones.
    """

    columns: Record
    key: str | None
    time: str | None
    where: str

    verb: ClassVar[str]

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key: one, or none; the rows of a table may have more."""
        return () if self.key is None else (self.key,)

    @property
    def engine(self) -> str:
        """Who does it: Spark itself (``native``), or an ``operator`` of ours."""
        return "native"

    @property
    def inputs(self) -> tuple[Step, ...]:
        """The steps that feed this one."""
        return ()

    @property
    def summary(self) -> str:
        """What the step does, in a line."""
        return ""

    @property
    def state(self) -> str | None:
        """What the step keeps between batches, or None."""
        return None


@dataclass(frozen=True, eq=False)
class Read(Step):
    """Read a topic."""

    source: KafkaSource | CapturedTable
    watermark: Strategy

    verb: ClassVar[str] = "read"

    @property
    def topic(self) -> str:
        """The topic that is read."""
        return self.source.topic

    @property
    def format(self) -> str:
        """How its bytes are written."""
        source = self.source
        return source.format if isinstance(source, KafkaSource) else "json"

    @property
    def start(self) -> str:
        """Where a pipeline without a checkpoint begins; a captured table as a whole."""
        source = self.source
        return source.start if isinstance(source, KafkaSource) else "earliest"

    @property
    def ahead(self) -> timedelta | None:
        """How far an event's time may lie beyond its record's; None for any."""
        source = self.source
        return source.ahead if isinstance(source, KafkaSource) else None

    @property
    def summary(self) -> str:
        """Name the topic, its event and format."""
        event = getattr(self.source.event, "__name__", "rows")
        return f"topic {self.topic}, {event} as {self.format}"


@dataclass(frozen=True, eq=False)
class OneInput(Step):
    """A step that is fed by one other."""

    input: Step

    @property
    def inputs(self) -> tuple[Step, ...]:
        """The step that feeds this one."""
        return (self.input,)


@dataclass(frozen=True, eq=False)
class Where(OneInput):
    """Keep the events for which a condition is true."""

    condition: Expression

    verb: ClassVar[str] = "where"

    @property
    def summary(self) -> str:
        """Show the condition."""
        return self.condition.text


@dataclass(frozen=True, eq=False)
class Select(OneInput):
    """Give these columns, computed from the input's, and no others."""

    expressions: Mapping[str, Expression]

    verb: ClassVar[str] = "select"

    @property
    def summary(self) -> str:
        """Show the columns that are computed or renamed, and name the others."""
        shown = {
            name: expression.shown.strip("`")
            for name, expression in self.expressions.items()
        }
        return ", ".join(
            name if name == text else f"{name} = {text}" for name, text in shown.items()
        )


@dataclass(frozen=True, eq=False)
class Union(Step):
    """Put streams of the same columns together."""

    streams: tuple[Step, ...]

    verb: ClassVar[str] = "union"

    @property
    def inputs(self) -> tuple[Step, ...]:
        """The steps that feed this one."""
        return self.streams


@dataclass(frozen=True, eq=False)
class Transform(OneInput):
    """Let the user's own PySpark change the stream."""

    function: Callable[[DataFrame], DataFrame]

    verb: ClassVar[str] = "transform"

    @property
    def summary(self) -> str:
        """Name the function."""
        return getattr(self.function, "__qualname__", repr(self.function))


@dataclass(frozen=True, eq=False)
class Stateful(OneInput):
    """A step that keeps something between batches, under a name of its own."""

    name: str

    @property
    def keeps_state(self) -> bool:
        """Whether Spark keeps state for it."""
        return True

    @property
    def engine(self) -> str:
        """Who does it: an operator of ours, unless Spark means the same."""
        return "operator"

    @property
    def operators(self) -> int:
        """How many of Spark's stateful operators it is made of."""
        return 1


@dataclass(frozen=True, eq=False)
class Dedupe(Stateful):
    """Keep the first event of each id."""

    by: str
    within: timedelta

    verb: ClassVar[str] = "dedupe"

    @property
    def summary(self) -> str:
        """Name the id and the time."""
        return f'"{self.name}", by {self.by} within {self.within}'

    @property
    def state(self) -> str:
        """Say how long an id stays."""
        return f"each {self.by} until the watermark is {self.within} beyond its time"


@dataclass(frozen=True, eq=False)
class Output:
    """A stream on its way into a sink."""

    name: str
    step: Step
    sink: Sink
    delivery: str
    where: str

    @property
    def key(self) -> str | None:
        """The one column that keys the records; None if there is none, or several."""
        return self.sink.key or self.step.key

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that key the records."""
        return self.step.keys if self.sink.key is None else (self.sink.key,)


def walk(step: Step) -> Iterator[Step]:
    """Give a step and all that feed it, each once, inputs first."""
    seen: set[int] = set()

    def visit(current: Step) -> Iterator[Step]:
        if id(current) in seen:
            return
        seen.add(id(current))
        for earlier in current.inputs:
            yield from visit(earlier)
        yield current

    return visit(step)


def source_topics(outputs: Iterable[Output]) -> list[str]:
    """Give the topics that outputs come from, in order and each once."""
    reads = [
        step.topic
        for output in outputs
        for step in walk(output.step)
        if isinstance(step, Read)
    ]
    return list(dict.fromkeys(reads))
