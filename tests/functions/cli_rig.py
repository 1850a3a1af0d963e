"""The command line over the whole system in memory: real verbs, real client, real API.

Time is the world's: whatever a verb waits for, the world goes on meanwhile.
"""

from __future__ import annotations

import functools
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
import typer.main

from hourhand.api.app import App, create_app
from hourhand.cli.connection import Connection
from hourhand.cli.main import main
from hourhand.cli.session import Session
from hourhand.client import Client
from hourhand.domain.jobs.job import ErrorInfo, Outcome
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Finished
from tests.functions.api_client import ApiClient
from tests.world.runs import Behaviour, succeed
from tests.world.world import World

ENDPOINT = "http://api.test"

HOSTILE = "\x1b[2J\x1b]0;owned\x07[red]x[/]\u202e\r"
COMMANDS = {"\x1b[2J", "\x1b]", "\x07", "\u202e", "\r"}
Answer = Callable[[httpx.Request], httpx.Response]


def one_command_tree() -> Iterator[None]:
    """Let Typer make the commands of an app once; it would make them anew for each command line."""
    once = functools.cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", once)
        patch.setattr("typer.testing._get_command", once)
        yield


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[Any]:
        """What was printed as JSON, line by line."""
        return [json.loads(line) for line in self.out.splitlines()]


class _Stream(io.TextIOWrapper):
    """A standard stream, of a terminal or not."""

    def __init__(self, content: str, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(content.encode()), encoding="utf-8", newline="")
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal

    @property
    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


class WorldClock:
    """The world's time, in which the world lives while somebody sleeps."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.behaviour: Behaviour = succeed
        self.interrupts_after: int | None = None
        self.now, self.monotonic = world.clock.now, world.clock.monotonic

    def sleep(self, seconds: float) -> None:
        if self.interrupts_after is not None:
            self.interrupts_after -= 1
            if self.interrupts_after < 0:
                raise KeyboardInterrupt
        self.world.deliver(self.behaviour)
        self.world.advance(seconds)


@dataclass(repr=False)
class Shell:
    """Types commands. ``answer`` may be replaced by a test that wants an API that fails."""

    world: World
    monkeypatch: pytest.MonkeyPatch
    clock: WorldClock = field(init=False)
    answer: Answer = field(init=False)
    api: ApiClient = field(init=False)
    requests: list[httpx.Request] = field(default_factory=list)

    @classmethod
    def over(cls, app: App, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Shell:
        """Return a shell over an app in place of a world."""
        shell = cls.__new__(cls)
        shell.monkeypatch, shell.requests, shell.api = monkeypatch, [], ApiClient(app)
        shell._begin(clock)
        return shell

    def __post_init__(self) -> None:
        self.clock = WorldClock(self.world)
        self.api = ApiClient(create_app(self.world.api))
        self._begin(self.clock)

    def _begin(self, clock: Clock) -> None:
        self.answer = self.answer_as_api
        self._lock = threading.Lock()
        self.monkeypatch.setattr(
            "hourhand.cli.verbs.Session", functools.partial(Session, clock=clock)
        )
        self._clock = clock
        self.monkeypatch.setattr(Connection, "open", lambda _: self._open())
        for name, value in {"COLUMNS": "100", "LINES": "30", "TERM": "xterm"}.items():
            self.monkeypatch.setenv(name, value)
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            self.monkeypatch.delenv(name, raising=False)

    def _open(self) -> Client:
        transport = httpx.MockTransport(self._answer_one)
        return Client(ENDPOINT, auth="none", transport=transport, clock=self._clock)

    def _answer_one(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            self.requests.append(request)
            return self.answer(request)

    def answer_as_api(self, request: httpx.Request) -> httpx.Response:
        """Answer as the API does, by the world."""
        text = request.content.decode() if request.content else None
        path, mark, query = request.url.raw_path.decode().partition("?")
        # API Gateway hands the function its path decoded.
        target = f"{unquote(path)}{mark}{query}"
        answer = self.api.send(request.method, target, text=text)
        return httpx.Response(answer.status, headers=answer.headers, text=answer.text)

    def type(self, *arguments: str, stdin: str = "", is_terminal: bool = False) -> Ran:
        """Run ``hourhand`` with these arguments."""
        out, err = (_Stream("", is_terminal=is_terminal) for _ in range(2))
        with self.monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["hourhand", *arguments])
            patch.setattr(sys, "stdin", _Stream(stdin, is_terminal=is_terminal))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            with pytest.raises(SystemExit) as ended:
                main()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, out.text, err.text)

    def submit(self, **body: Any) -> str:
        """Submit a job behind the command line's back; return its id."""
        return str(self.api.submit(**body)["id"])

    def die(
        self, *, times: int = 1, error: str = "ValueError", message: str = "boom", **body: Any
    ) -> list[str]:
        """Let jobs be submitted that die at their first attempt; return their ids."""
        ids = [self.submit(retry={"max_attempts": 1}, **body) for _ in range(times)]
        self.world.deliver(raising(error, message))
        return ids


def raising(error_type: str, message: str) -> Behaviour:
    """Return a handler that raises."""
    error = ErrorInfo(type=error_type, message=message, traceback="line 7, in greet")
    return lambda _job, _pulse: Finished(outcome=Outcome.FAILED, error=error)


HOURLY = ("-x", "0 * * * *", "--handler", "greet")
PAST = ("--from", "2026-01-05T00:00Z", "--to", "2026-01-05T05:00Z")


def put(shell: Shell, schedule_id: str = "nightly", *flags: str) -> Any:
    """Put a schedule, an hourly one unless told otherwise, and return it."""
    ran = shell.type("schedules", "put", schedule_id, *(flags or HOURLY), "--json")
    assert ran.code == 0, ran.err
    return ran.objects[0]


def asked(shell: Shell) -> Any:
    """Return the body of the last request."""
    return json.loads(shell.requests[-1].content)
