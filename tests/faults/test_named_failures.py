"""Failures that come from outside have names, and nothing is lost or doubled by them.

The broker is stopped and goes on, as a machine that hangs does; the driver is held
at a named place meanwhile, so that each failure meets the phase it belongs to.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from headrace.services import Stack
from support.harness.ledgers import delete_topic, forget, ledger, progress_topic
from support.harness.numbered_events import Account, create
from support.harness.rig import Ending, Job
from support.harness.waiting import wait_until
from support.harness.warm import WarmDrivers, Workshop, held_at

# Clients that give up within seconds, so that a test need not wait for minutes.
IMPATIENT = {
    "max.block.ms": "4000",
    "request.timeout.ms": "2000",
    "delivery.timeout.ms": "4000",
    "default.api.timeout.ms": "4000",
}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A broker of our own: others would not like it to be stopped."""
    home = Path(tempfile.mkdtemp(prefix="headrace-failures-"))
    home.chmod(0o755)
    stack = Stack(home / "run")
    try:
        stack.up(["kafka"])
        yield stack
    finally:
        stack.down()
        shutil.rmtree(home)


@pytest.fixture(scope="module")
def bootstrap(stack: Stack) -> str:
    return stack.address("kafka")


Hang = Callable[[], contextlib.AbstractContextManager[None]]


@pytest.fixture
def hanging_broker(stack: Stack) -> Hang:
    """Let the broker hang for a while: its connections stay, and it answers nothing."""
    [broker] = stack.status()

    @contextlib.contextmanager
    def hang() -> Iterator[None]:
        assert broker.pid
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            # On a busy machine it works on for a while, and answers.
            wait_until("the broker hangs", lambda: _is_stopped(broker.pid))
            yield
        finally:
            os.kill(broker.pid, signal.SIGCONT)

    return hang


