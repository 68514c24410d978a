"""OpenSearch as a sink: a document for each key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from headrace.errors import StepError
from headrace.schema.origin import declared_at
from headrace.schema.types import Record, Text, Unknown
from headrace.sinks.promises import Servers
from headrace.sinks.servers import given, require_target_name, without_password


@dataclass(frozen=True)
class OpenSearchSink:
    """An index to write to, behind an alias; each row is a document.

    What it promises is said in the words of `headrace.sinks.promises`.
    """

    index: str
    key: str | None
    full_text: tuple[str, ...]
    where: str

    system: ClassVar[str] = "opensearch"
    guarantees: ClassVar[tuple[str, ...]] = ("exactly-once",)
    same_key: ClassVar[str] = "replace"
    deletes: ClassVar[str] = "remove"
    atomic: ClassVar[bool] = False
    takes: ClassVar[str] = "documents"
    # Java's own HTTP client will do.
    artifacts: ClassVar[tuple[str, ...]] = ()

    @property
    def target(self) -> str:
        """The alias."""
        return f"OpenSearch index {self.index}"

    def settings(self, servers: Servers | None) -> dict[str, str]:
        """Give the server's address, the alias, and which texts are searched.

        Raises:
            ServiceError: [server-unknown] nobody knows an OpenSearch.
            SettingsError: [password-in-address] the address holds a password.
        """
        address = given(servers, "OpenSearch", self.where).opensearch()
        return {
            "address": without_password(address, "OpenSearch"),
            "index": self.index,
            "full_text": ",".join(self.full_text),
        }

    def require_columns(self, columns: Record, where: str) -> None:
        """Refuse to search the words of what is not a column of texts.

        Raises:
            StepError: [column-unknown] it is not among the columns;
                [types-differ] it holds no texts.
        """
        for name in self.full_text:
            if name not in columns:
                raise StepError(
                    "column-unknown",
                    f'the words of "{name}" are to be searched, which is not a column',
                    detail=f"the columns are {', '.join(columns.names)}.",
                    where=where,
                )
            kind = columns[name].type
            if not isinstance(kind, Text | Unknown):
                raise StepError(
                    "types-differ",
                    f'the words of "{name}" are to be searched, which is of type '
                    f"{kind.sql}",
                    hint="name columns of texts in full_text.",
                    where=where,
                )


def opensearch(
    index: str, *, key: str | None = None, full_text: Iterable[str] = ()
) -> OpenSearchSink:
    """Write rows to OpenSearch, each as the document whose id is its key.

    Args:
        index: The alias to write to. If it is missing, it is made, with an index
            ``<index>-000001`` behind it whose fields are the columns.
        key: The column that tells rows apart; by default the events' own key.
        full_text: Columns whose words can be searched for; other texts are found as
            a whole.

    Raises:
        StepError: [target-name-refused] the index cannot have the name.
    """
    where = declared_at()
    require_target_name(
        index,
        "[a-z0-9][a-z0-9._-]{0,199}",
        "small letters, digits, dots, dashes and underscores, a letter or digit "
        "first, 200 at the most.",
        "an index",
        where,
    )
    return OpenSearchSink(index, key, tuple(full_text), where)
