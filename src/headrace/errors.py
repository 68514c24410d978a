"""The errors a user can meet, each with a fact, its reason and a way on.

    HeadraceError
    ├── SettingsError     a setting that cannot be used
    ├── MachineError      something this machine lacks: Java, disk, permission
    ├── FetchError        an artifact that could not be had, or is not the locked one
    ├── ServiceError      a server that did not start, stopped, or is not ours
    ├── LogError          a topic, group or offset that is not as expected
    ├── SchemaError       a type, schema or format that does not fit
    ├── StepError         a step of a pipeline that cannot be planned
    ├── CaptureError      a database's changes that would not all arrive
    ├── ViewError         a view that cannot be kept, or cannot answer
    └── DeliveryError     output that cannot go on without losing or doubling

Each error has a slug, and each slug a page in ``docs/errors``.
"""

from __future__ import annotations


class HeadraceError(Exception):
    """A fact in one line, why it is so, and what to do about it.

    Args:
        slug: The short, stable name of this kind of error; a page in the docs.
        fact: What is the case, in lower case, without a full stop.
        detail: Why it is so, or what was found.
        hint: What the user can do next.
        where: The place it concerns: a file, a line, a pipeline, a directory.

    Example:
        >>> print(ServiceError("port-taken", "port 9092 is in use", hint="stop it"))
        ServiceError [port-taken]: port 9092 is in use
          hint:   stop it
    """

    def __init__(
        self,
        slug: str,
        fact: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        where: str | None = None,
    ) -> None:
        super().__init__(slug, fact)
        self.slug = slug
        self.fact = fact
        self.detail = detail
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        lines = [f"{type(self).__name__} [{self.slug}]: {self.fact}"]
        for label in ("detail", "hint", "where"):
            text: str | None = getattr(self, label)
            if text:
                first, *rest = text.splitlines()
                lines.append(f"  {label + ':':<8}{first}")
                lines.extend(f"          {line}" for line in rest)
        return "\n".join(lines)


class SettingsError(HeadraceError):
    """A setting that cannot be used."""


class MachineError(HeadraceError):
    """Something this machine lacks: Java, disk, permission."""


class FetchError(HeadraceError):
    """An artifact that could not be had, or is not the locked one."""


class ServiceError(HeadraceError):
    """A server that did not start, stopped, or is not ours."""


class LogError(HeadraceError):
    """A topic, group or offset that is not as expected."""


class SchemaError(HeadraceError):
    """A type, schema or format that does not fit."""


class StepError(HeadraceError):
    """A step of a pipeline that cannot be planned."""


class CaptureError(HeadraceError):
    """A database's changes that would not all arrive in the log."""


class ViewError(HeadraceError):
    """A view that cannot be kept, or a question that it cannot answer."""


class DeliveryError(HeadraceError):
    """Output that cannot go on without losing or doubling something."""
