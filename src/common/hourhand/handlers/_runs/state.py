"""What the branches of one invocation of a durable run share: its lock, and how it was unwound."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from hourhand.domain.errors import QuotaExceeded, Unavailable, WrittenByNewer
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.runs.answers import RunEnds, RunLost, Suspension, Try, together
from hourhand.domain.runs.calls import FailStep
from hourhand.handlers._errors import NoStepKey, NotAwaited, Suspended, holds_suspension

T = TypeVar("T")

_OURS = str(Path(__file__).parent)

CURRENT_STEP: ContextVar[str | None] = ContextVar("hourhand_step", default=None)
"""The key of the step whose function runs."""


class StepKeyPlaceholder:
    """Stands for the key of a step among the arguments of ``ctx.step``, which replaces it."""

    def __repr__(self) -> str:
        return "<ctx.step_key>"

    def _refuse(self, *_: object) -> Any:
        raise NoStepKey(
            "ctx.step_key is known inside a step. Outside, hand it to ctx.step as an argument of "
            "the function."
        )

    __str__ = __format__ = __bytes__ = __hash__ = __eq__ = __add__ = __radd__ = _refuse


STEP_KEY = StepKeyPlaceholder()


def step_key() -> str:
    """Return the idempotency key of the step whose function runs. Raises `NoStepKey`."""
    key = CURRENT_STEP.get()
    if key is None:
        raise NoStepKey("step_key() is known inside the function of a step.")
    return key


@dataclass(frozen=True, slots=True)
class Restart:
    """The run begins again from the top with a new payload, as JSON text."""

    payload_text: str


LOOK_AGAIN = timedelta(seconds=5)
"""When a run is tried again whose records another worker changed, or could not be written."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Another worker has the run, or it ended; or its journal does not answer.

    ``retry_after``: when the run is tried again; later if a quota keeps its children out.
    """

    retry_after: timedelta = LOOK_AGAIN


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run was cancelled."""


Unwinding = Suspension | Restart | Lost | Stopped | ErrorInfo
"""Why a handler is unwound; an `ErrorInfo`: the run ends DEAD."""

_FIRST = (ErrorInfo, Lost, Stopped, Restart)


Reversal = tuple[str, tuple[str, ...], Callable[[Any, str], Any]]
"""The path of a step, its older names, and what it registered by ``compensate``."""


@dataclass(frozen=True, slots=True)
class RunningStep:
    """The step whose function runs, and when its time is over: then it fails as by ``overrun``."""

    attempt: Try
    overrun: Callable[[], FailStep]
    ends_at_monotonic: float


