"""Another model over the same traffic: replayed beside the pipeline, and compared."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from bank import headrace
from driving import PIPELINE, QUICK
from model import ALERT_ABOVE, PAYMENTS_ABOVE, Model
from sending import REHEARSAL

from headrace import ServiceError
from headrace.views.querying import query

ALERTED = f"payments > {PAYMENTS_ABOVE} or score > {ALERT_ABOVE}"


@dataclass(frozen=True)
class Judged:
    """What a version has judged: all transactions, and those that it alerts."""

    scored: Set[str]
    alerted: Set[str]

    @classmethod
    def read(cls, table: Path) -> Judged:
        """Read a table of scored transactions, without rehearsals."""
        asked = f"select transaction_id, {ALERTED} from scored"  # noqa: S608 - ours
        rows = [
            row
            for row in query(asked, {}, {"scored": table}).rows
            if not row[0].startswith(REHEARSAL)
        ]
        return cls({row[0] for row in rows}, {row[0] for row in rows if row[1]})


class Rollout:
    """A model that is tried before it judges anybody.

    Args:
        run_directory: Whose servers the pipeline uses.
        home: Where the checkpoint of the replay is kept.
        lake: Where the tables of scored transactions are.
        path: The model's file.
    """

    def __init__(self, run_directory: Path, home: Path, lake: Path, path: Path) -> None:
        self._run_directory, self._home, self._lake = run_directory, home, lake
        self._path = path
        self.model = Model.load(path)
        self.version = self.model.version

    def replay(self) -> None:
        """Run the pipeline with it over all that the topics hold.

        Raises:
            ServiceError: [replay-failed] it ended by an error.
        """
        command = [
            *(*headrace(), "replay", str(PIPELINE), "--as", self.version),
            *("--dir", str(self._run_directory)),
            *("--checkpoint", str(self._home / f"checkpoint-{self.version}")),
            *(f"--conf={name}={value}" for name, value in QUICK.items()),
        ]
        told = {"FRAUD_LAKE": str(self._lake), "FRAUD_MODEL": str(self._path)}
        done = subprocess.run(
            command,
            env=os.environ | told,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ServiceError(
                "replay-failed",
                f"the replay with model {self.model.version} has ended by an error",
                detail=done.stderr.strip()[-2000:],
                hint="mend what the detail names.",
            )

    def judged(self) -> Judged:
        """Give what the replay has judged."""
        return Judged.read(self._lake / f"scored-{self.version}")

    def lines(self, after: Judged) -> list[str]:
        """Tell people how what the replay has judged differs from the run."""
        before = Judged.read(self._lake / "scored")
        both = before.scored & after.scored
        one, other = before.alerted & both, after.alerted & both
        return [
            f"replayed with model {self.model.version}: {len(after.scored):,} scored, "
            f"{len(both):,} by both models",
            f"alerts: {len(one & other):,} by both, {len(one - other):,} by the old "
            f"one alone, {len(other - one):,} by the new one alone",
        ]
