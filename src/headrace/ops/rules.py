"""The alert rules: one list, which runs inside a pipeline and in Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from headrace.durations import minutes, seconds
from headrace.errors import SettingsError
from headrace.ops import families as known
from headrace.ops.conditions import (
    Above,
    Condition,
    Grew,
    Measure,
    Rose,
    Share,
    Stood,
)


@dataclass(frozen=True)
class Rule:
    """When to call somebody, and which page tells what to do.

    Args:
        name: In kebab-case; Prometheus has it as ``HeadraceLagGrowing``.
        condition: What has to be the case.
        measure: How much of it, and over which time.
        hold: How long it has to be the case until the alert begins.
        severity: ``critical`` if results are wrong or missing, else ``warning``.
        says: What is the case, with ``{value}``.
        runbook: The page's name in ``docs/runbooks``.
        keep: How long it must not be the case until the alert ends.
    """

    name: str
    condition: Condition
    measure: Measure
    hold: timedelta
    severity: str
    says: str
    runbook: str
    keep: timedelta = timedelta(minutes=2)

    @property
    def page(self) -> str:
        """The runbook's place in the documents."""
        return f"docs/runbooks/{self.runbook}.md"


RULES: tuple[Rule, ...] = (
    Rule(
        "lag-growing",
        Grew(known.LAG),
        Measure(limit=1000, over=minutes(5)),
        hold=minutes(5),
        severity="warning",
        says="the lag has grown by {value} records: input comes faster than it is read",
        runbook="lag-growing",
    ),
    Rule(
        "batch-stalled",
        Above(known.BATCH_AGE, beside=known.LAG),
        Measure(limit=300, over=minutes(5)),
        hold=seconds(0),
        severity="critical",
        says="there is input, and no batch has ended for {value} seconds",
        runbook="lag-growing",
    ),
    Rule(
        "watermark-stalled",
        Stood(known.WATERMARK, beside=known.EVENTS_IN),
        Measure(limit=0, over=minutes(5)),
        hold=minutes(5),
        severity="warning",
        says="the watermark stands still, though {value} events have come",
        runbook="watermark-stalled",
    ),
    Rule(
        "late-events",
        Share(known.LATE_EVENTS, beside=known.EVENTS_IN),
        Measure(limit=0.01, over=minutes(10)),
        hold=seconds(0),
        severity="warning",
        says="{value} rows came late, more than the share that is allowed for",
        runbook="out-of-order",
    ),
    Rule(
        "dead-letters",
        Rose(known.DEAD_LETTERS),
        Measure(limit=0, over=minutes(10)),
        hold=seconds(0),
        severity="warning",
        says="{value} input(s) could not be read",
        runbook="schema-change",
    ),
    Rule(
        "checkpoint-slow",
        Above(known.CHECKPOINT),
        Measure(limit=10, over=minutes(5)),
        hold=minutes(5),
        severity="warning",
        says="it took {value} seconds until a batch was safe",
        runbook="checkpoint-slow",
    ),
    Rule(
        "duplicates-downstream",
        Rose(known.DOWNSTREAM),
        Measure(limit=0, over=minutes(10)),
        hold=seconds(0),
        severity="critical",
        says="{value} record(s) of an output repeat an id that was there before",
        runbook="duplicates",
    ),
)

_TUNED = re.compile(r"(?P<rule>[a-z-]+)\.(?P<number>limit|over|hold|keep)")
_DURATION = re.compile(r"(?P<count>\d+(\.\d+)?)(?P<unit>ms|s|m|h)")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def tuned(rules: Sequence[Rule], changes: Iterable[tuple[str, str]]) -> list[Rule]:
    """Give rules with other numbers.

    Args:
        rules: The rules.
        changes: Such as ``("lag-growing.over", "1m")``; a rule has ``limit``,
            ``over``, ``hold`` and ``keep``.

    Raises:
        SettingsError: [setting-rejected] there is no such number, or it is none.

    Example:
        >>> tuned(RULES, [("lag-growing.limit", "50")])[0].measure.limit
        50.0
    """
    found = {rule.name: rule for rule in rules}
    for name, value in changes:
        asked = _TUNED.fullmatch(name)
        if asked is None or asked["rule"] not in found:
            raise _rejected(name, value, "there is no such rule, or no such number.")
        found[asked["rule"]] = _changed(found[asked["rule"]], asked["number"], value)
    return list(found.values())


def _changed(rule: Rule, number: str, value: str) -> Rule:
    if number == "limit":
        try:
            return replace(rule, measure=replace(rule.measure, limit=float(value)))
        except ValueError as error:
            raise _rejected(f"{rule.name}.limit", value, "it is no number.") from error
    read = _DURATION.fullmatch(value)
    if read is None:
        raise _rejected(f"{rule.name}.{number}", value, "it is no duration.")
    duration = timedelta(seconds=float(read["count"]) * _UNITS[read["unit"]])
    if number == "over":
        if not duration:
            raise _rejected(f"{rule.name}.over", value, "a window has a length.")
        return replace(rule, measure=replace(rule.measure, over=duration))
    if number == "hold":
        return replace(rule, hold=duration)
    return replace(rule, keep=duration)


def _rejected(name: str, value: str, detail: str) -> SettingsError:
    return SettingsError(
        "setting-rejected",
        f'alert setting "{name}" cannot be used: {detail.removesuffix(".")}',
        detail=f'the value was "{value}".',
        hint="rules are " + ", ".join(rule.name for rule in RULES) + "; numbers are "
        "limit=50, over=30s, hold=5m and keep=2m.",
    )
