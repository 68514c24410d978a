"""A driver that delivers generated batches into a store, and dies where it is told."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from headrace import sinks
from headrace.artifacts import spark_groups
from headrace.sinks import Sink
from headrace.testing import session
from support.harness.deliveries import Deliveries, Sent

BATCHES = 4


def batches(seed: int) -> list[list[Sent | str]]:
    """Give batches of rows and deletes over some keys."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    made: list[list[Sent | str]] = []
    for batch in range(BATCHES):
        made.append([])
        for number in range(200):
            key = f"key-{chance.randrange(40)}"
            gone = chance.random() < 0.3
            made[-1].append(key if gone else Sent(key, batch * 1000 + number, None))
    return made


def left_by(made: Sequence[Sequence[Sent | str]]) -> dict[str, int]:
    """Give what the batches leave, by key."""
    left: dict[str, int] = {}
    for row in (row for batch in made for row in batch):
        if isinstance(row, str):
            left.pop(row, None)
        else:
            left[row.key] = row.number
    return left


def store(system: str, name: str) -> Sink:
    """Give the sink that the rows go to."""
    return sinks.redis(name) if system == "redis" else sinks.opensearch(name)


def run(spark: SparkSession, given: Mapping[str, str]) -> dict[str, str]:
    """Deliver all batches, from the first on."""
    name = given["name"]
    to = Deliveries(
        spark,
        Path(given["home"]),
        store(given["system"], name),
        given["address"],
        name=name,
        lanes=int(given["lanes"]),
    )
    for number, rows in enumerate(batches(int(given["seed"]))):
        to.write(number, rows)
    return {}


if __name__ == "__main__":
    run(
        session("headrace-store-driver", groups=spark_groups()), json.loads(sys.argv[1])
    )
