"""How a durable handler calls its context: the rules of calls, and what carries them out."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hourhand.domain.durable.calls import (
    DEFAULT_STEP_SECONDS,
    NOW,
    StepOptions,
    Suspension,
)
from hourhand.domain.durable.names import PathNames
from hourhand.domain.durable.run_calls import LiveChildren, RunCall
from hourhand.domain.jobs.job import ErrorInfo, Outcome
from hourhand.handlers._context import JobContext, StopReason
from hourhand.handlers._errors import (
    BranchLost,
    InvalidCall,
    NestedStep,
    StepTimeout,
    Suspended,
    UseBranch,
    holds_suspension,
)
from hourhand.handlers.run_arguments import checked_text
from hourhand.handlers.run_pending_call import PendingCall
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

TURNS_BETWEEN_CALLS = 20
"""Turns of the event loop that a branch may take from the end of a call to its next one. A gather
within another takes three."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Make several calls of the run as one: no other branch makes one between them."""

    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Sleep:
    """Sleep in place."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CallStep:
    """Call the function of a step; the answer is its result as JSON text, or `Raised`."""

    path: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    key: str
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Raised:
    """Why a step has no result. ``is_unknown``: its function may have had its effect."""

    error: BaseException
    is_unknown: bool = False


Course = Generator[RunCall[Any] | Ask | Sleep | CallStep, Any, Any]
"""What a call does, one command after the other; a sync or an async driver carries it out."""


@dataclass(kw_only=True, slots=True)
class RunCalls(JobContext):
    """What all calls of a durable handler share; `RunContext` has the calls."""

    run: DurableRun
    state: RunState = field(default_factory=RunState)
    branch_path: str = ""
    has_lost: bool = field(default=False, init=False)
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
    def is_lost(self) -> bool:
        """Whether it belongs to a branch that lost a race, which makes no new call."""
        return self.has_lost or (self._parent is not None and self._parent.is_lost)

    @property
    def limit_at_monotonic(self) -> float:
        """When the handler must stop: at its end, or at that of the step that runs."""
        step = self.state.step
        if step is None or self.state.is_async:
            return self.ends_at_monotonic
        return min(self.ends_at_monotonic, step.ends_at_monotonic)

    def refuse_calls(self) -> None:
        """Refuse further calls, also of branches, once the one that is under way has ended."""
        with self.state.lock:
            self.state.is_over = True

    def unwound_as(self) -> Finished | None:
        """Return how the attempt ends of a handler that was unwound; else ``None``."""
        match self.state.unwinding:
            case None:
                return None
            case ErrorInfo() as error:
                return Finished(outcome=Outcome.FAILED, error=error)
            case Lost(retry_after):
                return Finished(outcome=Outcome.SNOOZED, retry_after=retry_after)
            case Stopped():
                return Finished(outcome=Outcome.CANCELLED)
            case Restart(text):
                return Finished(outcome=Outcome.RESTARTED, payload_text=text)
            case Suspension() as suspension:
                return Finished(
                    outcome=Outcome.SUSPENDED,
                    suspension=suspension,
                    live_children=self.run.answer(LiveChildren()),
                )

    # --- rules ---

    def _asking(self, call: RunCall[Any] | Callable[[], Any]) -> Course:
        return (yield call if isinstance(call, RunCall) else Ask(call))

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
            if self.state.is_async and self._parent is None:
                self.state.main = asyncio.current_task()
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
        if self.is_lost and not isinstance(why, ErrorInfo):
            return BranchLost("another branch won")
        return self.state.unwind(why, self)

    unwind = _unwind

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

    def _carry_out(self, path: str, course: Course) -> Any:
        if self.state.is_async:
            return PendingCall(lambda: self.carry_out_async(course), path, self.state)
        return self.carry_out_now(course)

    def carry_out_now(self, course: Course) -> Any:
        """Carry a call out in this thread."""
        answer: Any = None
        # A call that had begun when its branch lost is carried out to its end.
        is_lost = self.is_lost
        while True:
            try:
                command = course.send(answer)
            except StopIteration as end:
                return end.value
            match command:
                case RunCall():
                    answer = self._asked(partial(self.run.answer, command), is_lost=is_lost)
                case Ask(call):
                    answer = self._asked(call, is_lost=is_lost)
                case Sleep(seconds):
                    self._rest(seconds)
                case CallStep():
                    try:
                        answer = self._called(command)
                    finally:
                        self.state.step = None
                    if inspect.isawaitable(answer):
                        if inspect.iscoroutine(answer):
                            answer.close()
                        error = InvalidCall(
                            "An async function can only be a step of an async handler."
                        )
                        has_run = not inspect.iscoroutinefunction(command.function)
                        answer = Raised(error, is_unknown=has_run)

    async def carry_out_async(self, course: Course) -> Any:
        """Carry a call out in this task; the journal is called in threads."""
        state = self.state
        state.active += 1
        if state.idle is None:
            state.idle = asyncio.Event()
        state.idle.clear()
        try:
            return await self._follow(course)
        except BranchLost:
            raise
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
        answer: Any = None
        is_lost = self.is_lost
        while True:
            try:
                command = course.send(answer)
            except StopIteration as end:
                return end.value
            match command:
                case RunCall():
                    call = partial(self.run.answer, command)
                    answer = await asyncio.to_thread(self._asked, call, is_lost=is_lost)
                case Ask(call):
                    answer = await asyncio.to_thread(self._asked, call, is_lost=is_lost)
                case Sleep(seconds):
                    answer = await asyncio.to_thread(self._rest, seconds)
                case CallStep():
                    context = contextvars.copy_context()
                    context.run(CURRENT_STEP.set, command.key)
                    # Not raised: an exit of the interpreter would end the loop with all branches.
                    if inspect.iscoroutinefunction(command.function):
                        answer = context.run(self._called, command)
                    else:
                        answer = await asyncio.get_running_loop().run_in_executor(
                            None, context.run, self._called, command
                        )
                    if inspect.isawaitable(answer):
                        answer = await self._awaited(command, answer, context)

    def _called(self, call: CallStep) -> Any:
        """Call the function of a step; return its result as text, an awaitable, or `Raised`."""
        token = CURRENT_STEP.set(call.key)
        try:
            if self.state.before_call is not None:
                self.state.before_call(call.path)
            value = call.function(*call.args, **call.kwargs)
            return value if inspect.isawaitable(value) else _kept(value)
        except BaseException as error:  # noqa: BLE001 - whatever it raised is its failure
            return Raised(self.state.failure(error))
        finally:
            CURRENT_STEP.reset(token)

    async def _awaited(
        self, call: CallStep, awaitable: Awaitable[Any], context: contextvars.Context
    ) -> str | Raised:
        """Await what the function of a step returned, in a task: a cancel of it is a failure."""

        async def ended() -> str | Raised:
            try:
                return _kept(await awaitable)
            except BaseException as error:  # noqa: BLE001 - it is judged outside of the task
                return Raised(error)

        task = asyncio.get_running_loop().create_task(ended(), context=context)
        is_late = False
        try:
            await asyncio.wait({task}, timeout=call.timeout_seconds)
            is_late = not task.done()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        answer = task.result()
        if isinstance(answer, Raised):
            if is_late and isinstance(answer.error, asyncio.CancelledError):
                limit = f"{call.timeout_seconds:g} s"
                return Raised(StepTimeout(f"The step ran longer than its limit of {limit}."))
            self.state.failure(answer.error)
        return answer

    def _asked(self, call: Callable[[], Any], *, is_lost: bool) -> Any:
        """Call the journal; for a branch that had lost before, without any write."""
        if is_lost:
            call = partial(self.run.replaying, call)
        return self._judged(self.state.ask(call))

    def _judged(self, answer: Any) -> Any:
        if isinstance(answer, (ErrorInfo, Lost)):
            # A call that comes too late does not change how the handler ended.
            raise Suspended("the handler has ended") if self.state.is_over else self._unwind(answer)
        return answer

    def _rest(self, seconds: float) -> None:
        """Sleep in place, unless the handler is asked to stop."""
        if self.cancelled.wait(seconds):
            self._require_running()


def _kept(value: Any) -> str | Raised:
    """Return the result of a step as JSON text; its function has had its effect in any case."""
    try:
        return checked_text(value)
    except Exception as error:  # noqa: BLE001 - the value's own code may raise anything
        return Raised(error, is_unknown=True)


async def _until_idle(state: RunState) -> None:
    """Wait until no branch makes a call, nor is on its way from one call to the next."""
    assert state.idle is not None, "a call is under way"
    turns = 0
    while turns < TURNS_BETWEEN_CALLS:
        await state.idle.wait()
        await asyncio.sleep(0)
        turns = 0 if state.active > 0 else turns + 1
