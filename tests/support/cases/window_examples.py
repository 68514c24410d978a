"""A short way to write examples of windows, and the model's answer in the same.

Times are seconds. Events are written `5` or, with an amount, `5=3`; `5/1` came from
partition 1, and `-` has no time. A pane is written `early#1 0-10: 2`, its values after
the colon; `!` makes it final, `~` a retraction.
"""

from __future__ import annotations

import re
from dataclasses import replace

from support.models.window_model import Event, Outcome, Pane, Windowing, model

SECOND = 1_000_000
TUMBLING = Windowing("tumbling", size=10 * SECOND)
REFIRE = replace(TUMBLING, late="refire", allowed=10 * SECOND)
SESSIONS = Windowing("sessions", gap=5 * SECOND)
SLIDING = Windowing("sliding", size=10 * SECOND)
COUNTED = Windowing("counted", count=3)
EVERYTHING = Windowing("everything", early_events=2)
ASSIGNED = Windowing("assigned")

# A watermark, and events; then what they give.
Batch = tuple[float, str]


def events(text: str, offset: int = 0) -> list[Event]:
    found = []
    for number, word in enumerate(text.split()):
        parts = re.fullmatch(r"([\d.]+|-)(?:=(-?\d+))?(?:/(\d))?", word)
        assert parts, word
        at, amount, partition = parts.groups()
        found.append(
            Event(
                None if at == "-" else round(float(at) * SECOND),
                None if amount is None else int(amount),
                partition=int(partition or 0),
                offset=offset + number,
            )
        )
    return found


def seconds(micros: int | None) -> str:
    return "" if micros is None else f"{micros / SECOND:g}"


def written(pane: Pane) -> str:
    mark = "~" * pane.is_retraction + "!" * pane.is_final
    span = f"{seconds(pane.start)}-{seconds(pane.end)}"
    values = " ".join(map(str, pane.values))
    return f"{mark}{pane.pane}#{pane.pane_number} {span}: {values}"


def run(step: Windowing, *batches: Batch) -> list[Outcome]:
    rows = [
        (int(watermark * 1000), events(text, 100 * number))
        for number, (watermark, text) in enumerate(batches)
    ]
    return model(step, rows)


def panes(step: Windowing, *batches: Batch) -> list[list[str]]:
    return [
        [written(pane) for pane in outcome.panes] for outcome in run(step, *batches)
    ]


def late(step: Windowing, *batches: Batch) -> list[list[tuple[str, int | None]]]:
    return [
        [(seconds(late.event.at), late.late_by_ms) for late in outcome.late]
        for outcome in run(step, *batches)
    ]
