"""Write the lists of classes that archives hold: run each program, note its classes.

A maintainer runs it after changing a version of Spark, Kafka or the Kafka connector.
Our own classes are left out: they come behind the archived part of a class path.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from typical import pipeline

from headrace._spark import end, session
from headrace.artifacts import archives
from headrace.log import administer, create_topic, writer_settings
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack, connect, kafka

TOPICS = ("payments", "refunds")
NAMES = ("spark", "kafka", "connect")
LISTS = Path(archives.__file__).with_name("classes")


def kept(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a list that hold for every machine."""
    for line in lines:
        # The numbers count the classes of the one run.
        text = line.partition(" id: ")[0].strip()
        # Java ends with SIGSEGV where it maps what it makes of these, and a profiler
        # or another agent looks at the classes that are loaded.
        left_out = ("@lambda-form-invoker", "#")
        if text and not text.startswith(left_out) and "io/headrace/" not in text:
            yield text


def write(name: str, noted: Path) -> None:
    """Write the list of a program."""
    with noted.open() as lines:
        found = dict.fromkeys(kept(lines))
    (LISTS / f"{name}.txt").write_text("\n".join(found) + "\n")
    print(f"{name}: {len(found):,} classes", file=sys.stderr)


def noting(module: Any, noted: Path) -> None:
    """Let a service's JVM note its classes."""
    plain = module.java_command

    def java_command(site: Any, **given: Any) -> Any:
        if "format" not in given["run"]:
            dump = f"-XX:DumpLoadedClassList={noted}"
            given["options"] = ["-Dlog4j2.configurationFile=log4j2.properties", dump]
        return plain(site, **given)

    module.java_command = java_command


def run_typical(bootstrap: str, noted: Path, home: Path) -> None:
    """Run a pipeline with the usual steps over some events."""
    made = pipeline()
    admin = administer(bootstrap, None)
    for topic in TOPICS:
        create_topic(admin, topic, partitions=2)
    producer = Producer(writer_settings(bootstrap))
    for number in range(400):
        at = f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"
        card = f"c{number % 7}"
        payment = {"id": number % 390, "card": card, "cents": 5, "at": at}
        for topic in TOPICS:
            producer.produce(topic, json.dumps(payment), key=card)
    if producer.flush(60):
        sys.exit("the events did not reach Kafka")
    make_missing_topics(admin, made)
    options = f"-XX:DumpLoadedClassList={noted}"
    spark = session("typical", config={"spark.driver.extraJavaOptions": options})
    conditions = Conditions(
        bootstrap, str(home / "checkpoint"), until_caught_up=True, most_per_batch=100
    )
    start(made, spark, conditions).await_end()
    end(spark)


def main() -> None:
    """Run the programs one after the other."""
    for name in NAMES:
        (LISTS / f"{name}.txt").touch()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        home.chmod(0o777)
        noting(kafka, home / "kafka.classes")
        noting(connect, home / "connect.classes")
        stack = Stack(home / "run")
        try:
            stack.up(["kafka", "connect"])
            run_typical(stack.address("kafka"), home / "spark.classes", home)
        finally:
            stack.down()
        for name in NAMES:
            write(name, home / f"{name}.classes")


if __name__ == "__main__":
    main()
