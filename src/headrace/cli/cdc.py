"""Commands for change data capture: add, status, pause, resume, mend, remove."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.address import (
    Bootstrap,
    Yes,
    find_log,
    read_pairs,
    require_consent,
)
from headrace.cli.ending import ENDING
from headrace.cli.output import Format, print_json, print_table, talk
from headrace.cli.services import Directory, Output
from headrace.errors import CaptureError
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.settings import load_settings

if TYPE_CHECKING:
    from headrace.cdc.place import Capture
    from headrace.cdc.status import CaptureStatus
    from headrace.cdc.wishes import Login

app = typer.Typer(
    help="Capture the changes of databases.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Database = Annotated[
    str, typer.Argument(metavar="DATABASE", help="The database's name, such as bank.")
]
Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="With its schema: public.users.")
]


def _addresses(directory: Path | None) -> Addresses:
    settings = load_settings()
    return Addresses(settings, Stack(directory, settings))


def _capture(database: str, bootstrap: str | None, directory: Path | None) -> Capture:
    from headrace.cdc.captures import captured  # noqa: PLC0415
    from headrace.cdc.place import Capture  # noqa: PLC0415
    from headrace.log import client_settings  # noqa: PLC0415 - loads librdkafka

    addresses = _addresses(directory)
    notes = captured(addresses.connect()).get(database)
    # An outbox is a capture of its own, of a database with another name.
    named = notes.database if notes else None
    return Capture(
        database,
        addresses.database(named or database),
        addresses.connect(),
        client_settings(find_log(bootstrap, directory).bootstrap),
    )


_AMID = "ended; `headrace cdc status` shows what was done"


def _tell(news: str) -> None:
    talk().print(news, highlight=False, markup=False)


@app.command()
def add(
    database: Database,
    tables: Annotated[
        str,
        typer.Option(metavar="TABLE,...", help="Such as public.users,public.card."),
    ],
    snapshot_mode: Annotated[
        str, typer.Option(help="initial: every row first; no_data: changes alone.")
    ] = "initial",
    partitions: Annotated[
        int, typer.Option(min=1, help="Partitions of each table's topic.")
    ] = 1,
    compact: Annotated[
        bool, typer.Option("--compact", help="Keep the last change of each row.")
    ] = False,
    role: Annotated[
        str | None, typer.Option(help="A role that exists, instead of a new one.")
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="The file that holds that role's password.")
    ] = None,
    password_reference: Annotated[
        str | None,
        typer.Option(help="How another Connect finds it: ${file:/etc/bank:password}."),
    ] = None,
    publication: Annotated[
        str | None, typer.Option(help="The publication's name; it may exist.")
    ] = None,
    slot: Annotated[str | None, typer.Option(help="The slot's name.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the connector."),
    ] = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Capture tables, or further tables, and wait until their rows are in the log."""
    from headrace.cdc import captures  # noqa: PLC0415
    from headrace.cdc.wishes import Wish  # noqa: PLC0415

    ENDING.at_once(_AMID)
    wish = Wish(
        tuple(table.strip() for table in tables.split(",") if table.strip()),
        snapshot_mode=snapshot_mode,
        partitions=partitions,
        compact=compact,
        publication=publication,
        slot=slot,
        settings=dict(read_pairs(set_, "--set")),
    )
    capture = _capture(database, bootstrap, directory)
    if database in captures.captured(capture.connect):
        login = None
    else:
        login = _login(capture, directory, role, password_file, password_reference)
    captures.add(capture, wish, login, _tell)


def _login(
    capture: Capture,
    directory: Path | None,
    role: str | None,
    password_file: Path | None,
    reference: str | None,
) -> Login:
    """Find out how the connector logs in; a password never leaves its file."""
    from headrace.cdc.wishes import Login  # noqa: PLC0415

    addresses = _addresses(directory)
    if reference is not None:
        if role is None:
            raise typer.BadParameter("--password-reference needs --role")
        return Login(role, reference)
    if addresses.settings.connect is not None:
        raise CaptureError(
            "capture-login-missing",
            "the Kafka Connect of the settings cannot read files of ours",
            detail="a password is given to a connector by reference alone.",
            hint="make a role, store its password where that Connect finds it, and "
            "name both: --role and --password-reference.",
        )
    if (role is None) != (password_file is None):
        raise typer.BadParameter("--role and --password-file go together")
    if password_file is not None:
        password = password_file.read_text().strip()
    else:
        password = secrets.token_urlsafe(24)
    file = addresses.stack.run_directory.write(
        f"connect/passwords/{capture.database}/password", password
    )
    return Login(
        role or capture.slot,
        f"${{directory:{file.parent}:{file.name}}}",
        None if role is not None else password,
    )


