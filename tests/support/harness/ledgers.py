"""Look into a job's ledger and checkpoint, and damage them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from support.harness.messages import value_of
from support.harness.rig import Job
from support.harness.waiting import wait_until


def ledger(job: Job, lane: int = 0) -> list[dict[str, Any]]:
    """Give the committed records of a lane, oldest first."""
    consumer = Consumer(
        {
            "bootstrap.servers": job.bootstrap,
            "group.id": "ledger",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(progress_topic(job), lane, 0)])
    records = []
    while (message := consumer.poll(10)) is not None and message.error() is None:
        records.append(json.loads(value_of(message)))
    consumer.close()
    return records


def progress_topic(job: Job) -> str:
    return f"headrace.{job.name}.progress"


def rewrite(job: Job, **changes: Any) -> None:
    """Append a ledger record that no lane has written."""
    record = ledger(job)[-1] | changes
    producer = Producer({"bootstrap.servers": job.bootstrap})
    key = f"headrace.{job.name}.copy.0"
    producer.produce(progress_topic(job), json.dumps(record), key=key, partition=0)
    assert producer.flush(30) == 0


def delete_topic(job: Job, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": job.bootstrap})
    admin.delete_topics([topic], operation_timeout=30)[topic].result(30)
    wait_until(f"{topic} is gone", lambda: topic not in admin.list_topics().topics)


def batches(checkpoint: Path, log: str) -> list[int]:
    """Give the numbers that one of Spark's two logs of batches has."""
    names = [path.name for path in (checkpoint / log).iterdir()]
    return sorted(int(name) for name in names if name.isdigit())


def forget(job: Job, log: str, batch: int) -> None:
    """Remove a file of the checkpoint, with the checksum that lies beside it."""
    (job.checkpoint / log / str(batch)).unlink()
    (job.checkpoint / log / f".{batch}.crc").unlink(missing_ok=True)


def forget_last_commit(job: Job) -> int:
    """Bring the checkpoint to where a crash before Spark's commit leaves it."""
    last = batches(job.checkpoint, "commits")[-1]
    forget(job, "commits", last)
    return last


def delete_checkpoint(job: Job) -> None:
    shutil.rmtree(job.checkpoint)
