"""What sinks on servers have in common: addresses without secrets, lawful names."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from headrace.errors import SettingsError, StepError


def without_password(address: str, setting: str) -> str:
    """Give an address that may be shown, logged and sent to executors.

    Raises:
        SettingsError: [password-in-address] the address holds a password.

    Example:
        >>> without_password("redis://ann@host:6379?password_file=/run/redis", "redis")
        'redis://ann@host:6379?password_file=/run/redis'
    """
    if urlsplit(address).password is not None:
        raise SettingsError(
            "password-in-address",
            f'setting "{setting}" holds a password',
            detail="addresses are logged, shown, and handed to every executor.",
            hint="write the password into a file and name it: "
            f"{setting_example(setting)}.",
        )
    return address


def setting_example(setting: str) -> str:
    """Show an address of a server with the password in a file."""
    scheme = {"opensearch": "https", "redis": "rediss"}[setting]
    return f"{scheme}://user@host?password_file=/path/to/file"


def require_target_name(
    name: str, pattern: str, rule: str, what: str, where: str
) -> None:
    """Refuse a name that a server would refuse in the first batch, or is ours.

    Args:
        name: What the user has chosen.
        pattern: What all of it must match.
        rule: The same in words.
        what: What it names, such as ``an index``.
        where: The line that declares it.

    Raises:
        StepError: [target-name-refused] it cannot have the name.
    """
    reserved = name.startswith(("headrace:", "headrace-"))
    if re.fullmatch(pattern, name) and not reserved:
        return
    raise StepError(
        "target-name-refused",
        f'"{name}" cannot be the name of {what}',
        detail="what begins with headrace holds the ledgers of pipelines."
        if reserved
        else rule,
        where=where,
    )
