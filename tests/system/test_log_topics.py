"""Topics from the command line: made, shown, listed and removed on purpose."""

from __future__ import annotations

import json

from headrace.log import describe_topic
from headrace.services import Stack
from support.harness.log_use import admin_of, new_name, new_topic, run, shown, write


def test_a_topic_is_made_shown_and_removed(stack: Stack) -> None:
    name = new_name("topic")
    config = ["--config", "cleanup.policy=compact", "--config", "retention.ms=60000"]

    made = run(stack, "topics", "create", name, "--partitions", "3", *config)
    assert (made.returncode, made.stdout) == (0, "")

    found = shown(stack, "topics", "show", name)
    assert [row["partition"] for row in found["partitions"]] == [0, 1, 2]
    assert {row["leader"] for row in found["partitions"]} == {1}
    assert found["config"] == {"cleanup.policy": "compact", "retention.ms": "60000"}

    removed = run(stack, "topics", "delete", name, "--yes")
    assert (removed.returncode, removed.stdout) == (0, "")
    assert "[topic-missing]" in run(stack, "topics", "show", name).stderr


def test_a_topic_is_shown_to_people_with_its_offsets_and_settings(
    stack: Stack,
) -> None:
    topic = new_topic(stack, retention_ms="60000")
    write(stack, topic, [b"a", b"b"])

    head, row, *_rest, setting = run(stack, "topics", "show", topic).stdout.splitlines()

    assert head.split() == ["partition", "leader", "in", "sync", "begin", "end"]
    assert row.split() == ["0", "1", "1", "0", "2"]
    assert setting.split() == ["retention.ms", "60000"]


def test_the_list_has_every_topic_with_its_size_and_policy(stack: Stack) -> None:
    topic = new_topic(stack, partitions=2, cleanup_policy="compact")
    write(stack, topic, [b"a", b"b", b"c"], key="k")

    [found] = [t for t in shown(stack, "topics", "list") if t["name"] == topic]

    assert found == {
        "name": topic,
        "partitions": 2,
        "replicas": 1,
        "events": 3,
        "cleanup": "compact",
    }


def test_internal_topics_are_listed_on_demand(stack: Stack) -> None:
    shared = new_topic(stack)
    few = {topic["name"] for topic in shown(stack, "topics", "list")}
    all_ = {topic["name"] for topic in shown(stack, "topics", "list", "--all")}

    assert shared in few
    assert not [name for name in few if name.startswith(("__", "headrace."))]
    assert few < all_


def test_a_topic_that_exists_is_not_made_again(stack: Stack) -> None:
    topic = new_topic(stack)

    done = run(stack, "topics", "create", topic, "--partitions", "1")

    assert done.returncode == 1
    assert "[topic-exists]" in done.stderr


def test_the_clusters_reason_for_a_refusal_is_shown(stack: Stack) -> None:
    asked = ["topics", "create", new_name("topic"), "--partitions", "1"]

    replicas = run(stack, *asked, "--replicas", "3")
    setting = run(stack, *asked, "--config", "colour=red")

    assert (replicas.returncode, setting.returncode) == (1, 1)
    assert "[topic-refused]" in replicas.stderr
    assert "colour" in setting.stderr


def test_a_topic_is_not_removed_without_a_yes(stack: Stack) -> None:
    topic = new_topic(stack)

    done = run(stack, "topics", "delete", topic)

    assert done.returncode == 1
    assert "[not-confirmed]" in done.stderr
    assert len(describe_topic(admin_of(stack), topic)) == 1


def test_kafkas_own_topics_are_kept(stack: Stack) -> None:
    done = run(stack, "topics", "delete", "__consumer_offsets", "--yes")

    assert done.returncode == 1
    assert "[topic-kept]" in done.stderr
    assert describe_topic(admin_of(stack), "__consumer_offsets")


def test_another_cluster_at_our_address_is_not_changed(stack: Stack) -> None:
    file = stack.run_directory.path / "run.json"
    ours = file.read_text()
    topic = new_topic(stack)
    try:
        mistaken = json.loads(ours) | {"cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"}
        file.write_text(json.dumps(mistaken))
        done = run(stack, "topics", "delete", topic, "--yes")
        written = run(stack, "produce", topic, stdin='{"a": 1}\n')
    finally:
        file.write_text(ours)

    assert (done.returncode, written.returncode) == (1, 1)
    assert "[cluster-mistaken]" in done.stderr
    assert "[cluster-mistaken]" in written.stderr
    assert shown(stack, "topics", "show", topic)["partitions"][0]["end"] == 0
