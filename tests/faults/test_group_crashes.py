"""A driver that is killed leaves no trace in groups behind a join of two tables."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from headrace.log import Reading, administer, writer_settings
from support.harness.committed import committed
from support.harness.messages import topic_of
from support.harness.numbered_events import create
from support.harness.warm import Drivers, unused
from support.pipelines.grouped import OUTPUTS

CHANGES = 1500

Rows = dict[str, dict[str, Any]]


def write_input(bootstrap: str, topics: dict[str, str]) -> dict[str, Rows]:
    """Write rows that come, change, move and go; give those that are left."""
    chance = random.Random(7)  # noqa: S311 - an order, no secret
    producer = Producer(writer_settings(bootstrap))
    left: dict[str, Rows] = {"orders": {}, "customers": {}}
    for topic in topics.values():
        create(bootstrap, topic, 2)
    for _ in range(CHANGES):
        if chance.random() < 0.3:
            table, key = "customers", f"c{chance.randrange(40)}"
            row: dict[str, Any] = {"customer": key, "city": chance.choice("abcdefgh")}
        else:
            table, key = "orders", f"o{chance.randrange(300)}"
            row = {
                "order_id": key,
                "customer": f"c{chance.randrange(40)}",
                "cents": chance.randrange(100_000),
                "weight": chance.choice([0.1, 0.2, 1e16, -1e16]),
            }
        is_gone = chance.random() < 0.2
        left[table].pop(key, None)
        if not is_gone:
            left[table][key] = row
        value = None if is_gone else json.dumps(row)
        producer.produce(topics[table], value, key=key)
    assert producer.flush(60) == 0
    return left


def meant(left: dict[str, Rows]) -> dict[str, Rows]:
    """Give the rows of each output by their definition."""
    named: Rows = {}
    for key, order in left["orders"].items():
        customer = left["customers"].get(order["customer"])
        if customer is not None:
            named[key] = order | {"city": customer["city"]}
    cities: Rows = {}
    for city in {row["city"] for row in named.values()}:
        rows = [row for row in named.values() if row["city"] == city]
        cities[city] = {
            "city": city,
            "orders": len(rows),
            "cents": sum(row["cents"] for row in rows),
            "weight": float(sum(Fraction(row["weight"]) for row in rows)),
            "least": min(row["cents"] for row in rows),
            "most": max(row["order_id"] for row in rows),
            "customers": len({row["customer"] for row in rows}),
        }
    sizes: Rows = {}
    for size in {row["customers"] for row in cities.values()}:
        cents = [row["cents"] for row in cities.values() if row["customers"] == size]
        sizes[str(size)] = {"customers": size, "cities": len(cents), "most": max(cents)}
    return {"named": named, "cities": cities, "sizes": sizes}


def tables(bootstrap: str, name: str) -> dict[str, Rows]:
    """Give what the last committed records of each output say of each key."""
    found: dict[str, Rows] = {output: {} for output in OUTPUTS}
    for output in OUTPUTS:
        topic = f"{name}-{output}"
        for batch in Reading(administer(bootstrap, None), bootstrap, topic):
            for record in batch:
                assert record.key is not None
                found[output].pop(record.key.decode(), None)
                if record.value is not None:
                    found[output][record.key.decode()] = json.loads(record.value)
    return found


def told(bootstrap: str, name: str) -> Counter[Any]:
    """Give every committed record."""
    topics = [f"{name}-{output}" for output in OUTPUTS]
    return Counter(
        (topic_of(message).removeprefix(name), message.key(), message.value())
        for message in committed(bootstrap, topics, name)
    )


def finished(drivers: Drivers, given: dict[str, Any]) -> None:
    ended = drivers.run("grouped", given)
    assert ended.status == 0, ended.log


def test_groups_behind_a_join_are_the_same_though_the_driver_dies(
    bootstrap: str, drivers: Drivers, tmp_path: Path
) -> None:
    name = unused("groups")
    topics = {table: f"{name}-{table}" for table in ("orders", "customers")}
    wanted = meant(write_input(bootstrap, topics))
    assert len(wanted["named"]) > len(wanted["cities"]) > len(wanted["sizes"]) > 1
    assert not any(math.isnan(row["weight"]) for row in wanted["cities"].values())
    given: dict[str, Any] = {"bootstrap": bootstrap, "topics": topics, "per_batch": 300}
    calm, killed = (
        given | {"name": f"{name}-{end}", "checkpoint": str(tmp_path / end)}
        for end in ("calm", "killed")
    )

    finished(drivers, calm)
    for failpoint in ("tasks-running:1", "rows-flushed:2", "committed:2"):
        fallen = drivers.run("grouped", killed, failpoint)
        assert fallen.was_killed, f"{failpoint}: {fallen.log}"
    finished(drivers, killed)

    assert tables(bootstrap, calm["name"]) == wanted
    assert tables(bootstrap, killed["name"]) == wanted
    assert told(bootstrap, killed["name"]) == told(bootstrap, calm["name"])

    finished(drivers, killed | {"rebuild": True})
    assert tables(bootstrap, killed["name"]) == wanted
