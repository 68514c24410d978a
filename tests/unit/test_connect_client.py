"""What the client of Kafka Connect makes of answers that a cluster gives in passing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import pytest

from headrace.cdc.connect import ConnectCluster
from headrace.errors import CaptureError
from headrace.serving import LOOPBACK, LocalServer, served

REGROUPING = {
    "error_code": 500,
    "message": "Request cannot be completed because a rebalance is expected",
}
CONFLICT = {"error_code": 409, "message": "Cannot complete request momentarily"}
BROKEN = {"error_code": 500, "message": "IO Error trying to forward REST request"}


class Answers(BaseHTTPRequestHandler):
    """Gives one prepared answer after the other, the last for ever."""

    prepared: ClassVar[list[tuple[int, dict[str, object]]]] = []

    def do_GET(self) -> None:
        status, body = self.prepared[0]
        if len(self.prepared) > 1:
            self.prepared.pop(0)
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def cluster() -> Iterator[ConnectCluster]:
    server = LocalServer(Answers, (LOOPBACK, 0), what="Connect", hint="none")
    with served(server):
        yield ConnectCluster(server.url)


@pytest.mark.parametrize("passing", [(500, REGROUPING), (409, CONFLICT)])
def test_it_asks_again_while_the_workers_regroup(
    cluster: ConnectCluster, passing: tuple[int, dict[str, object]]
) -> None:
    Answers.prepared = [passing, passing, (200, {"name": "bank"})]

    assert cluster.config("bank") == {"name": "bank"}


def test_another_failure_inside_of_it_is_told_at_once(cluster: ConnectCluster) -> None:
    Answers.prepared = [(500, BROKEN), (200, {"name": "bank"})]

    with pytest.raises(CaptureError, match="trying to forward") as caught:
        cluster.config("bank")
    assert caught.value.slug == "connect-unreachable"
