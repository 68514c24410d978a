"""A driver in which run follows run in one JVM, also those that crash.

It reads orders line by line, each JSON: the module of a pipeline, what its `run` is
given, and the failpoints at which the run crashes. Each is answered with a line of
JSON. A run that crashes is abandoned where it stands, as docs/testing.md describes.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from queue import Empty, Queue
from threading import Thread
from typing import Any

from pyspark.sql import SparkSession

from headrace._spark import session
from headrace._spark.bridge import java_class
from headrace.artifacts import spark_groups
from headrace.delivery.checkpoint import CheckpointLock
from headrace.errors import HeadraceError

CONFIG = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    # The code of many pipelines.
    " -XX:ReservedCodeCacheSize=256m",
    "spark.driver.memory": "1536m",
    "spark.default.parallelism": "2",
    "spark.sql.streaming.checkpointFileManagerClass": "io.headrace.delivery"
    ".FailingCheckpoints",
    # The upkeep of a state store would go on after its query has crashed.
    "spark.sql.streaming.stateStore.maintenanceInterval": "1d",
}

# A task that has crashed keeps its core for good.
MASTER = "local[512]"

LOOK_SECONDS = 0.02
LOOKS = 5
PATIENCE_SECONDS = 60


_LOCKS: list[CheckpointLock] = []
_take = CheckpointLock.take


def _noted(lock: CheckpointLock) -> CheckpointLock:
    """Take a lock and note it: a process that ends gives all of its locks back."""
    _LOCKS.append(lock)
    return _take(lock)


class Run:
    """One run of a pipeline, in a session of its own.

    Args:
        spark: Whose context it shares.
        order: Which module's `run` to call, with what, and where it crashes.
    """

    def __init__(self, spark: SparkSession, order: Mapping[str, Any]) -> None:
        self._module = import_module(order["module"])
        self._given = order["given"]
        self._spark = spark.newSession()
        for name, value in getattr(self._module, "CONFIG", {}).items():
            if name.startswith("spark.sql."):
                self._spark.conf.set(name, value)
        self._crash = java_class(spark, "delivery.Crash")
        self._crash.arm(self._spark._jsparkSession, order["failpoint"] or "")
        self._answers: Queue[dict[str, Any]] = Queue()
        # Of a run that has crashed it waits for good.
        self._thread = Thread(target=self._attempt, daemon=True)

    def answer(self) -> dict[str, Any]:
        """Run to the end or to the crash."""
        self._thread.start()
        while True:
            with contextlib.suppress(Empty):
                return self._answers.get(timeout=LOOK_SECONDS)
            if self._crash.isStruck() and self._is_at_rest():
                return self._abandoned()

    def _attempt(self) -> None:
        try:
            told, status = self._module.run(self._spark, self._given), 0
        except HeadraceError as error:
            told, status = {"slug": error.slug, "text": str(error)}, 1
        except Exception as error:
            told, status = {"slug": "", "text": f"{type(error).__name__}: {error}"}, 2
        self._answers.put({"status": status, "told": told})

    def _is_at_rest(self) -> bool:
        """Wait until nothing moves; False if the run has ended in the meantime."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        looks = 0
        while looks < LOOKS:
            if not self._answers.empty():
                return False
            if time.monotonic() > deadline:
                raise TimeoutError("the run that has crashed does not come to rest")
            looks = looks + 1 if self._crash.isQuiet() else 0
            time.sleep(LOOK_SECONDS)
        return True

    def _abandoned(self) -> dict[str, Any]:
        self._crash.abandon(self._spark._jsparkSession)
        for lock in _LOCKS:
            lock.release()
        _LOCKS.clear()
        return {"crashed": True}


def main() -> None:
    groups = [group for group in spark_groups() if group != "spark-delta"]
    spark = session("warm", master=MASTER, config=CONFIG, groups=groups)
    setattr(CheckpointLock, "take", _noted)  # noqa: B010 - no other way is typed
    for line in sys.stdin:
        print(json.dumps(Run(spark, json.loads(line)).answer()), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
