"""Terms, locks and names of a delivery: what needs no broker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.delivery import CheckpointLock, SinkTerms, Terms, deliver, named_failure
from headrace.delivery.failures import _NAMED
from headrace.errors import DeliveryError, LogError
from headrace.plan import outgoing

JAVA = Path(__file__).resolve().parents[2] / "jvm/src/io/headrace"

REFUSAL = (
    'SparkException: Reason: headrace-refusal {"error":"DeliveryError",'
    '"slug":"ledger-gap","fact":"a fact","detail":"first\\nsecond","hint":"do it"} at x'
)


def terms(checkpoint: Path, **changes: object) -> Terms:
    given = {
        "pipeline": "fraud",
        "query": "main",
        "bootstrap": "127.0.0.1:1",
        "checkpoint": str(checkpoint),
        "sinks": (SinkTerms.of_topic("alerts", "alerts"),),
    }
    return Terms(**{**given, **changes})  # type: ignore[arg-type]


def test_a_refusal_is_found_in_whatever_is_wrapped_around_it() -> None:
    error = named_failure(REFUSAL, where='pipeline "fraud"')

    assert isinstance(error, DeliveryError)
    assert str(error).splitlines() == [
        "DeliveryError [ledger-gap]: a fact",
        "  detail: first",
        "          second",
        "  hint:   do it",
        '  where:  pipeline "fraud"',
    ]


def test_a_refusal_that_concerns_the_log_is_an_error_of_the_log() -> None:
    text = REFUSAL.replace("ledger-gap", "topic-missing")

    assert isinstance(named_failure(text), LogError)


def test_two_drivers_in_sparks_own_words_are_named() -> None:
    error = named_failure("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log")

    assert error
    assert error.slug == "checkpoint-in-use"


@pytest.mark.parametrize(
    "text", ["", "headrace-refusal {", "headrace-refusal []", "an OutOfMemoryError"]
)
def test_a_failure_without_a_name_stays_without(text: str) -> None:
    assert named_failure(text) is None


def test_every_name_that_the_jvm_gives_is_known_here() -> None:
    call = re.compile(
        r'Refusal\.(?:of|ofLog)\(\s*"([a-z-]+)"'
        r'|Refusal\.passing\(\s*\w+,\s*"([a-z-]+)"'
    )
    sources = [path.read_text() for path in JAVA.rglob("*.java")]
    given = {a or b for source in sources for a, b in call.findall(source)}

    assert len(given) > 15
    assert given <= set(_NAMED)
    # Some are given by expressions that the planner writes and the JVM evaluates.
    plans = Path(outgoing.__file__).parent.glob("*.py")
    sources += [path.read_text() for path in plans]
    unused = [s for s in _NAMED if not any(f'"{s}"' in source for source in sources)]
    assert not unused


def test_a_checkpoint_has_one_driver_at_a_time(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"

    with (
        CheckpointLock(str(checkpoint)),
        pytest.raises(DeliveryError, match="checkpoint-in-use"),
    ):
        CheckpointLock(f"file:{checkpoint}").take()
    CheckpointLock(str(checkpoint)).take().release()


def test_a_checkpoint_elsewhere_has_no_lock() -> None:
    with CheckpointLock("s3a://bucket/state"), CheckpointLock("s3a://bucket/state"):
        pass


def test_the_ledger_is_named_for_the_pipeline_and_for_the_query_if_there_are_several(
    tmp_path: Path,
) -> None:
    assert terms(tmp_path).progress_topic == "headrace.fraud.progress"
    several = terms(tmp_path, only_query=False)
    assert several.progress_topic == "headrace.fraud.main.progress"


def test_terms_name_what_they_do_not_know(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="delivery-unknown"):
        terms(tmp_path, delivery="at-most-once")
    with pytest.raises(DeliveryError, match="adopt-unknown"):
        terms(tmp_path, adopt=frozenset({"everything"}))


def test_speculation_is_refused_before_anything_starts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.readStream.format("rate").load()
    settings = spark.sparkContext.getConf().set("spark.speculation", "true")
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: settings)

    with pytest.raises(DeliveryError, match="speculation-on"):
        deliver(rows, terms(tmp_path / "checkpoint"))
