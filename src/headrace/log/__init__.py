"""The log: topics, and how far its readers have come."""

from headrace.log.cluster import (
    Cluster,
    administer,
    client_settings,
    describe_cluster,
)
from headrace.log.offsets import GroupOffsets, end_offsets, lag
from headrace.log.topics import Partition, create_topic, describe_topic

__all__ = [
    "Cluster",
    "GroupOffsets",
    "Partition",
    "administer",
    "client_settings",
    "create_topic",
    "describe_cluster",
    "describe_topic",
    "end_offsets",
    "lag",
]
