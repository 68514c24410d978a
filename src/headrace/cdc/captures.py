"""Captures: made, extended, paused, resumed, mended and removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from headrace.cdc.connect import ConnectCluster
from headrace.cdc.filling import Filling, topic_ends
from headrace.cdc.notes import SETTING, Notes
from headrace.cdc.own_connector import renew
from headrace.cdc.place import Capture
from headrace.cdc.snapshots import read_progress
from headrace.cdc.systems import system_of
from headrace.cdc.topics import COMPACT, FOREVER, make_topic, remove_topics
from headrace.cdc.watching import check, problems, require_capture
from headrace.cdc.wishes import Login, Wish
from headrace.errors import CaptureError

Tell = Callable[[str], None]


def _silent(_news: str) -> None:
    pass


def add(
    capture: Capture, wish: Wish, login: Login | None, tell: Tell = _silent
) -> None:
    """Capture tables, or more tables of a captured database; wait until they are read.

    Nothing that exists is changed for the worse: what was captured stays captured, and
    doing it again does nothing.

    Args:
        capture: The database and the servers.
        wish: Which tables, and how.
        login: The role that the connector logs in as; a capture that exists keeps
            its own.
        tell: Is told what happens.

    Raises:
        CaptureError: [capture-key-missing], [capture-table-missing],
            [capture-unsupported], [capture-name-taken], [capture-login-missing],
            [capture-connector-missing], [connector-refused] and all that `check`
            raises.
    """
    cluster = ConnectCluster(capture.connect)
    if cluster.config(capture.connector) is not None:
        _extend(cluster, capture, wish, tell)
    elif login is not None:
        _begin(cluster, capture, wish, login, tell)
    else:
        raise CaptureError(
            "capture-login-missing",
            f'the capture of "{capture.database}" has no role to log in as',
            hint="give a Login: a role, and how Connect finds its password.",
        )


def _begin(
    cluster: ConnectCluster, capture: Capture, wish: Wish, login: Login, tell: Tell
) -> None:
    system = system_of(capture)
    system.require_new(capture, wish, login)
    _make_topics(capture, wish, wish.tables)
    identity = system.prepare(capture, wish, login, wish.tables)
    # A topic of an earlier capture holds rows that may be gone by now.
    before = topic_ends(capture, wish.tables)
    made = None if login.password is None else login.user
    notes = Notes(wish.tables, identity, before, made_role=made)
    config = system.settings(capture, wish, notes, login)
    tell(f"capturing {', '.join(wish.tables)}")
    filling = Filling(cluster, capture, tell)
    since = filling.mark()
    cluster.put(capture.connector, config)
    filling.finish(since, config, notes)


def _extend(cluster: ConnectCluster, capture: Capture, wish: Wish, tell: Tell) -> None:
    renew(cluster, capture)
    config, notes = require_capture(cluster, capture)
    check(capture)
    filling = Filling(cluster, capture, tell)
    new = tuple(table for table in wish.tables if table not in notes.tables)
    beside = system_of(capture).adds_beside
    if not beside and (new or _unread(capture, notes.tables, config)):
        _read_all(cluster, filling, capture, wish, tell)
        return
    filling.settle()
    if new:
        config, notes = _widened(capture, wish, config, notes)
        filling.await_writers()
    unread = _unread(capture, notes.tables, config)
    if unread:
        tell(f"reading {', '.join(unread)}")
        filling.read(unread, config if new else None)
    elif new:
        filling.change(config)
    if notes.unfinished is not None:
        filling.compare(config, notes)
    if not new and not unread:
        tell("every table is captured already")


def _read_all(
    cluster: ConnectCluster, filling: Filling, capture: Capture, wish: Wish, tell: Tell
) -> None:
    """Add tables with a new snapshot of all, where a connector cannot do otherwise.

    Raises:
        CaptureError: [capture-unsupported] the capture began without the rows, and
            would begin anew with a gap.
    """
    config, notes = require_capture(cluster, capture)
    if config["snapshot.mode"] == "no_data":
        raise CaptureError(
            "capture-unsupported",
            f'the capture of "{capture.database}" began without rows, and cannot be '
            "given further tables",
            detail="its connector learns of a table by a new snapshot alone.",
            hint=f"`headrace cdc resnapshot {capture.database}` reads all rows; after "
            "it, tables can be added.",
        )
    tell("stopping the connector: all tables are read again with the new ones")
    cluster.stop(capture.connector)
    config, notes = _widened(capture, wish, config, notes)
    filling.anew(config, notes)


def _widened(
    capture: Capture, wish: Wish, config: dict[str, str], notes: Notes
) -> tuple[dict[str, str], Notes]:
    """Make what further tables need, and give the settings that add them."""
    new = tuple(table for table in wish.tables if table not in notes.tables)
    system = system_of(capture)
    _make_topics(capture, wish, new)
    tables = (*notes.tables, *new)
    wish = replace(
        wish,
        tables=tables,
        snapshot_mode=config["snapshot.mode"],
        publication=config.get("publication.name"),
        slot=config.get("slot.name"),
    )
    login = Login(config["database.user"], config["database.password"])
    identity = system.prepare(capture, wish, login, tables) | notes.identity
    unfinished = topic_ends(capture, new)
    notes = replace(notes, tables=tables, identity=identity, unfinished=unfinished)
    return config | system.settings(capture, wish, notes, login), notes


def _unread(
    capture: Capture, tables: Sequence[str], config: Mapping[str, str]
) -> list[str]:
    """Give the tables whose rows are not in the log, though they should be."""
    if config["snapshot.mode"] == "no_data":
        return []
    progress = read_progress(capture)
    return [table for table in tables if not progress.holds([table])]


def _make_topics(capture: Capture, wish: Wish, tables: Sequence[str]) -> None:
    config = COMPACT if wish.compact else FOREVER
    for table in tables:
        make_topic(capture.kafka, capture.topic(table), wish.partitions, config)
    make_topic(capture.kafka, capture.notices, 1, FOREVER)


def resnapshot(capture: Capture, tell: Tell = _silent) -> int:
    """Read every table again, and say what was deleted meanwhile; give how many rows.

    Mends each of the problems that `check` raises and that no resuming heals. Until it
    is done the capture counts as unfinished; when it was interrupted, do it again.

    Raises:
        CaptureError: [capture-missing], [capture-table-missing],
            [capture-key-missing] and what else stands in the way.
    """
    cluster = ConnectCluster(capture.connect)
    renew(cluster, capture)
    config, notes = require_capture(cluster, capture)
    tell("stopping the connector")
    cluster.stop(capture.connector)
    system = system_of(capture)
    wish = Wish(
        notes.tables,
        publication=config.get("publication.name"),
        slot=config.get("slot.name"),
    )
    login = Login(config["database.user"], config["database.password"])
    identity = system.prepare(capture, wish, login, notes.tables)
    filling = Filling(cluster, capture, tell)
    return filling.anew(config, replace(notes, identity=identity))


def pause(capture: Capture) -> None:
    """Let the connector wait; the database keeps all changes until it goes on.

    Raises:
        CaptureError: [capture-missing], [connect-unreachable].
    """
    cluster = ConnectCluster(capture.connect)
    require_capture(cluster, capture)
    cluster.pause(capture.connector)


def resume(capture: Capture) -> None:
    """Let a paused, stopped or failed connector go on, if nothing would be lost.

    Raises:
        CaptureError: What `check` raises, except [capture-failed].
    """
    cluster = ConnectCluster(capture.connect)
    renew(cluster, capture)
    config, notes = require_capture(cluster, capture)
    system_of(capture).allow(capture, config, notes)
    for problem in problems(capture):
        if problem.slug not in {"capture-failed", "capture-stalled"}:
            raise problem
    cluster.resume(capture.connector)
    cluster.restart(capture.connector)


def remove(capture: Capture, *, topics: bool = False) -> list[str]:
    """End a capture, and take away what it made; give what was taken away.

    Args:
        capture: The capture.
        topics: Remove the tables' topics with all changes too.

    Raises:
        CaptureError: [capture-missing], [database-unreachable],
            [connect-unreachable].
    """
    cluster = ConnectCluster(capture.connect)
    config, notes = require_capture(cluster, capture)
    cluster.stop(capture.connector)
    system = system_of(capture)
    gone = system.remove(capture, config)
    cluster.forget_offset(capture.connector)
    cluster.delete(capture.connector)
    ours = [capture.notices, capture.heartbeats]
    ours += system.own_topics(capture)
    if topics:
        ours += [capture.topic(table) for table in notes.tables]
        ours.append(capture.topic("transaction"))
    remove_topics(capture.kafka, *ours)
    return [*gone, f'connector "{capture.connector}"', *(f'topic "{t}"' for t in ours)]


def captured(connect: str) -> dict[str, Notes]:
    """Give what is captured by a Connect: databases with their notes.

    Raises:
        CaptureError: [connect-unreachable].
    """
    found = ConnectCluster(connect).connectors()
    return {
        config["topic.prefix"]: notes
        for config in found.values()
        if SETTING in config and (notes := Notes.read(config)) is not None
    }


def require_captured(capture: Capture, table: str) -> None:
    """Refuse a table that is not captured.

    Raises:
        CaptureError: [capture-table-missing] it is not among the captured ones;
            [capture-missing].
    """
    _, notes = require_capture(ConnectCluster(capture.connect), capture)
    if table not in notes.tables:
        raise CaptureError(
            "capture-table-missing",
            f'table {table} of "{capture.database}" is not captured',
            detail=f"captured are: {', '.join(notes.tables)}.",
            hint=f"`headrace cdc add {capture.database} --tables {table}` adds it.",
        )
