"""A model of boosted trees is read with care, scores in Python, and is one column."""

from __future__ import annotations

import json
from dataclasses import make_dataclass
from datetime import datetime
from decimal import Decimal
from math import exp, inf, nan
from pathlib import Path
from typing import Any

import pytest

from headrace import (
    BoostedTrees,
    Pipeline,
    SchemaError,
    StepError,
    Stream,
    event,
    kafka,
)
from headrace.schema.types import Field, Real, Record, Whole
from headrace.trees.model import FUNCTION

WRITTEN: dict[str, Any] = {
    "version": "v7",
    "features": ["amount", "hour", "unused"],
    "initial": 0.25,
    "learning_rate": 0.5,
    "trees": [["hour", 6, 2.0, ["amount", 99.5, -1, 3]], 0.5],
}
MODEL = BoostedTrees.from_json(WRITTEN)


def stream(**kinds: Any) -> Stream:
    made = event()(make_dataclass("Told", list(kinds.items())))
    return Pipeline("p").read(kafka("told", made))


@pytest.mark.parametrize(
    ("amount", "hour", "total"),
    [
        (0, 6, 0.25 + 0.5 * 2.0 + 0.5 * 0.5),
        (99.5, 6.000001, 0.25 - 0.5 * 1 + 0.5 * 0.5),
        (99.6, 7, 0.25 + 0.5 * 3 + 0.5 * 0.5),
        (Decimal("99.6"), 7, 0.25 + 0.5 * 3 + 0.5 * 0.5),
        (nan, nan, 0.25 + 0.5 * 3 + 0.5 * 0.5),
        (-inf, inf, 0.25 - 0.5 * 1 + 0.5 * 0.5),
    ],
)
def test_at_most_the_threshold_goes_left_and_the_leaves_add_up(
    amount: Any, hour: float, total: float
) -> None:
    told = {"amount": amount, "hour": hour, "else": "what"}
    plain = BoostedTrees.from_json(WRITTEN | {"logistic": False})

    assert plain.score(told) == total
    assert MODEL.score(told) == 1 / (1 + exp(-total))


def test_the_leaves_are_added_in_the_order_of_the_trees() -> None:
    assert BoostedTrees([], [1e16, 1, -1e16], logistic=False).score({}) == 0.0
    assert BoostedTrees([], [1e16, -1e16, 1], logistic=False).score({}) == 1.0


def test_odds_beyond_all_numbers_are_certain() -> None:
    assert BoostedTrees([], [-1e6]).score({}) == 0
    assert BoostedTrees([], [1e6]).score({}) == 1


def test_a_model_is_read_from_a_file_and_its_defaults_are_those_of_the_class(
    tmp_path: Path,
) -> None:
    file = tmp_path / "model.json"
    file.write_text(json.dumps({"features": ["a"], "trees": [["a", 1, 0, 2]]}))

    assert BoostedTrees.load(file) == BoostedTrees(["a"], [("a", 1, 0, 2)])
    assert BoostedTrees.load(str(file)).learning_rate == 1
    assert BoostedTrees.load(file).logistic


def test_equal_models_are_equal_and_have_the_same_hash() -> None:
    again = BoostedTrees.from_json(json.loads(json.dumps(WRITTEN)))

    assert again == MODEL
    assert len({again, MODEL, BoostedTrees.from_json(WRITTEN | {"initial": 0})}) == 2


def nested(depth: int) -> Any:
    tree: Any = 0.5
    for _ in range(depth):
        tree = ["hour", 1, tree, 0.5]
    return tree


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"trees": []}, "it has no trees."),
        ({"trees": None}, 'it has no list "trees".'),
        ({"features": "amount"}, 'it has no list "features".'),
        ({"features": [1]}, "the feature 1 is no name."),
        ({"initial": "0"}, "\"initial\" is '0', not a number."),
        ({"learning_rate": nan}, '"learning_rate" is nan, which no double is.'),
        ({"logistic": 1}, '"logistic" is 1.'),
        ({"trees": [1, ["day", 1, 0, 1]]}, "tree 2 asks for 'day', which is no"),
        ({"trees": [[0, 1, 0, 1]]}, "tree 1 asks for 0, which is no feature."),
        ({"trees": [["hour", 1, 0]]}, "a node of tree 1 has 3 parts, not 4."),
        ({"trees": [["hour", None, 0, 1]]}, "a threshold of tree 1 is None, not"),
        ({"trees": [["hour", inf, 0, 1]]}, "a threshold of tree 1 is inf, which"),
        ({"trees": [["hour", 2**53 + 1, 0, 1]]}, "9007199254740993, which no double"),
        ({"trees": [10**400]}, "which no double is."),
        ({"trees": [True]}, "a leaf of tree 1 is True, not a number."),
        ({"trees": [{"leaf": 1}]}, "a leaf of tree 1 is {'leaf': 1}, not a number."),
        ({"trees": [1e200], "learning_rate": 1e200}, "by the learning rate, is inf"),
        ({"trees": [nested(201)]}, "tree 1 is deeper than 200 nodes."),
    ],
)
def test_what_is_no_model_is_refused(change: dict[str, Any], detail: str) -> None:
    with pytest.raises(SchemaError) as caught:
        BoostedTrees.from_json(WRITTEN | change)

    assert caught.value.slug == "trees-unreadable"
    assert detail in (caught.value.detail or "")
    assert (caught.value.where or "").startswith("test_trees.py:")


