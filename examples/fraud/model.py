"""The fraud model: boosted trees, read from a file, as Python and as Spark's SQL.

Reading and scoring need no scikit-learn. `Model.sql` is one expression over the
columns of `features.Features`, which Spark compiles together with the rest of the
query: no Python runs for an event, and the score is the same to the last digits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from features import Features

ALERT_ABOVE = 0.9
PAYMENTS_ABOVE = 10

REASON = """\
case when payments > 10 then 'velocity' when countries > 1 then 'travel'
     when declines + tiny > 2 then 'drain' else 'large' end"""
"""What an alert takes a transaction for, in Spark's SQL: the same as `reason`."""


@dataclass(frozen=True)
class Split:
    """Where a tree parts: left if the feature is at most the threshold."""

    feature: str
    threshold: float
    left: Tree
    right: Tree


Tree: TypeAlias = Split | float


@dataclass(frozen=True)
class Model:
    """Trees whose values add up, from an initial value, to the log-odds of fraud."""

    version: str
    initial: float
    learning_rate: float
    trees: tuple[Tree, ...]

    @classmethod
    def load(cls, path: Path) -> Model:
        """Read a model that `training` has written."""
        return cls.from_json(json.loads(path.read_text()))

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> Model:
        """Give the model of a file's content."""
        return cls(
            version=written["version"],
            initial=written["initial"],
            learning_rate=written["learning_rate"],
            trees=tuple(map(_tree, written["trees"])),
        )

    def score(self, features: Features) -> float:
        """Give how likely a transaction is fraud, from 0 to 1."""
        told = features._asdict()
        odds = self.initial
        for tree in self.trees:
            node = tree
            while isinstance(node, Split):
                low = told[node.feature] <= node.threshold
                node = node.left if low else node.right
            odds += self.learning_rate * node
        # Python has no infinity for what is too much for its doubles.
        return 1 / (1 + math.exp(min(-odds, 709.0)))

    def alerts(self, features: Features) -> bool:
        """Tell whether a transaction is to be alerted: by its score, or the count."""
        often = features.payments > PAYMENTS_ABOVE
        return often or self.score(features) > ALERT_ABOVE

    def sql(self) -> str:
        """Give the score as an expression of Spark's SQL over the features.

        The trees are added in the order in which `score` adds them, and numbers are
        written with all their digits.
        """
        terms = [_number(self.initial), *map(self._sql_of, self.trees)]
        return f"1D / (1D + exp(-({' + '.join(terms)})))"

    def _sql_of(self, tree: Tree) -> str:
        if not isinstance(tree, Split):
            return _number(self.learning_rate * tree)
        left, right = self._sql_of(tree.left), self._sql_of(tree.right)
        threshold = tree.threshold
        limit = str(threshold) if isinstance(threshold, int) else _number(threshold)
        return f"if({tree.feature} <= {limit}, {left}, {right})"

    def columns(self) -> set[str]:
        """Give the features that the trees ask for."""
        return {split.feature for tree in self.trees for split in _splits(tree)}


def reason(features: Features) -> str:
    """Give the kind of fraud that an alert takes a transaction for."""
    if features.payments > PAYMENTS_ABOVE:
        return "velocity"
    if features.countries > 1:
        return "travel"
    return "drain" if features.declines + features.tiny > 2 else "large"


def _number(value: float) -> str:
    """Write a number so that SQL takes it for the same double.

    Example:
        >>> _number(-0.1), _number(2.5e-05)
        ('-0.1D', '2.5E-05D')
    """
    return f"{value!r}D".upper()


def _tree(written: Any) -> Tree:
    if not isinstance(written, list):
        return float(written)
    feature, threshold, left, right = written
    return Split(feature, threshold, _tree(left), _tree(right))


def _splits(tree: Tree) -> Iterator[Split]:
    if isinstance(tree, Split):
        yield tree
        yield from _splits(tree.left)
        yield from _splits(tree.right)
