"""Of two drivers on one checkpoint one goes on, and the other says why it does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from support.harness.numbered_events import create
from support.harness.rig import Job, ending, stopped_jvm, watched
from support.harness.waiting import wait_until
from support.harness.warm import Workshop


@pytest.mark.parametrize(
    ("place", "slug"),
    [
        # With a transaction open, and with a lane that rests: fenced.
        ("record-sent:2", "writer-fenced"),
        ("tasks-running:2", "writer-fenced"),
        # Without a lane it sees that the ledger went on, and fences nobody.
        ("after-offsets:1", "checkpoint-in-use"),
    ],
)
def test_a_driver_that_wakes_up_after_another_took_over_writes_nothing(
    new_job: Callable[..., Job], workshop: Workshop, place: str, slug: str
) -> None:
    job = new_job(per_batch=500)
    job.feed(3000)
    reader = job.reader()
    zombie = job.start(f"{place}:stop")
    jvm = wait_until("the JVM is stopped", lambda: stopped_jvm(zombie), seconds=120)

    successor = workshop.run(job, terms={"take_over": True})
    jvm.resume()
    loser = watched(zombie, reader)

    assert "slug" not in successor, successor
    assert loser.told["slug"] == slug, loser.log
    every, tenth = (reader.accounts[topic] for topic in job.outputs)
    assert not every.faults(job.sent) + tenth.faults(job.sent, every=10)
    reader.close()


def test_what_a_lane_had_open_cannot_be_committed_once_the_ledger_was_read(
    new_job: Callable[..., Job],
) -> None:
    job = new_job()
    job.feed(600)
    create(job.bootstrap, job.outputs[0], 3)
    reader = job.reader()
    zombie = Producer(
        {
            "bootstrap.servers": job.bootstrap,
            "transactional.id": f"headrace.{job.name}.copy.0",
            "log_level": 0,
        }
    )
    zombie.init_transactions(30)
    zombie.begin_transaction()
    zombie.produce(job.outputs[0], "0:0", key="k0")
    assert zombie.flush(30) == 0

    successor = job.start("ledger-read:1:stop")
    jvm = wait_until("the JVM is stopped", lambda: stopped_jvm(successor), seconds=120)
    answer = None
    try:
        zombie.commit_transaction(30)
    except KafkaException as refused:
        answer = refused.args[0].code()
    jvm.resume()
    last = watched(successor, reader)

    assert answer == KafkaError._FENCED
    assert last.status == 0, last.log
    assert not reader.accounts[job.outputs[0]].faults(job.sent)
    reader.close()


def test_a_second_driver_on_a_checkpoint_is_refused(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(600)
    first = job.start("after-offsets:1:stop")
    jvm = wait_until("the first one runs", lambda: stopped_jvm(first), seconds=120)

    second = workshop.run(job)
    jvm.resume()

    assert second["slug"] == "checkpoint-in-use", second
    assert str(first.pid) in second["text"]
    assert ending(first).status == 0
