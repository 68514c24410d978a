"""From declared sinks to what the delivery is told about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.delivery import SinkTerms
from headrace.plan.remote_steps import remote_tables
from headrace.sinks import KafkaSink

if TYPE_CHECKING:
    from headrace.plan.steps import Output
    from headrace.sinks import Servers


def sink_terms(
    outputs: Iterable[Output],
    schemas: Mapping[str, Mapping[str, Any]],
    servers: Servers | None,
) -> list[SinkTerms]:
    """Give the terms of each output's sink, with addresses in place of names.

    A sink that is not Kafka is told, beside its own settings, the ``columns`` as
    Spark's JSON and the columns of the ``key``, as a list in JSON.

    Args:
        outputs: In the order in which rows count them.
        schemas: The columns of each output, as they were planned.
        servers: Where the servers are.

    Raises:
        ServiceError: [server-unknown] a sink's server is not known.
    """
    found = []
    for output in outputs:
        settings = output.sink.settings(servers)
        if not isinstance(output.sink, KafkaSink):
            settings["columns"] = json.dumps(schemas[output.name])
            if output.keys:
                settings["key"] = json.dumps(output.keys)
        found.append(SinkTerms(output.name, output.sink.system, settings))
    return found


def artifact_groups(outputs: Sequence[Output]) -> list[str]:
    """Give the groups of the artifact lock that outputs and their joins need."""
    found = {group for output in outputs for group in output.sink.artifacts}
    for output in outputs:
        for table in remote_tables(output):
            found.update(table.artifacts)
    return sorted(found)
