"""What was fraud, and how well alerts have found it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from transactions import Transaction

KINDS = ("velocity", "travel", "large", "drain")


@dataclass(frozen=True)
class Case:
    """A theft: all transactions that one thief makes with one card."""

    kind: str
    card: str
    transactions: tuple[Transaction, ...]

    @property
    def transaction_ids(self) -> tuple[str, ...]:
        """Give the ids, in the order of time."""
        return tuple(charge.transaction_id for charge in self.transactions)

    @property
    def first_at(self) -> datetime:
        """Give when it began."""
        return self.transactions[0].made_at

    @property
    def last_at(self) -> datetime:
        """Give when it ended."""
        return self.transactions[-1].made_at

    @property
    def cents(self) -> int:
        """Give what the thief got; declined charges are none."""
        return self.lost_until(self.last_at)

    def lost_until(self, moment: datetime) -> int:
        """Give what the thief had got at a moment, that moment included."""
        return sum(
            charge.cents
            for charge in self.transactions
            if charge.made_at <= moment and not charge.declined
        )


@dataclass(frozen=True)
class Alert:
    """Somebody was told that a transaction is fraud, and perhaps of which kind."""

    transaction_id: str
    detected_at: datetime
    kind: str | None = None


@dataclass(frozen=True)
class Judgement:
    """How well the alerts have found some cases.

    ``alerts`` are alerted transactions and ``right`` those that belong to the cases.
    """

    cases: int
    found: int
    alerts: int
    right: int
    lost_cents: int
    saved_cents: int

    @property
    def precision(self) -> float:
        """Give which share of the alerts is right; 1 if there are none."""
        return self.right / self.alerts if self.alerts else 1.0

    @property
    def recall(self) -> float:
        """Give which share of the cases is found; 1 if there are none."""
        return self.found / self.cases if self.cases else 1.0


@dataclass(frozen=True)
class Verdict:
    """The judgement of all cases, and that of each kind.

    A wrong alert counts against the kind that it took the transaction for, and
    against every kind if it does not say.
    """

    everything: Judgement
    by_kind: dict[str, Judgement]


def judge(cases: Sequence[Case], alerts: Iterable[Alert]) -> Verdict:
    """Judge alerts by what was fraud.

    A case is found if one of its transactions is alerted, and its money is lost until
    the first of these alerts. Several alerts of one transaction are one, the first.
    """
    first: dict[str, Alert] = {}
    for alert in alerts:
        known = first.setdefault(alert.transaction_id, alert)
        if alert.detected_at < known.detected_at:
            first[alert.transaction_id] = alert
    fraud = {identity for case in cases for identity in case.transaction_ids}
    detected = {i: alert.detected_at for i, alert in first.items()}
    taken_for = [alert.kind for i, alert in first.items() if i not in fraud]
    kinds = {kind: [case for case in cases if case.kind == kind] for kind in KINDS}
    return Verdict(
        _judged(cases, detected, len(taken_for)),
        {
            kind: _judged(some, detected, sum(k in {kind, None} for k in taken_for))
            for kind, some in kinds.items()
        },
    )


def _judged(
    cases: Sequence[Case], detected: dict[str, datetime], wrong: int
) -> Judgement:
    found = right = lost = 0
    for case in cases:
        times = [detected[i] for i in case.transaction_ids if i in detected]
        found += bool(times)
        right += len(times)
        lost += case.lost_until(min(times)) if times else case.cents
    return Judgement(
        cases=len(cases),
        found=found,
        alerts=right + wrong,
        right=right,
        lost_cents=lost,
        saved_cents=sum(case.cents for case in cases) - lost,
    )
