"""OpenSearch keeps the contract of sinks, and what it says beyond, on a real server."""

from __future__ import annotations

import json
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from opensearchpy import OpenSearch
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
def server(opensearch_address: str) -> Iterator[OpenSearch]:
    with OpenSearch(opensearch_address) as client:
        yield client


@pytest.fixture
def index(server: OpenSearch) -> Iterator[str]:
    name = f"i{uuid.uuid4().hex[:8]}"
    yield name
    remove(server, name)


NewDeliveries = Callable[..., Deliveries]


@pytest.fixture
def deliveries(
    spark: SparkSession, opensearch_address: str, tmp_path: Path
) -> NewDeliveries:
    """Make an output with a checkpoint of its own."""

    def make(sink: Sink, at: str = opensearch_address, **changes: Any) -> Deliveries:
        return Deliveries(spark, tmp_path, sink, at, **changes)

    return make


class TestOpenSearch(SinkContract):
    @pytest.fixture(autouse=True)
    def new_index(
        self,
        spark: SparkSession,
        servers: Stack,
        server: OpenSearch,
        index: str,
        tmp_path: Path,
    ) -> Iterator[None]:
        self._server = server
        self._sink = sinks.opensearch(index)
        with CutLine(servers.site().port("opensearch")) as line:
            self._line = line
            self._to = Deliveries(
                spark, tmp_path, self._sink, f"http://127.0.0.1:{line.port}"
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
        found = documents(self._server, self._sink.index)
        assert all(name == row["key"] for name, row in found.items())
        return [
            SinkRow(row["key"], row["number"], row.get("text"))
            for row in found.values()
        ]


@event()
class Stop:
    city: str
    at: date


@event(key="id")
class Trip:
    id: str
    fare: Annotated[Decimal, digits(15, 2)]
    large: Annotated[Decimal, digits(38, 18)]
    began_at: datetime
    day: date
    share: float
    count: int
    paid: bool
    photo: bytes
    note: str | None
    first: Stop
    stops: list[Stop]
    tags: list[str]


BEGAN = datetime(1912, 3, 29, 10, 15, 0, 123456, tzinfo=UTC)


def trip(name: str, **changes: Any) -> Trip:
    stop = Stop("Köln", date(1, 1, 1))
    usual = {
        "fare": Decimal("9999999999999.99"),
        "large": Decimal("12345678901234567890.123456789012345678"),
        "began_at": BEGAN,
        "day": date(9999, 12, 31),
        "share": 0.1,
        "count": 2**63 - 1,
        "paid": True,
        "photo": b"\x00\xff",
        "note": "the quick brown fox",
        "first": stop,
        "stops": [stop, Stop("Bonn", date(2026, 1, 2))],
        "tags": ["a", "b"],
    }
    return Trip(**{"id": name, **usual, **changes})


def test_columns_become_fields_that_can_be_searched(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    to = deliveries(sinks.opensearch(index, full_text=["note"]), shape=Trip)
    to.write(0, [trip("t1"), trip("t2", fare=Decimal("0.01"), note=None)])

    (made,) = server.indices.get_mapping(index=index).values()
    types = {name: f.get("type") for name, f in made["mappings"]["properties"].items()}
    assert types == {
        "id": "keyword",
        "fare": "scaled_float",
        "large": "keyword",
        "began_at": "date",
        "day": "date",
        "share": "double",
        "count": "long",
        "paid": "boolean",
        "photo": "binary",
        "note": "text",
        "first": None,
        "stops": "nested",
        "tags": "keyword",
    }

    def found(query: dict[str, Any]) -> list[str]:
        hits = server.search(index=index, body={"query": query})["hits"]["hits"]
        return [hit["_id"] for hit in hits]

    server.indices.refresh(index=index)
    assert found({"term": {"fare": "9999999999999.99"}}) == ["t1"]
    assert found({"range": {"fare": {"lt": 1}}}) == ["t2"]
    assert found({"match": {"note": "fox"}}) == ["t1"]
    assert (
        len(found({"term": {"large": "12345678901234567890.123456789012345678"}})) == 2
    )
    assert len(found({"range": {"began_at": {"lt": "1913-01-01"}}})) == 2
    both = [{"term": {"stops.city": "Köln"}}, {"term": {"stops.at": "2026-01-02"}}]
    apart = {"nested": {"path": "stops", "query": {"bool": {"must": both}}}}
    assert found(apart) == [], "the city of one stop and the day of another"


def test_a_document_is_the_row_to_the_last_digit(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    deliveries(sinks.opensearch(index), shape=Trip).write(0, [trip("t1", note=None)])

    text = _text(server, index, "t1")
    assert '"large":12345678901234567890.123456789012345678' in text
    assert '"began_at":"1912-03-29T10:15:00.123456Z"' in text
    assert '"note"' not in text


def test_a_deleted_key_is_gone_and_can_come_back(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    to = deliveries(sinks.opensearch(index))
    to.write(0, [Sent("a", 1, None), Sent("b", 1, None), Sent("c", 1, None)])
    to.write(1, ["a", Sent("b", 2, None), "b", "c", Sent("c", 3, None), "never there"])

    assert documents(server, index).keys() == {"c"}
    to.write(2, [Sent("a", 4, None)])
    assert documents(server, index).keys() == {"a", "c"}


def test_odd_keys_have_documents(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    odd = ["", " ", "a/b?c=d#e", '"quoted"\n', "_all", "*", "🔑", "k" * 512, "k" * 513]
    to = deliveries(sinks.opensearch(index))
    to.write(0, [Sent(key, number, None) for number, key in enumerate(odd)])
    to.write(1, [Sent("k" * 513, 99, None), odd[3]])

    found = documents(server, index)
    assert {row["key"] for row in found.values()} == set(odd) - {odd[3]}
    (hashed,) = [name for name, row in found.items() if row["number"] == 99]
    assert hashed.startswith("sha256:")


def test_what_an_adopted_checkpoint_writes_is_newer_than_what_is_there(
    spark: SparkSession,
    deliveries: NewDeliveries,
    server: OpenSearch,
    index: str,
    tmp_path: Path,
) -> None:
    sink = sinks.opensearch(index)
    first = deliveries(sink)
    for batch in range(3):
        first.write(batch, [Sent("a", batch, None)])
    name, at = first.pipeline.name, first.address
    second = Deliveries(spark, tmp_path / "another", sink, at, name=name)
    with pytest.raises(DeliveryError) as refused:
        second.write(0, [Sent("a", 100, None)])
    assert refused.value.slug == "checkpoint-missing"

    second.write(0, [Sent("a", 100, None)], adopt=["checkpoint"])
    assert documents(server, index)["a"]["number"] == 100


def test_a_row_that_the_mapping_does_not_take_is_named_and_holds_up_none_before_it(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    server.indices.create(
        index=f"{index}-1",
        body={
            "mappings": {
                "properties": {"text": {"type": "keyword", "normalizer": "lowercase"}}
            },
            "settings": {"index.mapping.coerce": False},
            "aliases": {index: {}},
        },
    )
    to = deliveries(sinks.opensearch(index))
    long = "x" * 40_000

    with pytest.raises(DeliveryError, match="immense term") as refused:
        to.write(0, [Sent("a", 1, "fine"), Sent("b", 2, long)])

    assert refused.value.slug == "row-refused"
    assert 'key "b"' in refused.value.fact
    with pytest.raises(DeliveryError):
        to.write(0, [Sent("a", 1, "fine"), Sent("b", 2, long)])


def test_an_index_with_other_fields_is_refused_before_any_row(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    fields = {"properties": {"number": {"type": "date"}}}
    body = {"mappings": fields, "aliases": {index: {}}}
    server.indices.create(index=f"{index}-1", body=body)

    with pytest.raises(DeliveryError, match='"number" is date') as refused:
        deliveries(sinks.opensearch(index)).write(0, [Sent("a", 1, None)])

    assert refused.value.slug == "sink-mismatch"
    assert documents(server, index) == {}


def test_an_index_without_an_alias_is_refused(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    server.indices.create(index=index)

    with pytest.raises(DeliveryError, match="not an alias") as refused:
        deliveries(sinks.opensearch(index)).write(0, [])

    assert refused.value.slug == "sink-mismatch"
    server.indices.delete(index=index)


def test_an_index_of_the_users_own_gets_the_fields_that_it_lacks(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    fields = {"properties": {"key": {"type": "text"}, "mine": {"type": "long"}}}
    body = {"mappings": fields, "aliases": {index: {}}}
    server.indices.create(index=f"{index}-1", body=body)
    deliveries(sinks.opensearch(index)).write(0, [Sent("a", 1, "t")])

    (made,) = server.indices.get_mapping(index=index).values()
    types = {name: f["type"] for name, f in made["mappings"]["properties"].items()}
    assert types == {"key": "text", "mine": "long", "number": "long", "text": "keyword"}
    (settings,) = server.indices.get_settings(index=index).values()
    assert settings["settings"]["index"]["gc_deletes"] == "600s"


def test_an_index_that_was_made_anew_is_not_written_on_as_if_nothing_was(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    to = deliveries(sinks.opensearch(index))
    to.write(0, [Sent("a", 1, None)])
    server.indices.delete(index=f"{index}-000001")

    with pytest.raises(DeliveryError) as refused:
        to.write(1, [Sent("b", 2, None)])

    assert refused.value.slug == "target-recreated"
    to.write(1, [Sent("b", 2, None)], adopt=["topics"])
    assert documents(server, index).keys() == {"b"}


def test_a_zombie_is_refused_and_what_it_had_on_its_way_changes_nothing(
    spark: SparkSession, opensearch_address: str, server: OpenSearch, index: str
) -> None:
    lanes = Lanes(spark, "opensearch.OpenSearchSink", told(opensearch_address, index))
    lanes.sink.prepare()
    zombie, owner = lanes.claimed(), lanes.claimed()
    owner.write(lanes.row("a", {"key": "new"}, 20))
    owner.write(lanes.row("b", None, 21))
    owner.commit(lanes.record(7))
    zombie.write(lanes.row("a", {"key": "old"}, 10))
    zombie.write(lanes.row("b", {"key": "old"}, 11))

    with pytest.raises(Py4JJavaError) as caught:
        zombie.commit(lanes.record(0))

    assert refusal(caught.value).slug == "writer-fenced"
    assert lanes.batches() == {0: 7}
    late = [
        {"index": {"_id": key, "version": version, "version_type": "external"}}
        for key, version in (("a", 10), ("b", 11))
    ]
    body = "".join(f"{json.dumps(line)}\n{{}}\n" for line in late)
    answer = server.bulk(index=index, body=body)
    assert [item["index"]["status"] for item in answer["items"]] == [409, 409]
    assert documents(server, index) == {"a": {"key": "new"}}


def test_the_records_of_all_lanes_are_exchanged_at_once(
    spark: SparkSession, opensearch_address: str, index: str
) -> None:
    lanes = Lanes(spark, "opensearch.OpenSearchSink", told(opensearch_address, index))
    lanes.sink.prepare()
    writers = [lanes.claimed(lane) for lane in (0, 1, 2)]
    for writer in writers:
        writer.commit(lanes.record(4, lanes=3))
    seen = lanes.sink.ledgers()

    lanes.sink.exchange(seen, java_records(spark, {0: lanes.record(4, lanes=1)}))

    assert lanes.batches() == {0: 4}
    with pytest.raises(Py4JJavaError) as caught:
        writers[2].commit(lanes.record(5))
    assert refusal(caught.value).slug == "writer-fenced"
    with pytest.raises(Py4JJavaError) as caught:
        lanes.sink.exchange(seen, java_records(spark, {}))
    assert refusal(caught.value).slug == "writer-fenced"


def test_lanes_that_end_at_once_all_get_their_records_in(
    deliveries: NewDeliveries, server: OpenSearch, index: str
) -> None:
    to = deliveries(sinks.opensearch(index), lanes=8)
    for batch in range(3):
        to.write(batch, [Sent(f"{n}", batch, None) for n in range(80)])

    found = documents(server, index)
    assert len(found) == 80
    assert {row["number"] for row in found.values()} == {2}


def test_a_commit_whose_answer_is_lost_is_known_again(
    spark: SparkSession, servers: Stack, index: str
) -> None:
    with CutLine(servers.site().port("opensearch")) as line:
        at_line = {"address": f"http://127.0.0.1:{line.port}"}
        settings = told("", index) | at_line | {"lane_patience_ms": "60000"}
        lanes = Lanes(spark, "opensearch.OpenSearchSink", settings)
        lanes.sink.prepare()
        lane = lanes.claimed()
        line.leave_unanswered(b'"batch":3,')

        lane.commit(lanes.record(3))

        assert line.has_left_unanswered
        assert lanes.batches() == {0: 3}


def test_a_server_that_is_killed_within_a_batch_and_comes_back_is_waited_for(
    own_server: Callable[[str], Stack], deliveries: NewDeliveries
) -> None:
    stack = own_server("opensearch")
    address = stack.address("opensearch")
    to = deliveries(sinks.opensearch("k"), address)
    to.patience = timedelta(minutes=5)
    to.write(0, [Sent("before", 0, None)])
    rows = [Sent(f"{n}", n, "x" * 500) for n in range(40_000)]
    done = threading.Thread(target=to.write, args=(1, rows))
    with OpenSearch(address) as client:
        done.start()
        wait_until("rows arrive", lambda: _count(client, "k") > 2000, seconds=180)
    kill(stack, "opensearch")
    stack.up(["opensearch"])
    done.join(300)

    assert not done.is_alive()
    with OpenSearch(address) as client:
        assert _count(client, "k") == 40_001
        assert client.get(index="k", id="39999")["_source"]["number"] == 39_999


def test_a_server_that_is_not_there_is_named(deliveries: NewDeliveries) -> None:
    to = deliveries(sinks.opensearch("k"), "http://127.0.0.1:1")

    with pytest.raises(DeliveryError, match=r"http://127\.0\.0\.1:1") as refused:
        to.write(0, [])

    assert refused.value.slug == "sink-unreachable"


def told(address: str, index: str) -> dict[str, str]:
    field = {"name": "key", "type": "string", "nullable": True, "metadata": {}}
    columns = json.dumps({"type": "struct", "fields": [field]})
    return {
        "address": address,
        "index": index,
        "columns": columns,
        "lane_patience_ms": "0",
    }


def documents(server: OpenSearch, index: str) -> dict[str, dict[str, Any]]:
    """Give what a search finds once it can, by id."""
    server.indices.refresh(index=index)
    found = server.search(index=index, body={"size": 10_000})["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in found}


def remove(server: OpenSearch, index: str) -> None:
    server.indices.delete(index=f"{index}-*")
    server.indices.delete_index_template(name=f"headrace-{index}", ignore=[404])


def _count(client: OpenSearch, index: str) -> int:
    client.indices.refresh(index=index)
    return int(client.count(index=index)["count"])


def _text(server: OpenSearch, index: str, name: str) -> str:
    """Give a document as OpenSearch sends it, before a client rounds its numbers."""
    (host,) = server.transport.hosts
    url = f"http://{host['host']}:{host['port']}/{index}/_source/{name}"
    with urllib.request.urlopen(url) as answer:
        return str(answer.read(), "utf-8")
