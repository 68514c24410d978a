"""The nodes of trees: read with care, and written side by side for Java."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any, TypeAlias

from headrace.errors import SchemaError

Node: TypeAlias = "float | Split"
Split: TypeAlias = "tuple[str, float, Node, Node]"
"""A feature, a threshold, and the nodes left and right; a leaf is its value."""

# Trees that boosting grows are not a tenth of it; Python's own stack takes more.
_DEEPEST = 200


def unreadable(detail: str, where: str) -> SchemaError:
    """Say why something is no model."""
    return SchemaError(
        "trees-unreadable",
        "this is not a model of boosted trees",
        detail=detail,
        hint='give "features", a list of names, and "trees"; a tree is a number, or '
        "[feature, threshold, tree, tree].",
        where=where,
    )


def number(written: Any, what: str, where: str) -> float:
    """Give a number as a double, which it has to be without being rounded.

    Raises:
        SchemaError: [trees-unreadable] it is none, or has no end.
    """
    if not isinstance(written, int | float) or isinstance(written, bool):
        raise unreadable(f"{what} is {shortened(written)}, not a number.", where)
    try:
        double = float(written)
    except OverflowError:
        double = math.inf
    if not math.isfinite(double) or double != written:
        raise unreadable(f"{what} is {shortened(written)}, which no double is.", where)
    return double


def read_trees(
    written: Iterable[Any], features: Collection[str], rate: float, where: str
) -> tuple[Node, ...]:
    """Check the trees of a model.

    Args:
        written: The trees, nested in lists or tuples.
        features: What they may ask for.
        rate: By what their leaves are multiplied.
        where: The place to name in an error.

    Raises:
        SchemaError: [trees-unreadable] there are none, or one is not a tree.
    """
    found = tuple(
        _Reader(f"tree {place}", features, rate, where).node(tree)
        for place, tree in enumerate(written, start=1)
    )
    if not found:
        raise unreadable("it has no trees.", where)
    return found


@dataclass(frozen=True)
class _Reader:
    """Reads the nodes of one tree, and names it where something is wrong."""

    tree: str
    features: Collection[str]
    rate: float
    where: str

    def node(self, written: Any, depth: int = 0) -> Node:
        if not isinstance(written, list | tuple):
            leaf = number(written, f"a leaf of {self.tree}", self.where)
            product = f"a leaf of {self.tree}, by the learning rate,"
            number(self.rate * leaf, product, self.where)
            return leaf
        if depth == _DEEPEST:
            fault = f"{self.tree} is deeper than {_DEEPEST} nodes."
        elif len(written) != 4:
            fault = f"a node of {self.tree} has {len(written)} parts, not 4."
        elif written[0] not in self.features:
            fault = (
                f"{self.tree} asks for {shortened(written[0])}, which is no feature."
            )
        else:
            feature, threshold, left, right = written
            limit = number(threshold, f"a threshold of {self.tree}", self.where)
            below = self.node(left, depth + 1), self.node(right, depth + 1)
            return (feature, limit, *below)
        raise unreadable(fault, self.where)


def splits(trees: Iterable[Node]) -> Iterator[Split]:
    """Give the nodes of trees that ask for a feature, in no order."""
    left = list(trees)
    while left:
        node = left.pop()
        if isinstance(node, tuple):
            yield node
            left += node[2:]


def side_by_side(
    trees: Iterable[Node], features: Sequence[str], rate: float
) -> dict[str, Sequence[float]]:
    """Give all nodes as lists, in which each node has one place.

    Args:
        trees: Checked trees.
        features: What they ask for; a node names a feature by its place here.
        rate: By what the leaves are multiplied.

    Example:
        >>> lists = side_by_side([("hour", 6.0, 1.0, -1.0)], ["hour"], 0.5)
        >>> lists["feature"], lists["left"], lists["right"], lists["value"]
        ((0, -1, -1), (1, -1, -1), (2, -1, -1), (0.0, 0.5, -0.5))
    """
    nodes: list[tuple[float, ...]] = []

    def put(node: Node) -> int:
        place = len(nodes)
        nodes.append(())
        if isinstance(node, tuple):
            feature, threshold, left, right = node
            asked = features.index(feature)
            nodes[place] = (asked, threshold, put(left), put(right), 0.0)
        else:
            nodes[place] = (-1, 0.0, -1, -1, rate * node)
        return place

    roots = [put(tree) for tree in trees]
    names = ("feature", "threshold", "left", "right", "value")
    return {"root": roots, **dict(zip(names, zip(*nodes, strict=True), strict=True))}
