"""Read the alerts as somebody who blocks cards does: each once, as it comes."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Consumer
from truth import Alert

from headrace.log import client_settings

ALERTS, LATE = "fraud-alerts", "late-transactions"


class Alerts:
    """Reads committed alerts and late transactions until it is closed."""

    def __init__(self, bootstrap: str) -> None:
        settings = {
            "group.id": "fraud-desk",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20,
            # Topics are there when the pipeline has started.
            "topic.metadata.refresh.interval.ms": 1000,
            "allow.auto.create.topics": False,
        }
        self._consumer = Consumer({**client_settings(bootstrap), **settings})
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="alerts")
        self.alerts: list[Alert] = []
        self.delays: list[float] = []
        self.latest: deque[dict[str, Any]] = deque(maxlen=8)
        self.late: Counter[str] = Counter()

    def start(self) -> None:
        """Begin to read."""
        self._consumer.subscribe([ALERTS, LATE])
        self._thread.start()

    def close(self) -> None:
        """Read no more."""
        self._enough.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._enough.is_set():
            # One by one: to ask for several is to wait until there are several.
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self._take(message.topic(), json.loads(message.value() or b"{}"))

    def _take(self, topic: str | None, told: dict[str, Any]) -> None:
        identity = told["transaction_id"]
        if topic == LATE:
            self.late[identity] += 1
            return
        now = datetime.now(UTC)
        made_at = datetime.fromisoformat(told["made_at"])
        self.alerts.append(Alert(identity, now, told["reason"]))
        self.delays.append((now - made_at).total_seconds())
        self.latest.append(told)
