"""Make what a capture needs inside MariaDB or MySQL, and take away what was made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from headrace.cdc.my_catalogue import (
    GLOBAL_RIGHTS,
    LogFacts,
    MyTable,
    columns_of,
    hosts_of,
    log_facts,
    missing_rights,
    rights_of,
    tables_of,
)
from headrace.cdc.my_session import Session
from headrace.cdc.preparing import name_taken, no_key, no_table
from headrace.errors import CaptureError

_OLDEST = {True: (10, 5), False: (8, 0)}

# The connector stumbles over a table that has them, or tells other values than they
# hold.
_UNTOLD = {"uuid", "inet4", "inet6", "vector"}

_DAY = "(`{0}` < '00:00:00' or `{0}` >= '24:00:00')"


def require_log(session: Session, tables: Sequence[str]) -> LogFacts:
    """Refuse a server whose log does not hold every change as whole rows.

    Raises:
        CaptureError: [capture-unsupported] it does not.
    """
    facts = log_facts(session)
    problem = why_unsupported(facts, tables)
    if problem is not None:
        raise CaptureError(
            "capture-unsupported",
            "the server cannot have its changes captured",
            detail=f"{problem}.",
            hint="MariaDB 10.5 or MySQL 8.0 or later with log_bin, binlog_format = "
            "row, binlog_row_image = full, no compression and no filter of databases.",
        )
    return facts


def why_unsupported(facts: LogFacts, tables: Sequence[str]) -> str | None:
    """Say why changes would be missing from a server's log, if they would.

    Example:
        >>> facts = LogFacts("11.4.5-MariaDB", True, "MIXED", "FULL")
        >>> why_unsupported(facts, ["shop.orders"])
        'it has binlog_format = mixed'
    """
    if facts.number < _OLDEST[facts.is_mariadb]:
        return f"it is version {facts.version}"
    if not facts.log_bin:
        return "it writes no binary log"
    if facts.form.lower() != "row":
        return f"it has binlog_format = {facts.form.lower()}"
    if facts.row_image.lower() != "full":
        return f"it has binlog_row_image = {facts.row_image.lower()}"
    if facts.shortened is not None:
        return f"it has {facts.shortened}, which the connector passes over"
    lacking = [table for table in tables if facts.lacks(table)]
    return f"its log leaves out {', '.join(lacking)}" if lacking else None


def require_capturable(session: Session, tables: Sequence[str]) -> LogFacts:
    """Refuse a server or tables whose changes could not be told exactly.

    Raises:
        CaptureError: [capture-unsupported] the server's log does not hold them;
            [capture-table-missing] there is no such table;
            [capture-key-missing] it has no primary key;
            [capture-column-unsupported] a column's values would not arrive.
    """
    facts = require_log(session, tables)
    found = tables_of(session, tables)
    for table in tables:
        _require_table(found.get(table), table)
        _require_columns(session, table)
    return facts


def _require_table(found: MyTable | None, table: str) -> None:
    if found is None or found.kind != "BASE TABLE":
        nature = "it is a view, or keeps the history of its rows."
        raise no_table(table, None if found is None else nature, "shop.orders")
    if not found.key:
        raise no_key(table)


def _require_columns(session: Session, table: str) -> None:
    columns = columns_of(session, table)
    for column in columns:
        if column.type_name in _UNTOLD:
            raise CaptureError(
                "capture-column-unsupported",
                f"column {column.name} of table {table} has type {column.shown}",
                detail="the connector does not read this type, or gives other values.",
                hint="store it as another type, such as char(36) or varbinary(16).",
            )
    times = [column.name for column in columns if column.type_name == "time"]
    if not times:
        return
    beyond = " or ".join(_DAY.format(name.replace("`", "``")) for name in times)
    name = quoted(table)
    if session.one(f"select 1 from {name} where {beyond} limit 1") is not None:  # noqa: S608
        raise CaptureError(
            "capture-column-unsupported",
            f"table {table} holds times that are no times of a day",
            detail=f"of {', '.join(times)}: the connector gives null for what is "
            "negative or longer than a day.",
            hint="store durations as numbers, such as seconds.",
        )


def ensure_user(
    session: Session, user: str, password: str, tables: Sequence[str]
) -> None:
    """Make the user that the connector logs in as, or give ours the password.

    Raises:
        CaptureError: [capture-name-taken] a user of that name may do more than a
            capture needs, so it is somebody else's.
    """
    with _permitted(user):
        hosts = hosts_of(session, user)
    if hosts and not (hosts == ["%"] and _is_modest(session, user, tables)):
        raise name_taken("user", user, "--role and --password-file use it as it is.")
    verb = "alter" if hosts else "create"
    if log_facts(session).is_mariadb:
        # As a verifier: the server's logs never see the password.
        secret, value = "identified by password %s", verifier(password)
    else:
        # MySQL keeps its own digest, and writes that to its log.
        secret, value = "identified by %s", password
    with _permitted(user):
        session.rows(f"{verb} user %s@'%%' {secret}", user, value)


def _is_modest(session: Session, user: str, tables: Sequence[str]) -> bool:
    """Tell whether a user may do nothing but what a capture needs."""
    rights = rights_of(session, user)
    # So do both servers call that a user may log in.
    allowed = {"*": {*GLOBAL_RIGHTS, "USAGE"}} | {table: {"SELECT"} for table in tables}
    return all(held <= allowed.get(place, set()) for place, held in rights.items())


def verifier(password: str) -> str:
    """Give what MariaDB keeps of a password.

    Example:
        >>> verifier("tea")[:9]
        '*7BF84BD4'
    """
    once = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return f"*{hashlib.sha1(once, usedforsecurity=False).hexdigest().upper()}"


def grant(session: Session, user: str, tables: Sequence[str]) -> None:
    """Let a user read tables and the log.

    Raises:
        CaptureError: [capture-permission-denied] we may not grant that.
    """
    if not missing_rights(session, user, tables):
        return
    with _permitted(user):
        for host in hosts_of(session, user):
            account = (user, host)
            rights = ", ".join(GLOBAL_RIGHTS)
            session.rows(f"grant {rights} on *.* to %s@%s", *account)
            for table in tables:
                session.rows(f"grant select on {quoted(table)} to %s@%s", *account)
    lacking = missing_rights(session, user, tables)
    if lacking:
        raise _not_permitted(user, "\n".join(f"{right}." for right in lacking))


@contextmanager
def _permitted(user: str) -> Iterator[None]:
    import pymysql  # noqa: PLC0415 - only work on captures needs it

    try:
        yield
    except pymysql.MySQLError as error:
        raise _not_permitted(user, str(error.args[-1])) from error


def _not_permitted(user: str, detail: str) -> CaptureError:
    return CaptureError(
        "capture-permission-denied",
        f'user "{user}" cannot be given what a capture needs',
        detail=detail,
        hint="let somebody grant it who may, or give their address.",
    )


def drop_user(session: Session, user: str) -> bool:
    """Drop a user that we made; tell whether it was there."""
    there = "%" in hosts_of(session, user)
    if there:
        session.rows("drop user %s@'%%'", user)
    return there


def quoted(table: str) -> str:
    """Quote a table's name, which has no quotes of its own.

    Example:
        >>> quoted("shop.orders")
        '`shop`.`orders`'
    """
    schema, _, name = table.partition(".")
    return f"`{schema}`.`{name}`"
