"""A driver that stands still inside of a sink, between the ledger and the commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from headrace._spark.bridge import java_map
from support.harness.handing import Handing, named

_FEW_BYTES = 1000


class SleepingSink:
    """A sink's own class in the JVM, called step by step as the delivery does.

    Args:
        handing: Whose sink it is; batches that this hands over come from others.
        java_class: The class, by its name in ``io.headrace.sinks.lake``.
    """

    def __init__(self, handing: Handing, java_class: str) -> None:
        self._handing = handing
        jvm: Any = handing.spark._jvm
        self._jvm = jvm.io.headrace
        settings = handing.sink.settings(None) | {"columns": handing.schema.json()}
        if handing.key is not None:
            settings["key"] = json.dumps([handing.key])
        terms = self._jvm.delivery.SinkTerms(
            handing.pipeline,
            "copy",
            handing.sink.system,
            java_map(handing.spark, settings),
        )
        self._sink = getattr(self._jvm.sinks.lake, java_class)(terms)
        self._sink.prepare()

    def read_ledger(self) -> None:
        """Look at the ledger, and find that the next batch is to be written."""
        self._sink.last()

    def write(self, batch: int, rows: Sequence[Any], *, lineage: str = "first") -> None:
        self.write_frame(batch, self._handing.outgoing(rows, ()), lineage=lineage)

    def write_frame(
        self, batch: int, frame: DataFrame, *, lineage: str = "first", rows: int = 1
    ) -> None:
        place = json.dumps({"in": {"0": (batch + 1) * 100}})
        record = {
            "lineage": lineage,
            "batch": batch,
            "lanes": 1,
            "rows": rows,
            "checksum": None,
            "offsets": [place],
            "topics": {},
        }
        parsed = self._jvm.delivery.LedgerRecord.parse(json.dumps(record).encode())
        placed = frame.select(
            "key", "value", sql.monotonically_increasing_id().alias("place")
        )
        with named():
            self._sink.write(placed._jdf, _FEW_BYTES, parsed)
