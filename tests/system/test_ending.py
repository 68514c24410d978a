"""Ctrl-C and SIGTERM at any moment: one line, nothing left, and a start goes on."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from headrace.log import writer_settings
from headrace.services import Stack
from support.harness.ended_run import Run, Shop
from support.harness.log_use import new_topic
from support.harness.observe import processes_in
from support.harness.waiting import wait_until

CTRL_C, SIGTERM = signal.SIGINT, signal.SIGTERM
STATUS = {CTRL_C: 130, SIGTERM: 0}
GOES_ON = "start it again and it goes on from there"


@pytest.fixture(scope="module")
def shop(stack: Stack) -> Iterator[Shop]:
    with tempfile.TemporaryDirectory() as home:
        yield Shop(stack, Path(home))


def ended(run: Run, sign: signal.Signals) -> str:
    """Send a signal to a run, and give what it has said in the end."""
    with closing(run):
        run.signal(sign)
        assert run.status() == STATUS[sign], run.said()
        said = run.said()
    assert "Traceback" not in said, said
    assert "Error" not in said, said
    (line,) = (one for one in said.splitlines() if one.startswith("ended"))
    assert said.splitlines()[-1] == line, said
    return line


# The moments of a start, in their order.
MOMENTS: dict[str, Callable[[Run], Callable[[], bool]]] = {
    "it owns its signals": lambda run: run.owns_its_signals,
    "its file is loaded": lambda run: run.says("loading"),
    "Spark is about to start": lambda run: run.says("starting Spark"),
    "there is a JVM": lambda run: run.has_jvm,
    "Python can reach the JVM": lambda run: run.listens(1),
    # Beside that port: one of the driver, and one of its blocks.
    "Spark's context is made": lambda run: run.listens(3),
}


def end_at_start(shop: Shop, moment: str, sign: signal.Signals) -> None:
    run = shop.run()
    run.await_moment(MOMENTS[moment](run))
    line = ended(run, sign)
    # Before the command is loaded nobody knows what it would have done.
    is_early = moment == "it owns its signals" and line == "ended"
    assert is_early or line == f"ended before the first batch; {GOES_ON}"


@pytest.mark.parametrize(
    ("moment", "sign"),
    [("Spark is about to start", SIGTERM), ("Spark's context is made", CTRL_C)],
)
def test_a_start_is_ended_at_once(
    shop: Shop, moment: str, sign: signal.Signals
) -> None:
    end_at_start(shop, moment, sign)


@pytest.mark.long
@pytest.mark.parametrize("sign", [CTRL_C, SIGTERM])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_start_is_ended_at_once_whenever_that_is(
    shop: Shop, moment: str, sign: signal.Signals
) -> None:
    end_at_start(shop, moment, sign)


def end_in_batch(shop: Shop, place: str, sign: signal.Signals) -> None:
    shop.pay(10)
    run = shop.run(hold=place)
    run.await_moment(run.holding.exists)
    run.signal(sign)
    run.await_moment(run.says("ending after the batch in hand"))
    run.release()
    with closing(run):
        assert run.status() == STATUS[sign], run.said()
    assert "Traceback" not in run.said()
    assert "ended after batch" in run.said().splitlines()[-1]
    assert len(shop.copied()) == shop.paid


def test_ctrl_c_finishes_the_batch_and_exits_with_130(shop: Shop) -> None:
    end_in_batch(shop, "rows-flushed", CTRL_C)


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "sign"),
    [
        ("before-offsets", CTRL_C),
        ("after-offsets", SIGTERM),
        ("lane-fenced", CTRL_C),
        ("rows-flushed", SIGTERM),
        ("committed", CTRL_C),
        ("before-spark-commit", SIGTERM),
    ],
)
def test_a_batch_is_finished_wherever_it_is(
    shop: Shop, place: str, sign: signal.Signals
) -> None:
    end_in_batch(shop, place, sign)


@pytest.mark.long
@pytest.mark.parametrize("sign", [CTRL_C, SIGTERM])
def test_a_run_at_rest_is_ended(shop: Shop, sign: signal.Signals) -> None:
    shop.pay(10)
    run = shop.run()
    run.await_moment(run.says("10 events"))

    assert ended(run, sign).startswith("ended after batch")


def test_a_second_ctrl_c_kills_at_once_and_the_next_run_goes_on(shop: Shop) -> None:
    shop.pay(10)
    run = shop.run(hold="rows-flushed")
    run.await_moment(run.holding.exists)

    with closing(run):
        run.signal_until_gone(CTRL_C)
        assert run.status() == STATUS[CTRL_C]
        assert run.said().splitlines()[-2:] == [
            "ending after the batch in hand; a second Ctrl-C kills at once",
            "killed; what was not committed is done again at the next start",
        ]
    with closing(shop.run("--until-caught-up")) as last:
        assert last.status() == 0, last.said()
    assert shop.copied() == list(range(shop.paid))


@pytest.mark.parametrize(("sign", "status"), STATUS.items())
def test_who_follows_a_topic_is_told_how_much_it_was(
    stack: Stack, tmp_path: Path, sign: signal.Signals, status: int
) -> None:
    topic = new_topic(stack)
    producer = Producer(writer_settings(stack.address("kafka")))
    producer.produce(topic, b"one")
    assert producer.flush(30) == 0
    where = ("--from", "earliest", "--dir", str(stack.run_directory.path))
    with closing(Run(tmp_path, ["consume", topic, "--follow", *where])) as run:
        run.await_moment(run.says('"one"'))
        run.signal(sign)

        assert run.status() == status
        assert run.said().splitlines()[1:] == ["1 event(s)"]


def log_demo(home: Path) -> Run:
    return Run(home, ["demo", "log"], HEADRACE_STATE_DIR=str(home / "state"))


@pytest.mark.long
@pytest.mark.parametrize(("sign", "status"), STATUS.items())
def test_a_demo_that_starts_stops_its_servers(
    open_tmp: Path, sign: signal.Signals, status: int
) -> None:
    with closing(log_demo(open_tmp)) as run:
        begun = open_tmp / "state" / "demo" / "kafka-1" / "process.json"
        run.await_moment(begun.exists)
        run.signal(sign)

        assert run.status() == status, run.said()
        assert "ending; the brokers are stopped" in run.said()
        assert "Traceback" not in run.said()
    assert processes_in(open_tmp / "state") == []


@pytest.mark.long
@pytest.mark.parametrize(("sign", "status"), STATUS.items())
def test_a_demo_at_work_accounts_for_what_it_has_sent(
    open_tmp: Path, sign: signal.Signals, status: int
) -> None:
    with closing(log_demo(open_tmp)) as run:
        run.await_moment(run.says("writing; Ctrl-C ends it"))
        run.signal(sign)

        assert run.status() == status, run.said()
        assert "every event is accounted for" in run.said()
    assert processes_in(open_tmp / "state") == []


@pytest.mark.long
def test_a_demo_that_is_killed_leaves_no_server(open_tmp: Path) -> None:
    with closing(log_demo(open_tmp)) as run:
        run.await_moment(run.says("writing; Ctrl-C ends it"))
        run.signal_until_gone(CTRL_C)

        assert run.status() == STATUS[CTRL_C], run.said()
        assert "killed, and the servers too" in run.said()
    wait_until("no server is left", lambda: not processes_in(open_tmp / "state"))
