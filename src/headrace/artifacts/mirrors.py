"""Where artifacts come from: the setting, the user's Maven settings, or Central."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from headrace.errors import SettingsError

CENTRAL = "central"


def remote_repository(mirror: str | None, maven_settings: Path | None = None) -> str:
    """Give the address of the repository to fetch from.

    Args:
        mirror: The mirror our own settings name, if any; it wins.
        maven_settings: The user's Maven settings, ``~/.m2/settings.xml`` by default.
    """
    if mirror:
        return mirror.rstrip("/")
    user_settings = maven_settings or Path.home() / ".m2" / "settings.xml"
    if user_settings.is_file():
        mirrors = _mirrors(user_settings)
        # As in Maven: a mirror of this very repository wins over any pattern.
        named = [url for mirror_of, url in mirrors if mirror_of == CENTRAL]
        others = [url for mirror_of, url in mirrors if _covers_central(mirror_of)]
        if named or others:
            return (named + others)[0].rstrip("/")
    # The resolver knows Maven Central's address; nothing of ours spells it out.
    from jgo.constants import MAVEN_CENTRAL_URL  # noqa: PLC0415

    return str(MAVEN_CENTRAL_URL)


def _mirrors(settings: Path) -> list[tuple[str, str]]:
    try:
        root = ET.parse(settings).getroot()  # noqa: S314 - the user's own file
    except ET.ParseError as error:
        raise SettingsError(
            "maven-settings-unreadable",
            "the Maven settings are not XML",
            detail=str(error),
            hint="mend the file, or set HEADRACE_MAVEN_MIRROR.",
            where=str(settings),
        ) from error
    found = []
    for mirror in root.iterfind("{*}mirrors/{*}mirror"):
        mirror_of = mirror.findtext("{*}mirrorOf", "").strip()
        url = mirror.findtext("{*}url", "").strip()
        blocked = mirror.findtext("{*}blocked", "").strip() == "true"
        if url and not blocked:
            found.append((mirror_of, url))
    return found


def _covers_central(mirror_of: str) -> bool:
    """Decide as Maven does: a list of names and wildcards, with ``!`` to exclude.

    Example:
        >>> _covers_central("*,!central"), _covers_central("external:*")
        (False, True)
    """
    names = [name.strip() for name in mirror_of.split(",")]
    if f"!{CENTRAL}" in names:
        return False
    return any(name in {CENTRAL, "*", "external:*"} for name in names)
