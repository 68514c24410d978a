"""The account that servers run as: the user's own, or an unprivileged one for root."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import MachineError, SettingsError
from headrace.settings import Settings, open_to_others


@dataclass(frozen=True)
class Account:
    """Who runs the servers; without numbers it is whoever runs the command."""

    uid: int | None = None
    gid: int | None = None

    def own(self, path: Path) -> None:
        """Give a file or directory to the account; a link is not followed."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def require_reach(self, path: Path) -> None:
        """Refuse a directory that lies behind a closed one.

        Raises:
            MachineError: [directory-closed] the servers' account cannot get there.
        """
        if self.uid is not None and not open_to_others(path):
            raise MachineError(
                "directory-closed",
                "the servers' account cannot reach a directory they need",
                detail="under root, servers run as an unprivileged user, and one of "
                "the directories above this one is closed to others.",
                hint="choose another with --dir, HEADRACE_CACHE_DIR or "
                "HEADRACE_JAVA_HOME, or open the directories above it (chmod o+x).",
                where=str(path),
            )


def service_account(settings: Settings) -> Account:
    """Choose the account: PostgreSQL and OpenSearch refuse root, none needs it.

    Raises:
        SettingsError: [service-user-unknown] the account does not exist.
    """
    if os.geteuid() != 0:
        return Account()
    try:
        entry = pwd.getpwnam(settings.service_user)
    except KeyError:
        raise SettingsError(
            "service-user-unknown",
            f'there is no account "{settings.service_user}"',
            hint="set HEADRACE_SERVICE_USER to an existing unprivileged account.",
        ) from None
    if entry.pw_uid == 0:
        raise SettingsError(
            "service-user-unknown",
            f'"{settings.service_user}" is root, which some servers refuse to run as',
            hint="set HEADRACE_SERVICE_USER to an existing unprivileged account.",
        )
    return Account(entry.pw_uid, entry.pw_gid)
