"""Server-sent events, as their lines are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def read_events(lines: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    r"""Give kind, id and data of each event; comments are passed over.

    An id without data tells how far the events have come. An event that is cut off at
    the end is not given.

    Example:
        >>> list(read_events([b"id: 1\n", b"event: a\n", b"data: x\n", b"\n", b"da"]))
        [('a', '1', 'x')]
    """
    kind, mark = "message", ""
    data: list[str] = []
    for line in lines:
        text = line.decode().rstrip("\n")
        if not text:
            if data or mark:
                yield kind, mark, "\n".join(data)
            kind, mark, data = "message", "", []
            continue
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                kind = value
            case "id":
                mark = value
            case "data":
                data.append(value)
