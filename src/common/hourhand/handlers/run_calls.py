"""How a durable handler calls its context: the rules of calls, and what carries them out."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import math
import sys
import threading
from collections.abc import (
    Awaitable,
    Callable,
    Generator,
)
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hourhand.domain.durable.calls import (
    DEFAULT_STEP_SECONDS,
    NOW,
    StepOptions,
    Suspension,
)
from hourhand.domain.durable.names import PathNames
from hourhand.domain.jobs.job import ErrorInfo, Outcome
from hourhand.handlers._context import JobContext, StopReason
from hourhand.handlers._errors import (
    InvalidCall,
    NestedStep,
    StepTimeout,
    Suspended,
    UseBranch,
    holds_suspension,
)
from hourhand.handlers.run_state import (
    CURRENT_STEP,
    Lost,
    Restart,
    RunState,
    Stopped,
    Unwinding,
)
from hourhand.ports.durable_run import DurableRun
from hourhand.ports.handler_runner import Finished

LOOK_AGAIN = timedelta(seconds=5)
"""When a run is tried again whose records another worker changed, or could not be written."""


TURNS_BETWEEN_CALLS = 20
"""Turns of the event loop that a branch may take from the end of a call to its next one. A gather
within another takes three."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Call the journal."""

    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Sleep:
    """Sleep in place."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CallStep:
    """Call the function of a step."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    key: str
    timeout_seconds: float


Course = Generator[Ask | Sleep | CallStep, Any, Any]
"""What a call does, one command after the other; a sync or an async driver carries it out."""


