from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from headrace.artifacts import fetch, find_java
from headrace.log import (
    administer,
    client_settings,
    create_topic,
    writer_settings,
)
from headrace.services import Stack

HEADRACE = Path(sys.executable).parent / "headrace"

PIPELINE = """
from headrace import Pipeline, event, kafka, sinks


@event(key="card")
class Payment:
    card: str
    number: int
    cents: int


pipeline = Pipeline("{name}")
payments = pipeline.read(kafka("{name}-in", Payment))
pipeline.write("large", payments.where("cents > 500"), sinks.kafka("{name}-large"))
pipeline.write("cards", payments.select("card", "number"), sinks.kafka("{name}-cards"))
"""

# Behind the pipeline above, in its file.
BROKEN = """
from pyspark.sql.functions import udf


def named(card):
    raise ValueError("no such card")


def broken_rows(rows):
    return rows.withColumn("card", udf(named, "string", useArrow=False)(rows.card))


broken = Pipeline("broken-{name}")
broken.write(
    "named",
    broken.read(kafka("{name}-in", Payment)).transform(broken_rows),
    sinks.kafka("{name}-named"),
)
"""


class Project:
    """A user's project: one pipeline, its topics, and the command line."""

    def __init__(self, stack: Stack, home: Path) -> None:
        self.name = f"p{uuid.uuid4().hex[:8]}"
        self.home = home
        self.bootstrap = stack.address("kafka")
        self.file = home / "payments.py"
        self.file.write_text(PIPELINE.format(name=self.name))
        self.admin = administer(self.bootstrap, stack.site().run.cluster_id)
        create_topic(self.admin, f"{self.name}-in", partitions=3)

    def write(self, *values: bytes) -> None:
        producer = Producer(writer_settings(self.bootstrap))
        for value in values:
            producer.produce(f"{self.name}-in", value, key=_card(value))
        assert producer.flush(30) == 0

    def command(self, *more: str) -> list[str]:
        where = ["--bootstrap", self.bootstrap, "--checkpoint", str(self.home / "cp")]
        return [str(HEADRACE), "run", str(self.file), *where, *more]

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command("--until-caught-up", *more),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def read(self, topic: str) -> list[dict[str, object]]:
        consumer = Consumer(
            {
                **client_settings(self.bootstrap),
                "group.id": uuid.uuid4().hex,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        consumer.subscribe([f"{self.name}-{topic}"])
        found: list[dict[str, object]] = []
        ended: set[int | None] = set()
        partitions = 3
        try:
            while len(ended) < partitions:
                message = consumer.poll(30)
                assert message is not None
                if message.error():
                    ended.add(message.partition())
                else:
                    found.append(json.loads(message.value() or b"null"))
        finally:
            consumer.close()
        return found


def payment(number: int, cents: int) -> bytes:
    card = f"c{number % 5}"
    return json.dumps({"card": card, "number": number, "cents": cents}).encode()


def _card(value: bytes) -> bytes | None:
    try:
        return str(json.loads(value)["card"]).encode()
    except ValueError:
        return None


@pytest.fixture(scope="module")
def project(stack: Stack) -> Iterator[Project]:
    with tempfile.TemporaryDirectory() as home:
        yield Project(stack, Path(home))


def test_a_pipeline_file_runs_until_it_has_caught_up(project: Project) -> None:
    project.write(*(payment(n, n) for n in range(1000)), b"oops")

    done = project.run("--format", "json")

    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["lag"] == 0
    assert last["dead_letters"] == 1
    large = project.read("large")
    assert sorted(int(str(row["number"])) for row in large) == list(range(501, 1000))
    assert len(project.read("cards")) == 1000


def test_a_second_run_goes_on_where_the_first_has_ended(project: Project) -> None:
    project.write(*(payment(n, n) for n in range(1000, 1100)))

    assert project.run().returncode == 0

    cards = project.read("cards")
    assert sorted(int(str(row["number"])) for row in cards) == list(range(1100))
    for card in range(5):
        numbers = [row["number"] for row in cards if row["card"] == f"c{card}"]
        assert numbers == sorted(numbers, key=lambda n: int(str(n)))


def test_kafkas_own_tool_shows_the_pipelines_group_and_its_lag(
    project: Project,
) -> None:
    project.write(*(payment(n, n) for n in range(1100, 1107)))
    jars = fetch("kafka", "kafka-tools")
    tool = subprocess.run(
        [
            find_java().executable,
            *("-cp", ":".join(map(str, jars))),
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            *("--bootstrap-server", project.bootstrap, "--describe"),
            *("--group", f"headrace.{project.name}"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    rows = [line.split() for line in tool.stdout.splitlines()]
    lags = [int(row[5]) for row in rows if len(row) > 5 and f"{project.name}-in" in row]
    assert len(lags) == 3, tool.stdout + tool.stderr
    assert sum(lags) == 7


def test_sigterm_finishes_the_batch_and_exits_with_0(project: Project) -> None:
    running = subprocess.Popen(
        project.command("--format", "json"), stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    line = running.stdout.readline()
    running.send_signal(signal.SIGTERM)

    assert running.wait(120) == 0
    running.stdout.close()
    assert json.loads(line)["events_in"] == 7
    assert len(project.read("cards")) == 1107


def test_a_version_is_replayed_beside_the_one_that_runs(project: Project) -> None:
    before = len(project.read("large"))
    newer = project.home / "newer.py"
    newer.write_text(project.file.read_text().replace("cents > 500", "cents > 900"))
    done = subprocess.run(
        [
            *(str(HEADRACE), "replay", str(newer), "--as", "v2"),
            *("--bootstrap", project.bootstrap),
            *("--checkpoint", str(project.home / "cp-v2")),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
    after = sorted(int(str(row["number"])) for row in project.read("large-v2"))
    assert after == list(range(901, 1107))
    assert len(project.read("cards-v2")) == 1107
    assert len(project.read("large")) == before


def test_dead_letters_are_listed_and_replayed_once(project: Project) -> None:
    def letters(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                str(HEADRACE),
                "dead-letters",
                *arguments,
                "--bootstrap",
                project.bootstrap,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    listed = json.loads(letters("list", project.name, "--format", "json").stdout)
    assert [letter["reason"] for letter in listed] == ["json-malformed"]
    assert listed[0]["value"] == "oops"
    shown = json.loads(letters("show", project.name, listed[0]["place"]).stdout)
    assert shown == listed[0]
    assert "1 dead letter" in letters("replay", project.name, "--yes").stderr
    assert "nothing to replay" in letters("replay", project.name, "--yes").stderr
    project.run()
    again = json.loads(letters("list", project.name, "--format", "json").stdout)
    assert [letter["value"] for letter in again] == ["oops", "oops"]


def test_a_topic_that_is_not_there_is_named_before_the_query_starts(
    project: Project, tmp_path: Path
) -> None:
    file = tmp_path / "lost.py"
    file.write_text(PIPELINE.format(name="lost"))

    done = subprocess.run(
        [str(HEADRACE), "run", str(file), "--bootstrap", project.bootstrap],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert 'LogError [topic-missing]: there is no topic "lost-in"' in done.stderr


def test_what_ends_a_run_is_said_once_and_where_it_was_raised(
    project: Project, tmp_path: Path
) -> None:
    project.write(payment(5000, 1))
    file = tmp_path / "broken.py"
    file.write_text((PIPELINE + BROKEN).format(name=project.name))

    done = subprocess.run(
        [
            *(
                str(HEADRACE),
                "run",
                f"{file}:broken-{project.name}",
                "--until-caught-up",
            ),
            *("--bootstrap", project.bootstrap, "--checkpoint", str(tmp_path / "cp")),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    said = done.stderr
    assert done.returncode == 1, said
    assert said.splitlines()[0] == f"loading {file}:broken-{project.name}"
    assert f"first batch: reading {project.name}-in" in said
    assert "StepError [batch-failed]" in said
    assert said.count("no such card") == 1, said
    assert "raised by named at broken.py:" in said
    assert not [line for line in said.splitlines() if " ERROR " in line]
