"""What headrace remembers about a capture, kept in the connector's own settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

SETTING = "headrace.capture"


@dataclass(frozen=True)
class Notes:
    """What a capture was when it was last known to be whole.

    Args:
        tables: The captured tables.
        identity: By what the publication and its entries are known again.
        unfinished: The ends of the tables' topics, by partition, when a snapshot
            began whose rows have not been compared with what stood before them.
        database: The name by which the database's address is known, if it is not
            the capture's own.
        made_role: The role that we made for it; None if it was there before.

    Example:
        >>> notes = Notes(("public.users",), {"publication": "16402:755"})
        >>> Notes.read({"headrace.capture": notes.text}) == notes
        True
    """

    tables: tuple[str, ...]
    identity: dict[str, str] = field(default_factory=dict)
    unfinished: dict[str, dict[str, int]] | None = None
    database: str | None = None
    made_role: str | None = None

    @property
    def text(self) -> str:
        """The notes as the connector's setting holds them."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def read(config: Mapping[str, str]) -> Notes | None:
        """Read the notes from a connector's settings; None if it is not ours."""
        text = config.get(SETTING)
        if text is None:
            return None
        found = json.loads(text)
        return Notes(**(found | {"tables": tuple(found["tables"])}))
