"""The fraud model: boosted trees, read from a file, and when they raise an alert.

Reading and scoring need no scikit-learn. The pipeline has Spark compute the score, by
`Model.trees`; `Model.score` computes the same in Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features import Features

from headrace import BoostedTrees

ALERT_ABOVE = 0.9
PAYMENTS_ABOVE = 10

REASON = """\
case when payments > 10 then 'velocity' when countries > 1 then 'travel'
     when declines + tiny > 2 then 'drain' else 'large' end"""
"""What an alert takes a transaction for, in Spark's SQL: the same as `reason`."""


@dataclass(frozen=True)
class Model:
    """Trees that tell how likely a transaction is fraud, and their version."""

    version: str
    trees: BoostedTrees

    @classmethod
    def load(cls, path: Path) -> Model:
        """Read a model that `training` has written."""
        return cls.from_json(json.loads(path.read_text()))

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Model:
        """Give the model of a file's content."""
        return cls(written["version"], BoostedTrees.from_json(written))

    def score(self, features: Features) -> float:
        """Give how likely a transaction is fraud, from 0 to 1."""
        return self.trees.score(features._asdict())

    def alerts(self, features: Features) -> bool:
        """Tell whether a transaction is to be alerted: by its score, or the count."""
        often = features.payments > PAYMENTS_ABOVE
        return often or self.score(features) > ALERT_ABOVE


def reason(features: Features) -> str:
    """Give the kind of fraud that an alert takes a transaction for."""
    if features.payments > PAYMENTS_ABOVE:
        return "velocity"
    if features.countries > 1:
        return "travel"
    return "drain" if features.declines + features.tiny > 2 else "large"
