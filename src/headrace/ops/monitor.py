"""Watch over a running pipeline: its metrics, its alerts and its health."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.ops.alerts import Alerts, Change
from headrace.ops.families import FIRING, LAG
from headrace.ops.metrics import Metrics
from headrace.ops.rules import RULES, Rule

if TYPE_CHECKING:
    from headrace.runtime.progress import BatchProgress

_SAMPLE_SECONDS = 1.0


class Monitor:
    """What is known of a run, and whether somebody should be called.

    Args:
        metrics: The run's numbers.
        tell: Is told of each alert that begins or is over.
        rules: The alert rules.
        clock: Gives the seconds since 1970.

    Example:
        ``follow(delivering, monitor.add, enough, look=monitor.look)``
    """

    def __init__(
        self,
        metrics: Metrics,
        tell: Callable[[Change], None],
        *,
        rules: Sequence[Rule] = RULES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.metrics = metrics
        self._tell, self._clock = tell, clock
        self._alerts = Alerts(rules)
        self._looked_at = float("-inf")
        for rule in rules:
            self._show(rule, on=False)
        self._sample()

    def add(self, progress: BatchProgress) -> None:
        """Take what a batch tells."""
        self.metrics.add(progress)
        self._sample()

    def look(self) -> None:
        """Look at the rules, if it is time to."""
        if self._clock() - self._looked_at >= _SAMPLE_SECONDS:
            self._sample()

    def _sample(self) -> None:
        self._looked_at = self._clock()
        for change in self._alerts.look(self._looked_at, self.metrics.values()):
            self._show(change.rule, on=change.began)
            self._tell(change)

    def _show(self, rule: Rule, *, on: bool) -> None:
        labels = {"alert": rule.name, "severity": rule.severity}
        self.metrics.put(FIRING, 1 if on else 0, **labels)

    def firing(self) -> list[str]:
        """Give the names of the alerts that are on."""
        return [rule.name for rule in self._alerts.firing()]

    def tell_lag(self, lag: Mapping[str, Mapping[int, int]]) -> None:
        """Take the lag of each partition, by topic."""
        for topic, partitions in lag.items():
            for partition, records in partitions.items():
                self.metrics.put(LAG, records, topic=topic, partition=str(partition))

    def health(self) -> tuple[int, dict[str, object]]:
        """Give the health as a status of HTTP and what is to be told.

        It is 503 while a critical alert is on.
        """
        on = self._alerts.firing()
        status = 503 if any(rule.severity == "critical" for rule in on) else 200
        told = [
            {"alert": rule.name, "severity": rule.severity, "runbook": rule.page}
            for rule in on
        ]
        return status, {"pipeline": self.metrics.pipeline, "alerts": told}
