"""What is written is what was sent, in every shape a row can have."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import Consumer, Message, TopicPartition

from headrace.log import GroupOffsets
from support.harness.ledgers import ledger
from support.harness.rig import Job
from support.harness.waiting import wait_until
from support.harness.warm import Workshop


def messages(job: Job, topic: str, count: int) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": job.bootstrap, "group.id": "look"})
    partitions = consumer.list_topics(topic).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found: list[Message] = []
    while len(found) < count:
        found += consumer.consume(count - len(found), 10)
    consumer.close()
    return found


def test_keys_values_headers_and_timestamps_arrive_as_they_were(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(30)
    headers = "array(named_struct('key', 'kind', 'value', encode('copy', 'utf-8')))"

    workshop.run(job, headers=headers, sinks="0")

    [sent, got] = (
        sorted((m.key(), m.value(), m.timestamp()[1]) for m in messages(job, topic, 30))
        for topic in (job.input, job.outputs[0])
    )
    assert got == sent
    [first] = messages(job, job.outputs[0], 1)
    assert first.headers() == [("kind", b"copy")]


def test_few_events_are_written_by_the_task_that_reads_them_as_many_by_several(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    few, many = new_job(per_batch=100), new_job(per_batch=1000)
    few.feed(300)
    headers = "array(named_struct('key', 'kind', 'value', encode('copy', 'utf-8')))"

    told = workshop.run(few, headers=headers)
    workshop.run(many, headers=headers, input=few.input)

    # Where tasks share a batch, what they compute goes to the lane as a second stage.
    # Of the first batch of a run it is not known how many events it has.
    assert 1 <= told["stages"].count(2) < told["batches"] == 3
    [one, other] = (
        sum(int(record["checksum"], 16) for record in ledger(job)) % 2**64
        for job in (few, many)
    )
    assert one == other
    [copied, shared] = (
        sorted(
            (m.key(), m.value(), m.timestamp()[1], m.headers())
            for m in messages(job, job.outputs[0], 300)
        )
        for job in (few, many)
    )
    assert copied == shared


def test_few_events_that_take_long_are_shared_by_several_tasks(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job(per_batch=10)
    job.feed(40)
    # A quarter of a second in any case, for all events of a batch.
    slow = "aggregate(sequence(1, 400000 + length(value)), 0L, (a, x) -> a + x) > 0"

    told = workshop.run(job, where=slow)

    # The second batch is the one that shows how long they take. Whether several tasks
    # are quicker is then up to the machine.
    assert told["batches"] == 4
    assert told["stages"].count(2) in {2, 3}


def test_a_null_value_is_written_as_a_tombstone(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(10)

    workshop.run(job, value="CAST(NULL AS BINARY)", sinks="0")

    assert {m.value() for m in messages(job, job.outputs[0], 10)} == {None}


def test_a_batch_without_rows_is_in_the_ledger(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job(lanes=2, per_batch=100)
    job.feed(200)

    told = workshop.run(job, where="false")

    assert told["batches"] >= 2
    for lane in (0, 1):
        records = ledger(job, lane)
        assert [r["batch"] for r in records] == list(range(told["batches"]))
        assert {r["rows"] for r in records} == {0}


def test_order_is_kept_though_spark_cuts_a_partition_into_several_tasks(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job(lanes=2, per_batch=2000)
    job.feed(2000, keys=7)
    reader = job.reader()

    workshop.run(job, source={"minPartitions": "12"})

    while reader.read(1.0):
        pass
    reader.close()
    assert not reader.accounts[job.outputs[0]].faults(job.sent)


def test_a_query_does_not_queue_behind_those_beside_it(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    first, second = new_job(), new_job()
    for job in (first, second):
        job.feed(10)
        told = workshop.run(job)

    queries = {f"{job.name}.copy" for job in (first, second)}
    assert queries <= set(told["pools"])


def test_the_group_of_the_pipeline_shows_no_lag_at_the_end(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(300)

    workshop.run(job)

    with GroupOffsets(job.bootstrap, f"headrace.{job.name}") as group:
        # The brokers are told without waiting for their answer.
        wait_until(
            "the group is at the input's end",
            lambda: sum(group.committed(job.input, range(3)).values()) == 300,
            seconds=60,
        )


def test_at_least_once_writes_the_same_rows_without_a_ledger(
    new_job: Callable[..., Job], workshop: Workshop
) -> None:
    job = new_job()
    job.feed(300)
    reader = job.reader()

    told = workshop.run(job, terms={"delivery": "at-least-once"})

    assert told["rows"][job.outputs[0]] == 300
    while reader.read(1.0):
        pass
    reader.close()
    assert not reader.accounts[job.outputs[0]].faults(job.sent)
