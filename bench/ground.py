"""What benchmarks stand on: servers of their own for a while, and topics to read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from headrace.log import writer_settings
from headrace.services import Stack


@contextmanager
def running(*names: str) -> Iterator[tuple[Stack, Path]]:
    """Run servers in a directory that is gone afterwards; give both."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        # The servers' account has to reach it.
        home.chmod(0o755)
        stack = Stack(home / "run")
        try:
            stack.up(list(names))
            yield stack, home
        finally:
            stack.down()


def fill(bootstrap: str, topic: str, records: Iterable[dict[str, Any]]) -> None:
    """Write records to a topic; each has what ``Producer.produce`` takes."""
    settings = {"linger.ms": 50, "queue.buffering.max.messages": 500_000}
    producer = Producer({**writer_settings(bootstrap), **settings})
    for record in records:
        while True:
            try:
                producer.produce(topic, **record)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def in_turns(
    ways: Mapping[str, Callable[[], float]], events: int, rounds: int
) -> dict[str, float]:
    """Run all ways in turns; give the best seconds of each."""
    best = dict.fromkeys(ways, float("inf"))
    for number in range(rounds):
        for name, run in ways.items():
            took = run()
            best[name] = min(best[name], took)
            told = f"{events / took:,.0f} events/s"
            print(f"round {number + 1}: {name}: {told}", flush=True)
    return best
