"""Redis keeps the contract of sinks, and what it says beyond, on a real server."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
import redis
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace import DeliveryError, digits, event, sinks
from headrace.services import Stack
from headrace.sinks import Sink
from headrace.testing import SinkContract, SinkRow
from support.harness.cut_line import CutLine
from support.harness.deliveries import Deliveries, Sent
from support.harness.killing import kill
from support.harness.lanes import Lanes, java_records, refusal
from support.harness.waiting import wait_until


@pytest.fixture(scope="module")
def server(redis_address: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_address) as client:
        yield client


@pytest.fixture
def redis_stack(own_server: Callable[[str], Stack]) -> Stack:
    return own_server("redis")


@pytest.fixture
def keyspace() -> str:
    return f"k{uuid.uuid4().hex[:8]}"


NewDeliveries = Callable[..., Deliveries]


@pytest.fixture
def deliveries(
    spark: SparkSession, redis_address: str, tmp_path: Path
) -> NewDeliveries:
    """Make an output with a checkpoint of its own."""

    def make(sink: Sink, at: str = redis_address, **changes: Any) -> Deliveries:
        return Deliveries(spark, tmp_path, sink, at, **changes)

    return make


class RedisContract(SinkContract):
    """What hashes and JSON texts share: a sink behind a line that can be cut."""

    form: str

    @pytest.fixture(autouse=True)
    def new_keys(
        self, spark: SparkSession, servers: Stack, server: redis.Redis, tmp_path: Path
    ) -> Iterator[None]:
        self._keyspace = f"k{uuid.uuid4().hex[:8]}"
        self._server = server
        self._sink = sinks.redis(self._keyspace, as_=self.form)
        with CutLine(servers.site().port("redis")) as line:
            self._line = line
            self._to = Deliveries(
                spark, tmp_path, self._sink, f"redis://127.0.0.1:{line.port}"
            )
            yield

    @property
    def sink(self) -> Sink:
        return self._sink

    def write(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self._to.write(batch, rows)

    def fail_before_commit(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self._line.cut_at(f'"batch":{batch},'.encode())
        self._to.patience = timedelta(0)
        with pytest.raises(DeliveryError) as refused:
            self._to.write(batch, rows, lane_patience_ms="0")
        assert refused.value.slug == "sink-unreachable"
        assert self._line.is_cut
        last = {row.key: row for row in rows}
        assert set(last.values()) <= set(self.rows()), "the rows did not arrive"
        self._line.mend()

    def rows(self) -> list[SinkRow]:
        keys = self._server.scan_iter(f"{self._keyspace}:*", count=1000)
        return [SinkRow(**self.read(key)) for key in keys]

    def read(self, key: bytes) -> dict[str, Any]:
        raise NotImplementedError


def text_of(found: bytes | str | None) -> str:
    """Give what a client that decodes nothing has found."""
    assert isinstance(found, bytes)
    return found.decode()


class TestRedisHashes(RedisContract):
    form = "hash"

    def read(self, key: bytes) -> dict[str, Any]:
        held = {text_of(k): text_of(v) for k, v in self._server.hgetall(key).items()}
        assert key.decode() == f"{self._keyspace}:{held['key']}"
        return held | {"number": int(held["number"])}


class TestRedisJson(RedisContract):
    form = "json"

    def read(self, key: bytes) -> dict[str, Any]:
        held: dict[str, Any] = json.loads(text_of(self._server.get(key)))
        assert key.decode() == f"{self._keyspace}:{held['key']}"
        return held


@event(key="card")
class Card:
    card: str
    limit: Annotated[Decimal, digits(30, 4)]
    seen_at: datetime
    tags: list[str]
    note: str | None
    count: int


SEEN = datetime(2026, 3, 29, 10, 15, 0, 123456, tzinfo=UTC)


def card(name: str, **changes: Any) -> Card:
    usual = {"limit": Decimal("12345678901234567890.1200"), "seen_at": SEEN}
    more = {"tags": ["a", "b"], "note": "n", "count": 1}
    return Card(**{"card": name, **usual, **more, **changes})


def test_the_fields_of_a_hash_are_the_columns_without_what_is_null(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str
) -> None:
    to = deliveries(sinks.redis(keyspace), shape=Card)
    to.write(0, [card("c1")])
    first = server.hgetall(f"{keyspace}:c1")
    to.write(1, [card("c1", note=None, tags=[], count=-(2**63))])

    assert first == {
        b"card": b"c1",
        b"limit": b"12345678901234567890.1200",
        b"seen_at": b"2026-03-29T10:15:00.123456Z",
        b"tags": b'["a","b"]',
        b"note": b"n",
        b"count": b"1",
    }
    second = server.hgetall(f"{keyspace}:c1")
    assert second.keys() == first.keys() - {b"note"}
    assert (second[b"tags"], second[b"count"]) == (b"[]", b"-9223372036854775808")


@pytest.mark.parametrize("form", ["hash", "json"])
def test_a_deleted_key_is_gone_and_can_come_back(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str, form: str
) -> None:
    to = deliveries(sinks.redis(keyspace, as_=form))
    to.write(0, [Sent("a", 1, None), Sent("b", 1, None), Sent("c", 1, None)])
    to.write(1, ["a", Sent("b", 2, None), "b", "c", Sent("c", 3, None), "never there"])

    assert set(server.scan_iter(f"{keyspace}:*")) == {f"{keyspace}:c".encode()}
    to.write(2, [Sent("a", 4, None)])
    assert server.exists(f"{keyspace}:a")


@pytest.mark.parametrize("form", ["hash", "json"])
def test_a_row_stays_for_its_time_to_live(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str, form: str
) -> None:
    to = deliveries(sinks.redis(keyspace, as_=form, ttl=timedelta(hours=1)))
    to.write(0, [Sent("a", 1, None)])
    assert 3_590_000 < server.pttl(f"{keyspace}:a") <= 3_600_000

    brief = deliveries(sinks.redis(keyspace, as_=form, ttl=timedelta(milliseconds=50)))
    brief.write(0, [Sent("b", 1, None)])
    wait_until("the row is gone", lambda: not server.exists(f"{keyspace}:b"))


@pytest.mark.parametrize("form", ["hash", "json"])
def test_a_row_that_is_not_newer_is_left_out(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str, form: str
) -> None:
    sink = sinks.redis(keyspace, as_=form, version="number")

    def numbers(key: str, versions: Sequence[int]) -> list[int]:
        """Let each be written by a pipeline of its own; give what was there then."""
        found = []
        for version in versions:
            deliveries(sink).write(0, [Sent(key, version, None)])
            held = server.hgetall if form == "hash" else server.get
            found.append(_number(held(f"{keyspace}:{key}")))
        return found

    large = 2**62
    assert numbers("large", [large, large - 1, large + 1]) == [large, large, large + 1]
    assert numbers("around zero", [-10, -9, -11, 0, -1, 5, 10]) == [
        *(-10, -9, -9, 0, 0, 5, 10)
    ]


@pytest.mark.parametrize("form", ["hash", "json"])
def test_of_two_rows_of_one_version_the_first_stays(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str, form: str
) -> None:
    sink = sinks.redis(keyspace, as_=form, version="number")
    deliveries(sink).write(0, [Sent("a", 5, "first"), Sent("a", 5, "second")])
    deliveries(sink).write(0, [Sent("a", 5, "third")])

    held = server.hgetall if form == "hash" else server.get
    assert "first" in str(held(f"{keyspace}:a"))


@pytest.mark.parametrize("form", ["hash", "json"])
def test_of_a_batch_the_newest_row_since_the_last_delete_stays(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str, form: str
) -> None:
    to = deliveries(sinks.redis(keyspace, as_=form, version="number"))
    to.write(0, [Sent("a", 5, None), Sent("b", 5, None), Sent("c", 5, None)])
    again = [Sent("a", 7, None), Sent("a", 6, None)]
    after = [Sent("b", 9, None), "b", Sent("b", 2, None), Sent("b", 1, None)]
    to.write(1, [*again, *after, Sent("c", 4, None)])

    held = server.hgetall if form == "hash" else server.get
    found = {key: _number(held(f"{keyspace}:{key}")) for key in "abc"}
    assert found == {"a": 7, "b": 2, "c": 5}


def test_times_are_versions_too(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str
) -> None:
    sink = sinks.redis(keyspace, version="seen_at")
    earlier, later = SEEN - timedelta(microseconds=1), SEEN + timedelta(days=9999)
    for number, seen in enumerate([SEEN, earlier, later]):
        rows = [card("c", seen_at=seen, count=number)]
        deliveries(sink, shape=Card).write(0, rows)

    assert server.hget(f"{keyspace}:c", "count") == b"2"


def test_odd_keys_are_keys(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str
) -> None:
    odd = ["", " ", "a:b", "a\r\nDEL x", "{tag}", "*", "\x00", "🔑", "k" * 100_000]
    to = deliveries(sinks.redis(keyspace))
    to.write(0, [Sent(key, number, None) for number, key in enumerate(odd)])

    found = [server.hget(f"{keyspace}:{key}", "number") for key in odd]
    assert found == [str(number).encode() for number in range(len(odd))]


def test_rows_with_thousands_of_bytes_and_of_rows_come_in_many_chunks(
    deliveries: NewDeliveries, server: redis.Redis, keyspace: str
) -> None:
    rows = [Sent(f"{n}", n, "x" * 1000) for n in range(10_000)]
    report = deliveries(sinks.redis(keyspace), lanes=3).write(0, rows)

    assert report["rows"]["copy"] == 10_000
    assert sum(1 for _ in server.scan_iter(f"{keyspace}:*", count=1000)) == 10_000


def test_a_row_without_a_key_is_refused_by_name(
    deliveries: NewDeliveries, keyspace: str
) -> None:
    to = deliveries(sinks.redis(keyspace, key="text"))

    with pytest.raises(DeliveryError) as refused:
        to.write(0, [Sent("k", 1, None)])

    assert refused.value.slug == "row-refused"


def test_a_zombie_writes_nothing_more(
    spark: SparkSession, redis_address: str, server: redis.Redis, keyspace: str
) -> None:
    lanes = Lanes(spark, "redis.RedisSink", told(redis_address, keyspace))
    zombie, owner = lanes.claimed(), lanes.claimed()
    zombie.write(lanes.row("old", {"key": "old"}))

    with pytest.raises(Py4JJavaError) as caught:
        zombie.commit(lanes.record(0))

    assert refusal(caught.value).slug == "writer-fenced"
    assert not server.exists(f"{keyspace}:old")
    owner.write(lanes.row("new", {"key": "new"}))
    owner.commit(lanes.record(7))
    assert server.exists(f"{keyspace}:new")
    assert lanes.batches()[0] == 7


def test_the_records_of_all_lanes_are_exchanged_at_once(
    spark: SparkSession, redis_address: str, keyspace: str
) -> None:
    lanes = Lanes(spark, "redis.RedisSink", told(redis_address, keyspace))
    writers = [lanes.claimed(lane) for lane in (0, 1, 2)]
    for writer in writers:
        writer.commit(lanes.record(4, lanes=3))
    seen = lanes.sink.ledgers()

    lanes.sink.exchange(seen, java_records(spark, {0: lanes.record(4, lanes=1)}))

    assert lanes.batches() == {0: 4}
    with pytest.raises(Py4JJavaError) as caught:
        writers[2].commit(lanes.record(5))
    assert refusal(caught.value).slug in {"writer-fenced", "ledger-missing"}
    with pytest.raises(Py4JJavaError) as caught:
        lanes.sink.exchange(seen, java_records(spark, {}))
    assert refusal(caught.value).slug == "writer-fenced"


def test_a_commit_whose_answer_is_lost_is_found_by_the_next_attempt(
    spark: SparkSession, servers: Stack, server: redis.Redis, keyspace: str
) -> None:
    with CutLine(servers.site().port("redis")) as line:
        settings = told(f"redis://127.0.0.1:{line.port}", keyspace)
        lanes = Lanes(
            spark, "redis.RedisSink", settings | {"lane_patience_ms": "60000"}
        )
        lane = lanes.claimed()
        line.leave_unanswered(b'"batch":3,')

        with pytest.raises(Py4JJavaError, match="broke while a batch was written"):
            lane.commit(lanes.record(3))

        assert line.has_left_unanswered
        assert lanes.batches()[0] == 3


def test_a_server_that_is_killed_within_a_batch_and_comes_back_is_waited_for(
    redis_stack: Stack, deliveries: NewDeliveries
) -> None:
    to = deliveries(sinks.redis("k"), redis_stack.address("redis"))
    to.patience = timedelta(minutes=5)
    to.write(0, [Sent("before", 0, None)])
    rows = [Sent(f"{n}", n, "x" * 100) for n in range(60_000)]
    done = threading.Thread(target=to.write, args=(1, rows))
    with redis.Redis.from_url(redis_stack.address("redis")) as client:
        done.start()
        wait_until("rows arrive", lambda: client.dbsize() > 2000, seconds=120)
    kill(redis_stack, "redis")
    redis_stack.up(["redis"])
    done.join(400)

    assert not done.is_alive()
    with redis.Redis.from_url(redis_stack.address("redis")) as client:
        assert client.dbsize() == 60_002
        assert client.hget("k:59999", "number") == b"59999"


def test_rows_that_were_answered_and_lost_are_written_again(
    servers: Stack, server: redis.Redis, keyspace: str, deliveries: NewDeliveries
) -> None:
    with CutLine(servers.site().port("redis")) as line:
        to = deliveries(sinks.redis(keyspace), f"redis://127.0.0.1:{line.port}")
        to.patience = timedelta(minutes=5)
        # Six chunks, of which four may be on their way: the first was answered.
        rows = [Sent(f"row-{n}", n, None) for n in range(12_000)]
        line.cut_at(b"row-11999")
        done = threading.Thread(target=to.write, args=(0, rows))
        done.start()
        wait_until("the line is cut", lambda: line.is_cut, seconds=120)
        # What a server may lack that was killed while its disk was slow.
        assert server.delete(f"{keyspace}:row-0") == 1
        line.mend()
        done.join(400)

    assert not done.is_alive()
    assert server.hget(f"{keyspace}:row-0", "number") == b"0"
    assert server.hget(f"{keyspace}:row-11999", "number") == b"11999"


def test_a_server_that_lost_its_data_is_not_written_on_as_if_nothing_was(
    redis_stack: Stack, deliveries: NewDeliveries
) -> None:
    to = deliveries(sinks.redis("k"), redis_stack.address("redis"))
    to.write(0, [Sent("a", 0, None)])
    with redis.Redis.from_url(redis_stack.address("redis")) as client:
        client.flushall()

        with pytest.raises(DeliveryError) as refused:
            to.write(1, [Sent("b", 1, None)])

        assert refused.value.slug == "ledger-missing"
        assert "rebuild" in (refused.value.hint or "")
        assert client.dbsize() == 1, "the claim, and no row"
        to.write(1, [Sent("b", 1, None)], adopt=["ledger"])
        assert client.exists("k:b")


def test_a_server_that_is_emptied_within_a_batch_is_noticed(
    spark: SparkSession, redis_stack: Stack
) -> None:
    address = redis_stack.address("redis")
    lanes = Lanes(spark, "redis.RedisSink", told(address, "k"))
    lane = lanes.claimed()
    lane.write(lanes.row("a", {"key": "a"}))
    with redis.Redis.from_url(address) as client:
        client.flushall()

        with pytest.raises(Py4JJavaError) as caught:
            lane.commit(lanes.record(0))

        assert refusal(caught.value).slug == "ledger-missing"
        assert client.dbsize() == 0


def test_a_full_server_changes_no_row_by_half(
    spark: SparkSession, redis_stack: Stack
) -> None:
    address = redis_stack.address("redis")
    lanes = Lanes(spark, "redis.RedisSink", told(address, "k"))
    lane = lanes.claimed()
    with redis.Redis.from_url(address) as client:
        client.hset("k:a", "text", "kept")
        client.config_set("maxmemory", "1")
        lane.write(lanes.row("a", {"key": "a"}))

        with pytest.raises(Py4JJavaError) as caught:
            lane.commit(lanes.record(0))

        assert refusal(caught.value).slug == "sink-unreachable"
        assert "OOM" in (refusal(caught.value).detail or "")
        assert client.hgetall("k:a") == {b"text": b"kept"}


def test_a_server_that_is_not_there_is_named(deliveries: NewDeliveries) -> None:
    to = deliveries(sinks.redis("k"), "redis://127.0.0.1:1")

    with pytest.raises(DeliveryError, match=r"redis://127\.0\.0\.1:1") as refused:
        to.write(0, [])

    assert refused.value.slug == "sink-unreachable"


def test_a_server_that_drops_keys_when_it_is_full_is_refused(
    redis_stack: Stack, deliveries: NewDeliveries
) -> None:
    with redis.Redis.from_url(redis_stack.address("redis")) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
    to = deliveries(sinks.redis("k"), redis_stack.address("redis"))

    with pytest.raises(DeliveryError, match="allkeys-lru") as refused:
        to.write(0, [])

    assert refused.value.slug == "sink-mismatch"


def test_the_password_comes_from_a_file_and_is_shown_nowhere(
    redis_stack: Stack, deliveries: NewDeliveries, tmp_path: Path
) -> None:
    address = redis_stack.address("redis")
    with redis.Redis.from_url(address) as client:
        client.config_set("requirepass", "canary")
    for name, password in (("right", "canary"), ("wrong", "canard"), ("open", "x")):
        (tmp_path / name).write_text(f"{password}\n")
        (tmp_path / name).chmod(0o644 if name == "open" else 0o600)

    right = deliveries(sinks.redis("k"), f"{address}?password_file={tmp_path}/right")
    right.write(0, [Sent("a", 0, None)])
    wrong = deliveries(sinks.redis("k"), f"{address}?password_file={tmp_path}/wrong")
    with pytest.raises(DeliveryError) as refused:
        wrong.write(0, [])

    assert refused.value.slug == "sink-forbidden"
    assert "cana" not in str(refused.value)
    seen = deliveries(sinks.redis("k"), f"{address}?password_file={tmp_path}/open")
    with pytest.raises(DeliveryError) as refused:
        seen.write(0, [])
    assert refused.value.slug == "password-file-unusable"
    with redis.Redis.from_url(address, password="canary") as client:
        assert client.exists("k:a")


def told(address: str, keyspace: str) -> dict[str, str]:
    columns = json.dumps({"type": "struct", "fields": []})
    return {
        "address": address,
        "keyspace": keyspace,
        "as": "hash",
        "columns": columns,
        "lane_patience_ms": "0",
    }


def _number(held: Any) -> int:
    return int(
        held[b"number"] if isinstance(held, dict) else json.loads(held)["number"]
    )
