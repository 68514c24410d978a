"""Models of boosted trees, as a pipeline's verbs take them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, SupportsFloat

from headrace.errors import SchemaError, StepError
from headrace.schema.expressions import Expression, read_expression, unknown_column
from headrace.schema.origin import declared_at
from headrace.schema.types import Exact, Real, Record, Unknown, Whole
from headrace.trees.nodes import (
    Node,
    number,
    read_trees,
    side_by_side,
    splits,
    unreadable,
)

FUNCTION = "headrace_trees"
"""The name by which Spark knows the function that scores."""

_NUMBERS = (Exact, Real, Unknown, Whole)


@dataclass(frozen=True, repr=False)
class BoostedTrees:
    """A model whose trees add up to a score; `derive` and `select` take it as it is.

    In each tree a row goes left where its feature is at most the threshold, and else
    right, also with NaN. The score is the initial value and, in the order of the
    trees, the learning rate times each leaf; `logistic` makes it a probability. A row
    has no score, but null, if a feature is null that a tree asks for.

    Features are compared as doubles: whole numbers up to 2^53 as they are, larger
    ones and decimals rounded.

    Args:
        features: The columns that the trees may ask for.
        trees: Each a number, or a feature, a threshold, and the trees left and right.
        initial: What the sum begins with.
        learning_rate: By what each leaf is multiplied.
        logistic: Whether the sum is the log-odds of what is scored.

    Raises:
        SchemaError: [trees-unreadable] it is not such a model.

    Example:
        >>> early = ("hour", 6, 1.0, -1.0)
        >>> model = BoostedTrees(["amount", "hour"], [early, ("amount", 100, 0, early)])
        >>> round(model.score({"amount": 250, "hour": 3}), 3)
        0.881
        >>> model
        BoostedTrees(2 trees over amount, hour)
    """

    features: Sequence[str]
    trees: Sequence[Node]
    initial: float = 0.0
    learning_rate: float = 1.0
    logistic: bool = True

    def __post_init__(self) -> None:
        where = declared_at()
        for name in self.features:
            if not isinstance(name, str):
                raise unreadable(f"the feature {name!r} is no name.", where)
        if not isinstance(self.logistic, bool):
            raise unreadable(f'"logistic" is {self.logistic!r}.', where)
        number(self.initial, '"initial"', where)
        rate = number(self.learning_rate, '"learning_rate"', where)
        trees = read_trees(self.trees, self.features, rate, where)
        object.__setattr__(self, "features", tuple(self.features))
        object.__setattr__(self, "trees", trees)

    @classmethod
    def load(cls, path: Path | str) -> BoostedTrees:
        """Read a model from a file; `from_json` says what is in it.

        Raises:
            SchemaError: [trees-unreadable] there is no such file, or no model in it.

        Example:
            ``scored = payments.derive(score=BoostedTrees.load("model.json"))``
        """
        try:
            return cls.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or error
            raise unreadable(f"{reason}.", str(path)) from error
        except SchemaError as error:
            error.where = str(path)
            raise

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> BoostedTrees:
        """Give the model of a file's content.

        It has ``features`` and ``trees``, and may have ``initial``, ``learning_rate``
        and ``logistic``. What else there is, such as a version, is passed over.

        Raises:
            SchemaError: [trees-unreadable] something is missing, or is not as it
                should be.

        Example:
            >>> BoostedTrees.from_json({"features": ["a"], "trees": [["a", 1, 0, 2]]})
            BoostedTrees(1 tree over a)
        """
        told = content if isinstance(content, Mapping) else {}
        for name in ("features", "trees"):
            if not isinstance(told.get(name), list | tuple):
                raise unreadable(f'it has no list "{name}".', declared_at())
        names = ("features", "trees", "initial", "learning_rate", "logistic")
        return cls(**{name: told[name] for name in names if name in told})

    def __repr__(self) -> str:
        count = f"{len(self.trees)} tree{'s' if len(self.trees) > 1 else ''}"
        return f"BoostedTrees({count} over {', '.join(self.asked)})"

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The features that a tree asks for; only these have to be columns."""
        found = {split[0] for split in splits(self.trees)}
        return tuple(name for name in self.features if name in found)

    def score(self, told: Mapping[str, SupportsFloat]) -> float:
        """Compute in Python what Spark computes for a row.

        Args:
            told: The features of the row, by name; there may be others.
        """
        values = {name: float(told[name]) for name in self.asked}
        total = float(self.initial)
        for tree in self.trees:
            node = tree
            while isinstance(node, tuple):
                feature, threshold, left, right = node
                node = left if values[feature] <= threshold else right
            total += self.learning_rate * node
        if not self.logistic:
            return total
        try:
            return 1 / (1 + math.exp(-total))
        except OverflowError:
            # Python has no infinity for what is too much for its doubles.
            return 0.0

    def over(self, columns: Record, where: str) -> Expression:
        """Give the score as an expression over columns.

        Raises:
            StepError: [column-unknown] a feature is not there;
                [feature-not-a-number] it is something else than a number.
        """
        for name in self.asked:
            if name not in columns:
                raise unknown_column(name, columns, repr(self), where)
            kind = columns[name].type
            if not isinstance(kind, _NUMBERS):
                raise StepError(
                    "feature-not-a-number",
                    f'the feature "{name}" is of type {kind.sql}, not a number',
                    detail=f"{self!r} compares it with thresholds.",
                    hint=f'derive a number under this name: derive({name}="...").',
                    where=where,
                )
        text, positions = f"{FUNCTION}('{self._written()}'", []
        for name in self.asked:
            positions.append(len(text) + len(", "))
            text += f", `{name}`"
        return Expression(f"{text})", Real(), tuple(positions))

    def _written(self) -> str:
        """Write the model as Java reads it: JSON, and no other quotes inside."""
        told = {
            "trees": len(self.trees),
            "logistic": self.logistic,
            "initial": float(self.initial),
            **side_by_side(self.trees, self.asked, self.learning_rate),
        }
        return json.dumps(told, separators=(",", ":"))


def read_value(given: str | BoostedTrees, columns: Record, where: str) -> Expression:
    """Check what computes a column: a text of SQL, or a model.

    Raises:
        StepError: As `read_expression` and `BoostedTrees.over`.
    """
    if isinstance(given, BoostedTrees):
        return given.over(columns, where)
    return read_expression(given, columns, where)
