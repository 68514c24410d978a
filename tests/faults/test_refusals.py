"""Where going on would lose or double events, the query ends, and says how to go on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.harness.ledgers import (
    batches,
    delete_checkpoint,
    delete_topic,
    forget,
    forget_last_commit,
    ledger,
    progress_topic,
    rewrite,
)
from support.harness.numbered_events import Account, produce
from support.harness.rig import Job
from support.harness.warm import Workshop


@pytest.fixture
def job(new_job: Callable[..., Job], workshop: Workshop) -> Job:
    """A job that has copied its first events."""
    job = new_job(per_batch=400)
    job.feed(1000)
    assert workshop.run(job)["batches"] >= 3
    return job


def copied(job: Job) -> Account:
    reader = job.reader()
    while reader.read(1.0):
        pass
    reader.close()
    return reader.accounts[job.outputs[0]]


def test_a_batch_that_is_run_again_is_not_written_again(
    job: Job, workshop: Workshop
) -> None:
    last = forget_last_commit(job)

    told = workshop.run(job)

    assert (told["batches"], told["held_batches"], told["last_batch"]) == (1, 1, last)
    assert not copied(job).faults(job.sent)


def test_a_deleted_checkpoint_is_refused_until_the_new_one_is_adopted(
    job: Job, workshop: Workshop
) -> None:
    before = ledger(job)[-1]
    delete_checkpoint(job)

    refused = workshop.run(job)
    adopted = workshop.run(job, adopt=["checkpoint"])

    assert refused["slug"] == "checkpoint-missing"
    assert before["lineage"] in refused["text"]
    assert adopted["rows"][job.outputs[0]] == 1000
    assert ledger(job)[-1]["lineage"] != before["lineage"]


def test_a_ledger_that_is_gone_is_refused_until_a_new_one_is_adopted(
    job: Job, workshop: Workshop
) -> None:
    delete_topic(job, progress_topic(job))
    forget_last_commit(job)

    assert workshop.run(job)["slug"] == "ledger-missing"
    assert workshop.run(job, adopt=["ledger"])["batches"] == 1


def test_a_gap_is_refused_until_it_is_adopted(job: Job, workshop: Workshop) -> None:
    last = forget_last_commit(job)
    rewrite(job, batch=last - 2)

    refused = workshop.run(job)

    assert refused["slug"] == "ledger-gap"
    assert f"batches {last - 1} to {last - 1}" in refused["text"]
    assert workshop.run(job, adopt=["gap"])["batches"] == 1


def test_a_recreated_topic_is_refused_until_it_is_adopted(
    job: Job, workshop: Workshop
) -> None:
    delete_topic(job, job.outputs[0])
    forget_last_commit(job)

    assert workshop.run(job)["slug"] == "topic-recreated"
    assert workshop.run(job, adopt=["topics"])["batches"] == 1


def test_offsets_that_were_planned_anew_are_refused(
    job: Job, workshop: Workshop
) -> None:
    last = forget_last_commit(job)
    forget(job, "offsets", last)
    produce(job.bootstrap, job.input, 300, keys=3, seed=2)

    assert workshop.run(job, per_batch=1000)["slug"] == "offsets-changed"


def test_an_older_copy_of_the_checkpoint_writes_nothing_that_is_there(
    job: Job, workshop: Workshop
) -> None:
    for last in batches(job.checkpoint, "commits")[-2:]:
        forget(job, "commits", last)
    forget(job, "offsets", batches(job.checkpoint, "offsets")[-1])

    told = workshop.run(job)

    assert told["held_batches"] == told["batches"] == 2
    assert not copied(job).faults(job.sent)


def test_another_number_of_lanes_is_refused_until_it_is_adopted(
    job: Job, workshop: Workshop
) -> None:
    forget_last_commit(job)

    assert workshop.run(job, terms={"lanes": 3})["slug"] == "lanes-changed"
    adopted = workshop.run(job, terms={"lanes": 3}, adopt=["lanes"])

    assert adopted["held_batches"] == 1
    assert {ledger(job, lane)[-1]["lanes"] for lane in range(3)} == {3}
    assert workshop.run(job, terms={"lanes": 1})["batches"] == 0
    assert not copied(job).faults(job.sent)


def test_lanes_that_disagree_cannot_be_changed(job: Job, workshop: Workshop) -> None:
    workshop.run(job, terms={"lanes": 2}, adopt=["lanes"])
    last = forget_last_commit(job)
    workshop.run(job, terms={"lanes": 2}, adopt=["lanes"])
    forget_last_commit(job)
    rewrite(job, batch=last - 1)

    refused = workshop.run(job, terms={"lanes": 1}, adopt=["lanes"])

    assert refused["slug"] == "lanes-changed"
    assert "do not hold the same batch" in refused["text"]


def test_random_rows_in_several_lanes_are_refused_when_they_come_again(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job(lanes=2)
    job.feed(200)
    random = {"value": "encode(concat(value, rand()), 'utf-8')"}
    workshop.run(job, **random)
    forget_last_commit(job)

    assert workshop.run(job, **random)["slug"] == "batch-not-deterministic"
    assert workshop.run(job, **random, adopt=["batch"])["batches"] == 1


def test_random_rows_in_one_lane_are_written_once(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(200)
    random = {"value": "encode(concat(value, rand()), 'utf-8')"}
    workshop.run(job, **random)
    forget_last_commit(job)

    assert workshop.run(job, **random)["held_batches"] == 1
    assert ledger(job)[-1]["rows"] >= 200
    assert len(ledger(job)) == 1


def test_a_row_that_is_too_large_is_refused_and_leaves_nothing_behind(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(100)

    large = workshop.run(job, value="encode(repeat('x', 2000000), 'utf-8')")

    assert large["slug"] == "output-refused"
    assert workshop.run(job)["rows"][job.outputs[0]] == 100
    assert not copied(job).faults(job.sent)


def test_too_many_dead_letters_stop_the_query_after_they_are_written(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(200)
    limit = {"dead_letters": 1, "dead_letter_limit": 0.5}

    assert workshop.run(job, sinks="1", terms=limit)["slug"] == "too-many-dead-letters"
    assert ledger(job)[-1]["rows"] == 200
    assert workshop.run(job, sinks="1")["dead_letters"] == 0
