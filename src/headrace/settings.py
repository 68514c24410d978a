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
from pydantic_settings import SettingsError as UnparsableError

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


def _named_as_processes(ports: dict[str, int]) -> dict[str, int]:
    """Let ``HEADRACE_PORTS__KAFKA_1`` name kafka-1: shells allow no dash there."""
    return {name.replace("_", "-"): port for name, port in ports.items()}


Directory = Annotated[Path, AfterValidator(_absolute)]
Port = Annotated[int, Field(ge=1, le=65535)]


class Settings(BaseSettings):
    """What a user may choose; every field has a default that works.

    Example:
        >>> load_settings(ports={"kafka-1": 9092}).ports
        {'kafka-1': 9092}
    """

    model_config = SettingsConfigDict(
        env_prefix="HEADRACE_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
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
    class_archives: bool = Field(
        default=True,
        description="whether a JVM that starts without an archive of its classes has "
        "one made in the background, for the next start",
    )
    maven_mirror: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="a Maven repository to fetch from, instead of Maven Central",
    )
    bootstrap: str | None = Field(
        default=None,
        pattern=r"^[^\s,:]+:[0-9]{1,5}(,[^\s,:]+:[0-9]{1,5})*$",
        description="the Kafka to use, instead of the one that `headrace up` starts",
    )
    databases: dict[str, str] = Field(
        default_factory=dict,
        description="databases by the names that pipelines use for them, as "
        "postgresql://, mariadb:// or mysql:// addresses that point at a password file",
    )
    redis: str | None = Field(
        default=None,
        pattern=r"^rediss?://",
        description="the Redis to use, instead of the one that `headrace up` starts",
    )
    opensearch: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="the OpenSearch to use, instead of the one that `headrace up` "
        "starts",
    )
    connect: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="the Kafka Connect to use, instead of the one that `headrace up` "
        "starts",
    )
    service_user: str = Field(
        default="nobody", description="the account that runs the servers under root"
    )
    ports: Annotated[dict[str, Port], AfterValidator(_named_as_processes)] = Field(
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
        files = (project_file(), user_file())
        tomls = [_read(settings_cls, file) for file in files if file and file.is_file()]
        return init_settings, env_settings, *tomls


def _read(settings_cls: type[BaseSettings], file: Path) -> TomlConfigSettingsSource:
    try:
        return TomlConfigSettingsSource(settings_cls, toml_file=file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsError(
            "settings-unreadable",
            "a settings file cannot be read as TOML",
            detail=str(error),
            where=str(file),
        ) from error


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
    except UnparsableError as error:
        raise _rejected(str(error).lower(), None) from error
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        fact = f'setting "{name}" cannot be used: {first["msg"].lower()}'
        raise _rejected(fact, first["input"]) from error


def _rejected(fact: str, value: object) -> SettingsError:
    # An address may hold a password, so it is not repeated.
    shown = value is not None and "://" not in str(value)
    return SettingsError(
        "setting-rejected",
        fact,
        detail=f"the value was {value!r}." if shown else None,
        hint=f"the settings are: {', '.join(sorted(Settings.model_fields))}.",
    )
