"""What the bridge refuses, and how it says so."""

from __future__ import annotations

import doctest
import importlib
from typing import TYPE_CHECKING

import pytest

from headrace import MachineError, StepError
from headrace._spark import operators_jar, require_supported, running_count

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# Not `import headrace._spark.bridge as bridge`: one way for all modules of the room,
# as `headrace._spark.session` is the function of that name.
bridge = importlib.import_module("headrace._spark.bridge")


def refusal(spark: SparkSession, schema: str, key: str) -> StepError:
    with pytest.raises(StepError) as caught:
        running_count(spark.createDataFrame([], schema), key)
    return caught.value


def test_an_unknown_key_column_is_refused_by_name(spark: SparkSession) -> None:
    error = refusal(spark, "card_id string, amount int", "card")

    assert error.slug == "column-unknown"
    assert error.fact == 'there is no column "card"'
    assert error.detail == "the columns are card_id, amount."
    assert error.hint == 'did you mean "card_id"?'


def test_a_key_that_is_two_columns_is_refused(spark: SparkSession) -> None:
    df = spark.sql("select 1 as k, 2 as k")

    with pytest.raises(StepError, match="column-ambiguous"):
        running_count(df, "k")


def test_a_key_named_like_the_count_is_refused(spark: SparkSession) -> None:
    assert refusal(spark, "Count string", "Count").slug == "column-taken"


@pytest.mark.parametrize(
    "kind",
    ["double", "map<string,int>", "variant", "string collate UTF8_LCASE"],
)
def test_a_key_whose_equal_values_differ_in_bytes_is_refused(
    spark: SparkSession, kind: str
) -> None:
    assert refusal(spark, f"k {kind}", "k").slug == "key-type-unsupported"


def test_a_session_without_the_operators_is_named(spark: SparkSession) -> None:
    with pytest.raises(MachineError) as caught:
        bridge.java_class(spark, "operators.NoSuchOperator")

    assert caught.value.slug == "operators-jar-missing"
    assert "io.headrace.operators.NoSuchOperator" in str(caught.value)


def test_a_missing_jar_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "_JAR", tmp_path / "operators.jar")

    with pytest.raises(MachineError, match="operators-jar-missing"):
        operators_jar()


@pytest.mark.parametrize("version", ["4.2.1", "4.2.2", "4.2.10"])
def test_a_supported_spark_is_taken(version: str) -> None:
    require_supported(version)


@pytest.mark.parametrize("version", ["3.5.6", "4.2.0", "4.3.0", "5.0.0", "unknown"])
def test_another_spark_is_refused(version: str) -> None:
    with pytest.raises(MachineError) as caught:
        require_supported(version)

    assert caught.value.slug == "spark-version-unsupported"
    assert version in caught.value.fact


@pytest.mark.parametrize("module", ["bridge", "versions"])
def test_the_examples_run(spark: SparkSession, module: str) -> None:
    found = importlib.import_module(f"headrace._spark.{module}")

    result = doctest.testmod(
        found, extraglobs={"spark": spark}, optionflags=doctest.ELLIPSIS
    )

    assert result.attempted
    assert not result.failed
