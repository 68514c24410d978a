"""What sinks on servers have in common: addresses without secrets, lawful names."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from headrace.errors import ServiceError, SettingsError, StepError
from headrace.sinks.promises import Servers


def given(servers: Servers | None, shown: str, where: str) -> Servers:
    """Give the servers, where a sink cannot do without.

    Args:
        servers: Where they are, if anybody has said it.
        shown: What is asked for, such as ``Redis``.
        where: The line that declares the sink.

    Raises:
        ServiceError: [server-unknown] nobody has said where they are.
    """
    if servers is None:
        raise ServiceError(
            "server-unknown",
            f"nobody has said where {shown} is",
            hint="give the servers' addresses, as `headrace run` does.",
            where=where,
        )
    return servers


def without_password(address: str, shown: str) -> str:
    """Give an address that may be shown, logged and sent to executors.

    Raises:
        SettingsError: [password-in-address] the address holds a password.

    Example:
        >>> without_password("redis://ann@host:6379?password_file=/run/redis", "Redis")
        'redis://ann@host:6379?password_file=/run/redis'
    """
    if urlsplit(address).password is not None:
        raise SettingsError(
            "password-in-address",
            f"the address of {shown} holds a password",
            detail="it would be seen in plans and logs.",
            hint="put it into a file (mode 600) that holds nothing else, and name the "
            "file in the address: ?password_file=/a/file.",
        )
    return address


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
