"""A driver that is killed leaves no trace in what joins tell."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from headrace.log import writer_settings
from support.harness.committed import committed
from support.harness.messages import topic_of, value_of
from support.harness.numbered_events import create
from support.harness.warm import Drivers, unused
from support.pipelines.joined import OUTPUTS

EVENTS = 900
# Brokers forget records whose own time is long ago.
BEGAN_AT = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)


def write_input(bootstrap: str, topics: dict[str, str]) -> None:
    """Write events that come out of order, some too late, and rows that change."""
    chance = random.Random(5)  # noqa: S311 - an order, no secret
    producer = Producer(writer_settings(bootstrap))
    for topic in topics.values():
        create(bootstrap, topic, 1)
    for number in range(EVENTS):
        ad = f"ad-{chance.randrange(15)}"
        behind = chance.choice([0, 0, 0, 10, 25, chance.randrange(3600)])
        at = BEGAN_AT + timedelta(seconds=5 * number - behind)
        shown = {"number": number, "ad": ad, "at": at.isoformat()}
        producer.produce(topics["shown"], json.dumps(shown), key=ad)
        if chance.random() < 0.7:
            clicked_at = at + timedelta(seconds=chance.randrange(-60, 240))
            click = {"click": number, "ad": ad, "clicked_at": clicked_at.isoformat()}
            producer.produce(topics["clicked"], json.dumps(click), key=ad)
        made_at = int((BEGAN_AT + timedelta(seconds=5 * number)).timestamp() * 1000)
        row = json.dumps({"ad": ad, "price": number}) if number % 5 else None
        producer.produce(topics["ads"], row, key=ad, timestamp=made_at)
    assert producer.flush(60) == 0


def told(bootstrap: str, name: str) -> dict[str, Counter[str]]:
    """Give what is committed, by output."""
    found: dict[str, Counter[str]] = {output: Counter() for output in OUTPUTS}
    topics = [f"{name}-{output}" for output in OUTPUTS]
    for message in committed(bootstrap, topics, name):
        output = topic_of(message).removeprefix(f"{name}-")
        found[output][value_of(message).decode()] += 1
    return found


def test_joins_tell_the_same_though_the_driver_dies(
    bootstrap: str, drivers: Drivers, tmp_path: Path
) -> None:
    name = unused("joins")
    topics = {kind: f"{name}-{kind}" for kind in ("shown", "clicked", "ads")}
    write_input(bootstrap, topics)
    given: dict[str, Any] = {"bootstrap": bootstrap, "topics": topics, "per_batch": 300}
    calm, killed = (
        given | {"name": f"{name}-{end}", "checkpoint": str(tmp_path / end)}
        for end in ("calm", "killed")
    )

    undisturbed = drivers.run("joined", calm)
    assert undisturbed.status == 0, undisturbed.log
    for failpoint in ("tasks-running:1", "rows-flushed:2", "committed:3"):
        fallen = drivers.run("joined", killed, failpoint)
        assert fallen.was_killed, f"{failpoint}: {fallen.log}"
    last = drivers.run("joined", killed)
    assert last.status == 0, last.log

    wanted, found = told(bootstrap, calm["name"]), told(bootstrap, killed["name"])
    for output in OUTPUTS:
        assert wanted[output], output
        assert found[output] == wanted[output], output