def _is_stopped(pid: int | None) -> bool:
    """Tell whether each thread of a process has stopped."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():
        return psutil.Process(pid).status() == psutil.STATUS_STOPPED
    try:
        told = [(task / "stat").read_text() for task in tasks.iterdir()]
    except OSError:
        # One that has ended meanwhile had not stopped.
        return False
    return all(text.rpartition(")")[2].split()[0] == "T" for text in told)


@contextlib.contextmanager
def stopped_at(
    place: str, job: Job, warm: WarmDrivers, client: dict[str, str] | None = None
) -> Iterator[Callable[[], Ending]]:
    """Start a driver that is held at a place; give what lets it go on to its end."""
    given = json.loads(job.given(terms={"client": client or {}}))
    held = job.directory / "held"
    with held_at(warm, "driver", given, place, held) as go_on:
        yield go_on


def said(end: Ending) -> dict[str, str]:
    """Give what a driver said, whatever its clients added on their way out."""
    lines = [line for line in end.log.splitlines() if line.startswith('{"slug"')]
    assert lines, end.log
    told: dict[str, str] = json.loads(lines[-1])
    return told


def copied(job: Job) -> Account:
    reader = job.reader()
    while reader.read(1.0):
        pass
    reader.close()
    return reader.accounts[job.outputs[0]]


def require_whole(job: Job, workshop: Workshop) -> None:
    """Start again, and find each event once and in order."""
    told = workshop.run(job)

    assert "slug" not in told, told
    assert not copied(job).faults(job.sent)


def test_a_commit_that_is_not_answered_is_unknown_and_settled_by_the_next_start(
    new_job: Callable[..., Job],
    workshop: Workshop,
    warm: WarmDrivers,
    hanging_broker: Hang,
) -> None:
    job = new_job()
    job.feed(900)

    with (
        stopped_at("record-sent:2", job, warm, client=IMPATIENT) as go_on,
        hanging_broker(),
    ):
        end = go_on()

    assert said(end)["slug"] == "commit-unknown", end.log
    require_whole(job, workshop)


@pytest.mark.parametrize(
    ("place", "written"),
    [
        # With a lane that rests and knows where its topics are, and with a new one.
        ("tasks-running:2", 1),
        ("ledger-read:1", 0),
    ],
)
def test_rows_that_no_broker_takes_are_not_in_the_output(
    new_job: Callable[..., Job],
    workshop: Workshop,
    warm: WarmDrivers,
    hanging_broker: Hang,
    place: str,
    written: int,
) -> None:
    job = new_job()
    job.feed(900)

    with stopped_at(place, job, warm, client=IMPATIENT) as go_on, hanging_broker():
        end = go_on()

    assert said(end)["slug"] == "output-unreachable", end.log
    assert len(ledger(job)) == written
    require_whole(job, workshop)


@pytest.mark.parametrize("place", ["rows-flushed:2", "record-sent:2"])
def test_a_batch_that_is_open_for_too_long_is_ended_by_the_brokers(
    new_job: Callable[..., Job], workshop: Workshop, warm: WarmDrivers, place: str
) -> None:
    job = new_job()
    job.feed(900)
    short = {"transaction.timeout.ms": "1000"}

    with stopped_at(place, job, warm, client=short) as go_on:
        assert open_records(job), "the transaction is not open"
        wait_until(
            "the brokers have ended the transaction",
            lambda: not open_records(job),
            seconds=60,
        )
        end = go_on()

    assert said(end)["slug"] == "transaction-timeout", end.log
    assert [record["batch"] for record in ledger(job)] == [0]
    require_whole(job, workshop)


def open_records(job: Job) -> int:
    """Count the offsets of the output that readers wait for."""
    admin = AdminClient({"bootstrap.servers": job.bootstrap})
    topic = job.outputs[0]
    numbers = admin.list_topics(topic, 30).topics[topic].partitions
    ends = {TopicPartition(topic, number): OffsetSpec.latest() for number in numbers}

    def end(isolation: IsolationLevel) -> int:
        asked = admin.list_offsets(ends, isolation_level=isolation)
        return sum(int(answer.result(30).offset) for answer in asked.values())

    return end(IsolationLevel.READ_UNCOMMITTED) - end(IsolationLevel.READ_COMMITTED)


def test_a_strangers_open_transaction_blocks_the_ledger_and_nothing_is_written(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(500)
    create(job.bootstrap, progress_topic(job), 1)
    stranger = Producer(
        {
            "bootstrap.servers": job.bootstrap,
            "transactional.id": f"stranger-of-{job.name}",
            "transaction.timeout.ms": 600_000,
        }
    )
    stranger.init_transactions(30)
    stranger.begin_transaction()
    stranger.produce(progress_topic(job), b"{}", key=b"strange", partition=0)
    assert stranger.flush(30) == 0

    told = workshop.run(job)
    seen = copied(job).seen
    stranger.abort_transaction(30)

    assert told["slug"] == "ledger-blocked", told
    assert f"{progress_topic(job)}-0 ends at offset 1" in told["text"]
    assert seen == 0
    require_whole(job, workshop)


def test_a_progress_topic_with_too_few_partitions_is_refused(
    new_job: Callable[..., Job], workshop: Workshop, warm: WarmDrivers
) -> None:
    job = new_job(lanes=2)
    job.feed(300)

    with stopped_at("after-offsets:1", job, warm) as go_on:
        delete_topic(job, progress_topic(job))
        create(job.bootstrap, progress_topic(job), 1)
        end = go_on()

    assert said(end)["slug"] == "progress-topic-narrow", end.log
    assert "1 partition(s) for 2 lanes" in said(end)["text"]
    assert copied(job).seen == 0
    require_whole(job, workshop)


def test_a_checkpoint_that_loses_a_batchs_offsets_is_damaged(
    new_job: Callable[..., Job], workshop: Workshop, warm: WarmDrivers
) -> None:
    job = new_job()
    job.feed(900)

    with stopped_at("after-offsets:2", job, warm) as go_on:
        forget(job, "offsets", 1)
        end = go_on()

    assert said(end)["slug"] == "checkpoint-damaged", end.log
    assert "offsets/1 is not there" in said(end)["text"]
    require_whole(job, workshop)


def test_a_checkpoint_that_loses_its_name_is_damaged(
    new_job: Callable[..., Job], workshop: Workshop, warm: WarmDrivers
) -> None:
    job = new_job()
    job.feed(900)
    metadata = job.checkpoint / "metadata"

    with stopped_at("after-offsets:1", job, warm) as go_on:
        kept = metadata.rename(job.directory / "metadata")
        end = go_on()

    assert said(end)["slug"] == "checkpoint-damaged", end.log
    assert "metadata is not there" in said(end)["text"]
    again = warm.run("driver", json.loads(job.given()))
    assert said(again)["slug"] == "checkpoint-damaged", again.log
    kept.rename(metadata)
    require_whole(job, workshop)
