"""Rows into Redis and OpenSearch from one lane, beside their plain Python clients.

The rows lie ready in Spark's memory, so it is the lane and the server that are
measured: the claim, the rows, and the record. The plain clients write the same rows,
in pipelines and bulk requests of the same size, without ledger, owner or versions.

Run it: ``python bench/stores.py --rows 200000``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ground import running
from pyspark.sql import DataFrame, SparkSession

from headrace import Pipeline, event, kafka, sinks
from headrace._spark import end, session
from headrace._spark.delivery import (
    close_delivery,
    delivery_report,
    open_delivery,
    write_batch,
)
from headrace.artifacts import spark_groups
from headrace.delivery import Terms
from headrace.runtime.targets import sink_terms
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.settings import load_settings
from headrace.sinks import Sink

CHUNK = 2_000


@event(key="card")
class Payment:
    """What is written."""

    card: str
    number: int
    cents: int
    country: str


def payment(number: int) -> dict[str, Any]:
    """Give a row."""
    card = f"card-{number:07}"
    return {"card": card, "number": number, "cents": number % 997, "country": "CH"}


def outgoing(spark: SparkSession, count: int) -> DataFrame:
    """Give rows in memory, on their way to the first sink."""
    rows = spark.range(count).selectExpr(
        "0 as sink",
        "concat('card-', lpad(id, 7, '0')) as card",
        "id as number",
        "id % 997 as cents",
        "'CH' as country",
    )
    return (
        rows.selectExpr(
            "sink",
            "cast(card as binary) as key",
            "cast(to_json(struct(card, number, cents, country)) as binary) as value",
            "cast(null as array<struct<key:string,value:binary>>) as headers",
            "cast(null as timestamp) as timestamp",
        )
        .repartition(1)
        .cache()
    )


class Delivery:
    """One sink of a pipeline, and batches of the same rows."""

    def __init__(
        self, spark: SparkSession, rows: DataFrame, servers: Addresses, sink: Sink
    ) -> None:
        self._spark = spark
        self._rows = rows
        self._servers = servers
        self._home = Path(tempfile.mkdtemp(dir=servers.stack.run_directory.path.parent))
        (self._home / "offsets").mkdir()
        lineage = json.dumps({"id": str(uuid.uuid4())})
        (self._home / "metadata").write_text(lineage)
        self._pipeline = Pipeline(f"bench-{uuid.uuid4().hex[:8]}")
        payments = self._pipeline.read(kafka("in", Payment))
        self._pipeline.write("copy", payments, sink)
        self._batch = 0

    def run(self) -> float:
        """Deliver a batch; give the seconds that its lane took."""
        name, (output,) = self._pipeline.name, self._pipeline.outputs
        place = json.dumps({"in": {"0": self._batch}})
        offsets = self._home / "offsets" / str(self._batch)
        offsets.write_text(f"v1\n{{}}\n{place}")
        schemas = {output.name: output.step.columns.spark}
        terms = Terms(
            pipeline=name,
            query="main",
            bootstrap=None,
            checkpoint=str(self._home),
            sinks=tuple(sink_terms([output], schemas, self._servers)),
        )
        open_delivery(self._spark, terms.options())
        write_batch(self._rows, self._batch, name, "main")
        phases = delivery_report(self._spark, name, "main")["last_phases_ms"]
        close_delivery(self._spark, name, "main")
        self._batch += 1
        lane = ("copy.claim", "copy.rows", "copy.commit")
        return float(sum(phases[phase] for phase in lane)) / 1000


def plain_redis(address: str, count: int) -> float:
    """Set hashes with pipelines of Redis' own client."""
    import redis  # noqa: PLC0415

    rows = [payment(number) for number in range(count)]
    with redis.Redis.from_url(address) as client:
        began = time.monotonic()
        for start in range(0, count, CHUNK):
            pipe = client.pipeline(transaction=False)
            for row in rows[start : start + CHUNK]:
                pipe.hset(f"plain:{row['card']}", mapping=row)
            pipe.execute()
        return time.monotonic() - began


def plain_opensearch(address: str, count: int) -> float:
    """Index documents with bulk requests of OpenSearch's own client."""
    from opensearchpy import OpenSearch, helpers  # noqa: PLC0415

    def actions() -> Iterator[dict[str, Any]]:
        for number in range(count):
            row = payment(number)
            yield {"_index": "plain", "_id": row["card"], "_source": row}

    with OpenSearch(address, timeout=60) as client:
        began = time.monotonic()
        helpers.bulk(client, actions(), chunk_size=5_000)
        return time.monotonic() - began


def measure(stack: Stack, rows: int, documents: int, rounds: int) -> None:
    """Write the same rows in turns, and print what each way takes."""
    spark = session("bench", groups=spark_groups())
    servers = Addresses(load_settings(), stack)
    some, fewer = outgoing(spark, rows), outgoing(spark, documents)
    ways: dict[str, tuple[int, Callable[[], float]]] = {
        "Redis, hashes": (rows, Delivery(spark, some, servers, sinks.redis("h")).run),
        "Redis, JSON": (
            rows,
            Delivery(spark, some, servers, sinks.redis("j", as_="json")).run,
        ),
        "Redis, plain client": (rows, lambda: plain_redis(servers.redis(), rows)),
        "OpenSearch": (
            documents,
            Delivery(spark, fewer, servers, sinks.opensearch("bench")).run,
        ),
        "OpenSearch, plain client": (
            documents,
            lambda: plain_opensearch(servers.opensearch(), documents),
        ),
    }
    seconds: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for name, (count, run) in ways.items():
            took = run()
            # The first round warms both JVMs up, and makes keys and documents.
            label = f"round {number}" if number else "warm-up"
            print(f"{label}: {name}: {count / took:,.0f} rows/s", flush=True)
            if number:
                seconds.setdefault(name, []).append(took / count)
    for name, times in seconds.items():
        print(f"{name}: median {1 / statistics.median(times):,.0f} rows/s")
    end(spark)


def main() -> None:
    """Start both servers and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with running("redis", "opensearch") as (stack, _):
        measure(stack, given.rows, given.documents, given.rounds)


if __name__ == "__main__":
    main()
