"""A log in plain Python that a pipeline writes views to, and what they hold then.

Each lane writes its rows and then its ledger entry; partitions show markers of
transactions and rows that were never committed as holes. Readers get the records of a
partition in order, and those of different partitions in any.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field

from headrace.views.batches import Change, Entry

PROGRESS = "headrace.p.progress"

State = dict[tuple[str, bytes], bytes]


@dataclass
class World:
    """What was written, and what the views held after each batch.

    Attributes:
        records: By partition of a topic, its records in order.
        ends: Where each partition ends for readers.
        states: What the views held, by lineage and batch.
    """

    chance: random.Random
    lanes: int
    partitions: int
    topics: list[str]
    lineage: str = "a"
    batch: int = -1
    time: int = 1_000_000
    records: dict[tuple[str, int], list[Change | Entry]] = field(default_factory=dict)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    states: dict[tuple[str, int], State] = field(default_factory=dict)
    order: list[tuple[str, int]] = field(default_factory=list)
    told: dict[int, dict[str, dict[int, int]]] = field(default_factory=dict)
    now: State = field(default_factory=dict)

    @classmethod
    def seeded(cls, seed: int) -> World:
        chance = random.Random(seed)  # noqa: S311 - a test is to be repeated
        topics = [f"p.view.{name}" for name in ("one", "two")[: chance.randint(1, 2)]]
        return cls(chance, chance.randint(1, 3), chance.randint(1, 3), topics)

    def begin_anew(self) -> None:
        """Go on from a new checkpoint, whose batches are counted from 0."""
        self.lineage, self.batch = chr(ord(self.lineage) + 1), -1

    def change_lanes(self) -> None:
        """Go on in another number of lanes: each takes over what all have told."""
        if self.batch < 0:
            return
        every: dict[str, dict[int, int]] = {}
        for ends in self.told.values():
            for topic, numbers in ends.items():
                for number, end in numbers.items():
                    told = every.setdefault(topic, {})
                    told[number] = max(told.get(number, 0), end)
        self.lanes = self.chance.randint(1, 3)
        self.told = {
            lane: {t: dict(p) for t, p in every.items()} for lane in range(self.lanes)
        }
        for lane in range(self.lanes):
            self._entry(lane)

    def write(self) -> None:
        """Write a batch."""
        self.batch += 1
        self.time += self.chance.randint(0, 30_000)
        shares: list[list[tuple[str, bytes, bytes | None]]] = [
            [] for _ in range(self.lanes)
        ]
        for _ in range(self.chance.choice((0, 1, 3, 12))):
            topic = self.chance.choice(self.topics)
            key = f"k{self.chance.randrange(6)}".encode()
            value = b"%d" % self.chance.randrange(4)
            gone = self.chance.random() < 0.3
            shares[zlib.crc32(key) % self.lanes].append(
                (topic, key, None if gone else value)
            )
        for share in shares:
            for topic, key, sent in share:
                if sent is None:
                    self.now.pop((topic, key), None)
                else:
                    self.now[topic, key] = sent
        self._send(shares)
        self.states[self.lineage, self.batch] = dict(self.now)
        self.order.append((self.lineage, self.batch))

    def _send(self, shares: list[list[tuple[str, bytes, bytes | None]]]) -> None:
        """Write each lane's rows, in between those of the others, and its entry."""
        left = {lane: list(share) for lane, share in enumerate(shares)}
        while left:
            lane = self.chance.choice(list(left))
            if left[lane]:
                self._row(lane, *left[lane].pop(0))
            else:
                self._entry(lane)
                del left[lane]

    def _row(self, lane: int, topic: str, key: bytes, value: bytes | None) -> None:
        place = topic, zlib.adler32(key) % self.partitions
        if self.chance.random() < 0.1:
            self.ends[place] = self.ends.get(place, 0) + 1
        offset = self.ends.get(place, 0)
        change = Change(*place, offset, key, value, self.lineage, self.batch)
        self.records.setdefault(place, []).append(change)
        self.ends[place] = offset + 1
        self.told.setdefault(lane, {}).setdefault(topic, {})[place[1]] = offset + 1

    def _entry(self, lane: int) -> None:
        place = PROGRESS, lane
        offset = self.ends.get(place, 0)
        ends = {t: dict(p) for t, p in self.told.get(lane, {}).items()}
        ids = dict.fromkeys(self.topics, "id")
        entry = Entry(
            lane, self.lineage, self.batch, self.lanes, self.time, offset, ids, ends
        )
        self.records.setdefault(place, []).append(entry)
        # The marker of the commit, wherever the transaction has written.
        self.ends[place] = offset + 2
        for topic, numbers in ends.items():
            for number in numbers:
                self.ends[topic, number] += 1
