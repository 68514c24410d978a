"""Settings: flag > ``HEADRACE_*`` > project ``headrace.toml`` > user file > default."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

from platformdirs import PlatformDirs
from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from headrace.errors import SettingsError

PROJECT_FILE = "headrace.toml"


def open_to_others(path: Path) -> bool:
    """Tell whether another account can reach `path` through its parents.

    Parents that do not exist yet count as open, since we create them open.
    """
    parents = [path, *path.parents]
    return all(p.stat().st_mode & 0o001 for p in parents if p.exists())


def _directories() -> PlatformDirs:
    # As root the servers run as an unprivileged account. Where root's home is
    # closed to it, the system's own directories are the next natural place.
    home_is_closed = os.geteuid() == 0 and not open_to_others(Path.home())
    return PlatformDirs("headrace", use_site_for_root=home_is_closed)


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


Directory = Annotated[Path, AfterValidator(_absolute)]
Port = Annotated[int, Field(ge=1, le=65535)]


class Settings(BaseSettings):
    """What a user may choose; every field has a default that works.

    Example:
        >>> load_settings(ports={"kafka": 9092}).ports
        {'kafka': 9092}
    """

    model_config = SettingsConfigDict(
        env_prefix="HEADRACE_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        validate_default=True,
    )

    cache_dir: Directory = Field(
        default_factory=lambda: _directories().user_cache_path,
        description="where fetched artifacts are kept, shared by all projects",
    )
    state_dir: Directory = Field(
        default_factory=lambda: _directories().user_state_path,
        description="where run directories are made",
    )
    java_home: Directory | None = Field(
        default=None, description="the Java to use, instead of JAVA_HOME and PATH"
    )
    maven_mirror: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="a Maven repository to fetch from, instead of Maven Central",
    )
    service_user: str = Field(
        default="nobody", description="the account that runs the servers under root"
    )
    ports: dict[str, Port] = Field(
        default_factory=dict, description="fixed ports by process; others are free ones"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources; ``.env`` files are not read: they surprise."""
        files = [user_file(), project_file()]
        existing = [file for file in files if file is not None and file.is_file()]
        toml = TomlConfigSettingsSource(settings_cls, toml_file=existing)
        return init_settings, env_settings, toml


def user_file() -> Path:
    """Give the path of the user's own settings file."""
    return PlatformDirs("headrace").user_config_path / "config.toml"


def project_file() -> Path | None:
    """Find the nearest ``headrace.toml``, from the working directory upwards."""
    here = Path.cwd()
    for directory in (here, *here.parents):
        if (directory / PROJECT_FILE).is_file():
            return directory / PROJECT_FILE
    return None


def load_settings(**flags: Any) -> Settings:
    """Read the settings from all their sources; a flag of None counts as unset.

    Raises:
        SettingsError: [settings-unreadable] a file is not TOML;
            [setting-rejected] a value cannot be used, or a name is not known.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings(**given)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            "settings-unreadable",
            "a settings file is not TOML",
            detail=str(error),
            where=", ".join(map(str, filter(None, (project_file(), user_file())))),
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        known = ", ".join(sorted(Settings.model_fields))
        raise SettingsError(
            "setting-rejected",
            f'setting "{name}" cannot be used: {first["msg"].lower()}',
            detail=f"the value was {first['input']!r}.",
            hint=f"the settings are: {known}.",
        ) from error
