"""Make the archives of classes that this environment's JVMs map, and wait for them.

Commands begin them in the background; tests, which start hundreds of JVMs, want them
from the start.
"""

from __future__ import annotations

import sys

from headrace._spark.jvm import spark_archive
from headrace.artifacts import ClassArchive, fetch, find_java
from headrace.settings import load_settings


def main() -> None:
    """Make those that are missing, one after the other."""
    settings, java = load_settings(), find_java()
    fetch("spark-kafka")
    servers = [
        ClassArchive(group, java, tuple(fetch(group)), settings.cache_dir)
        for group in ("kafka", "connect")
    ]
    for archive in (*servers, spark_archive(java)):
        if not archive.make():
            print(f"no archive of the classes of {archive.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
