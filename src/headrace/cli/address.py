"""Which Kafka a command speaks to, how Spark runs, and the options that say so."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import talk
from headrace.errors import LogError, ServiceError
from headrace.services import SERVICES, Stack
from headrace.settings import load_settings

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        metavar="HOST:PORT",
        help="The Kafka to use; by default the project's own.",
    ),
]
Master = Annotated[str, typer.Option(help="Where Spark runs.")]
Checkpoint = Annotated[
    str | None, typer.Option(help="Where progress and state are kept.")
]
Registry = Annotated[
    str | None, typer.Option(metavar="URL", help="The schema registry.")
]
SparkSettings = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A setting of Spark."),
]
MostPerBatch = Annotated[
    int | None, typer.Option(help="The most records of a topic in a batch.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]


@dataclass(frozen=True)
class Address:
    """Where a log is; the cluster's id and a registry are known for our own alone."""

    bootstrap: str
    cluster_id: str | None = None
    registry: str | None = None

    def admin(self) -> AdminClient:
        """Give an admin client, once it is certain which cluster it would change.

        Raises:
            LogError: [broker-unreachable] nobody answers;
                [cluster-mistaken] another cluster answers.
        """
        from headrace.log import administer  # noqa: PLC0415 - loads librdkafka

        return administer(self.bootstrap, self.cluster_id)


def find_log(bootstrap: str | None, directory: Path | None) -> Address:
    """Find the Kafka: the flag's, the settings', or that of the run directory.

    A run directory that is named beats the settings: a flag is nearer than a file.

    Raises:
        ServiceError: [nothing-started] there is no Kafka in the run directory.
        LogError: [broker-unreachable] there is one, and it does not run.
        SettingsError: [setting-rejected] the address is none.
    """
    if bootstrap is not None and directory is not None:
        raise typer.BadParameter("--bootstrap and --dir exclude each other")
    settings = load_settings(bootstrap=bootstrap)
    if settings.bootstrap is not None and directory is None:
        return Address(settings.bootstrap)
    stack = Stack(directory, settings)
    site = stack.site()
    kafka = SERVICES["kafka"]
    if kafka.name not in site.run.services:
        raise ServiceError(
            "nothing-started",
            "no Kafka was started here",
            hint="start it with `headrace up kafka`, or name one with --bootstrap.",
            where=str(stack.run_directory.path),
        )
    brokers = kafka.process_names(site.brokers)
    if all(site.process(broker).pid is None for broker in brokers):
        raise LogError(
            "broker-unreachable",
            "the Kafka of this run directory does not run",
            hint="`headrace up kafka` starts it on its data.",
            where=str(stack.run_directory.path),
        )
    registry = SERVICES["registry"]
    known = registry.name in site.run.services
    return Address(
        kafka.address(site),
        site.run.cluster_id,
        registry.address(site) if known else None,
    )


def read_pairs(texts: Iterable[str] | None, option: str) -> list[tuple[str, str]]:
    """Read what was given as ``name=value``, any number of times."""
    pairs = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f'{option} "{text}" is not of the form name=value')
        pairs.append((name, value))
    return pairs


def require_consent(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone; off a terminal, --yes answers.

    Raises:
        LogError: [not-confirmed] nobody said yes.
    """
    if yes:
        return
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        # Not by typer: it puts a space on stdout, which is for data.
        talk().print(f"{question} [y/N] ", end="", highlight=False, markup=False)
        if sys.stdin.readline().strip().lower() in {"y", "yes"}:
            return
    raise LogError(
        "not-confirmed",
        "nothing was changed",
        detail="the answer was no." if at_terminal else "there is nobody to ask.",
        hint="--yes does it without asking.",
    )
