"""One operation of the real services, run with the answers that its ports gave so far.

What a process holds in its memory in the middle of an operation cannot be copied. But the services
are plain synchronous code that touches the world through its ports alone: what they do next
follows from the operation and from the answers so far. So an actor's state *is* those answers, and
its next call is found by running the operation again with them, until it asks for one more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.errors import HourhandError
from hourhand.domain.ticks.clock_skew import TimeSample
from hourhand.domain.times import floor_ms
from hourhand.memory import START
from hourhand.ports.job_store import Applied
from tests.world.runs import HandlerKilled

MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a port: a point at which anything else may happen first."""

    port: str
    method: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to: a value, or the error that it raised."""

    value: Any = None
    error: Exception | None = None


class Pending(HandlerKilled):
    """The operation asked for an answer that there is not yet. No code of it may catch this."""


@dataclass(slots=True)
class Script:
    """Answers the calls of one operation from the record, and stops it at the first new one.

    ``steps``: the answers so far, each with the instant (in ms since `START`) at which its caller
    went on. ``fixed``: returns the answer of a call that nobody's doings can change, or ``None``.
    ``last``: what the jobs table answered last, or that a port did not.
    """

    began_ms: int
    steps: list[tuple[Answer, int]]
    fixed: Callable[[Call], Answer | None]
    now_ms: int = field(init=False)
    next_call: Call | None = None
    reads_clock: bool = False
    last: Answer = Answer()
    complaints: list[str] = field(default_factory=list)
    _position: int = 0

    def __post_init__(self) -> None:
        self.now_ms = self.began_ms

    def ask(self, call: Call) -> Any:
        """Answer ``call``, or raise `Pending`; from then on every call does."""
        if self.next_call is not None:
            raise Pending
        answer = self.fixed(call)
        if answer is None:
            if self._position == len(self.steps):
                self.next_call = call
                raise Pending
            answer, self.now_ms = self.steps[self._position]
            self._position += 1
        if call.port == "jobs" or answer.error is not None:
            self.last = answer
        if answer.error is not None:
            raise answer.error
        return answer.value

    def read_clock(self) -> int:
        """Return the instant of the current step, in ms since `START`."""
        if self._position == len(self.steps):
            self.reads_clock = True
        return self.now_ms


class ScriptedPort:
    """A port whose every call goes to the script."""

    def __init__(self, name: str, script: Script) -> None:
        self._name = name
        self._script = script

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            plain = tuple(tuple(a) if isinstance(a, list) else a for a in args)
            return self._script.ask(Call(self._name, method, plain, tuple(sorted(kwargs.items()))))

        return call


class ScriptedJobs(ScriptedPort):
    """The jobs table; of many writes each is a call of its own, as on a table."""

    def put_many(self, jobs: Any) -> list[Any]:
        return [self._put(job) for job in jobs]

    def _put(self, job: Any) -> Any:
        try:
            return self._script.ask(Call("jobs", "put", (job,)))
        except HourhandError as error:
            return error

    def transition_many(self, moves: Any) -> list[Any]:
        asked = [self._script.ask(Call("jobs", "transition", (move,))) for move in moves]
        return [isinstance(result, Applied) for result in asked]

    def count_dead(self, _limit: int) -> int:
        return 0


class ScriptedQueues(ScriptedPort):
    """The queues; their own time is the true one, which is what an audit compares with."""

    def __init__(self, script: Script, clock: ScriptedClock, *, answers_probes: bool) -> None:
        super().__init__("queues", script)
        self._clock = clock
        self._answers_probes = answers_probes

    def probe_time(self) -> TimeSample | None:
        if not self._answers_probes:
            return None
        true = START + self._script.read_clock() * MILLISECOND
        shown = self._clock.now()
        return TimeSample(
            sent_at=shown,
            received_at=shown,
            server_earliest=true,
            server_latest=true + MILLISECOND,
        )


class ScriptedClock:
    """Implements `CorrectableClock`: it shows the instant of the actor's current step.

    To sleep is a call, made at the earliest when the time is over.
    """

    def __init__(self, script: Script, skew: timedelta) -> None:
        self._script = script
        self._ahead = skew

    def correct(self, offset: timedelta) -> None:
        self._ahead += offset

    def now(self) -> datetime:
        return floor_ms(START + self._script.read_clock() * MILLISECOND + self._ahead)

    def monotonic(self) -> float:
        return self._script.read_clock() / 1000

    def sleep(self, seconds: float) -> None:
        until_ms = self._script.read_clock() - (-seconds * 1000 // 1)
        self._script.ask(Call("clock", "sleep", (int(until_ms),)))