@dataclass(kw_only=True, slots=True)
class RunCalls(JobContext):
    """What all calls of a durable handler share; `RunContext` has the calls."""

    run: DurableRun
    limit_seconds: float = math.inf
    state: RunState = field(default_factory=RunState)
    branch_path: str = ""
    _names: PathNames = field(init=False)
    _owner: object = field(default=None, init=False)
    _parent: RunCalls | None = None
    _unwound: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Count the names of this branch from the beginning."""
        self._names = PathNames(self.branch_path)

    @property
    def suspending(self) -> bool:
        """Whether the handler is being unwound: its ``finally`` clauses run at each suspension."""
        if self._unwound or (self._parent is not None and self._parent.suspending):
            return True
        # Another branch waits, and its suspension is passing through the clause that runs now.
        return bool(self.state.unwindings) and holds_suspension(sys.exc_info()[1])

    @property
    def limit_at_monotonic(self) -> float:
        """When the handler must stop: at its end, or at that of the step that runs."""
        step = self.state.step
        if step is None or self.state.is_async:
            return self.ends_at_monotonic
        return min(self.ends_at_monotonic, step.ends_at_monotonic)

    def unwound_as(self) -> Finished | None:
        """Return how the attempt ends of a handler that was unwound; else ``None``."""
        match self.state.unwinding:
            case None:
                return None
            case ErrorInfo() as error:
                return Finished(outcome=Outcome.FAILED, error=error)
            case Lost():
                return Finished(outcome=Outcome.SNOOZED, retry_after=LOOK_AGAIN)
            case Stopped():
                return Finished(outcome=Outcome.CANCELLED)
            case Restart(text):
                return Finished(outcome=Outcome.RESTARTED, payload_text=text)
            case Suspension() as suspension:
                return Finished(
                    outcome=Outcome.SUSPENDED,
                    suspension=suspension,
                    live_children=self.run.live_children(),
                )

    # --- rules ---

    def _asking(self, call: Callable[[], Any]) -> Course:
        return (yield Ask(call))

    def _bind(self, name: str) -> str:
        """Return the path of a call, at the moment of the call."""
        self._require_own()
        try:
            return self._names.next(name)
        except ValueError as error:
            raise InvalidCall(str(error)) from None

    def _require_own(self) -> None:
        """Refuse a call from a step, from another thread or task, or while unwinding."""
        if CURRENT_STEP.get() is not None:
            raise NestedStep("The function of a step must not call the context of its run.")
        caller: object = threading.get_ident()
        if self.state.is_async:
            caller = asyncio.current_task()
        if self._owner is None:
            self._owner = caller
        elif self._owner != caller:
            raise UseBranch(
                "A context of a durable run belongs to one thread or task. Give each other one "
                'a context of its own: ctx.branch("name").'
            )
        if self.suspending:
            raise Suspended("the run ends this invocation")

    def _require_running(self) -> None:
        """Unwind a handler that was asked to stop: nothing new begins."""
        if not self.cancelled:
            return
        match self.cancelled.reason:
            case StopReason.LOST:
                raise self._unwind(Lost())
            case StopReason.CANCELLED:
                raise self._unwind(Stopped())
            case _:
                raise self._unwind(NOW)

    def _unwind(self, why: Unwinding) -> Suspended:
        self._unwound = True
        return self.state.unwind(why)

    def suspended_with_branches(self) -> Suspended:
        """Return what to raise where a branch of this context was unwound."""
        self._unwound = True
        return Suspended("a branch ends this invocation")

    def _fits(self, options: StepOptions) -> bool:
        return self.remaining_seconds >= options.timeout_seconds

    def _step_seconds(self, timeout: float | None) -> float:
        if timeout is None:
            # Two such steps fit into an invocation, however short that is.
            return min(DEFAULT_STEP_SECONDS, self.limit_seconds / 2)
        if not 0 < timeout <= self.limit_seconds:
            raise InvalidCall(
                f"The timeout of a step must be above 0 s and at most that of its handler, "
                f"{self.limit_seconds:g} s, not {timeout!r}."
            )
        return float(timeout)

    # --- drivers ---

    def _carry_out(self, course: Course) -> Any:
        if self.state.is_async:
            return self.carry_out_async(course)
        return self.carry_out_now(course)

    def carry_out_now(self, course: Course) -> Any:
        """Carry a call out in this thread."""
        answer, error = None, None
        while True:
            try:
                command = course.throw(error) if error is not None else course.send(answer)
            except StopIteration as end:
                return end.value
            answer, error = None, None
            match command:
                case Ask(call):
                    answer = self._judged(self.state.ask(call))
                case Sleep(seconds):
                    self._rest(seconds)
                case CallStep():
                    try:
                        answer = _run_step(command)
                    except Exception as raised:  # noqa: BLE001 - the step's course judges it
                        error = raised
                    finally:
                        self.state.step = None

    async def carry_out_async(self, course: Course) -> Any:
        """Carry a call out in this task; the journal is called in threads."""
        state = self.state
        state.active += 1
        if state.idle is None:
            state.idle = asyncio.Event()
        state.idle.clear()
        try:
            return await self._follow(course)
        except Suspended:
            # The other branches go on until they wait, too: no call is cancelled half-way.
            state.active -= 1
            self._note_idle()
            await _until_idle(state)
            state.active += 1
            raise
        finally:
            state.active -= 1
            self._note_idle()

    def _note_idle(self) -> None:
        if self.state.active <= 0 and self.state.idle is not None:
            self.state.idle.set()

    async def _follow(self, course: Course) -> Any:
        answer, error = None, None
        while True:
            try:
                command = course.throw(error) if error is not None else course.send(answer)
            except StopIteration as end:
                return end.value
            answer, error = None, None
            match command:
                case Ask(call):
                    answer = self._judged(await asyncio.to_thread(self.state.ask, call))
                case Sleep(seconds):
                    await asyncio.to_thread(self._rest, seconds)
                case CallStep():
                    try:
                        answer = await _run_step_async(command)
                    except Exception as raised:  # noqa: BLE001 - the step's course judges it
                        error = raised

    def _judged(self, answer: Any) -> Any:
        if isinstance(answer, (ErrorInfo, Lost)):
            raise self._unwind(answer)
        return answer

    def _rest(self, seconds: float) -> None:
        """Sleep in place, unless the handler is asked to stop."""
        if self.cancelled.wait(seconds):
            self._require_running()


async def _until_idle(state: RunState) -> None:
    """Wait until no branch makes a call, nor is on its way from one call to the next."""
    assert state.idle is not None, "a call is under way"
    turns = 0
    while turns < TURNS_BETWEEN_CALLS:
        await state.idle.wait()
        await asyncio.sleep(0)
        turns = 0 if state.active > 0 else turns + 1


def _run_step(call: CallStep) -> Any:
    token = CURRENT_STEP.set(call.key)
    try:
        value = call.function(*call.args, **call.kwargs)
    finally:
        CURRENT_STEP.reset(token)
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise InvalidCall("An async function can only be a step of an async handler.")
    return value


async def _run_step_async(call: CallStep) -> Any:
    context = contextvars.copy_context()
    context.run(CURRENT_STEP.set, call.key)
    if not inspect.iscoroutinefunction(call.function):
        loop = asyncio.get_running_loop()
        value = await loop.run_in_executor(
            None, lambda: context.run(call.function, *call.args, **call.kwargs)
        )
        if not inspect.isawaitable(value):
            return value
        awaitable: Awaitable[Any] = value
    else:
        awaitable = call.function(*call.args, **call.kwargs)
    task = asyncio.get_running_loop().create_task(_awaiting(awaitable), context=context)
    try:
        return await asyncio.wait_for(task, call.timeout_seconds)
    except TimeoutError:
        if task.cancelled():
            raise StepTimeout(
                f"The step ran longer than its limit of {call.timeout_seconds:g} s."
            ) from None
        raise


async def _awaiting(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