@pytest.mark.parametrize(
    "text", ["", "[", "3", "[]", '{"features": []}', "\udcff", None]
)
def test_a_file_without_a_model_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "model.json"
    if text is not None:
        file.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(SchemaError) as caught:
        BoostedTrees.load(file)

    assert caught.value.slug == "trees-unreadable"
    assert caught.value.where == str(file)


def test_the_deepest_tree_is_still_a_column() -> None:
    deep = BoostedTrees(["hour"], [nested(200)])

    assert stream(hour=int).derive(risk=deep).columns == ["hour", "risk"]
    assert deep.score({"hour": 0}) == deep.score({"hour": 2})


def test_a_model_is_a_column_of_a_stream() -> None:
    told = stream(amount=float, hour=int, at=datetime)
    scored = told.derive(risk=MODEL)

    assert scored.columns == ["amount", "hour", "at", "risk"]
    assert scored.step.columns["risk"] == Field("risk", Real(), required=False)
    assert told.select("at", risk=MODEL).columns == ["at", "risk"]


def test_only_the_features_that_a_tree_asks_for_have_to_be_columns() -> None:
    assert MODEL.asked == ("amount", "hour")
    with pytest.raises(StepError) as caught:
        stream(amount=float, unused=int).derive(risk=MODEL)

    assert caught.value.slug == "column-unknown"
    assert caught.value.fact == (
        'there is no column "hour", used in `BoostedTrees(2 trees over amount, hour)`'
    )


@pytest.mark.parametrize("kind", [str, bool, datetime, list[int]])
def test_a_feature_that_is_no_number_is_refused(kind: Any) -> None:
    with pytest.raises(StepError) as caught:
        stream(amount=float, hour=kind).derive(risk=MODEL)

    assert caught.value.slug == "feature-not-a-number"
    assert 'the feature "hour" is of type' in caught.value.fact


def test_its_expression_names_columns_that_can_be_taken_from_a_struct() -> None:
    columns = Record((Field("hour", Whole()), Field("amount", Real())))
    found = MODEL.over(columns, "here")
    nodes = json.loads(found.text.split("'")[1])

    assert found.type == Real()
    assert found.text.endswith("', `amount`, `hour`)")
    assert found.inside("s").endswith("', s.`amount`, s.`hour`)")
    assert nodes == {
        "trees": 2,
        "logistic": True,
        "initial": 0.25,
        "root": [0, 5],
        "feature": [1, -1, 0, -1, -1, -1],
        "threshold": [6.0, 0.0, 99.5, 0.0, 0.0, 0.0],
        "left": [1, -1, 3, -1, -1, -1],
        "right": [2, -1, 4, -1, -1, -1],
        "value": [0.0, 1.0, 0.0, -0.5, 1.5, 0.25],
    }


def test_a_model_is_a_column_of_a_table() -> None:
    row = event(key="hour")(make_dataclass("Row", [("hour", int), ("amount", float)]))
    table = Pipeline("p").table(kafka("rows", row)).derive(risk=MODEL)

    assert table.columns == ["hour", "amount", "risk"]
    assert table.key == ("hour",)
    assert table.row["risk"].type == Real()


def test_an_explanation_shows_a_model_by_its_beginning() -> None:
    many = BoostedTrees(["hour"], [("hour", 6, 0.1, 0.2)] * 300)
    shown = stream(hour=int).derive(risk=many).step.summary

    assert shown.startswith(f'hour, risk = {FUNCTION}(\'{{"trees":300,')
    assert shown.endswith("…', `hour`)")
    assert len(shown) < 120


def test_a_model_is_no_condition() -> None:
    with pytest.raises(StepError) as caught:
        stream(amount=float, hour=int).where(MODEL)  # type: ignore[arg-type]

    assert caught.value.slug == "expression-unreadable"
    assert "BoostedTrees(2 trees over amount, hour) is not a text" in caught.value.fact
