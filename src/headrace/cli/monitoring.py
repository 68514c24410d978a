"""Watch over a pipeline while `headrace run` runs it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.address import Address, read_pairs
from headrace.cli.output import talk
from headrace.ops.alerts import Change
from headrace.ops.families import DOWNSTREAM
from headrace.ops.metrics import Metrics
from headrace.ops.monitor import Monitor
from headrace.ops.rules import RULES, Rule, tuned
from headrace.ops.serving import MetricsServer
from headrace.plan.steps import source_topics
from headrace.serving import LOOPBACK, served

if TYPE_CHECKING:
    from headrace.pipeline import Pipeline
    from headrace.runtime.progress import BatchProgress

Alert = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE.NUMBER=VALUE",
        help="Another limit, over, hold or keep, such as lag-growing.over=1m.",
    ),
]

# Tells of a batch, with the names of the alerts that are on.
Tell = Callable[["BatchProgress", Sequence[str]], None]


@dataclass(frozen=True)
class Watch:
    """What to watch besides the batches.

    Args:
        at: The host and port of the metrics, if they are served.
        rules: The alert rules.
        duplicates: The output topics to follow, and the column that is the id in each.
        checkpoint: Where starts are counted.
    """

    at: tuple[str, int] | None
    rules: Sequence[Rule]
    duplicates: Sequence[tuple[str, str]]
    checkpoint: str = ""

    @classmethod
    def read(
        cls,
        metrics: str | None,
        alerts: Sequence[str] | None,
        duplicates: Sequence[str] | None,
    ) -> Watch:
        """Read the options of a command.

        Raises:
            SettingsError: [setting-rejected] an alert has no such number.
        """
        return cls(
            None if metrics is None else _address(metrics),
            tuned(RULES, read_pairs(alerts, "--alert")),
            read_pairs(duplicates, "--watch-duplicates"),
        )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise typer.BadParameter(f'--metrics "{text}" is neither PORT nor HOST:PORT')
    return host or LOOPBACK, int(port)


@dataclass(frozen=True)
class Monitored:
    """What a run calls: with each batch, and again and again in between."""

    tell: Callable[[BatchProgress], None]
    look: Callable[[], None]


@contextlib.contextmanager
def monitoring(
    pipeline: Pipeline, log: Address, watch: Watch, tell: Tell
) -> Iterator[Monitored]:
    """Watch over a run while it is open.

    Raises:
        ServiceError: [port-taken] something else listens where metrics are asked for.
        LogError: [topic-missing] a topic whose duplicates are asked for is not there.
    """
    from headrace.ops.backlog import Backlog, Reader  # noqa: PLC0415 - loads librdkafka
    from headrace.ops.starts import count_start  # noqa: PLC0415 - loads PySpark

    metrics = Metrics(pipeline.name, restarts=count_start(watch.checkpoint))
    monitor = Monitor(metrics, _tell_change, rules=watch.rules)
    topics = source_topics(pipeline.outputs)
    reader = Reader(log.bootstrap, f"headrace.{pipeline.name}", topics)
    backlog = Backlog(log.admin(), reader, monitor.tell_lag, warn=_warn)

    def told(progress: BatchProgress) -> None:
        backlog.reach(progress.offsets)
        monitor.add(progress)
        tell(progress, monitor.firing())

    with contextlib.ExitStack() as opened:
        _follow_duplicates(opened, monitor, log, watch.duplicates)
        if watch.at is not None:
            host, port = watch.at
            server = MetricsServer(metrics.text, monitor.health, host=host, port=port)
            opened.enter_context(served(server))
            talk().print(f"metrics at {server.url}/metrics", highlight=False)
        opened.enter_context(backlog)
        yield Monitored(told, monitor.look)


def _follow_duplicates(
    opened: contextlib.ExitStack,
    monitor: Monitor,
    log: Address,
    wanted: Sequence[tuple[str, str]],
) -> None:
    if not wanted:
        return
    from headrace.log import SchemaBook  # noqa: PLC0415 - loads librdkafka
    from headrace.ops.repeats import Repeats, from_now_on  # noqa: PLC0415

    book = None if log.registry is None else SchemaBook(log.registry)
    for topic, column in wanted:

        def tell(count: int, topic: str = topic) -> None:
            monitor.metrics.raise_by(DOWNSTREAM, count, topic=topic)

        tell(0)
        reading = from_now_on(log.admin(), log.bootstrap, topic)
        opened.enter_context(Repeats(reading, column, book, tell=tell, warn=_warn))


def _tell_change(change: Change) -> None:
    style = "yellow" if change.began else None
    talk().print(str(change), style=style, highlight=False, markup=False)


def _warn(news: str) -> None:
    talk().print(news, highlight=False, markup=False)
