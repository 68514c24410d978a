"""Who pays next: the cards of a crowd, dealt so that nobody pays all the time.

A card that has paid rests for a while, so its owner makes five payments in five
minutes at the most. Owners are elsewhere at times: on a journey, or about to change
their profile.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from people import RHYTHMS, Person, shares

MOST_PAYMENTS = 5
WITHIN_SECONDS = 300


def rest_seconds(seconds: float) -> float:
    """Give how long a card rests after a payment in a run of so many seconds."""
    return min(seconds, WITHIN_SECONDS) / (MOST_PAYMENTS - 0.5)


class Wallets:
    """The cards of some people; a card is its number in the order of the people."""

    def __init__(
        self,
        crowd: Sequence[Person],
        rest_ms: int,
        elsewhere: Mapping[int, tuple[int, int]],
        random: Callable[[], float],
    ) -> None:
        self.cards = [card for person in crowd for card in person.cards]
        self.owners = [n for n, person in enumerate(crowd) for _ in person.cards]
        self._random = random
        self._rest_ms = rest_ms
        self._elsewhere = elsewhere
        self._rhythms = [crowd[owner].rhythm for owner in self.owners]
        self._ready: list[list[int]] = [[] for _ in RHYTHMS]
        for card, rhythm in enumerate(self._rhythms):
            self._ready[rhythm].append(card)
        self._sizes = [len(cards) for cards in self._ready]
        self._resting: deque[tuple[int, int]] = deque()
        self._shares = shares(0, self._sizes)

    def wake(self, now_ms: int, hour: int) -> None:
        """Let those cards pay again that have rested, by the hour of the day."""
        self._shares = shares(hour, self._sizes)
        resting = self._resting
        while resting and resting[0][0] <= now_ms:
            card = resting.popleft()[1]
            self._ready[self._rhythms[card]].append(card)

    def deal(self, made_ms: int) -> int:
        """Give a card whose owner can pay now, and let it rest afterwards.

        Raises:
            ValueError: There are too few people for so many payments.
        """
        while True:
            place = self._random() * self._shares[-1]
            ready = self._ready[bisect_right(self._shares, place)]
            if not ready:
                ready = max(self._ready, key=len)
                if not ready:
                    raise ValueError("too few people for so many payments")
            chosen = int(self._random() * len(ready))
            card = ready[chosen]
            ready[chosen] = ready[-1]
            ready.pop()
            self._resting.append((made_ms + self._rest_ms, card))
            away = self._elsewhere.get(self.owners[card])
            if away is None or not away[0] <= made_ms < away[1]:
                return card
