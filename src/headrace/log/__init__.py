"""The log: topics, and how far its readers have come."""

from headrace.log.cluster import (
    Cluster,
    administer,
    client_settings,
    describe_cluster,
)

__all__ = [
    "Cluster",
    "administer",
    "client_settings",
    "describe_cluster",
]
