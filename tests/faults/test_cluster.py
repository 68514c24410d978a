"""On a cluster a pipeline gives what it gives locally, though executors are killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.log import client_settings, writer_settings
from support.harness.numbered_events import create
from support.harness.rig import group
from support.harness.standalone import Cluster, Worker, kill
from support.harness.waiting import wait_until

HEADRACE = Path(sys.executable).parent / "headrace"

PIPELINE = """
from datetime import datetime

from headrace import Pipeline, event, hours, kafka, seconds, sinks


@event(key="card", time="made_at")
class Payment:
    payment: str
    card: str
    number: int
    cents: int
    made_at: datetime


sales = Pipeline("{name}", lanes={lanes})
payments = sales.read(kafka("{topic}", Payment), out_of_order=seconds(10))
large = payments.where("cents >= 500").derive(euros="cents / 100")
once = payments.dedupe("once", by="payment", within=hours(1))

sales.write("large", large, sinks.kafka("{name}-large"))
sales.write("once", once.select("card", "number"), sinks.kafka("{name}-once"))
"""

INPUT = "cluster-in"
EVENTS = 800
MOST_PER_BATCH = 100

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {
    # JVMs live for seconds here, so what pays off later is left out.
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.driver.memory": "512m",
    "spark.executor.memory": "600m",
    "spark.sql.shuffle.partitions": "2",
}

Event = tuple[Any, ...]
Events = dict[bytes | None, list[Event]]


@dataclass(frozen=True)
class Sales:
    """A pipeline file with a name, a checkpoint and outputs of its own."""

    bootstrap: str
    home: Path
    name: str
    lanes: int = 1

    @contextmanager
    def running(self, master: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run the file; nothing of it is left at the end of the ``with``."""
        run = self._start(master, more)
        try:
            yield run
        finally:
            members = list(group(run.pid))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
            run.wait(30)
            psutil.wait_procs(members, timeout=30)

    def _start(self, master: str, more: dict[str, str]) -> subprocess.Popen[bytes]:
        file = self.home / f"{self.name}.py"
        file.write_text(PIPELINE.format(name=self.name, lanes=self.lanes, topic=INPUT))
        for topic in self.topics.values():
            create(self.bootstrap, topic, 3)
        settings = [f"--conf={name}={value}" for name, value in (CONF | more).items()]
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [
                    str(HEADRACE),
                    *("run", str(file), "--until-caught-up", "--master", master),
                    *("--most-per-batch", str(MOST_PER_BATCH)),
                    *("--checkpoint", str(self.checkpoint)),
                    *("--bootstrap", self.bootstrap),
                    *settings,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
                start_new_session=True,
            )

    @property
    def checkpoint(self) -> Path:
        return self.home / f"{self.name}-checkpoint"

    @property
    def log(self) -> Path:
        return self.home / f"{self.name}.log"

    @property
    def batches(self) -> int:
        """How many batches Spark has committed."""
        logged = self.checkpoint / "commits"
        return sum(1 for file in logged.glob("[0-9]*")) if logged.is_dir() else 0

    @property
    def topics(self) -> dict[str, str]:
        return {
            "large": f"{self.name}-large",
            "once": f"{self.name}-once",
            "dead letters": f"{self.name}.dead-letters",
        }

    def outputs(self) -> dict[str, Events]:
        """Give the committed events of each output, those of a key in their order."""
        return {
            output: committed(self.bootstrap, topic)
            for output, topic in self.topics.items()
        }


