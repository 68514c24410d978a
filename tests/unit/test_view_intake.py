"""However records are read, and wherever it ends, views hold whole batches."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from headrace.views.answers import AsOf
from headrace.views.batches import Change, Entry
from headrace.views.intake import GoneError, Intake
from headrace.views.store import ViewStore
from headrace.views.store_reading import Cursor
from support.fakes.view_world import PROGRESS, State, World

HISTORIES = 220
_END = b"\xff"


class Reader:
    """Follows a world into a store, and remembers what was told meanwhile."""

    def __init__(self, world: World, path: Path) -> None:
        self.world = world
        self.path = path
        self.views = {topic: topic.rpartition(".")[2] for topic in world.topics}
        self.read: dict[str, State] = {}
        self.open()

    def open(self) -> None:
        """Begin, or go on from what the store holds."""
        history = dict.fromkeys(self.views.values(), timedelta(days=1))
        self.store = ViewStore(self.path, history)
        self.intake = Intake(self.store, self.views, PROGRESS)
        self.at = self.intake.resume()

    def die(self) -> None:
        """End without a word, as a killed process does: nothing is settled."""
        self.intake.close()
        self.store.close()
        self.open()

    def step(self) -> None:
        """Read some records of one partition, or find its end."""
        chance = self.world.chance
        if self.intake.is_loading and not self.intake.choose_base(0):
            places = [place for place in self.world.ends if place[0] == PROGRESS]
        else:
            places = list(self.world.ends)
        if not places:
            return
        place = chance.choice(places)
        at = self.at.get(place, 0)
        ahead = [r for r in self.world.records.get(place, []) if r.offset >= at]
        for record in ahead[: chance.randint(1, 5)]:
            self.at[place] = record.offset + 1
            if isinstance(record, Entry):
                self.intake.note(record)
            else:
                self.intake.take(record)
        if len(ahead) <= 1:
            self.at[place] = self.world.ends[place]
            self.intake.reach(*place, self.world.ends[place])
        self.intake.advance(0)
        self.check()

    def catch_up(self) -> None:
        last = self.world.order[-1]
        for _ in range(10_000):
            stands = self.store.standing()
            if stands is not None and (stands.lineage, stands.batch) == last:
                return
            self.step()
        raise AssertionError("the store does not come to the last batch")

    def check(self) -> None:
        """Hold what can be read now against what the batch has made of the views."""
        stands = self.store.standing()
        if stands is not None:
            state = self.state(AsOf())
            assert state == self.world.states[stands.lineage, stands.batch]
            self.read[f"{stands.lineage}{stands.batch}"] = state

    def state(self, as_of: AsOf) -> State:
        found: State = {}
        for topic, view in self.views.items():
            rows, _, cursor = self.store.reading.scan(view, b"", 3, as_of=as_of)
            found |= {(topic, key): value for key, value in rows}
            while cursor is not None:
                rows, _, cursor = self.store.reading.scan(view, b"", 3, cursor=cursor)
                found |= {(topic, key): value for key, value in rows}
        return found


def lived(seed: int, path: Path) -> Reader:
    """Let a world write and a reader follow, die and go on, in turns."""
    world = World.seeded(seed)
    reader = Reader(world, path)
    for _ in range(world.chance.randint(3, 12)):
        world.write()
        if world.chance.random() < 0.1:
            world.begin_anew()
        elif world.chance.random() < 0.1:
            world.change_lanes()
        for _ in range(world.chance.randint(0, 12)):
            reader.step()
        if world.chance.random() < 0.3:
            reader.die()
    reader.catch_up()
    return reader


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_view_holds_whole_batches_and_remembers_them(
    seed: int, tmp_path: Path
) -> None:
    reader = lived(seed, tmp_path / "store.sqlite")

    for name, state in reader.read.items():
        batch = int(name[1:])
        if name[0] == reader.world.lineage:
            assert reader.state(AsOf(batch=batch)) == state
    _follow_feed(reader)
    reader.store.close()


def _follow_feed(reader: Reader) -> None:
    """The feed leads from any state that was read to the last, each change once."""
    reading = reader.store.reading
    last = reader.world.states[reader.world.order[-1]]
    for topic, view in reader.views.items():
        first = Cursor(reading.epoch, 1, b"").text()
        _, oldest, _ = reading.scan(view, b"", 1, cursor=first)
        state = {
            key: value
            for (its, key), value in reader.world.states[
                oldest.lineage, oldest.batch
            ].items()
            if its == topic
        }
        place = reading.epoch, oldest.revision, _END
        while told := reading.feed(view, place, 2):
            for change in told:
                assert state.get(change.key) != change.value
                if change.value is None:
                    del state[change.key]
                else:
                    state[change.key] = change.value
                place = reading.epoch, change.standing.revision, change.key
        assert state == {k: v for (its, k), v in last.items() if its == topic}


def test_a_topic_made_anew_is_noticed(tmp_path: Path) -> None:
    reader = lived(3, tmp_path / "store.sqlite")
    entry = Entry(0, "z", 0, 1, 9_999_999, 10**6, dict.fromkeys(reader.views, "new"))

    with pytest.raises(GoneError, match="made anew"):
        reader.intake.note(entry)
    reader.store.close()


def test_a_record_of_no_batch_counts_at_once(tmp_path: Path) -> None:
    reader = lived(5, tmp_path / "store.sqlite")
    topic = reader.world.topics[0]
    view = reader.views[topic]
    before = reader.store.standing()
    assert before is not None

    reader.intake.take(Change(topic, 0, 10**6, b"stray", b"1"))
    reader.intake.advance(0)

    value, stands = reader.store.reading.get(view, b"stray")
    assert value == b"1"
    assert stands.batch == before.batch
    assert stands.revision == before.revision + 1
    reader.store.close()


def test_old_batches_are_put_together(tmp_path: Path) -> None:
    world = World.seeded(11)
    for _ in range(6):
        world.write()
    reader = Reader(world, tmp_path / "store.sqlite")
    for (topic, number), records in sorted(world.records.items(), reverse=True):
        if topic == PROGRESS:
            for entry in records:
                assert isinstance(entry, Entry)
                reader.intake.note(entry)
            reader.intake.reach(topic, number, world.ends[topic, number])

    assert reader.intake.choose_base(world.time + 1)
    for (topic, number), records in world.records.items():
        for record in records:
            if isinstance(record, Change):
                reader.intake.take(record)
        reader.intake.reach(topic, number, world.ends[topic, number])

    assert reader.intake.advance(world.time + 1) == 1
    reader.check()
    reader.store.close()
