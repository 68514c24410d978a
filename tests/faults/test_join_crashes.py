"""A driver that is killed leaves no trace in what joins tell."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.log import writer_settings
from support.harness.committed import committed
from support.harness.messages import topic_of, value_of
from support.harness.numbered_events import create
from support.harness.rig import PIPELINES, Ending, ending, launch
from support.pipelines.joined import OUTPUTS

DRIVER = PIPELINES / "joined.py"
EVENTS = 900
# Brokers forget records whose own time is long ago.
BEGAN_AT = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)
TOPICS = {"shown": "joins-shown", "clicked": "joins-clicked", "ads": "joins-ads"}


def write_input(bootstrap: str) -> None:
    """Write events that come out of order, some too late, and rows that change."""
    chance = random.Random(5)  # noqa: S311 - an order, no secret
    producer = Producer(writer_settings(bootstrap))
    for topic in TOPICS.values():
        create(bootstrap, topic, 1)
    for number in range(EVENTS):
        ad = f"ad-{chance.randrange(15)}"
        behind = chance.choice([0, 0, 0, 10, 25, chance.randrange(3600)])
        at = BEGAN_AT + timedelta(seconds=5 * number - behind)
        shown = {"number": number, "ad": ad, "at": at.isoformat()}
        producer.produce(TOPICS["shown"], json.dumps(shown), key=ad)
        if chance.random() < 0.7:
            clicked_at = at + timedelta(seconds=chance.randrange(-60, 240))
            click = {"click": number, "ad": ad, "clicked_at": clicked_at.isoformat()}
            producer.produce(TOPICS["clicked"], json.dumps(click), key=ad)
        made_at = int((BEGAN_AT + timedelta(seconds=5 * number)).timestamp() * 1000)
        row = json.dumps({"ad": ad, "price": number}) if number % 5 else None
        producer.produce(TOPICS["ads"], row, key=ad, timestamp=made_at)
    assert producer.flush(60) == 0


def run(given: dict[str, Any], failpoint: str | None = None) -> Ending:
    return ending(launch(DRIVER, json.dumps(given), failpoint), 300)


def told(bootstrap: str, name: str) -> dict[str, Counter[str]]:
    """Give what is committed, by output."""
    found: dict[str, Counter[str]] = {output: Counter() for output in OUTPUTS}
    topics = [f"{name}-{output}" for output in OUTPUTS]
    for message in committed(bootstrap, topics, name):
        output = topic_of(message).removeprefix(f"{name}-")
        found[output][value_of(message).decode()] += 1
    return found


@pytest.mark.long
def test_joins_tell_the_same_though_the_driver_dies(
    bootstrap: str, tmp_path: Path
) -> None:
    write_input(bootstrap)
    given = {"bootstrap": bootstrap, "topics": TOPICS, "per_batch": 300}
    calm, killed = (
        given | {"name": name, "checkpoint": str(tmp_path / name)}
        for name in ("joins-calm", "joins-killed")
    )

    undisturbed = run(calm)
    assert undisturbed.status == 0, undisturbed.log
    for failpoint in ("tasks-running:1", "rows-flushed:2", "committed:3"):
        fallen = run(killed, failpoint)
        assert fallen.was_killed, f"{failpoint}: {fallen.log}"
    last = run(killed)
    assert last.status == 0, last.log

    wanted, found = told(bootstrap, "joins-calm"), told(bootstrap, "joins-killed")
    for output in OUTPUTS:
        assert wanted[output], output
        assert found[output] == wanted[output], output
