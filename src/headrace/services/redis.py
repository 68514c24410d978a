"""Redis, with its data on disk."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from headrace.artifacts import platform_tag
from headrace.artifacts.unpack import extract_program, unpack
from headrace.services.ports import LOOPBACK
from headrace.services.process import Command
from headrace.services.service import NotReadyError, Service, Site


class Redis(Service):
    """One server that appends every write to a file."""

    name: ClassVar[str] = "redis"

    def artifacts(self) -> tuple[str, ...]:
        """Give the jar that carries the server's program."""
        return ("redis",)

    def prepare(self, site: Site, process: str) -> None:
        """Write the server's configuration."""
        site.make(process, "data")
        settings = {
            "bind": LOOPBACK,
            "port": site.port(process),
            "dir": "data",
            "appendonly": "yes",
            # With "everysec", a slow disk lets it answer before it has written at all.
            "appendfsync": "always",
            "save": '""',
            "maxmemory": "512mb",
            # A full store refuses writes, which is seen; evicted keys are not.
            "maxmemory-policy": "noeviction",
        }
        site.write(
            process,
            "redis.conf",
            "".join(f"{key} {value}\n" for key, value in settings.items()),
        )

    def command(self, site: Site, process: str) -> Command:
        """Run the server in the foreground of its own session."""
        return Command([_program(site), "redis.conf"])

    def check(self, site: Site) -> None:
        """Send a ping, and ask which process answers."""
        import redis  # noqa: PLC0415 - only `up` and `status` need it

        try:
            with redis.Redis.from_url(self.address(site), socket_timeout=5) as client:
                # It tells of itself while it still reads its file, and nothing else.
                client.ping()
                answering = client.info("server")["process_id"]
        except redis.RedisError as error:
            raise NotReadyError(str(error)) from error
        if answering != site.process(self.name).pid:
            raise NotReadyError(f"another process answers: {answering}")

    def address(self, site: Site) -> str:
        """Give the connection string."""
        return f"redis://{LOOPBACK}:{site.port(self.name)}"


def _program(site: Site) -> Path:
    (archive,) = site.jars("redis")
    extract = extract_program(f"-{platform_tag()}", "redis-server")
    return unpack(archive, extract, site.settings.cache_dir) / "redis-server"
