"""How the calls of a durable handler are made: the rules of calls, and what carries them out."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from hourhand.domain.jobs.job import ErrorInfo, Outcome
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.answers import NOW, Suspension
from hourhand.domain.runs.calls import LiveChildren, OpenBranch, RunCall
from hourhand.domain.runs.names import PathNames
from hourhand.handlers._context import Attempt, StopReason
from hourhand.handlers._errors import (
    BranchLost,
    InvalidCall,
    NestedStep,
    StepTimeout,
    Suspended,
    UseBranch,
    holds_suspension,
)
from hourhand.handlers._results import kept_text
from hourhand.handlers._runs.state import (
    CURRENT_STEP,
    STEP_KEY,
    Lost,
    PendingCall,
    Restart,
    RunState,
    Stopped,
    Unwinding,
)
from hourhand.ports.durable_run import DurableRun
from hourhand.ports.handler_runner import Finished

R = TypeVar("R")

ANY_CHILD = Suspension(WaitKind.CHILDREN)
"""The run waits for the end of any of its children."""

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
class StepFunction:
    """The function of a step, and its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_async(self) -> bool:
        """Whether a call of it only makes a coroutine, and has no effect yet."""
        return inspect.iscoroutinefunction(self.function)

    def __call__(self, key: str) -> Any:
        """Call it with the key of its step where the arguments have `STEP_KEY`."""
        args = (key if arg is STEP_KEY else arg for arg in self.args)
        kwargs = {name: key if arg is STEP_KEY else arg for name, arg in self.kwargs.items()}
        return self.function(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class CallStep:
    """Call the function of a step; the answer is its result as JSON text, or `Raised`."""

    path: str
    function: StepFunction
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
class Branch(Attempt):
    """A branch of a run, in one invocation: it makes the calls of one `RunContext`.

    ``path``: what its paths begin with; empty for the run itself.
    """

    run: DurableRun
    state: RunState = field(default_factory=RunState)
    path: str = ""
    parent: Branch | None = None
    has_lost: bool = field(default=False, init=False)
    names: PathNames = field(init=False)
    _owner: object = field(default=None, init=False)
    _unwound: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Count the names of this branch from the beginning."""
        self.names = PathNames(self.path)

    def open(self, path: str) -> Branch:
        """Return a branch of this one, after noting that the handler came to it."""
        self.run.answer(OpenBranch(path))
        return self.below(f"{path}/")

    def below(self, path: str) -> Branch:
        """Return a branch of this one whose paths begin with ``path``."""
        return replace(self, path=path, parent=self)

    @property
    def suspending(self) -> bool:
        """Whether the handler is being unwound: its ``finally`` clauses run at each suspension."""
        if self._unwound or (self.parent is not None and self.parent.suspending):
            return True
        # Another branch waits, and its suspension is passing through the clause that runs now.
        return bool(self.state.unwindings) and holds_suspension(sys.exc_info()[1])

    @property
    def is_lost(self) -> bool:
        """Whether it belongs to a branch that lost a race, which makes no new call."""
        return self.has_lost or (self.parent is not None and self.parent.is_lost)

    @property
    def limit_at_monotonic(self) -> float:
        """When the handler must stop: at its end, or at that of the step that runs."""
        step = self.state.step
        if step is None or self.state.is_async:
            return self.ends_at_monotonic
        return min(self.ends_at_monotonic, step.ends_at_monotonic)

    def before_end(self) -> None:
        """Suspend a run that returned while attached children live: it ends after them."""
        if self.state.unwinding is None:
            self.state.require_awaited()
            self.refuse_calls()
            self.require_no_children()

    def require_no_children(self) -> None:
        """Suspend while attached children of the run live."""
        if self.run.answer(LiveChildren()):
            raise self.unwind(ANY_CHILD)

    def refuse_calls(self) -> None:
        """Refuse further calls, also of branches, once the one that is under way has ended."""
        with self.state.lock:
            self.state.is_over = True

    def step_overran(self, *, still_runs: bool) -> Finished | None:
        """Record that the step that runs failed for its time, from the thread that watches.

        Return how the attempt ends, ``None`` where no step ran too long. The run goes on in another
        invocation: a step that hangs uses up its own tries and not those of the run.
        """
        step = self.state.step
        if step is None or self.monotonic() < step.ends_at_monotonic:
            return None
        self.state.step = None
        answer = self.state.ask(partial(self.run.answer, step.overrun()))
        # What the function does from now on finds the attempt recorded, and is refused.
        self.unwind(answer if isinstance(answer, (ErrorInfo, Lost)) else NOW)
        unwound = self.unwound_as()
        return None if unwound is None else replace(unwound, still_runs=still_runs)

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

    def bind(self, name: str) -> str:
        """Return the path of a call, at the moment of the call."""
        self.require_own()
        try:
            return self.names.next(name)
        except ValueError as error:
            raise InvalidCall(str(error)) from None

    def require_own(self) -> None:
        """Refuse a call from a step, from another thread or task, or while unwinding."""
        if CURRENT_STEP.get() is not None:
            raise NestedStep("The function of a step must not call the context of its run.")
        caller: object = threading.get_ident()
        if self.state.is_async:
            caller = asyncio.current_task()
        if self._owner is None:
            self._owner = caller
            if self.state.is_async and self.parent is None:
                self.state.main = asyncio.current_task()
        elif self._owner != caller:
            raise UseBranch(
                "A context of a durable run belongs to one thread or task. Give each other one "
                'a context of its own: ctx.branch("name").'
            )
        if self.suspending:
            raise Suspended("the run ends this invocation")

    def require_running(self) -> None:
        """Unwind a handler that was asked to stop: nothing new begins."""
        if not self.cancelled:
            return
        match self.cancelled.reason:
            case StopReason.LOST:
                raise self.unwind(Lost())
            case StopReason.CANCELLED:
                raise self.unwind(Stopped())
            case _:
                raise self.unwind(NOW)

    def unwind(self, why: Unwinding) -> Suspended:
        """Note why the handler is unwound; return what to raise."""
        self._unwound = True
        if self.is_lost and not isinstance(why, ErrorInfo):
            return BranchLost("another branch won")
        return self.state.unwind(why, self)

    def suspended_with_branches(self) -> Suspended:
        """Return what to raise where a branch of this context was unwound."""
        self._unwound = True
        return Suspended("a branch ends this invocation")

    # --- drivers ---

    def carry_out(self, path: str, course: Course) -> Any:
        """Carry a call out: at once, or, for an ``async`` handler, once it is awaited."""
        if self.state.is_async:
            return PendingCall(lambda: self.carry_out_async(course), path, self.state)
        return self.carry_out_now(course)

    def answer_now(self, call: RunCall[R]) -> R:
        """Make one call of the run in this thread, and return its answer."""
        answer: R = self.carry_out_now(asking(call))
        return answer

    async def answer_async(self, call: RunCall[R]) -> R:
        """Make one call of the run in this task, and return its answer."""
        answer: R = await self.carry_out_async(asking(call))
        return answer

    def carry_out_now(self, course: Course) -> Any:
        """Carry a call out in this thread."""
        # A call that had begun when its branch lost is carried out to its end.
        answer, is_lost = None, self.is_lost
        while True:
            try:
                command = course.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(command, CallStep):
                answer = self._step_now(command)
            else:
                answer = self._go_on(self._done(command, is_lost))

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
        answer, is_lost = None, self.is_lost
        while True:
            try:
                command = course.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(command, CallStep):
                answer = await self._step_async(command)
            else:
                # A task that was cancelled meanwhile is gone from here: its run does not wait.
                answer = self._go_on(await asyncio.to_thread(self._done, command, is_lost))

    def _go_on(self, answer: Any) -> Any:
        """Return the answer to a call; unwind a handler whose run is to wait for it."""
        if isinstance(answer, Suspension):
            raise self.unwind(answer)
        return answer

    def _done(self, command: RunCall[Any] | Ask | Sleep, is_lost: bool) -> Any:
        """Return the answer to a command that blocks its thread."""
        if isinstance(command, Sleep):
            # In place, unless the handler is asked to stop.
            if self.cancelled.wait(command.seconds):
                self.require_running()
            return None
        call = command.call if isinstance(command, Ask) else partial(self.run.answer, command)
        return self.ask(call, is_lost=is_lost)

    def _step_now(self, call: CallStep) -> Any:
        try:
            answer = self._called(call)
        finally:
            self.state.step = None
        if not inspect.isawaitable(answer):
            return answer
        if inspect.iscoroutine(answer):
            answer.close()
        error = InvalidCall("An async function can only be a step of an async handler.")
        return Raised(error, is_unknown=not call.function.is_async)

    async def _step_async(self, call: CallStep) -> Any:
        context = contextvars.copy_context()
        context.run(CURRENT_STEP.set, call.key)
        # Not raised: an exit of the interpreter would end the loop with all branches.
        if call.function.is_async:
            answer = context.run(self._called, call)
        else:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(None, context.run, self._called, call)
        return await self._awaited(call, answer, context) if inspect.isawaitable(answer) else answer

    def _called(self, call: CallStep) -> Any:
        """Call the function of a step; return its result as text, an awaitable, or `Raised`."""
        token = CURRENT_STEP.set(call.key)
        try:
            if self.state.before_call is not None:
                self.state.before_call(call.path)
            value = call.function(call.key)
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

    def ask(self, call: Callable[[], Any], *, is_lost: bool = False) -> Any:
        """Call the journal; for a branch that had lost before, without any write."""
        if is_lost:
            call = partial(self.run.replaying, call)
        answer = self.state.ask(call)
        if isinstance(answer, (ErrorInfo, Lost)):
            # A call that comes too late does not change how the handler ended.
            raise Suspended("the handler has ended") if self.state.is_over else self.unwind(answer)
        return answer


def asking(call: RunCall[Any]) -> Course:
    """Make one call of the run, and return its answer."""
    return (yield call)


def _kept(value: Any) -> str | Raised:
    """Return the result of a step as JSON text; its function has had its effect in any case."""
    try:
        return kept_text(value)
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
