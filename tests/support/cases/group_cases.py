"""Pipelines with groups, what they mean in plain Python, and rows to try them with."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

from headrace import Pipeline, Table, event, kafka
from support.models import group_model as model
from support.models.group_model import Rows


@event(key="id")
class Item:
    id: str
    case: str
    kind: str | None = None
    number: int | None = None
    price: Decimal | None = None
    weight: float | None = None
    word: str | None = None
    owner: str | None = None


@event(key="owner")
class Owner:
    owner: str
    place: str | None = None


Held = dict[str, dict[str, Any]]
Tables = dict[str, Held]

BY = ("case", "kind")


@dataclass(frozen=True)
class Shape:
    """A pipeline's table of groups, and the same by its definition.

    Attributes:
        declare: Gives the table.
        mean: Gives its rows by their key.
    """

    declare: Callable[[Pipeline], Table]
    mean: Callable[[Tables], Rows]


def items(pipeline: Pipeline) -> Table:
    return pipeline.table(kafka("items", Item))


def _all(pipeline: Pipeline) -> Table:
    """Tell all that can be told, of rows that a condition keeps or not."""
    return (
        items(pipeline)
        .where("word is null or word <> 'hidden'")
        .group(
            "grouped",
            by=BY,
            members="count(*)",
            numbers="count(number)",
            both="count(number, word)",
            high="count_if(number > 2)",
            high_too="count(*) filter (where number > 2)",
            total="sum(number)",
            mean="avg(number)",
            money="sum(price)",
            mean_money="mean(price)",
            costly="sum(price) filter (where number > 1)",
            weight="sum(weight)",
            mean_weight="avg(weight)",
            heaviest="max(weight)",
            least="min(number)",
            most="max(number)",
            first_word="min(word)",
            last_word="max(word)",
            words="count(distinct word)",
            pairs="count(distinct word, number)",
            share="sum(number) / count(*)",
            is_some="some(number > 2)",
            is_every="every(number > 2)",
        )
    )


def _high(row: model.Row) -> bool | None:
    number = row["number"]
    return None if number is None else number > 2


def _costly(row: model.Row) -> bool | None:
    return row["number"] is not None and row["number"] > 1


def _share(found: list[model.Row]) -> float | None:
    total = model.total("number")(found)
    return None if total is None else total / len(found)


def _meant(tables: Tables) -> Rows:
    kept = [row for row in tables["items"].values() if row["word"] != "hidden"]
    return model.grouped(
        kept,
        BY,
        {
            "members": model.rows,
            "numbers": model.count("number"),
            "both": model.count_if(
                lambda row: row["number"] is not None and row["word"] is not None
            ),
            "high": model.count_if(_high),
            "high_too": model.count_if(_high),
            "total": model.total("number"),
            "mean": model.mean("number"),
            "money": model.total("price"),
            "mean_money": model.mean("price"),
            "costly": model.total("price", _costly),
            "weight": model.total("weight"),
            "mean_weight": model.mean("weight"),
            "heaviest": model.most("weight"),
            "least": model.least("number"),
            "most": model.most("number"),
            "first_word": model.least("word"),
            "last_word": model.most("word"),
            "words": model.distinct("word"),
            "pairs": model.distinct("word", "number"),
            "share": _share,
            "is_some": model.some(_high),
            "is_every": model.every(_high),
        },
    )


def _owned(pipeline: Pipeline) -> Table:
    """Put together what a join by reference gives, and then its groups."""
    owners = pipeline.table(kafka("owners", Owner))
    joined = items(pipeline).join("owned", owners, on="owner", kind="left")
    placed = joined.group(
        "placed",
        by=("case", "place"),
        members="count(*)",
        total="sum(number)",
        last_word="max(word)",
    )
    return placed.where("members > 1").group(
        "cases", by="case", places="count(*)", total="sum(total)", most="max(members)"
    )


def _owned_meant(tables: Tables) -> Rows:
    owners = tables["owners"]
    joined = [
        row | {"place": owners.get(row["owner"], {}).get("place")}
        for row in tables["items"].values()
    ]
    placed = model.grouped(
        joined,
        ("case", "place"),
        {"members": model.rows, "total": model.total("number")},
    )
    return model.grouped(
        [row for row in placed.values() if row["members"] > 1],
        ("case",),
        {
            "places": model.rows,
            "total": model.total("total"),
            "most": model.most("members"),
        },
    )


def _compared(pipeline: Pipeline) -> Table:
    """Join the groups of some rows with those of others, by keys that may be null."""
    table = items(pipeline)
    high = table.where("number > 2").group("high", by=BY, high="count(*)")
    said = table.where("word is not null").group("said", by=BY, words="count(*)")
    return high.join("compared", said, on={name: name for name in BY}, kind="full")


def _compared_meant(tables: Tables) -> Rows:
    rows = list(tables["items"].values())
    said = [row for row in rows if row["word"] is not None]
    left = model.grouped(filter(_high, rows), BY, {"high": model.rows})
    right = model.grouped(said, BY, {"words": model.rows})
    return {
        key: {
            **dict(zip(BY, key, strict=True)),
            "high": left.get(key, {}).get("high"),
            "words": right.get(key, {}).get("words"),
        }
        for key in {*left, *right}
    }


SHAPES = {
    "all": Shape(_all, _meant),
    "owned": Shape(_owned, _owned_meant),
    "compared": Shape(_compared, _compared_meant),
}

Batch = dict[str, list[tuple[str, Item | Owner | None]]]

_PRICES = [None, Decimal("0.1"), Decimal("12.50"), Decimal("-3"), Decimal("1e10")]
_WEIGHTS = [None, 0.1, 0.2, 0.3, 1e16, -1e16, 1e-300, -0.0, 0.0]
_RARE = [math.nan, math.inf, -math.inf]
_WORDS = [None, "", "a", "aa", "b", "Ä", "hidden"]


def item(chance: random.Random, key: str, case: str) -> Item:
    rare = chance.random() < 0.05
    return Item(
        key,
        case,
        chance.choice([None, "x", "y", "z"]),
        chance.choice([None, 0, 1, 2, 3, 4, -(10**17)]),
        chance.choice(_PRICES),
        chance.choice(_RARE if rare else _WEIGHTS),
        chance.choice(_WORDS),
        chance.choice([None, *(f"{case}/{name}" for name in "mn")]),
    )


def small_lives(seed: str, cases: int, batches: int) -> list[Batch]:
    """Give tables of a few rows, which come, change in part, move and go."""
    chance = random.Random(seed)  # noqa: S311 - a choice, no secret
    held: dict[str, Item] = {}
    owners: set[str] = set()
    found = []
    for _ in range(batches):
        batch: Batch = {"items": [], "owners": []}
        for case in map(str, range(cases)):
            for _ in range(chance.choice([0, 1, 2, 3])):
                key = f"{case}/{chance.choice('abcde')}"
                fresh = item(chance, key, case)
                known = held.get(key)
                if known is not None and chance.random() < 0.3:
                    # A change within its group.
                    fresh = replace(fresh, kind=known.kind)
                gone = chance.random() < 0.25
                batch["items"].append((key, None if gone else fresh))
                held.pop(key, None)
                if not gone:
                    held[key] = fresh
            for _ in range(chance.choice([0, 0, 1])):
                owner = f"{case}/{chance.choice('mn')}"
                gone = chance.random() < 0.3
                place = chance.choice([None, "p", "q"])
                row = None if gone else Owner(owner, place)
                batch["owners"].append((owner, row))
                owners.add(owner)
        found.append(batch)
    found.append(_end(held, owners))
    return found


def one_large_life(seed: str, rows: int, batches: int) -> list[Batch]:
    """Give one group of many different values, of which the least often go first."""
    chance = random.Random(seed)  # noqa: S311 - a choice, no secret
    held: dict[str, Item] = {}
    found = []
    for turn in range(batches):
        batch: Batch = {"items": [], "owners": []}
        shrinks = turn % 3 == 2
        for _ in range(rows // 2 if not shrinks else 0):
            key = f"k{chance.randrange(rows)}"
            word = "w" * chance.randrange(40) + str(chance.randrange(rows))
            number = chance.randrange(-rows, rows)
            weight = chance.choice(_WEIGHTS)
            fresh = Item(key, "one", "x", number, None, weight, word, None)
            batch["items"].append((key, fresh))
            held[key] = fresh
        if shrinks:
            least = sorted(held, key=lambda k: held[k].number or 0)
            going = {*least[: len(held) // 3], *chance.sample(least, len(held) // 3)}
            for key in sorted(going):
                batch["items"].append((key, None))
                del held[key]
        found.append(batch)
    found.append(_end(held, set()))
    return found


def _end(held: Iterable[str], owners: Iterable[str]) -> Batch:
    """Delete all that is left."""
    gone: Batch = {
        "items": [(key, None) for key in held],
        "owners": [(key, None) for key in sorted(owners)],
    }
    return gone


def take(tables: Tables, batch: Batch) -> None:
    """Apply a batch to tables."""
    for topic, records in batch.items():
        for key, row in records:
            tables[topic].pop(key, None)
            if row is not None:
                tables[topic][key] = asdict(row)
