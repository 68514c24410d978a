"""Use the log's commands and clients as a user does."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from headrace.log import administer, create_topic, writer_settings
from headrace.services import Stack
from support.harness.observe import COMMAND


def admin_of(stack: Stack) -> AdminClient:
    return administer(stack.address("kafka"), stack.site().run.cluster_id)


def new_name(what: str) -> str:
    """Give a name that no other test has."""
    return f"{what}-{uuid.uuid4().hex[:8]}"


def new_topic(stack: Stack, partitions: int = 1, **config: str) -> str:
    name = new_name("topic")
    settings = {key.replace("_", "."): value for key, value in config.items()}
    create_topic(admin_of(stack), name, partitions=partitions, config=settings)
    return name


def command(stack: Stack, *arguments: str) -> list[str]:
    """Give the command line that speaks to the Kafka of a stack."""
    return [str(COMMAND), *arguments, "--dir", str(stack.run_directory.path)]


def run(
    stack: Stack, *arguments: str, stdin: str | bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        command(stack, *arguments),
        input=data,
        capture_output=True,
        check=False,
        timeout=120,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def consumed(stack: Stack, *arguments: str) -> list[Any]:
    """Give what `consume` prints."""
    done = run(stack, "consume", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def shown(stack: Stack, *arguments: str) -> Any:
    """Give the data of a command that knows ``--format json``."""
    done = run(stack, *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write(
    stack: Stack, topic: str, values: Iterable[bytes | None], **more: Any
) -> None:
    """Write values with a plain client; what is said about one is said about all."""
    producer = Producer(writer_settings(stack.address("kafka")))
    for value in values:
        producer.produce(topic, value=value, **more)
    assert producer.flush(30) == 0
