"""Print the tables of a lake: a line each, its name and its rows as JSON."""

from __future__ import annotations

import json
import sys

from headrace._spark import end, session

# Spark's own form of a time ends with milliseconds.
AS_JSON = """to_json(struct(*), map(
    'timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")) as row"""


def main() -> None:
    """Read the tables that the arguments name, below a directory."""
    directory, *tables = sys.argv[1:]
    spark = session("lake", groups=["spark-delta"])
    for table in tables:
        rows = spark.read.format("delta").load(f"{directory}/{table}")
        texts = rows.selectExpr(AS_JSON).collect()
        documents = [json.loads(text.row, parse_float=str) for text in texts]
        for document in documents:
            if "risk" in document:
                document["risk"] = float(document["risk"])
        sys.stdout.write(json.dumps([table, documents]) + "\n")
    end(spark)


if __name__ == "__main__":
    main()
