"""A bank's card traffic, live, and the pipeline that finds the fraud in it.

Six servers are started without data, the bank's profiles are captured, and a seeded
stream of card payments with planted fraud runs through ``pipeline.py``. When the time
is up every transaction is accounted for, and the alerts are judged by the truth.

Run it: ``python examples/fraud/demo.py --seconds 60``.
"""

from __future__ import annotations

import argparse
import fcntl
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from accounts import SAME, Account, differences, is_good, scored_in, verdict_lines
from alerting import Alerts
from bank import SERVERS, Bank
from driving import Driver
from mishaps import VICTIMS, Mishaps
from picture import Picture, Screen
from rollout import Rollout
from sending import Sender
from traffic import Traffic
from truth import Case, judge

from headrace import HeadraceError, ServiceError
from headrace.cli.ending import ENDING
from headrace.services import Stack
from headrace.settings import load_settings

AN_HOUR = 3600.0
NOON = 12
REHEARSED_BATCHES = 8
LONG_REHEARSAL_SECONDS = 40.0
LONGEST_REHEARSAL_SECONDS = 240.0
CATCH_UP_SECONDS = 180.0
STOP_SECONDS = 240.0
ACCOUNTING = "the bank closes, and the account follows; a second Ctrl-C kills at once"


@contextmanager
def servers() -> Iterator[tuple[Stack, Path]]:
    """Start the bank's servers without data; stop them whatever happens."""
    settings = load_settings()
    home = settings.state_dir / "fraud"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(
                "demo-running",
                "the demo runs already, and it has one set of servers",
                hint="stop the other one with Ctrl-C.",
            ) from None
        for left in (*home.glob("checkpoint*"), home / "lake"):
            shutil.rmtree(left, ignore_errors=True)
        stack = Stack(home / "run", settings)
        ENDING.at_once("ending; pipeline and servers are stopped", STOP_SECONDS)
        ENDING.at_kill("killed, and the servers too", stack.kill)
        _say("servers", "start")
        try:
            stack.up(SERVERS, fresh=True, tell=_say)
            yield stack, home
        finally:
            stack.down(_say)


def _say(service: str, news: str) -> None:
    print(f"{service}: {news}", file=sys.stderr, flush=True)


