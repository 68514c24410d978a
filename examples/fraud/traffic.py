"""Card traffic as in life: rhythm, disorder, duplicates, offline terminals, fraud.

The same seed gives the same transactions, byte for byte, on every machine: they are
drawn in whole numbers, from a generator that Python defines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from random import Random

from people import (
    COUNTRIES,
    Change,
    Person,
    Profiles,
    changes,
    people,
    spread,
    weighted,
)
from thefts import plan
from transactions import Transaction
from truth import KINDS, Case
from wallets import Wallets, rest_seconds

DUPLICATES = 0.005
OFFLINE = 0.002
DECLINED = 0.02
SMALL_CHANGE = 0.04
JITTER_MS = 300
OFFLINE_MS = (60_000, 120_000)
JOURNEY_MS = 360_000
QUIET_MS = 10_000
NEVER_MS = 1 << 60
LONGEST_SLICE_MS = 1000

# Most payments are near the usual; a few in a thousand are five or six times as much.
_AMOUNTS = spread(0.6, 60, 6000)
# A duplicate comes behind its original, and within the same time.
_DELAYS = tuple(
    min(25 * value // 1000, JITTER_MS - 1) for value in spread(0.9, 100, 12_000)
)
_SHOPS = weighted(
    {"grocer": 9, "bakery": 5, "café": 5, "restaurant": 4, "pharmacy": 2, "books": 1}
    | {"fuel": 2, "trains": 2, "clothes": 2, "online shop": 4, "cinema": 1}
)


@dataclass(frozen=True)
class Traffic:
    """All transactions of a run: ``rate`` a second, for so many seconds.

    Of each kind of fraud there is one case in ``payments_per_case`` transactions. With
    an ``hour``, people pay all the time as they do then, whatever the clock says.
    """

    seed: int
    rate: float
    seconds: float
    start: datetime
    payments_per_case: int = 2500
    hour: int | None = None

    @cached_property
    def crowd(self) -> list[Person]:
        """Give the users, with their profiles as they are at the start."""
        # Five cards of three users, and half of all cards rest.
        busy = 1.2 * rest_seconds(self.seconds) * self.rate
        enough = max(500, int(busy), 20 * self._per_kind * len(KINDS))
        return people(self.seed, enough)

    @cached_property
    def changes(self) -> list[Change]:
        """Give what changes in the profiles during the run."""
        return changes(self.seed, self.crowd[: self.online], self.seconds)

    @cached_property
    def cases(self) -> list[Case]:
        """Give what of it is fraud, in order of time."""
        apart = {change.profile.user_id for change in self.changes}
        apart |= self.journeys.keys()
        free = [p for p in self.crowd[: self.online] if p.profile.user_id not in apart]
        return plan(self.seed, free, self.seconds, self._per_kind, self.start)

    @cached_property
    def journeys(self) -> dict[int, tuple[int, str]]:
        """Give who leaves for another country, and after how many milliseconds.

        It is 4 of 100 users, and a journey takes six minutes: no card is used in two
        countries within five. Many have left before the run begins.
        """
        chance = Random(f"{self.seed}/journeys")
        apart = {change.profile.user_id for change in self.changes}
        earliest, latest = -2 * JOURNEY_MS, int(self.seconds * 1000)
        found = {}
        for person in self.crowd[: self.online]:
            row = person.profile
            if chance.randrange(100) < 4 and row.user_id not in apart:
                to = chance.choice([c for c in COUNTRIES if c != row.home_country])
                found[row.user_id] = (chance.randrange(earliest, latest), to)
        return found

    @cached_property
    def online(self) -> int:
        """Give how many users pay as everybody does.

        The others come last in the crowd. They are always on trains and ships, whose
        terminals are offline, and their cards are used nowhere else.
        """
        return len(self.crowd) - max(10, len(self.crowd) // 50)

    @property
    def profiles(self) -> Profiles:
        """Give the profiles with their past."""
        return Profiles(self.crowd, self.changes, self.start)

    def arrivals(self) -> Iterator[tuple[int, Transaction]]:
        """Give the transactions in order of arrival, each with its time of arrival.

        That is in milliseconds from the start, and at most 300 of them after the
        transaction was made; unless the terminal was offline, then 60 to 120 seconds.
        """
        return _Flow(self).arrivals()

    @property
    def _per_kind(self) -> int:
        return max(1, round(self.rate * self.seconds / self.payments_per_case))


class _Flow:
    """One passage through a run's traffic, slice by slice of time."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._random = Random(f"{traffic.seed}/traffic").random
        self._number = traffic.seed << 40
        self._sent = 0
        self._crowd = traffic.crowd
        self._usual = [person.profile.usual_cents for person in traffic.crowd]
        self._where = [person.profile.home_country for person in traffic.crowd]
        self._turns = deque(sorted(self._planned_turns()))
        rest_ms = int(1000 * rest_seconds(traffic.seconds))
        users, away = self._crowd[: traffic.online], self._elsewhere()
        self._wallets = Wallets(users, rest_ms, away, self._random)
        users = self._crowd[traffic.online :]
        self._offline = Wallets(users, rest_ms, {}, self._random)
        self._thefts = deque(sorted(self._planned_thefts()))
        self._on_their_way: list[tuple[int, int, Transaction]] = []

    def arrivals(self) -> Iterator[tuple[int, Transaction]]:
        """Give the transactions as they arrive."""
        length_ms = int(self._traffic.seconds * 1000)
        offline = self._traffic.rate * OFFLINE / 1000
        stolen = len(self._thefts) / length_ms
        ordinary = self._traffic.rate * (1 - DUPLICATES) / 1000 - offline - stolen
        on_their_way = self._on_their_way
        slice_ms = 100 if self._traffic.rate >= 100 else LONGEST_SLICE_MS
        for begin in range(0, length_ms, slice_ms):
            end = min(begin + slice_ms, length_ms)
            self._begin(begin)
            for _ in range(int(end * ordinary) - int(begin * ordinary)):
                self._pay(begin, end)
            for _ in range(int(end * offline) - int(begin * offline)):
                self._reconnect(begin, end)
            while self._thefts and self._thefts[0][0] < end:
                made_ms, _, charge = self._thefts.popleft()
                self._send(made_ms, charge)
            on_their_way.sort()
            arrived = bisect_left(on_their_way, (end,))
            for arrival_ms, _, payment in on_their_way[:arrived]:
                yield arrival_ms, payment
            del on_their_way[:arrived]
        for arrival_ms, _, payment in on_their_way:
            yield arrival_ms, payment

    def _begin(self, now_ms: int) -> None:
        """Let come what comes with time: the hour, rested cards, new habits."""
        hour = self._traffic.hour
        if hour is None:
            hour = (self._traffic.start + timedelta(milliseconds=now_ms)).hour
        self._wallets.wake(now_ms, hour)
        self._offline.wake(now_ms, hour)
        while self._turns and self._turns[0][0] <= now_ms:
            _, owner, country, usual = self._turns.popleft()
            self._where[owner] = country
            self._usual[owner] = usual

    def _pay(self, begin: int, end: int) -> None:
        made_ms = begin + int(self._random() * (end - begin))
        card = self._wallets.deal(made_ms)
        owner = self._wallets.owners[card]
        self._send(made_ms, self._payment(self._wallets.cards[card], owner, made_ms))

    def _reconnect(self, begin: int, end: int) -> None:
        """Let a terminal send what it has kept while it was offline."""
        arrival_ms = begin + int(self._random() * (end - begin))
        card = self._offline.deal(arrival_ms)
        owner = self._traffic.online + self._offline.owners[card]
        least, most = OFFLINE_MS
        made_ms = arrival_ms - least - int(self._random() * (most - least))
        payment = self._payment(self._offline.cards[card], owner, made_ms)
        self._let_arrive(arrival_ms, payment)

    def _payment(self, card: str, owner: int, made_ms: int) -> Transaction:
        random = self._random
        self._number += 1
        cents = self._usual[owner] * _AMOUNTS[int(random() * 1024)] // 1000
        if random() < SMALL_CHANGE:
            cents = 80 + int(random() * 220)
        return Transaction(
            # Different for different numbers, as the factor is odd.
            f"{self._number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF:016x}",
            card,
            self._crowd[owner].profile.user_id,
            cents,
            self._where[owner],
            _SHOPS[int(random() * len(_SHOPS))],
            random() < DECLINED,
            self._traffic.start + timedelta(milliseconds=made_ms),
        )

    def _send(self, made_ms: int, payment: Transaction) -> None:
        """Send a transaction on its way, and some a second time."""
        delay = _DELAYS[int(self._random() * 1024)]
        self._let_arrive(made_ms + delay, payment)
        if self._random() < DUPLICATES:
            delay += 1 + int(self._random() * (JITTER_MS - delay))
            self._let_arrive(made_ms + delay, payment)

    def _let_arrive(self, arrival_ms: int, payment: Transaction) -> None:
        # Of those that arrive at once, the one that was sent first comes first.
        self._sent += 1
        self._on_their_way.append((arrival_ms, self._sent, payment))

    def _planned_turns(self) -> Iterator[tuple[int, int, str, int]]:
        """Give when an owner pays in another country, or other amounts."""
        for user_id, (leaves_ms, to) in self._traffic.journeys.items():
            usual = self._crowd[user_id - 1].profile.usual_cents
            yield leaves_ms + JOURNEY_MS, user_id - 1, to, usual
        for change in self._traffic.changes:
            row = change.profile
            # Who has moved lives there already when the profile says so.
            from_ms = 0 if change.kind == "moved" else change.offset_ms
            yield from_ms, row.user_id - 1, row.home_country, row.usual_cents

    def _elsewhere(self) -> dict[int, tuple[int, int]]:
        """Give from when until when an owner does not pay.

        Around a change of the profile nobody does: which row holds for a payment
        then does not depend on how long the database took.
        """
        away = {}
        for user_id, (leaves_ms, _) in self._traffic.journeys.items():
            arrives_ms = leaves_ms + JOURNEY_MS
            away[user_id - 1] = (leaves_ms, arrives_ms + LONGEST_SLICE_MS)
        for change in self._traffic.changes:
            at_ms = change.offset_ms
            away[change.profile.user_id - 1] = (at_ms - QUIET_MS, at_ms + QUIET_MS)
        for case in self._traffic.cases:
            # The card that was stolen is blocked, whoever has noticed.
            stolen_ms = self._ms(case.first_at)
            away[case.transactions[0].user_id - 1] = (stolen_ms, NEVER_MS)
        return away

    def _planned_thefts(self) -> Iterator[tuple[int, str, Transaction]]:
        for case in self._traffic.cases:
            for charge in case.transactions:
                yield self._ms(charge.made_at), charge.transaction_id, charge

    def _ms(self, moment: datetime) -> int:
        return (moment - self._traffic.start) // timedelta(milliseconds=1)
