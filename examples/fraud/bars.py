"""Bars, drawn as an SVG by hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH = 720
LABELS = 150
VALUES = 110
STEP = 34
TOP = 56


class Bar(NamedTuple):
    """A bar: what it is for, how long it is, and what is written behind it."""

    name: str
    value: float
    text: str


def drawn(title: str, bars: Sequence[Bar]) -> str:
    """Give bars below one another as an SVG; the first is set apart by its colour.

    Example:
        >>> picture = drawn("Sizes", [Bar("small", 1, "1"), Bar("large", 2, "2")])
        >>> picture.count("<rect"), picture.startswith("<svg")
        (3, True)
    """
    height = TOP + STEP * len(bars) + 14
    longest = max(bar.value for bar in bars) or 1
    room = WIDTH - LABELS - VALUES - 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="14">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="32" font-size="17" fill="#1b2733">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars):
        middle = TOP + STEP * number + STEP / 2
        length = max(1.0, round(room * bar.value / longest, 1))
        colour = "#1f7a8c" if number == 0 else "#c9553d"
        lines += [
            f'<text x="{LABELS}" y="{middle + 5:g}" text-anchor="end" '
            f'fill="#1b2733">{escape(bar.name)}</text>',
            f'<rect x="{LABELS + 10}" y="{middle - 11:g}" width="{length:g}" '
            f'height="22" rx="2" fill="{colour}"/>',
            f'<text x="{LABELS + 18 + length:g}" y="{middle + 5:g}" '
            f'fill="#1b2733">{escape(bar.text)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])
