"""The log: its topics, writing and reading them, and how far readers have come."""

from headrace.log.cluster import (
    Cluster,
    administer,
    client_settings,
    describe_cluster,
)
from headrace.log.groups import (
    Group,
    Move,
    Progress,
    describe_group,
    list_groups,
    plan_reset,
    reset_group,
)
from headrace.log.inventory import (
    TopicSummary,
    cleanup_policy,
    is_internal,
    list_topics,
    topic_config,
)
from headrace.log.lines import LONGEST_LINE, Line, LineFormat, parse_lines
from headrace.log.offsets import (
    Bounds,
    GroupOffsets,
    bounds_of,
    end_offsets,
    lag,
    offsets_at,
)
from headrace.log.places import EARLIEST, LATEST, Place, parse_place
from headrace.log.reading import Reading, Span, StoredEvent
from headrace.log.showing import event_line, value_json
from headrace.log.topics import (
    COMPACTED,
    Partition,
    create_topic,
    delete_topic,
    describe_topic,
    require_partitions,
)
from headrace.log.wire import SchemaBook
from headrace.log.writing import Destination, EventWriter, writer_settings

__all__ = [
    "COMPACTED",
    "EARLIEST",
    "LATEST",
    "LONGEST_LINE",
    "Bounds",
    "Cluster",
    "Destination",
    "EventWriter",
    "Group",
    "GroupOffsets",
    "Line",
    "LineFormat",
    "Move",
    "Partition",
    "Place",
    "Progress",
    "Reading",
    "SchemaBook",
    "Span",
    "StoredEvent",
    "TopicSummary",
    "administer",
    "bounds_of",
    "cleanup_policy",
    "client_settings",
    "create_topic",
    "delete_topic",
    "describe_cluster",
    "describe_group",
    "describe_topic",
    "end_offsets",
    "event_line",
    "is_internal",
    "lag",
    "list_groups",
    "list_topics",
    "offsets_at",
    "parse_lines",
    "parse_place",
    "plan_reset",
    "require_partitions",
    "reset_group",
    "topic_config",
    "value_json",
    "writer_settings",
]
