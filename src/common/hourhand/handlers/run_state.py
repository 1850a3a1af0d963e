"""What the contexts of one invocation of a durable run share: its lock, and how it was unwound."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hourhand.domain.durable.calls import RunEnds, RunLost, StepOptions, Suspension, Try, together
from hourhand.domain.errors import Unavailable, WrittenByNewer
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.handlers._errors import NoStepKey, Suspended

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Lost:
    """Another worker has the run, or it ended; or its journal does not answer."""


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
    """The step whose function runs, and when its time is over."""

    attempt: Try
    options: StepOptions
    ends_at_monotonic: float


@dataclass(slots=True)
class RunState:
    """Shared by the context of an invocation and its branches.

    Engine calls of branches take turns under ``lock``. ``active``: calls of an async handler that
    neither ended nor wait for the others to end. ``reversals``: what the steps registered by
    ``compensate``, in the order of the calls. ``step``: the one that a sync handler runs; of
    several branches the one that began last. ``before_call``: of a test, called with the path of a
    step before its function; what it raises fails the step.
    """

    is_async: bool = False
    unwindings: list[Unwinding] = field(default_factory=list)
    reversals: list[Reversal] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    step: RunningStep | None = None
    before_call: Callable[[str], None] | None = None
    active: int = 0
    idle: asyncio.Event | None = None

    @property
    def unwinding(self) -> Unwinding | None:
        """Return why the handler was unwound; of several branches, what goes first."""
        for kind in _FIRST:
            for one in self.unwindings:
                if isinstance(one, kind):
                    return one
        waits: Sequence[Suspension] = [u for u in self.unwindings if isinstance(u, Suspension)]
        return together(waits) if waits else None

    def ask(self, call: Callable[[], T]) -> T | ErrorInfo | Lost:
        """Call the journal; return what ends the invocation instead of raising it.

        A journal that does not answer ends it, too: a handler that catches errors of its steps must
        not take that for one of them.
        """
        with self.lock:
            try:
                return call()
            except RunEnds as ends:
                return ends.error
            except (RunLost, Unavailable, WrittenByNewer):
                return Lost()

    def unwind(self, why: Unwinding) -> Suspended:
        """Note why the handler is unwound; return what to raise."""
        self.unwindings.append(why)
        return Suspended(_told(why))


def _told(why: Any) -> str:
    return f"{type(why).__name__}: the run ends this invocation"
