"""The only door to Spark's inside: the session, and the operators in the JVM."""

from headrace._spark.bridge import operators_jar, running_count
from headrace._spark.functions import carry_functions
from headrace._spark.session import Starting, begin, end, session, spark_settings
from headrace._spark.versions import require_supported

__all__ = [
    "Starting",
    "begin",
    "carry_functions",
    "end",
    "operators_jar",
    "require_supported",
    "running_count",
    "session",
    "spark_settings",
]
