"""Our own connector for PostgreSQL: whether Connect has it, and a capture uses it.

It is Debezium's, except that a killed worker loses no rows that share a place in the
WAL, as those of a COPY do.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.artifacts import connect_jar
from headrace.cdc.connect import ConnectCluster
from headrace.cdc.connector import OWN_POSTGRES
from headrace.cdc.place import Capture
from headrace.errors import CaptureError

_CLASS = "connector.class"


def require_own_connector(cluster: ConnectCluster) -> None:
    """Refuse a Connect that does not have our connector.

    Raises:
        CaptureError: [capture-connector-missing]; [connect-unreachable].
        MachineError: [connect-jar-missing].
    """
    if OWN_POSTGRES not in cluster.plugins():
        raise CaptureError(
            "capture-connector-missing",
            f"Kafka Connect at {cluster.address} lacks headrace's connector for "
            "PostgreSQL",
            detail=f"it has no plugin {OWN_POSTGRES}; without it a worker that is "
            "killed in the middle of a COPY would lose rows.",
            hint=f"copy {connect_jar()} into the directory of Debezium's connector for "
            "PostgreSQL on each worker's plugin.path, and restart the workers.",
        )


def outdated(database: str, config: Mapping[str, str]) -> list[CaptureError]:
    """Say that a capture of PostgreSQL is made by another connector than ours."""
    if config[_CLASS] == OWN_POSTGRES:
        return []
    return [
        CaptureError(
            "capture-connector-outdated",
            f'the capture of "{database}" would lose rows of a COPY if Kafka Connect '
            "were killed",
            detail=f"it is made by {config[_CLASS]}.",
            hint=f"`headrace cdc resume {database}` gives it headrace's own connector.",
        )
    ]


def renew(cluster: ConnectCluster, capture: Capture) -> None:
    """Give a capture of PostgreSQL our connector, if it has another one.

    Raises:
        CaptureError: [capture-connector-missing]; [connect-unreachable].
        MachineError: [connect-jar-missing].
    """
    config = cluster.config(capture.connector)
    if capture.system == "postgres" and config and outdated(capture.database, config):
        require_own_connector(cluster)
        cluster.put(capture.connector, {**config, _CLASS: OWN_POSTGRES})