@app.command()
def outbox(
    database: Database,
    table: Annotated[
        str, typer.Option(help="The outbox; it is made if it is missing.")
    ] = "public.outbox",
    partitions: Annotated[
        int, typer.Option(min=1, help="Partitions of each aggregate's topic.")
    ] = 1,
    role: Annotated[
        str | None, typer.Option(help="A role that exists, instead of a new one.")
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="The file that holds that role's password.")
    ] = None,
    password_reference: Annotated[
        str | None,
        typer.Option(help="How another Connect finds it: ${file:/etc/bank:password}."),
    ] = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Carry the events of an outbox to their topics: DATABASE.outbox.AGGREGATE."""
    from headrace.cdc.captures import captured  # noqa: PLC0415
    from headrace.cdc.outbox_capture import add_outbox, outbox_of  # noqa: PLC0415
    from headrace.cdc.wishes import Wish  # noqa: PLC0415

    capture = _capture(database, bootstrap, directory)
    ours = outbox_of(capture)
    if ours.database in captured(capture.connect):
        login = None
    else:
        login = _login(ours, directory, role, password_file, password_reference)
    add_outbox(capture, Wish((table,), partitions=partitions), login, _tell)


@app.command()
def status(
    database: Annotated[
        str | None, typer.Argument(metavar="[DATABASE]", help="By default all.")
    ] = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Show captures and what is wrong with them; exit 1 if something is."""
    from headrace.cdc.captures import captured  # noqa: PLC0415
    from headrace.cdc.status import status_of  # noqa: PLC0415

    there = captured(_addresses(directory).connect())
    names = sorted(there) if database is None else [database]
    found = [status_of(_capture(name, bootstrap, directory)) for name in names]
    if output is Format.JSON:
        print_json([_as_data(capture) for capture in found])
    elif not found:
        talk().print("nothing is captured; `headrace cdc add` captures tables")
    else:
        _print_status(found)
    if any(capture.problems for capture in found):
        raise typer.Exit(1)


def _as_data(status: CaptureStatus) -> dict[str, Any]:
    wrong = [
        {"slug": p.slug, "fact": p.fact, "detail": p.detail, "hint": p.hint}
        for p in status.problems
    ]
    return {**asdict(status), "problems": wrong}


def _print_status(found: list[CaptureStatus]) -> None:
    print_table(
        ("database", "connector", "task", "held back", "behind", "place"),
        [
            (
                capture.database,
                capture.connector,
                capture.task,
                _size(capture.standing.held_bytes),
                _behind(capture),
                capture.standing.place,
            )
            for capture in found
        ],
    )
    typer.echo()
    print_table(
        ("table", "snapshot", "rows", "topic"),
        [
            (t.table, t.snapshot, "-" if t.rows is None else str(t.rows), t.topic)
            for capture in found
            for t in capture.tables
        ],
    )
    for capture in found:
        for problem in capture.problems:
            talk().print(str(problem), style="red", highlight=False, markup=False)


def _size(count: int | None) -> str:
    if count is None:
        return "-"
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count} B"


def _behind(capture: CaptureStatus) -> str:
    age = capture.standing.behind_seconds
    size = _size(capture.standing.behind_bytes)
    return size if age is None else f"{size}, {age:.0f} s"


@app.command()
def pause(
    database: Database, bootstrap: Bootstrap = None, directory: Directory = None
) -> None:
    """Let a capture wait; the database keeps all changes meanwhile."""
    from headrace.cdc import captures  # noqa: PLC0415

    captures.pause(_capture(database, bootstrap, directory))
    _tell(f'the capture of "{database}" waits; the database keeps its changes')


@app.command()
def resume(
    database: Database, bootstrap: Bootstrap = None, directory: Directory = None
) -> None:
    """Let a capture go on that waits or has failed, if nothing would be lost."""
    from headrace.cdc import captures  # noqa: PLC0415

    captures.resume(_capture(database, bootstrap, directory))
    _tell(f'the capture of "{database}" goes on')


@app.command()
def resnapshot(
    database: Database, bootstrap: Bootstrap = None, directory: Directory = None
) -> None:
    """Read all tables again, and say in the log what was deleted meanwhile."""
    from headrace.cdc import captures  # noqa: PLC0415

    captures.resnapshot(_capture(database, bootstrap, directory), _tell)


@app.command()
def remove(
    database: Database,
    topics: Annotated[
        bool, typer.Option("--topics", help="Remove the changes too.")
    ] = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """End a capture, and drop what it made: its role, slot and publication."""
    from headrace.cdc import captures  # noqa: PLC0415

    capture = _capture(database, bootstrap, directory)
    also = " with all captured changes" if topics else ""
    require_consent(f'End the capture of "{database}"{also}?', yes=yes)
    for gone in captures.remove(capture, topics=topics):
        _tell(f"removed {gone}")


@app.command()
def describe(
    database: Database,
    table: Table,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Print an event's class for the rows of a table."""
    from headrace.cdc.systems import system_of  # noqa: PLC0415

    capture = _capture(database, bootstrap, directory)
    typer.echo(system_of(capture).describe(capture, table), nl=False)


@app.command()
def lag(
    database: Database,
    table: Table,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, help="Of so many last changes.")
    ] = 1000,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Show how long changes take from commit to the log, in milliseconds."""
    from headrace.cdc.lag import lag_of  # noqa: PLC0415

    hops = lag_of(_capture(database, bootstrap, directory), table, count)
    if output is Format.JSON:
        print_json([asdict(hop) for hop in hops])
        return
    print_table(
        ("hop", "changes", "p50 ms", "p95 ms", "p99 ms", "most ms"),
        [
            (
                h.hop,
                str(h.changes),
                *(f"{n:.1f}" for n in (h.p50, h.p95, h.p99, h.most)),
            )
            for h in hops
        ],
    )
