"""Account for every transaction, and judge the alerts by what was fraud."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from features import features
from model import Model
from sending import REHEARSAL
from traffic import Traffic
from truth import Alert, Verdict

from headrace import ViewError
from headrace.views.querying import query

GOOD = 0.95
OURS = Model.load(Path(__file__).with_name("model.json"))
SAME = "the alerts are those that plain Python computes of the same traffic"


def scored_in(lake: Path) -> list[str]:
    """Give the transactions that the table of scored ones holds, without rehearsals."""
    try:
        found = query("select transaction_id from scored", {}, {"scored": lake})
    except ViewError:
        # Before the first batch there is no table.
        return []
    return [row[0] for row in found.rows if not row[0].startswith(REHEARSAL)]


@dataclass(frozen=True)
class Account:
    """What became of the transactions of a run."""

    sent: int
    ids: frozenset[str]
    scored: Sequence[str]
    late: Sequence[str]
    alerts: Sequence[Alert]
    refused: int
    dead_letters: int

    @property
    def missing(self) -> set[str]:
        """Give those that are neither scored nor late."""
        return set(self.ids) - set(self.scored) - set(self.late)

    @property
    def doubled(self) -> int:
        """Give how many results are one too many: scored, late or alerted."""
        results = [*self.scored, *self.late]
        told = [alert.transaction_id for alert in self.alerts]
        return len(results) - len(set(results)) + len(told) - len(set(told))

    @property
    def is_whole(self) -> bool:
        """Tell whether each transaction was sent, and has one result."""
        lost = self.missing or self.refused or self.dead_letters
        return bool(self.ids) and not lost and not self.doubled

    def lines(self) -> list[str]:
        """Tell it to people."""
        repeated = self.sent - len(self.ids)
        told = [
            f"sent: {self.sent:,} records, {repeated:,} of them repeated",
            f"scored: {len(self.scored):,}; late, in a topic of their own: "
            f"{len(self.late):,}; dead letters: {self.dead_letters:,}",
        ]
        if self.is_whole:
            return [*told, "every transaction is accounted for, and each alert is once"]
        return [
            *told,
            f"NOT ACCOUNTED FOR: {len(self.missing):,} missing, {self.doubled:,} "
            f"doubled, {self.refused:,} not taken by the log",
        ]


def differences(
    traffic: Traffic, ids: frozenset[str], found: Set[str], model: Model = OURS
) -> str:
    """Say how alerts differ from what plain Python computes of the same traffic.

    Transactions of offline terminals may be late, and none of them is alerted either
    way; all others are computed alike whatever happens to the servers.
    """
    rows = features(traffic.arrivals(), traffic.profiles)
    wanted = {
        transaction.transaction_id
        for transaction, told in rows
        if transaction.transaction_id in ids and model.alerts(told)
    }
    if found == wanted:
        return SAME
    return (
        f"OTHER ALERTS than plain Python gives: {len(wanted - found):,} missing, "
        f"{len(found - wanted):,} more"
    )


def is_good(verdict: Verdict) -> bool:
    """Tell whether each kind of fraud is found, and seldom anything else."""
    each = [verdict.everything, *verdict.by_kind.values()]
    return all(min(one.precision, one.recall) >= GOOD for one in each)


def verdict_lines(verdict: Verdict) -> list[str]:
    """Tell people how well the alerts have found the planted fraud."""
    rows = {"all": verdict.everything, **verdict.by_kind}
    told = [
        f"{kind:<9} found {one.found}/{one.cases}, precision {one.precision:.3f}, "
        f"recall {one.recall:.3f}"
        for kind, one in rows.items()
    ]
    money = verdict.everything
    lost, saved = money.lost_cents / 100, money.saved_cents / 100
    return [*told, f"the thieves got € {lost:,.0f}; saved: € {saved:,.0f}"]
