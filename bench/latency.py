"""End-to-end latency of an exactly-once pipeline at a steady rate.

An event carries the time at which it was handed to the producer; a reader of
committed data at the other end compares it with its own clock, on one machine.

Run it: ``python bench/latency.py --rate 1000 --seconds 40``.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer
from ground import running

from headrace import Pipeline, event, kafka, sinks
from headrace._spark import end, session
from headrace.log import administer, client_settings, create_topic, writer_settings
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack

WARM_UP_SECONDS = 15.0


@event(key="card")
class Tick:
    """An event that knows when it was sent."""

    card: str
    sent_at: float


def write(bootstrap: str, rate: int, seconds: float) -> None:
    """Send events at a steady rate."""
    producer = Producer({**writer_settings(bootstrap), "linger.ms": 5})
    began, sent = time.monotonic(), 0
    while (past := time.monotonic() - began) < seconds:
        for number in range(sent, int(past * rate)):
            tick = {"card": f"c{number % 100}", "sent_at": time.time()}
            producer.produce("ticks", key=str(tick["card"]), value=json.dumps(tick))
            sent = number + 1
        producer.poll(0.005)
    producer.flush()


def read(
    bootstrap: str, delays: list[tuple[float, float]], done: threading.Event
) -> None:
    """Note when each event was sent and how long it took."""
    settings = {
        "group.id": "latency",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 10,
    }
    consumer = Consumer({**client_settings(bootstrap), **settings})
    consumer.subscribe(["ticks-out"])
    while not done.is_set():
        for message in consumer.consume(1000, 0.05):
            sent_at = json.loads(message.value() or b"{}")["sent_at"]
            delays.append((sent_at, time.time() - sent_at))
    consumer.close()


def measure(stack: Stack, home: Path, rate: int, seconds: float) -> None:
    """Run the pipeline between a writer and a reader, and print the delays."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    create_topic(admin, "ticks", partitions=2)
    pipeline = Pipeline("ticks")
    pipeline.write("out", pipeline.read(kafka("ticks", Tick)), sinks.kafka("ticks-out"))
    make_missing_topics(admin, pipeline)
    spark = session("latency")
    running = start(pipeline, spark, Conditions(bootstrap, str(home / "checkpoint")))
    delays: list[tuple[float, float]] = []
    done = threading.Event()
    reader = threading.Thread(target=read, args=(bootstrap, delays, done))
    reader.start()
    began = time.time()
    write(bootstrap, rate, WARM_UP_SECONDS + seconds)
    give_up_at = time.monotonic() + 30
    total = rate * (WARM_UP_SECONDS + seconds)
    while len(delays) < total - 1 and time.monotonic() < give_up_at:
        time.sleep(0.2)
    done.set()
    reader.join()
    running.stop()
    end(spark)
    warm = sorted(delay for sent, delay in delays if sent > began + WARM_UP_SECONDS)
    print(f"{len(warm)} events at {rate}/s, after {WARM_UP_SECONDS:.0f} s of warm-up")
    for share in (0.5, 0.95, 0.99, 0.999):
        print(f"P{share * 100:g}: {warm[int(len(warm) * share)] * 1000:.0f} ms")


def main() -> None:
    """Start a broker, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=40)
    given = parser.parse_args()
    with running("kafka") as (stack, home):
        measure(stack, home, given.rate, given.seconds)


if __name__ == "__main__":
    main()
