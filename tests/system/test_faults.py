"""Faults around a small stack: killed servers, killed commands, taken ports."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from headrace.errors import ServiceError
from headrace.services import Stack
from headrace.services.launch import birth
from headrace.services.ports import LOOPBACK
from headrace.settings import load_settings
from support.harness.observe import COMMAND, headrace, processes_in, status_of
from support.harness.waiting import wait_until

NewStack = Callable[..., Stack]
SLEEP = shutil.which("sleep") or "/bin/sleep"


def set_key(stack: Stack, value: str) -> None:
    with redis.Redis.from_url(stack.address("redis")) as client:
        client.set("key", value)


def get_key(stack: Stack) -> str | None:
    with redis.Redis.from_url(stack.address("redis"), decode_responses=True) as client:
        value: str | None = client.get("key")
        return value


@contextmanager
def command(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run the command beside the test, in a session of its own like a terminal's."""
    with subprocess.Popen(
        [COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_killed_server_is_seen_and_comes_back_on_its_data(redis_stack: Stack) -> None:
    path = redis_stack.run_directory.path
    set_key(redis_stack, "before the fall")
    pid = status_of(path)["redis"]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until("its end", lambda: birth(pid) is None)

    seen = headrace("status", "--dir", path, "--format", "json")
    started = headrace("up", "redis", "--dir", path)

    assert seen.returncode == 1
    (dead,) = json.loads(seen.stdout)
    assert (dead["health"], dead["pid"]) == ("dead", None)
    assert started.returncode == 0
    assert status_of(path)["redis"]["pid"] != pid
    assert get_key(redis_stack) == "before the fall"


def test_a_server_that_hangs_is_unhealthy_and_stopped_by_force(
    redis_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = redis_stack.run_directory.path
    pid = status_of(path)["redis"]["pid"]
    os.kill(pid, signal.SIGSTOP)

    seen = headrace("status", "--dir", path, "--format", "json")
    monkeypatch.setattr("headrace.services.redis.Redis.stop_patience", 0.2)
    told: list[tuple[str, str]] = []
    redis_stack.down(lambda service, news: told.append((service, news)))

    assert seen.returncode == 1
    (hanging,) = json.loads(seen.stdout)
    assert (hanging["health"], hanging["pid"]) == ("unhealthy", pid)
    assert hanging["problem"]
    assert told == [("redis", "killed")]
    assert processes_in(path) == []


def test_a_killed_database_comes_back_at_once_on_its_data(new_stack: NewStack) -> None:
    stack = new_stack()
    (before,) = stack.up(["postgres"])
    with psycopg.connect(stack.address("postgres"), autocommit=True) as database:
        database.execute("create table kept as select 7 as id")
    pid = before.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until("its end", lambda: birth(pid) is None, step=0.001)

    (after,) = stack.up(["postgres"])

    assert after.health == "healthy"
    assert after.pid != before.pid
    with psycopg.connect(stack.address("postgres")) as database:
        assert database.execute("select id from kept").fetchall() == [(7,)]


def test_beginning_anew_loses_the_data(redis_stack: Stack) -> None:
    set_key(redis_stack, "old")
    before = redis_stack.run_directory.read()

    done = headrace("up", "redis", "--fresh", "--dir", redis_stack.run_directory.path)

    after = redis_stack.run_directory.read()
    assert done.returncode == 0
    assert get_key(redis_stack) is None
    assert after.run_id != before.run_id
    assert after.cluster_id != before.cluster_id


def test_a_stale_note_stops_nobody_and_hinders_nothing(redis_stack: Stack) -> None:
    path = redis_stack.run_directory.path
    set_key(redis_stack, "kept")
    redis_stack.down()
    with subprocess.Popen([SLEEP, "60"]) as stranger:
        note = path / "redis" / "process.json"
        note.write_text(json.dumps({"pid": stranger.pid, "birth": "long-ago/1"}))
        (seen,) = redis_stack.status()
        stopped = headrace("down", "--dir", path)
        alive = stranger.poll() is None
        stranger.kill()

    assert seen.health == "dead"
    assert stopped.returncode == 0
    assert alive
    redis_stack.up(["redis"])
    assert get_key(redis_stack) == "kept"


def test_a_second_up_at_the_same_time_is_refused_and_does_no_damage(
    new_stack: NewStack,
) -> None:
    stack = new_stack()
    path = stack.run_directory.path
    with command("up", "redis", "--dir", path) as first:
        wait_until("the first holds the lock", (path / "run.json").exists, step=0.001)
        first.send_signal(signal.SIGSTOP)
        second = headrace("up", "redis", "--dir", path)
        third = headrace("down", "--dir", path)
        first.send_signal(signal.SIGCONT)
        first.communicate(timeout=60)

    for refused in (second, third):
        assert refused.returncode == 1
        assert "[run-directory-busy]" in refused.stderr
    assert first.returncode == 0
    assert len(processes_in(path)) == 1
    assert status_of(path)["redis"]["health"] == "healthy"


def when_free(stack: Stack, act: Callable[[], object]) -> None:
    """Act as soon as nobody else does: a killed command's last step may still run."""

    def acted() -> bool:
        try:
            act()
        except ServiceError as error:
            if error.slug != "run-directory-busy":
                raise
            return False
        return True

    wait_until(f"nobody acts on {stack.run_directory.path}", acted)


@pytest.mark.parametrize(
    "moment", ["run.lock", "run.json", "redis/redis.conf", "redis/process.json"]
)
def test_a_killed_up_leaves_nothing_that_down_does_not_find(
    moment: str, new_stack: NewStack
) -> None:
    stack = new_stack()
    path = stack.run_directory.path
    with command("up", "redis", "--dir", path) as up:
        wait_until(moment, (path / moment).exists, step=0.001)
        up.kill()

    when_free(stack, stack.down)
    assert processes_in(path) == []

    stack.up(["redis"])
    set_key(stack, "all is well")
    assert get_key(stack) == "all is well"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_database_whose_making_was_cut_short_is_made_anew(
    how: signal.Signals, new_stack: NewStack
) -> None:
    stack = new_stack()
    path = stack.run_directory.path
    with command("up", "postgres", "--dir", path) as up:
        wait_until(
            "initdb works", lambda: list(path.glob("postgres/*/PG_VERSION")), step=0.001
        )
        os.killpg(up.pid, how)
        up.wait(30)

    when_free(stack, lambda: stack.up(["postgres"]))

    with psycopg.connect(stack.address("postgres")) as database:
        assert database.execute("select 1").fetchall() == [(1,)]


def test_an_interrupted_up_ends_at_once_and_down_stops_what_it_began(
    new_stack: NewStack,
) -> None:
    stack = new_stack()
    path = stack.run_directory.path
    with command("up", "kafka", "registry", "--dir", path) as up:
        wait_until("Kafka starts", (path / "kafka-1" / "process.json").exists)
        os.killpg(up.pid, signal.SIGINT)
        out, err = up.communicate(timeout=20)

    assert up.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert [p.name for p in path.glob("*/process.json")] == ["process.json"]
    assert stack.down() == ["kafka-1"]
    assert processes_in(path) == []


def test_a_fixed_port_is_used(new_stack: NewStack) -> None:
    (before,) = new_stack().up(["redis"])
    with socket.create_server((LOOPBACK, 0)) as held:
        port = held.getsockname()[1]

    (fixed,) = new_stack(ports={"redis": port}).up(["redis"])

    assert fixed.port == port
    assert before.port != port


def test_a_fixed_port_that_is_taken_is_refused(new_stack: NewStack) -> None:
    with socket.create_server((LOOPBACK, 0)) as held:
        stack = new_stack(ports={"redis": held.getsockname()[1]})
        with pytest.raises(ServiceError) as refused:
            stack.up(["redis"])

    assert refused.value.slug == "port-taken"
    assert processes_in(stack.run_directory.path) == []


def test_a_remembered_port_that_was_taken_meanwhile_is_replaced(
    redis_stack: Stack,
) -> None:
    set_key(redis_stack, "kept")
    (before,) = redis_stack.status()
    redis_stack.down()

    with socket.create_server((LOOPBACK, before.port)):
        (after,) = redis_stack.up(["redis"])

    assert after.port != before.port
    assert get_key(redis_stack) == "kept"


def test_a_stranger_on_a_servers_port_is_not_taken_for_it(redis_stack: Stack) -> None:
    (before,) = redis_stack.status()
    pid = before.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until("its end", lambda: birth(pid) is None, step=0.001)

    with socket.create_server((LOOPBACK, before.port)):
        (seen,) = redis_stack.status()

    assert seen.health == "dead"


def test_what_is_asked_for_later_joins_what_runs(redis_stack: Stack) -> None:
    (before,) = redis_stack.status()

    after = {process.process: process for process in redis_stack.up(["postgres"])}

    assert set(after) == {"redis", "postgres"}
    assert after["redis"].pid == before.pid
    assert {process.health for process in after.values()} == {"healthy"}


def test_stopping_one_project_leaves_another_alone(
    redis_stack: Stack, new_stack: NewStack
) -> None:
    other = new_stack()
    other.up(["redis"])
    set_key(redis_stack, "first")
    set_key(other, "second")

    other.down()

    assert get_key(redis_stack) == "first"
    assert [process.health for process in other.status()] == ["stopped"]


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        (["zookeeper"], "service-unknown"),
        (["redis", "--brokers", "2"], "brokers-not-1-or-3"),
        (["redis", "--brokers", "0"], "brokers-not-1-or-3"),
    ],
)
def test_an_order_that_cannot_be_met_changes_nothing(
    arguments: list[str], slug: str, redis_stack: Stack
) -> None:
    path = redis_stack.run_directory.path
    set_key(redis_stack, "kept")
    done = headrace("up", *arguments, "--fresh", "--dir", path)

    assert done.returncode == 1
    assert f"[{slug}]" in done.stderr
    assert done.stdout == ""
    assert get_key(redis_stack) == "kept"


def test_a_port_for_no_process_is_refused(open_tmp: Path) -> None:
    stack = Stack(open_tmp / "run", load_settings(ports={"kafka": 9092}))

    with pytest.raises(Exception, match="port-name-unknown"):
        stack.up(["redis"])

    assert not (open_tmp / "run").exists()


def test_redis_alone_does_not_fix_the_number_of_brokers(redis_stack: Stack) -> None:
    assert redis_stack.run_directory.read().brokers is None


def test_a_directory_with_other_files_is_left_alone(open_tmp: Path) -> None:
    (open_tmp / "thesis.txt").write_text("years of work")

    for arguments in (["up", "redis"], ["up", "redis", "--fresh"]):
        done = headrace(*arguments, "--dir", open_tmp)
        assert done.returncode == 1
        assert "[directory-not-ours]" in done.stderr

    headrace("down", "--dir", open_tmp)
    assert [path.name for path in open_tmp.iterdir()] == ["thesis.txt"]
