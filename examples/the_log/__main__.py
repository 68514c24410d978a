"""The log, live: three brokers, a keyed topic, one writer, three readers.

Each reader is at its own place in the same log, and none slows the writer or the
others down. When the time is up the writer stops, the readers read to the end, and
every event is accounted for.

Run it: ``make demo DEMO=log``, or ``headrace demo log --seconds 20``.
"""

from __future__ import annotations

import argparse
import fcntl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka.admin import AdminClient
from payments import TOPIC, PaymentReader, PaymentWriter
from screen import Picture, Screen

from headrace import HeadraceError, ServiceError
from headrace.cli.ending import ENDING
from headrace.log import (
    GroupOffsets,
    administer,
    create_topic,
    describe_topic,
    end_offsets,
)
from headrace.services import Stack
from headrace.settings import load_settings

WRITTEN_PER_SECOND = 2000.0
READERS = {"fraud-check": None, "dashboard": 1500.0, "archive": 700.0}
CATCH_UP_SECONDS = 120.0
STOP_SECONDS = 90.0
ACCOUNTING = "the writer ends, and the account follows; a second Ctrl-C kills at once"


@contextmanager
def three_brokers() -> Iterator[Stack]:
    """Start three brokers without data; stop them whatever happens."""
    settings = load_settings()
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    with (settings.state_dir / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(
                "demo-running",
                "the demo runs already, and it has one set of brokers",
                hint="stop the other one with Ctrl-C.",
            ) from None
        stack = Stack(settings.state_dir / "demo", settings)
        ENDING.at_once("ending; the brokers are stopped", STOP_SECONDS)
        ENDING.at_kill("killed, and the servers too", stack.kill)
        _say("kafka", "starts")
        try:
            stack.up(["kafka"], brokers=3, fresh=True, tell=_say)
            yield stack
        finally:
            stack.down(_say)


def _say(service: str, news: str) -> None:
    print(f"{service}: {news}", file=sys.stderr, flush=True)


class Camera:
    """Takes pictures of the log by asking the cluster, as a monitoring tool would."""

    def __init__(self, admin: AdminClient, bootstrap: str) -> None:
        self._admin = admin
        self._groups = {group: GroupOffsets(bootstrap, group) for group in READERS}

    def picture(self) -> Picture:
        """Give the log as it is now."""
        partitions = describe_topic(self._admin, TOPIC)
        numbers = [partition.number for partition in partitions]
        committed = {
            name: group.committed(TOPIC, numbers)
            for name, group in self._groups.items()
        }
        # The ends are asked for last, so that no reader seems to be ahead of them.
        return Picture(partitions, end_offsets(self._admin, TOPIC, numbers), committed)

    def close(self) -> None:
        """Leave the cluster."""
        for group in self._groups.values():
            group.close()


def watch(stack: Stack, seconds: float | None) -> bool:
    """Run the traffic and draw it; tell whether every event was accounted for."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    create_topic(admin, TOPIC, partitions=6, replicas=3)

    camera = Camera(admin, bootstrap)
    written_enough, hurry, done = (threading.Event() for _ in range(3))
    writer = PaymentWriter(bootstrap, WRITTEN_PER_SECOND, written_enough)
    readers = [
        PaymentReader(bootstrap, group, speed, done, hurry)
        for group, speed in READERS.items()
    ]
    writing = threading.Thread(target=writer.run, name="writer")
    reading = [threading.Thread(target=r.run, name=r.group) for r in readers]
    for thread in (writing, *reading):
        thread.start()
    try:
        with Screen(f"topic {TOPIC}, 3 copies of each partition") as screen:
            _draw_writing(screen, camera, written_enough, seconds)
            writing.join()
            hurry.set()
            total = sum(writer.acknowledged.values())
            _draw_catching_up(screen, camera, readers, total)
            done.set()
            for thread in reading:
                thread.join()
            last = camera.picture()
            screen.show(last, "all readers are at the end")
    finally:
        # Clients end before their brokers do, even when drawing has failed.
        written_enough.set()
        done.set()
        for thread in (writing, *reading):
            thread.join()
        camera.close()
    return account(writer, readers, last)


def _draw_writing(
    screen: Screen, camera: Camera, enough: threading.Event, seconds: float | None
) -> None:
    end = time.monotonic() + seconds if seconds else None
    ENDING.after(ACCOUNTING, enough.set)
    while not enough.is_set():
        left = f"{end - time.monotonic():.0f} s to go" if end else "Ctrl-C ends it"
        screen.show(camera.picture(), f"writing; {left}")
        enough.wait(0.4)
        if end and time.monotonic() > end:
            enough.set()


def _draw_catching_up(
    screen: Screen, camera: Camera, readers: list[PaymentReader], total: int
) -> None:
    give_up_at = time.monotonic() + CATCH_UP_SECONDS
    while any(r.read < total for r in readers) and time.monotonic() < give_up_at:
        screen.show(camera.picture(), "the writer stopped; the readers catch up")
        time.sleep(0.3)


def account(writer: PaymentWriter, readers: list[PaymentReader], last: Picture) -> bool:
    """Compare what was acknowledged with the log and with each reader."""
    written = sum(writer.acknowledged.values())
    in_log = sum(last.ends.values())
    print(f"written and acknowledged: {written}, refused: {writer.failed}")
    print(f"in the log:               {in_log}")
    right = in_log == written > 0 and writer.failed == 0
    for reader in readers:
        behind = last.total_lag(reader.group)
        print(
            f"read by {reader.group + ':':<17} {reader.read}, "
            f"out of order {reader.misplaced}, lag {behind}"
        )
        right &= reader.read == written and not reader.misplaced and not behind
    print("every event is accounted for" if right else "EVENTS ARE MISSING OR DOUBLED")
    return right


def main() -> int | str | None:
    """Run the demo; a signal ends it in good order."""
    with ENDING.armed():
        return ENDING.status(run())


def run() -> int:
    """Parse the command line and run the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, help="write for so long, then stop")
    seconds = parser.parse_args().seconds
    try:
        with three_brokers() as stack:
            return 0 if watch(stack, seconds) else 1
    except HeadraceError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
