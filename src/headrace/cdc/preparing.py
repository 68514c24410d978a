"""Refusals that every kind of captured database has in common."""

from __future__ import annotations

from headrace.errors import CaptureError

AGAIN = "`headrace cdc resnapshot {}` reads the tables again and mends the log."


def no_table(table: str, nature: str | None, example: str) -> CaptureError:
    """Give the refusal of a table that is not there, or is something else."""
    return CaptureError(
        "capture-table-missing",
        f"there is no table {table} whose changes could be captured",
        detail=nature or "there is nothing of that name.",
        hint=f"name tables with their schemas, as in {example}.",
    )


def no_key(table: str) -> CaptureError:
    """Give the refusal of a table whose rows have no name."""
    return CaptureError(
        "capture-key-missing",
        f"table {table} has no primary key",
        detail="without one a change does not say which row it is about.",
        hint=f"alter table {table} add primary key (...).",
    )


def name_taken(what: str, name: str, hint: str) -> CaptureError:
    """Give the refusal of something that exists and is not ours."""
    return CaptureError(
        "capture-name-taken",
        f'there is a {what} "{name}" that this capture did not make',
        hint=hint,
    )


def blocked(database: str, said: str, sessions: str) -> CaptureError:
    """Say that others hold what a capture has to look at or change."""
    return CaptureError(
        "capture-blocked",
        f'others hold what the capture of "{database}" has to look at or change',
        detail=said,
        hint=f"find the other session in {sessions}, and let it end.",
    )


def table_gone(database: str, table: str) -> CaptureError:
    """Say that a captured table is there no more."""
    return CaptureError(
        "capture-table-missing",
        f"table {table} was dropped or renamed",
        detail="the log keeps its rows as they were.",
        hint=f"remove the capture (headrace cdc remove {database}) "
        "and add it again without the table, or restore the table.",
    )


def rights_lost(database: str, lacking: list[str]) -> CaptureError:
    """Say what the role of a capture may no longer do."""
    return CaptureError(
        "capture-permission-denied",
        f'the role of the capture of "{database}" may not do what it has to',
        detail="\n".join(f"{right}." for right in lacking),
        hint=f"`headrace cdc resume {database}` grants it again.",
    )