def committed(bootstrap: str, topic: str) -> Events:
    consumer = Consumer(
        {
            **client_settings(bootstrap),
            "group.id": "look",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found: Events = defaultdict(list)
    ended: set[int | None] = set()
    while len(ended) < len(partitions):
        message = consumer.poll(30)
        assert message is not None, f"{topic} cannot be read to its end"
        if message.error():
            ended.add(message.partition())
        else:
            headers = tuple(message.headers() or ())
            found[message.key()].append((message.value(), *headers))
    consumer.close()
    return found


def payment(number: int) -> tuple[bytes, bytes]:
    card = f"card-{number % 20}"
    made_at = f"2026-03-29T10:{number // 60 % 60:02}:{number % 60:02}Z"
    event = {"payment": f"p{number}", "card": card, "number": number}
    event |= {"cents": number % 1000, "made_at": made_at}
    return card.encode(), json.dumps(event).encode()


def feed(bootstrap: str) -> None:
    """Write payments, every tenth of them twice, and some that cannot be read."""
    create(bootstrap, INPUT, 3)
    producer = Producer(writer_settings(bootstrap))
    for number in range(EVENTS):
        card, value = payment(number)
        producer.produce(INPUT, value, key=card)
        if number % 10 == 0:
            producer.produce(INPUT, value, key=card)
        if number % 300 == 100:
            producer.produce(INPUT, value[:-1], key=card)
    assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def local(bootstrap: str, home: Path) -> dict[str, Events]:
    """What the pipeline gives on this machine's own threads, which nobody disturbs."""
    feed(bootstrap)
    sales = Sales(bootstrap, home, "locally")
    with sales.running("local[2]") as run:
        assert run.wait(300) == 0, sales.log.read_text()
    return sales.outputs()


@pytest.fixture(scope="module")
def cluster(local: dict[str, Events]) -> Iterator[Cluster]:
    with Cluster(workers=0) as started:
        yield started


@pytest.fixture(autouse=True)
def _clear_workers(cluster: Cluster) -> Iterator[None]:
    yield
    for worker in list(cluster.workers):
        cluster.remove_worker(worker)


def numbers(events: list[Event]) -> list[int]:
    return [json.loads(value)["number"] for value, *_ in events]


def test_local_output_is_what_the_file_says(local: dict[str, Events]) -> None:
    for card in range(20):
        key = f"card-{card}".encode()
        mine = [n for n in range(EVENTS) if n % 20 == card]
        twice = [n for n in mine for _ in range(1 + (n % 10 == 0)) if n % 1000 >= 500]
        assert numbers(local["large"][key]) == twice
        assert sorted(numbers(local["once"][key])) == mine
    assert sum(map(len, local["dead letters"].values())) == 3


# Each executor dies in a phase of its own: with rows that nobody can see yet, while it
# commits, and before it has said that it committed. Each has written a batch before,
# so that others hold lanes that were fenced meanwhile.
DOOMED = ("record-sent:2", "commit-in-doubt:2", "committed:2")

# The first batch waits for all executors.
TOGETHER = {
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
}


def test_output_is_the_same_though_executors_die_before_during_and_after_commits(
    bootstrap: str, home: Path, local: dict[str, Events], cluster: Cluster
) -> None:
    sales = Sales(bootstrap, home, "mortal")
    doomed = cluster.add_workers(*({"HEADRACE_FAILPOINT": place} for place in DOOMED))
    conf = {
        "spark.cores.max": str(len(doomed)),
        # One batch may have the bad luck to meet most of them.
        "spark.task.maxFailures": "20",
        "spark.stage.maxConsecutiveAttempts": "20",
    }
    with sales.running(cluster.url, **TOGETHER, **conf) as run:
        bury(cluster, doomed, run)
        heir = cluster.add_worker()
        before = sales.batches
        while_running(run, "the heir commits", lambda: sales.batches > before)
        executor = heir.executor()
        assert executor
        kill(executor)
        before = sales.batches

        assert run.wait(240) == 0, sales.log.read_text() + cluster.log()
    assert sales.batches > before, "nothing was left to do"
    assert sales.outputs() == local


def bury(cluster: Cluster, doomed: list[Worker], run: subprocess.Popen[bytes]) -> None:
    """Remove each worker when its first executor has died."""
    first: dict[Worker, psutil.Process] = {}

    def all_died() -> bool:
        for worker in [worker for worker in doomed if worker in cluster.workers]:
            executor = first.get(worker) or worker.executor()
            if executor is not None:
                first[worker] = executor
                if not executor.is_running():
                    cluster.remove_worker(worker)
        return not set(doomed) & set(cluster.workers)

    while_running(run, "every doomed executor has died", all_died)


def while_running(
    run: subprocess.Popen[bytes], what: str, condition: Callable[[], bool]
) -> None:
    """Wait for a condition that comes true before the run ends, or never."""
    wait_until(what, lambda: condition() or run.poll() is not None, seconds=300)
    assert run.poll() is None, f"the run has ended before {what}"


def test_a_lane_that_two_attempts_would_write_is_written_once(
    bootstrap: str, home: Path, local: dict[str, Events], cluster: Cluster
) -> None:
    sales = Sales(bootstrap, home, "twofold", lanes=2)
    writing, beginning, denied = (home / name for name in ("writes", "begins", "waits"))
    _, lost = cluster.add_workers(
        {"HEADRACE_FAILPOINT": f"record-sent:1:{writing}"},
        {"HEADRACE_FAILPOINT": f"tasks-running:1:{beginning},turn-denied:1:{denied}"},
    )
    with sales.running(cluster.url, **TOGETHER, **{"spark.cores.max": "2"}) as run:
        held(run, writing, beginning)
        # What this executor has shuffled dies with it, so the stage begins again with
        # both lanes, while the other executor is still writing one of them.
        executor = lost.executor()
        assert executor
        kill(executor)
        beginning.unlink()
        held(run, beginning)
        beginning.unlink()
        held(run, denied)
        writing.unlink()
        denied.unlink()

        assert run.wait(240) == 0, sales.log.read_text() + cluster.log()
    assert sales.outputs() == local


def held(run: subprocess.Popen[bytes], *files: Path) -> None:
    """Wait until a failpoint holds a task at each of these files."""
    names = " and ".join(file.name for file in files)
    while_running(run, f"a task {names}", lambda: all(file.exists() for file in files))
