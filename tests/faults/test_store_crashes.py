"""A driver that dies in any phase leaves stores in which the next one goes on."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
import redis
from opensearchpy import OpenSearch
from pyspark.sql import SparkSession

from support.harness.warm import Drivers
from support.pipelines.store_driver import batches, left_by, run

PHASES = ("lane-fenced", "rows-flushed", "commit-in-doubt", "record-sent")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("system", ["redis", "opensearch"])
def test_a_driver_that_is_killed_loses_nothing_and_brings_nothing_back(
    system: str,
    phase: str,
    drivers: Drivers,
    spark: SparkSession,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    address: str = request.getfixturevalue(f"{system}_address")
    given = {
        "system": system,
        "address": address,
        "name": f"p{uuid.uuid4().hex[:8]}",
        "home": str(tmp_path),
        # In the first half of them, one lane of two has got further than the other.
        "lanes": "2",
        "seed": "1",
    }

    killed = drivers.run("store_driver", given, f"{system}.{phase}:4")
    assert killed.was_killed, killed.log
    run(spark, given)

    assert held(system, address, given["name"]) == left_by(batches(1))


def held(system: str, address: str, name: str) -> dict[str, int]:
    """Give what a store holds, by key."""
    if system == "redis":
        with redis.Redis.from_url(address) as client:
            rows = [client.hgetall(key) for key in client.scan_iter(f"{name}:*")]
        return {row[b"key"].decode(): int(row[b"number"]) for row in rows}
    with OpenSearch(address) as client:
        client.indices.refresh(index=name)
        found = client.search(index=name, body={"size": 1000})["hits"]["hits"]
    return {hit["_id"]: hit["_source"]["number"] for hit in found}
