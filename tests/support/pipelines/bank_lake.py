"""Print the tables of a lake: a line each, its name and its rows as JSON."""

from __future__ import annotations

import json
import sys

from pyspark.sql import functions as sql

from headrace._spark import end, session
from headrace.schema.formats import TO_JSON_OPTIONS


def main() -> None:
    """Read the tables that the arguments name, below a directory."""
    directory, *tables = sys.argv[1:]
    spark = session("lake", groups=["spark-delta"])
    for table in tables:
        rows = spark.read.format("delta").load(f"{directory}/{table}")
        row = sql.to_json(sql.struct("*"), TO_JSON_OPTIONS).alias("row")
        texts = rows.select(row).collect()
        documents = [json.loads(text.row, parse_float=str) for text in texts]
        for document in documents:
            if document.get("risk") is not None:
                document["risk"] = float(document["risk"])
        sys.stdout.write(json.dumps([table, documents]) + "\n")
    end(spark)


if __name__ == "__main__":
    main()