@dataclass(slots=True)
class RunState:
    """Shared by the context of an invocation and its branches.

    Engine calls of branches take turns under ``lock``. ``active``: calls of an async handler that
    neither ended nor wait for the others to end. ``reversals``: what the steps registered by
    ``compensate``, in the order of the calls. ``step``: the one that a sync handler runs; of
    several branches the one that began last. ``before_call``: of a test, called with the path of a
    step before its function; what it raises fails the step. ``passes``: of a test, what is no
    failure of the code that raised it: the death of a process, and an interruption from the
    keyboard. ``is_over``: the handler has ended, and nothing more is recorded. ``main``: the task
    of an async handler. ``not_awaited``: calls of it, by their ids.
    """

    is_async: bool = False
    unwindings: list[tuple[Unwinding, Any]] = field(default_factory=list)
    reversals: list[Reversal] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    step: RunningStep | None = None
    before_call: Callable[[str], None] | None = None
    passes: tuple[type[BaseException], ...] = ()
    is_over: bool = False
    active: int = 0
    idle: asyncio.Event | None = None
    main: asyncio.Task[Any] | None = None
    not_awaited: dict[int, object] = field(default_factory=dict)

    @property
    def unwinding(self) -> Unwinding | None:
        """Return why the handler was unwound; of several branches, what goes first."""
        noted = [why for why, _ in self.unwindings]
        for kind in _FIRST:
            for one in noted:
                if isinstance(one, kind):
                    return one
        waits: Sequence[Suspension] = [u for u in noted if isinstance(u, Suspension)]
        return together(waits) if waits else None

    def ask(self, call: Callable[[], T]) -> T | ErrorInfo | Lost:
        """Call the journal; return what ends the invocation instead of raising it.

        A journal that does not answer ends it, too: a handler that catches errors of its steps must
        not take that for one of them.
        """
        with self.lock:
            try:
                return Lost() if self.is_over else call()
            except RunEnds as ends:
                return ends.error
            except QuotaExceeded as over:
                return Lost(timedelta(seconds=over.retry_after_seconds))
            except (RunLost, Unavailable, WrittenByNewer):
                return Lost()

    def failure(self, error: BaseException) -> BaseException:
        """Return what user code raised; raise it again if it ends the invocation instead."""
        if holds_suspension(error) or isinstance(error, self.passes):
            raise error
        return error

    def require_awaited(self) -> None:
        """Refuse the end of a handler that did not await each of its calls."""
        for call in self.not_awaited.values():
            raise NotAwaited(
                f"The handler returned, and did not await {call} to its end. Write await before it."
            )

    def drop_lost(self) -> None:
        """Forget what branches wait for that lost a race since."""
        with self.lock:
            self.unwindings[:] = [
                (why, by)
                for why, by in self.unwindings
                if not (isinstance(why, Suspension) and by is not None and by.is_lost)
            ]

    def unwind(self, why: Unwinding, by: Any = None) -> Suspended:
        """Note why the handler is unwound, ``by`` which context; return what to raise."""
        with self.lock:
            self.unwindings.append((why, by))
        return Suspended(_told(why))


class PendingCall(Coroutine[Any, Any, Any]):
    """A call of the context. A handler that returns without an await of it fails.

    It has no truth value and is equal to nothing: an await is missing there.
    """

    def __init__(
        self, start: Callable[[], Coroutine[Any, Any, Any]], path: str, state: RunState
    ) -> None:
        """Take what carries the call out, its path, and the state of its run."""
        self._start, self._state = start, state
        self._running: Coroutine[Any, Any, Any] | None = None
        method, frame = "", sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
            method, frame = frame.f_code.co_name, frame.f_back
        file = Path(frame.f_code.co_filename).name
        self._what = f"{method}() of {path} in {file}, line {frame.f_lineno},"
        state.not_awaited[id(self)] = self

    def __str__(self) -> str:
        """Return which call it is, and where the code makes it."""
        return self._what

    def _refuse(self, *_: object) -> NoReturn:
        raise NotAwaited(
            f"The call {self} has no value until it is awaited. Write await before it."
        )

    __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = object.__hash__

    def __await__(self) -> Generator[Any, Any, Any]:
        """Carry the call out."""
        return self._begun().__await__()

    def send(self, value: Any) -> Any:
        """Go on, for a task whose coroutine this is."""
        return self._begun().send(value)

    def throw(self, *error: Any) -> Any:
        """Go on with an error, for a task whose coroutine this is."""
        begun = self._begun()
        self._note_if_left()
        return begun.throw(*error)

    def close(self) -> None:
        """Give the call up."""
        self._begun().close()

    def _begun(self) -> Coroutine[Any, Any, Any]:
        if self._running is None:
            del self._state.not_awaited[id(self)]
            self._running = self._carried_out()
        return self._running

    async def _carried_out(self) -> Any:
        try:
            return await self._start()
        except asyncio.CancelledError:
            self._note_if_left()
            raise

    def _note_if_left(self) -> None:
        """Count the call as not awaited if the handler has returned: its loop cancels the rest."""
        if self._state.main is not None and self._state.main.done():
            self._state.not_awaited[id(self)] = self


def _told(why: Any) -> str:
    return f"{type(why).__name__}: the run ends this invocation"
