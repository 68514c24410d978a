"""A small client of Kafka Connect's REST interface."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import CaptureError

_SECONDS = 60
_REBALANCE_SECONDS = 60.0
_STATE_SECONDS = 90.0


@dataclass(frozen=True)
class ConnectorState:
    """What Connect says about a connector and its one task."""

    connector: str
    task: str | None
    trace: str | None

    @property
    def is_failed(self) -> bool:
        """Whether it has stopped for good."""
        return "FAILED" in (self.connector, self.task)

    @property
    def is_running(self) -> bool:
        """Whether the task was started and has not ended."""
        return (self.connector, self.task) == ("RUNNING", "RUNNING")

    @property
    def cause(self) -> str:
        """The innermost cause of a failure, in one line."""
        lines = [line.strip() for line in (self.trace or "").splitlines()]
        causes = [line for line in lines if line.startswith("Caused by: ")]
        line = causes[-1].removeprefix("Caused by: ") if causes else (lines or [""])[0]
        head, colon, rest = line.partition(": ")
        # The exception's class says nothing to a user that its message does not.
        said = rest if colon and " " not in head else line
        return said if len(said) <= 300 else f"{said[:300]}…"


@dataclass(frozen=True)
class _Answer:
    status: int
    body: Any

    @property
    def message(self) -> str:
        if isinstance(self.body, dict):
            return str(self.body.get("message", f"status {self.status}"))
        return f"status {self.status}"

    @property
    def is_passing(self) -> bool:
        """Whether the workers have refused it unseen, as they are just regrouping."""
        # Which of the two statuses it is depends on how far the request had come.
        return self.status == http.HTTPStatus.CONFLICT or (
            self.status == http.HTTPStatus.INTERNAL_SERVER_ERROR
            and "rebalance" in self.message
        )


class ConnectCluster:
    """Kafka Connect at an address, such as ``http://127.0.0.1:8083``."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")

    def connectors(self) -> dict[str, dict[str, str]]:
        """Give every connector with its settings.

        Raises:
            CaptureError: [connect-unreachable].
        """
        found = self._expected(self._ask("GET", "/connectors?expand=info"))
        return {name: dict(about["info"]["config"]) for name, about in found.items()}

    def plugins(self) -> set[str]:
        """Give the classes of the connectors that the worker could run.

        Raises:
            CaptureError: [connect-unreachable].
        """
        found = self._expected(self._ask("GET", "/connector-plugins"))
        return {plugin["class"] for plugin in found}

    def config(self, name: str) -> dict[str, str] | None:
        """Give a connector's settings, if it exists.

        Raises:
            CaptureError: [connect-unreachable].
        """
        answer = self._ask("GET", f"{_path(name)}/config")
        return None if answer.status == 404 else dict(self._expected(answer))

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Make a connector, or change its settings; it is started unless stopped.

        Raises:
            CaptureError: [connector-refused] Connect says no, and why;
                [connect-unreachable].
        """
        answer = self._ask("PUT", f"{_path(name)}/config", config)
        if answer.status == 400:
            raise CaptureError(
                "connector-refused",
                f'Kafka Connect does not take connector "{name}"',
                detail=_complaints(answer.message),
                hint="`headrace logs connect` shows what the worker logged.",
            )
        self._expected(answer)

    def state(self, name: str) -> ConnectorState | None:
        """Give a connector's state, if it exists.

        Raises:
            CaptureError: [connect-unreachable].
        """
        answer = self._ask("GET", f"{_path(name)}/status")
        if answer.status == 404:
            return None
        found = self._expected(answer)
        task: dict[str, str] = next(iter(found["tasks"]), {})
        trace = task.get("trace") or found["connector"].get("trace")
        return ConnectorState(found["connector"]["state"], task.get("state"), trace)

    def offset(self, name: str) -> dict[str, Any] | None:
        """Give the position that a connector has committed, if there is one.

        Raises:
            CaptureError: [connect-unreachable].
        """
        answer = self._ask("GET", f"{_path(name)}/offsets")
        if answer.status == 404:
            return None
        offsets = self._expected(answer)["offsets"]
        return dict(offsets[0]["offset"]) if offsets else None

    def forget_offset(self, name: str) -> None:
        """Let a stopped connector begin anew.

        Raises:
            CaptureError: [connect-unreachable].
        """
        self._expected(self._ask("DELETE", f"{_path(name)}/offsets"))

    def move(self, name: str, offset: Mapping[str, Any]) -> None:
        """Let a stopped connector that has a position go on from another one.

        Raises:
            CaptureError: [connect-unreachable].
        """
        path = f"{_path(name)}/offsets"
        found = self._expected(self._ask("GET", path))["offsets"][0]
        self._expected(
            self._ask("PATCH", path, {"offsets": [{**found, "offset": offset}]})
        )

    def stop(self, name: str) -> None:
        """End a connector's task, and return once it has ended.

        Raises:
            CaptureError: [connect-unreachable] also if it does not end in time.
        """
        self._move(name, "stop", lambda state: state.task is None, "STOPPED")

    def pause(self, name: str) -> None:
        """Let a connector's task wait; it keeps its place in the database.

        Raises:
            CaptureError: [connect-unreachable] also if it does not wait in time.
        """
        self._move(name, "pause", lambda state: state.task == "PAUSED", "PAUSED")

    def resume(self, name: str) -> None:
        """Let a stopped or paused connector go on.

        Raises:
            CaptureError: [connect-unreachable].
        """
        self._expected(self._ask("PUT", f"{_path(name)}/resume"))

    def restart(self, name: str) -> None:
        """Start a connector and its task anew, if they have failed.

        Raises:
            CaptureError: [connect-unreachable].
        """
        path = f"{_path(name)}/restart?includeTasks=true&onlyFailed=true"
        self._expected(self._ask("POST", path))

    def delete(self, name: str) -> None:
        """Remove a connector; harmless if it is not there.

        Raises:
            CaptureError: [connect-unreachable].
        """
        answer = self._ask("DELETE", _path(name))
        if answer.status != 404:
            self._expected(answer)

    def _move(
        self, name: str, verb: str, done: Callable[[ConnectorState], bool], aim: str
    ) -> None:
        self._expected(self._ask("PUT", f"{_path(name)}/{verb}"))
        deadline = time.monotonic() + _STATE_SECONDS
        while True:
            state = self.state(name)
            if state is None or (state.connector == aim and done(state)):
                return
            if time.monotonic() > deadline:
                raise self._unreachable(f'"{name}" did not {verb} in time.')
            time.sleep(0.1)

    def _expected(self, answer: _Answer) -> Any:
        if not 200 <= answer.status < 300:
            raise self._unreachable(f"it answered: {_complaints(answer.message)}")
        return answer.body

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> _Answer:
        """Ask, and ask again while the workers agree on who does what."""
        deadline = time.monotonic() + _REBALANCE_SECONDS
        while True:
            answer = self._ask_once(method, path, body)
            if not answer.is_passing or time.monotonic() > deadline:
                return answer
            time.sleep(0.2)

    def _ask_once(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> _Answer:
        request = urllib.request.Request(  # noqa: S310 - the user's own address
            self.address + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        try:
            with _opener(self.address).open(request, timeout=_SECONDS) as answer:
                text = answer.read()
                return _Answer(answer.status, json.loads(text) if text else None)
        except urllib.error.HTTPError as error:
            with error:
                said = _object(error.read())
            # Its server listens before it knows any path, and then nothing is found.
            if error.code == http.HTTPStatus.NOT_FOUND and "error_code" not in said:
                raise self._unreachable("it is starting.") from error
            return _Answer(error.code, said)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._unreachable(f"{error}.") from error

    def _unreachable(self, detail: str) -> CaptureError:
        return CaptureError(
            "connect-unreachable",
            f"Kafka Connect at {self.address} does not answer as it should",
            detail=detail,
            hint="start it (headrace up connect), or mend its address.",
        )


def _path(name: str) -> str:
    return f"/connectors/{urllib.parse.quote(name, safe='')}"


def _object(body: bytes) -> dict[str, Any]:
    """Read an error's body, which need not be JSON where a proxy answers."""
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _complaints(message: str) -> str:
    """Leave out what Connect says around the reasons."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    reasons = [
        line
        for line in lines
        if not line.startswith(("Connector configuration is invalid", "You can also"))
    ]
    return "\n".join(reasons) or message


def _opener(address: str) -> urllib.request.OpenerDirector:
    # A proxy set for the outside must not see loopback traffic.
    host = urllib.parse.urlsplit(address).hostname
    loopback = host in {"127.0.0.1", "localhost", "::1"}
    handlers = [urllib.request.ProxyHandler({})] if loopback else []
    return urllib.request.build_opener(*handlers)
