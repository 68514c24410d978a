"""Writing from the command line: every event acknowledged, or said not to be."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import defaultdict

import pytest

from headrace.log import end_offsets
from headrace.services import Stack
from support.harness.log_use import (
    admin_of,
    command,
    consumed,
    new_name,
    new_topic,
    run,
    shown,
    write,
)
from support.harness.waiting import wait_until


def size(stack: Stack, topic: str) -> int:
    return sum(p["end"] for p in shown(stack, "topics", "show", topic)["partitions"])


def test_ten_thousand_events_come_back_in_the_order_of_their_keys(
    stack: Stack,
) -> None:
    topic = new_topic(stack, partitions=4)
    sent = [{"card": f"card-{n % 97}", "number": n} for n in range(10_000)]
    lines = "".join(json.dumps(payment) + "\n" for payment in sent)

    done = run(stack, "produce", topic, "--key", "card", stdin=lines)
    events = consumed(stack, topic)

    assert (done.returncode, done.stdout) == (0, "")
    assert "10000 event(s) acknowledged" in done.stderr
    came = defaultdict(list)
    for event in events:
        assert event["key"] == event["value"]["card"]
        came[event["key"]].append(event["value"]["number"])
    assert came == {f"card-{card}": list(range(card, 10_000, 97)) for card in range(97)}
    assert len({(e["partition"], e["key"]) for e in events}) == 97
    assert len({e["partition"] for e in events}) == 4


def test_a_key_goes_to_the_partition_that_java_clients_choose(stack: Stack) -> None:
    topic = new_topic(stack, partitions=10)
    lines = "".join(json.dumps({"k": key}) + "\n" for key in ("21", "foobar", "abc"))
    run(stack, "produce", topic, "--key", "k", stdin=lines)

    found = {event["key"]: event["partition"] for event in consumed(stack, topic)}

    # What Java's own tests say that murmur2 gives for these keys.
    assert found == {
        "21": (-973932308 & 0x7FFFFFFF) % 10,
        "foobar": (-790332482 & 0x7FFFFFFF) % 10,
        "abc": (479470107 & 0x7FFFFFFF) % 10,
    }


def test_nothing_after_a_line_that_is_not_json_is_sent(stack: Stack) -> None:
    topic = new_topic(stack)

    done = run(stack, "produce", topic, stdin='{"n": 1}\n{"n": 2}\n{"n":\n{"n": 4}\n')

    assert done.returncode == 1
    assert "[line-unreadable]: line 3 of the input" in done.stderr
    assert "2 event(s) before it were acknowledged" in done.stderr
    assert [event["value"]["n"] for event in consumed(stack, topic)] == [1, 2]


def test_headers_and_a_partition_go_with_every_event(stack: Stack) -> None:
    topic = new_topic(stack, partitions=3)
    options = ["--partition", "2", "--header", "trace=x", "--header", "trace=y"]

    run(stack, "produce", topic, *options, stdin='{"n": 1}\n{"n": 2}\n')

    for event in consumed(stack, topic):
        assert event["partition"] == 2
        assert event["headers"] == [
            {"key": "trace", "value": "x"},
            {"key": "trace", "value": "y"},
        ]


def test_raw_lines_come_back_byte_for_byte(stack: Stack) -> None:
    topic = new_topic(stack)

    done = run(stack, "produce", topic, "--raw", stdin=b"plain\n\xff\xfe\n\n 7 \n")

    assert done.returncode == 0
    assert [event["value"] for event in consumed(stack, topic)] == [
        "plain",
        {"base64": "//4="},
        "",
        7,
    ]


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        (("--partition", "7"), "partition-missing"),
        (("--key", "k"), "key-missing"),
    ],
)
def test_what_cannot_be_written_leaves_the_topic_as_it_is(
    arguments: tuple[str, ...], slug: str, stack: Stack
) -> None:
    topic = new_topic(stack)

    done = run(stack, "produce", topic, *arguments, stdin='{"n": 1}\n')

    assert done.returncode == 1
    assert f"[{slug}]" in done.stderr
    assert size(stack, topic) == 0


def test_writing_to_a_topic_that_is_not_there_makes_none(stack: Stack) -> None:
    name = new_name("topic")

    done = run(stack, "produce", name, stdin='{"n": 1}\n')

    assert done.returncode == 1
    assert "[topic-missing]" in done.stderr
    assert name not in {topic["name"] for topic in shown(stack, "topics", "list")}


def test_an_event_that_the_cluster_refuses_is_named_by_its_line(stack: Stack) -> None:
    topic = new_topic(stack, max_message_bytes="1000")
    lines = json.dumps({"n": 1}) + "\n" + json.dumps({"n": "x" * 2000}) + "\n"

    done = run(stack, "produce", topic, stdin=lines)

    assert done.returncode == 1
    assert "[not-acknowledged]" in done.stderr
    assert "size" in done.stderr


def test_an_event_of_five_megabytes_passes_where_the_topic_allows_it(
    stack: Stack,
) -> None:
    topic = new_topic(stack, max_message_bytes="8000000")
    text = "x" * 5_000_000

    done = run(stack, "produce", topic, stdin=json.dumps({"text": text}) + "\n")

    assert done.returncode == 0, done.stderr
    assert consumed(stack, topic, "--values") == [{"text": text}]


def test_ctrl_c_writes_what_was_taken_and_exits_with_130(stack: Stack) -> None:
    topic = new_topic(stack)
    admin = admin_of(stack)
    with subprocess.Popen(
        command(stack, "produce", topic),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as producing:
        assert producing.stdin is not None
        assert producing.stderr is not None
        producing.stdin.write('{"n": 1}\n{"n": 2}\n')
        producing.stdin.flush()
        wait_until(
            "both events are in the log", lambda: end_offsets(admin, topic, [0])[0] == 2
        )
        producing.send_signal(signal.SIGINT)
        said = producing.stderr.read()

        assert producing.wait(30) == 130
    assert "2 event(s) acknowledged" in said


def test_a_tombstone_is_shown_as_null_and_its_key_kept(stack: Stack) -> None:
    topic = new_topic(stack, cleanup_policy="compact")
    write(stack, topic, [b'{"n": 1}', None], key="ann")

    found = [(event["key"], event["value"]) for event in consumed(stack, topic)]

    assert found == [("ann", {"n": 1}), ("ann", None)]
