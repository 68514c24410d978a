"""What comes from outside: locked artifacts, fetched once, and a Java to run them."""

from headrace.artifacts.archives import ClassArchive
from headrace.artifacts.fetch import Cache, fetch
from headrace.artifacts.java import Java, find_java
from headrace.artifacts.lock import Artifact, locked, platform_tag, spark_groups
from headrace.artifacts.own import connect_jar

__all__ = [
    "Artifact",
    "Cache",
    "ClassArchive",
    "Java",
    "connect_jar",
    "fetch",
    "find_java",
    "locked",
    "platform_tag",
    "spark_groups",
]
