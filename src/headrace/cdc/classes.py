"""The text of an event's class, from a table's columns."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column: its type in the database and as a hint, which may be none.

    Args:
        name: Its name.
        shown: Its type, as the database writes it.
        hint: Its type in Python; None if changes do not carry it in a form that an
            event has.
        required: Whether it is never null.
        labels: The texts it can hold, if it is an enum.
    """

    name: str
    shown: str
    hint: str | None
    required: bool
    labels: tuple[str, ...] = ()


_IMPORTS = {
    "datetime": "from datetime import datetime",
    "date": "from datetime import date",
    "Decimal": "from decimal import Decimal",
    "Annotated": "from typing import Annotated",
    "UUID": "from uuid import UUID",
    "StrEnum": "from enum import StrEnum",
}


def class_text(table: str, columns: Sequence[Column], key: Sequence[str]) -> str:
    """Give a module that declares the rows of a table.

    Example:
        >>> columns = [Column("id", "integer", "int", True)]
        >>> print(class_text("public.users", columns, ["id"]))
        from headrace import event
        <BLANKLINE>
        <BLANKLINE>
        @event(key="id")
        class User:
            id: int
        <BLANKLINE>
    """
    name = class_name(table)
    enums = {c.name: f"{name}{_title(c.name)}" for c in columns if c.labels}
    fields = [_field(column, enums) for column in columns]
    left_out = [text for hint, text in fields if hint is None]
    kept = [text for hint, text in fields if hint is not None]
    hints = " ".join(hint for hint, _ in fields if hint is not None)
    lines = [*_imports(hints, enums=bool(enums)), "", ""]
    for column in columns:
        if column.labels:
            lines += [*_enum(enums[column.name], column.labels), "", ""]
    # One column can key an event; more are named where the table is read.
    keyed = f'key="{key[0]}"' if len(key) == 1 and _is_field(key[0]) else ""
    if len(key) > 1:
        lines.append(f"# The primary key: {', '.join(key)}.")
    lines += [f"@event({keyed})", f"class {name}:", *(kept or ["    pass"]), *left_out]
    return "\n".join(lines) + "\n"


def class_name(table: str) -> str:
    """Give the name of a row's class: the table's, as one of its rows.

    Example:
        >>> class_name("public.user_profiles"), class_name("shop.address")
        ('UserProfile', 'Address')
    """
    _, _, name = table.partition(".")
    title = _title(name)
    if title.endswith("ies"):
        return f"{title[:-3]}y"
    plural = title.endswith("s") and not title.endswith(("ss", "us", "is"))
    return title[:-1] if plural else title


def _title(name: str) -> str:
    words = "".join(c if c.isalnum() else " " for c in name).split()
    title = "".join(word[:1].upper() + word[1:] for word in words)
    return title if title[:1].isalpha() else f"Row{title}"


def _field(column: Column, enums: dict[str, str]) -> tuple[str | None, str]:
    hint = enums.get(column.name, column.hint)
    if hint is None:
        reason = f"changes carry {column.shown} in no form that an event has"
        return None, f"    # {column.name}: {reason}"
    if not _is_field(column.name):
        return None, f"    # {column.name}: no field can have this name"
    shown = hint if column.required else f"{hint} | None"
    return hint, f"    {column.name}: {shown}"


def _is_field(name: str) -> bool:
    return (
        name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
    )


def _imports(hints: str, *, enums: bool) -> list[str]:
    words = set(hints.replace("[", " ").replace("]", " ").replace(",", " ").split())
    if enums:
        words.add("StrEnum")
    lines = sorted({_IMPORTS[word] for word in words if word in _IMPORTS})
    if {"datetime", "date"} <= words:
        lines = [line for line in lines if not line.startswith("from datetime")]
        lines = sorted([*lines, "from datetime import date, datetime"])
    ours = "from headrace import digits, event" if "digits" in hints else None
    return [*lines, *([""] if lines else []), ours or "from headrace import event"]


def _enum(name: str, labels: Sequence[str]) -> list[str]:
    members = [f'    {_member(label)} = "{label}"' for label in labels]
    return [f"class {name}(StrEnum):", *members]


def _member(label: str) -> str:
    word = "".join(c if c.isalnum() else "_" for c in label).upper()
    return word if word[:1].isalpha() else f"_{word}"
