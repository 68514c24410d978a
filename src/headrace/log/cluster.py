"""A Kafka cluster: which one it is, and a way in that checks it is the right one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from headrace.errors import LogError

_SECONDS = 10.0


@dataclass(frozen=True)
class Cluster:
    """A cluster as it describes itself."""

    bootstrap: str
    cluster_id: str
    brokers: int


def client_settings(bootstrap: str) -> dict[str, Any]:
    """Give the settings that every client of ours begins with."""
    return {
        "bootstrap.servers": bootstrap,
        "client.id": "headrace",
        # librdkafka writes to stderr by itself; what matters comes as an error.
        "log_level": 0,
        "reconnect.backoff.max.ms": 1000,
        "broker.address.family": "v4",
    }


def describe_cluster(bootstrap: str, seconds: float = 2.0) -> Cluster | None:
    """Ask a cluster who it is; None if no broker answers in time."""
    admin = AdminClient(client_settings(bootstrap))
    with contextlib.suppress(KafkaException):
        found = admin.describe_cluster(request_timeout=seconds).result(seconds + 1)
        return Cluster(bootstrap, str(found.cluster_id), len(found.nodes))
    return None


def administer(bootstrap: str, cluster_id: str | None) -> AdminClient:
    """Give an admin client, once it is certain which cluster it would change.

    Two Kafkas on one machine must never be confused: where the caller knows the
    cluster's id, an address at which another one answers is refused.

    Raises:
        LogError: [broker-unreachable] nobody answers;
            [cluster-mistaken] another cluster answers.
    """
    found = describe_cluster(bootstrap, _SECONDS)
    if found is None:
        raise LogError(
            "broker-unreachable",
            f"no Kafka broker answers at {bootstrap}",
            hint="`headrace status` shows what runs; `headrace up kafka` starts one.",
        )
    if cluster_id is not None and found.cluster_id != cluster_id:
        raise LogError(
            "cluster-mistaken",
            f"another cluster answers at {bootstrap}",
            detail=f"expected {cluster_id}, found {found.cluster_id}.",
            hint="nothing was changed; `headrace status` shows the right address.",
        )
    return AdminClient(client_settings(bootstrap))
