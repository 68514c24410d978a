"""Watch rules over time: when an alert begins, and when it is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.ops.conditions import Past, together
from headrace.ops.families import Family, Labels
from headrace.ops.rules import Rule

Values = Mapping[Family, Mapping[Labels, float]]


@dataclass(frozen=True)
class Change:
    """An alert that has begun, or is over.

    Args:
        rule: Whose.
        began: Whether it begins.
        value: What was found, at the beginning.
        after: How many seconds the alert has been on, at its end.
    """

    rule: Rule
    began: bool
    value: float = 0
    after: float = 0

    def __str__(self) -> str:
        if not self.began:
            return f"alert {self.rule.name} is over after {self.after:,.0f} s"
        digits = 0 if self.value == int(self.value) else 1
        said = self.rule.says.format(value=f"{self.value:,.{digits}f}")
        severity = self.rule.severity
        return f"alert {self.rule.name} ({severity}): {said}; see {self.rule.page}"


@dataclass
class _Watched:
    rule: Rule
    true_since: float | None = None
    true_at: float = 0
    firing_since: float | None = None

    def look(self, past: Past) -> Change | None:
        rule, now = self.rule, past.now
        value = rule.condition.find(past, rule.measure)
        if value is None:
            self.true_since = None
            quiet = now - self.true_at
            if self.firing_since is None or quiet < rule.keep.total_seconds():
                return None
            after, self.firing_since = now - self.firing_since, None
            return Change(rule, began=False, after=after)
        self.true_at = now
        self.true_since = now if self.true_since is None else self.true_since
        held = now - self.true_since >= rule.hold.total_seconds()
        if self.firing_since is not None or not held:
            return None
        self.firing_since = now
        return Change(rule, began=True, value=value)


class Alerts:
    """The rules of a pipeline, looked at again and again.

    After a restart the past is unknown, and is not made up: a rule that looks at a
    window begins with what there is.

    Args:
        rules: The rules.

    Example:
        ``for change in alerts.look(now, metrics.values()): print(change)``
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._watched = [_Watched(rule) for rule in rules]
        self._families = {f for rule in rules for f in rule.condition.families}
        self._past = Past(2 * max(rule.measure.over for rule in rules))

    def look(self, now: float, values: Values) -> Iterator[Change]:
        """Take a sample, and give what has begun or is over with it."""
        whole = {
            family: together(family, values[family])
            for family in self._families
            if values.get(family)
        }
        self._past.add(now, whole)
        for watched in self._watched:
            change = watched.look(self._past)
            if change is not None:
                yield change

    def firing(self) -> list[Rule]:
        """Give the rules whose alerts are on."""
        return [w.rule for w in self._watched if w.firing_since is not None]

    @property
    def rules(self) -> list[Rule]:
        """All rules."""
        return [watched.rule for watched in self._watched]
