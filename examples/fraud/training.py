"""Train the fraud model on a history of the bank, and write it to a file.

Run it: ``python examples/fraud/training.py --seed 7 --out model.json``. The same seed
gives the same file, with the same version of scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sklearn
from features import Features, features
from model import Model, reason
from sklearn.ensemble import GradientBoostingClassifier
from traffic import Traffic
from truth import Alert, Case, Verdict, judge

# Enough to find every case that was held out; a pipeline takes any number.
TREES = 12
DEPTH = 3
LEARNING_RATE = 0.5

# Histories are of other seeds than the runs that somebody looks at.
HISTORY = 1_000_000
WHOLE = frozenset(Features._fields) - {"times_usual"}


@dataclass(frozen=True)
class History:
    """A stretch of the bank's past: what was told, and what was fraud."""

    ids: Sequence[str]
    told: Sequence[Features]
    cases: Sequence[Case]

    @property
    def stolen(self) -> list[bool]:
        """Tell of each transaction whether it was fraud."""
        fraud = {i for case in self.cases for i in case.transaction_ids}
        return [identity in fraud for identity in self.ids]

    def __add__(self, other: History) -> History:
        return History(
            [*self.ids, *other.ids],
            [*self.told, *other.told],
            [*self.cases, *other.cases],
        )


def history(
    seed: int, rate: float, seconds: float, *, hour: int = 12, rich: bool = False
) -> History:
    """Give a stretch of the past; one that is rich in fraud to learn from."""
    start = datetime(2026, 3, 2, hour, tzinfo=UTC)
    per_case = 600 if rich else 2500
    traffic = Traffic(HISTORY + seed, rate, seconds, start, per_case)
    rows = features(traffic.arrivals(), traffic.profiles)
    ids = [transaction.transaction_id for transaction, _ in rows]
    return History(ids, [told for _, told in rows], traffic.cases)


def lessons(seed: int) -> History:
    """Give what is learned from: a long night, a lively noon, a lively evening."""
    night = history(3 * seed, 100, 420, hour=2, rich=True)
    noon = history(3 * seed + 1, 500, 60, hour=12, rich=True)
    return night + noon + history(3 * seed + 2, 500, 60, hour=20, rich=True)


def held_out(seed: int) -> History:
    """Give what the model is measured on: other people, and fraud as rare as it is."""
    return history(-1 - seed, 500, 120, hour=8)


def fit(past: History) -> GradientBoostingClassifier:
    """Train trees on a history.

    They begin at even odds. From the true odds, which are small, the first trees
    would overshoot in each leaf that is not of one kind.
    """
    classifier = GradientBoostingClassifier(
        n_estimators=TREES,
        max_depth=DEPTH,
        learning_rate=LEARNING_RATE,
        min_samples_leaf=20,
        init="zero",
        random_state=7,
    )
    return classifier.fit(past.told, past.stolen)


def written(classifier: GradientBoostingClassifier, version: str) -> dict[str, Any]:
    """Give a trained classifier as `Model.from_json` reads it."""
    return {
        "version": version,
        "trained_with": f"scikit-learn {sklearn.__version__}",
        "features": list(Features._fields),
        "initial": 0.0,
        "learning_rate": classifier.learning_rate,
        "trees": [_nodes(tree[0].tree_, 0) for tree in classifier.estimators_],
    }


def _nodes(tree: Any, node: int) -> list[Any] | float:
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if left == right:
        return float(tree.value[node][0][0])
    feature = Features._fields[tree.feature[node]]
    threshold = plain(float(tree.threshold[node]))
    limit = math.floor(threshold) if feature in WHOLE else threshold
    low, high = _nodes(tree, left), _nodes(tree, right)
    return low if low == high else [feature, limit, low, high]


def plain(threshold: float) -> float:
    """Give the threshold by which doubles part as their rounded floats do.

    scikit-learn rounds a feature to 32 bits before it compares. Rounding keeps the
    order, so there is a largest double that is still not above the threshold when
    rounded: the middle between two neighbouring floats, or the double before it.

    Example:
        >>> plain(0.1) == 0.1
        False
        >>> plain(6.5)
        6.500000238418579
    """
    below = _float(threshold)
    if below > threshold:
        below = _float_beside(below, -1)
    middle = (below + _float_beside(below, 1)) / 2
    return middle if _float(middle) <= threshold else math.nextafter(middle, -math.inf)


def _float(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _float_beside(value: float, step: int) -> float:
    """Give the next float of 32 bits, above or below a positive one or zero."""
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return float(struct.unpack("<f", struct.pack("<i", bits + step))[0])


def measured(model: Model, past: History) -> Verdict:
    """Judge a model by a history that it was not trained on."""
    now = datetime(2026, 3, 2, tzinfo=UTC)
    rows = zip(past.ids, past.told, strict=True)
    alerted = [(i, reason(told)) for i, told in rows if model.alerts(told)]
    return judge(past.cases, [Alert(i, now, why) for i, why in alerted])


def train(seed: int, version: str) -> dict[str, Any]:
    """Train on one history, measure on another, and give what is to be written."""
    content = written(fit(lessons(seed)), version)
    verdict = measured(Model.from_json(content), held_out(seed))
    content["held_out"] = {
        kind: {"precision": found.precision, "recall": found.recall}
        for kind, found in {"all": verdict.everything, **verdict.by_kind}.items()
    }
    return content


def as_text(content: dict[str, Any]) -> str:
    """Give a model as the text of its file, a line for each tree."""
    trees = ",\n  ".join(map(json.dumps, content["trees"]))
    rest = json.dumps({**content, "trees": []}, indent=1)
    return rest.replace('"trees": []', f'"trees": [\n  {trees}\n ]') + "\n"


def main() -> int:
    """Parse the command line, train, and write the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("model.json"))
    parser.add_argument("--version", default="v1")
    given = parser.parse_args()
    content = train(given.seed, given.version)
    given.out.write_text(as_text(content))
    for kind, found in content["held_out"].items():
        told = (f"{name} {value:.3f}" for name, value in found.items())
        print(f"{kind:<9}", *told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