class Run:
    """One run: traffic in, alerts out, and both ends known."""

    def __init__(self, stack: Stack, home: Path, given: argparse.Namespace) -> None:
        self._stack, self._home, self._given = stack, home, given
        self._lake = home / "lake"
        self._driver = Driver(
            stack.run_directory.path,
            home,
            {"FRAUD_LAKE": str(self._lake)},
            patience=10 * len(given.kill),
        )
        self._alerts = Alerts(stack.address("kafka"))

    def whole(self) -> bool:
        """Run it; tell whether all is accounted for, and the fraud was found."""
        bank = Bank(self._stack)
        crowd = self._traffic(datetime.now(UTC)).crowd
        schema_id = bank.open(crowd)
        self._driver.start()
        self._alerts.start()
        try:
            self._rehearse(Sender(bank, self._traffic(datetime.now(UTC)), schema_id))
            traffic = self._traffic(datetime.now(UTC))
            sender = Sender(bank, traffic, schema_id)
            with Screen(self._addresses()) as screen:
                self._draw(screen, traffic, sender)
            return self._account(traffic, sender) and self._replay(traffic, sender)
        finally:
            self._driver.stop()
            self._alerts.close()

    def _traffic(self, start: datetime) -> Traffic:
        seconds = self._given.seconds or AN_HOUR
        given = self._given
        # The same people pay the same, by day and by night.
        return Traffic(given.seed, given.rate, seconds, start, hour=NOON)

    def _rehearse(self, sender: Sender) -> None:
        """Let the pipeline run until its code is warm: a cold JVM takes its time."""
        _say("pipeline", "Spark starts")
        began_at = time.monotonic()
        told = set[int]()

        def is_enough() -> bool:
            self._require_driver()
            if time.monotonic() > began_at + LONGEST_REHEARSAL_SECONDS:
                raise self._not_running("the pipeline does not get going")
            batch = self._driver.latest.get("batch", -1)
            if batch >= 0 and batch not in told:
                told.add(batch)
                took = self._driver.latest["phases_ms"]["triggerExecution"]
                _say("pipeline", f"warms up; batch {batch} took {took / 1000:.1f} s")
            is_long = time.monotonic() > began_at + LONG_REHEARSAL_SECONDS
            return len(told) >= (3 if is_long else REHEARSED_BATCHES)

        sender.rehearse(is_enough)

    def _require_driver(self) -> None:
        if self._driver.failed:
            raise self._not_running("the pipeline has ended")

    def _not_running(self, fact: str) -> ServiceError:
        return ServiceError(
            "pipeline-not-running",
            fact,
            detail=self._driver.told(),
            hint=f"the whole of what it said is in {self._driver.log}.",
        )

    def _draw(self, screen: Screen, traffic: Traffic, sender: Sender) -> None:
        sending = threading.Thread(target=sender.run, name="sender")
        sending.start()
        end = time.monotonic() + traffic.seconds
        terms = (self._given.kill, traffic.seconds, self._stack, self._driver, _say)
        try:
            ENDING.after(ACCOUNTING, sender.stop)
            with Mishaps(*terms):
                while sending.is_alive():
                    self._require_driver()
                    left = f"{max(0, end - time.monotonic()):.0f} s to go"
                    note = left if self._given.seconds else "Ctrl-C ends it"
                    screen.show(self._picture(traffic, sender), note)
                    sending.join(0.5)
            give_up_at = time.monotonic() + CATCH_UP_SECONDS
            while self._open(sender) and time.monotonic() < give_up_at:
                self._require_driver()
                note = "the bank is closed; the pipeline catches up"
                screen.show(self._picture(traffic, sender), note)
                time.sleep(1)
            screen.show(self._picture(traffic, sender), "all is scored")
        finally:
            sender.stop()
            sending.join()

    def _open(self, sender: Sender) -> bool:
        """Tell whether transactions have no result yet."""
        done = {*scored_in(self._lake / "scored"), *self._alerts.late}
        return not done >= sender.ids

    def _picture(self, traffic: Traffic, sender: Sender) -> Picture:
        now = datetime.now(UTC)
        past = [case for case in traffic.cases if case.last_at < now]
        so_far = judge(past, self._alerts.alerts).everything
        # An alert may come before its theft is over.
        right = judge(traffic.cases, self._alerts.alerts).everything.precision
        return Picture(
            sent=sender.sent,
            batch=self._driver.latest,
            starts=self._driver.starts,
            alerts=len(self._alerts.alerts),
            late=len(self._alerts.late),
            delays=self._alerts.delays,
            latest=tuple(self._alerts.latest),
            quality=f"{so_far.found} of {so_far.cases} thefts "
            f"(precision {right:.2f}, recall {so_far.recall:.2f}), "
            f"€ {so_far.saved_cents / 100:,.0f} saved",
        )

    def _account(self, traffic: Traffic, sender: Sender) -> bool:
        ids = sender.ids
        # A thief who was stopped in the middle was not a whole case.
        cases: list[Case] = [
            c for c in traffic.cases if ids.issuperset(c.transaction_ids)
        ]
        account = Account(
            sent=sender.sent,
            ids=ids,
            scored=scored_in(self._lake / "scored"),
            late=[*self._alerts.late.elements()],
            alerts=self._alerts.alerts,
            refused=sender.refused,
            dead_letters=self._driver.latest.get("dead_letters", 0),
        )
        verdict = judge(cases, self._alerts.alerts)
        delays = sorted(self._alerts.delays) or [0.0]
        alerted = {alert.transaction_id for alert in self._alerts.alerts}
        differing = differences(traffic, ids, alerted)
        for line in (*account.lines(), *verdict_lines(verdict), differing):
            print(line)
        half, most = delays[len(delays) // 2], delays[int(len(delays) * 0.99)]
        print(f"from transaction to alert: P50 {half:.1f} s, P99 {most:.1f} s")
        return account.is_whole and is_good(verdict) and differing == SAME

    def _replay(self, traffic: Traffic, sender: Sender) -> bool:
        """Let another model judge the same traffic, if there is one, and compare."""
        if self._given.replay is None:
            return True
        directory = self._stack.run_directory.path
        rollout = Rollout(directory, self._home, self._lake, self._given.replay)
        _say("pipeline", f"is replayed with model {rollout.model.version}")
        rollout.replay()
        judged = rollout.judged()
        differing = differences(traffic, sender.ids, judged.alerted, rollout.model)
        for line in (*rollout.lines(judged), differing):
            print(line)
        return differing == SAME

    def _addresses(self) -> dict[str, str]:
        return {name: self._stack.address(name) for name in ("kafka", "opensearch")}


def main() -> int | str | None:
    """Run the demo; a signal ends it in good order."""
    with ENDING.armed():
        return ENDING.status(run())


def run() -> int:
    """Parse the command line and run the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, help="send for so long, then stop")
    parser.add_argument("--rate", type=float, default=300.0, help="in a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kill",
        action="append",
        choices=VICTIMS,
        default=[],
        help="kill it on the way; may be given several times",
    )
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="MODEL",
        help="afterwards, judge all of it by another model too, and compare",
    )
    given = parser.parse_args()
    try:
        with servers() as (stack, home):
            return 0 if Run(stack, home, given).whole() else 1
    except HeadraceError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
