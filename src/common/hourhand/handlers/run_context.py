"""The context of a durable handler: steps, waits, signals and callbacks of its run."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import math
import threading
import uuid
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Sequence,
)
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.durable.calls import (
    DEFAULT_STEP_SECONDS,
    NOW,
    Failure,
    On,
    Place,
    Recorded,
    Retries,
    StepOptions,
    Suspension,
    TimedOut,
    Try,
    Value,
)
from hourhand.domain.durable.names import PathNames, name_problem
from hourhand.domain.durable.records import INLINE_BYTES
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, ErrorInfo, Outcome
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.handlers._context import JobContext, StopReason
from hourhand.handlers._errors import (
    CallbackFailed,
    InvalidCall,
    NestedStep,
    NotRetryable,
    ResultNotJson,
    RetryLater,
    SignalTimeout,
    Snooze,
    StepFailed,
    StepInterrupted,
    StepTimeout,
    Suspended,
    UseBranch,
)
from hourhand.handlers._results import result_text
from hourhand.handlers.run_state import (
    CURRENT_STEP,
    STEP_KEY,
    Lost,
    Restart,
    RunningStep,
    RunState,
    Stopped,
    Unwinding,
)
from hourhand.ports.durable_run import DurableRun
from hourhand.ports.handler_runner import Finished

MAX_SLEEP = timedelta(days=366)
MAX_ALIASES = 10

LOOK_AGAIN = timedelta(seconds=5)
"""When a run is tried again whose records another worker changed, or could not be written."""

_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class _Ask:
    """Call the journal."""

    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Sleep:
    """Sleep in place."""

    seconds: float


@dataclass(frozen=True, slots=True)
class _Call:
    """Call the function of a step."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    key: str
    timeout_seconds: float


_Course = Generator[_Ask | _Sleep | _Call, Any, Any]
"""What a call does, one command after the other; a sync or an async driver carries it out."""


@dataclass(frozen=True, slots=True)
class Callback:
    """A callback that another system completes by its ``token``, at its ``url``."""

    token: str
    _result: Callable[[], Any]
    _api_url: str

    @property
    def url(self) -> str:
        """The address to post to, with ``/succeed``, ``/fail`` or ``/heartbeat`` behind it.

        A deployed worker and the local cloud know it. Raises `InvalidCall` where it is not known.
        """
        if not self._api_url:
            raise InvalidCall(
                "The URL of the API is not known to this worker. Set HOURHAND_API_URL, or pass on "
                "the token of the callback."
            )
        return f"{self._api_url}/v1/callbacks/{self.token}"

    def result(self) -> Any:
        """Wait for the completion and return its result; an ``async`` handler awaits it.

        Raises `CallbackFailed`.
        """
        return self._result()


@dataclass(frozen=True, slots=True)
class LazyResult:
    """The result of a step with ``lazy=True``."""

    _get: Callable[[], Any]

    def get(self) -> Any:
        """Read the result and return it; an ``async`` handler awaits it."""
        return self._get()


RowSource = Callable[[Any], Any]
"""What `RunContext.iterate` gets its rows from; see there."""


@dataclass(kw_only=True, slots=True)
class RunContext(JobContext):
    """The first argument of a durable handler.

    In an ``async`` handler, every call that may wait returns an awaitable. A context belongs to
    one thread or task; parallel code takes a `branch` for each of its parts. Between calls of the
    context a handler decides only by its payload, by recorded results and by the context.
    """

    run: DurableRun
    limit_seconds: float = math.inf
    state: RunState = field(default_factory=RunState)
    branch_path: str = ""
    _names: PathNames = field(init=False)
    _owner: object = field(default=None, init=False)
    _parent: RunContext | None = None
    _unwound: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Count the names of this branch from the beginning."""
        self._names = PathNames(self.branch_path)

    # --- steps ---

    def step(  # noqa: PLR0913 - all that a step states, each by its name
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        retry: Retries | None = None,
        timeout: float | None = None,
        once: bool = False,
        compensate: Callable[[Any, str], Any] | None = None,
        aka: Sequence[str] = (),
        private: bool = False,
        lazy: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Call ``function`` once and record its JSON result, which every replay returns.

        ``retry``: a `Retry`, or a list of `On` by the names of errors. ``timeout``: the seconds
        that it may take (default 60). ``once``: at most one call for each try. ``compensate``:
        called with the result and the step's key if the run fails later. ``aka``: older names.
        ``private``: the result is shown nowhere. ``lazy``: the call returns a `LazyResult`, so that
        a replay reads the result only where it is needed. Raises `StepFailed`, `StepInterrupted`.
        """
        path, aliases = self._bind(name), _checked_aliases(aka)
        if compensate is not None:
            self.state.reversals.append((path, aliases, compensate))
        seconds = self._step_seconds(timeout)
        options = StepOptions(
            retry=_checked_retry(retry),
            timeout_seconds=seconds,
            is_once=once,
            is_compensated=compensate is not None,
            is_private=private,
            is_lazy=lazy,
        )
        call = (function, args, kwargs)
        return self._carry_out(self._step(path, aliases, options, call))

    def step_at(self, path: str, function: Callable[..., Any], /, *args: Any) -> Any:
        """Call a function as a step of this very path. For the handlers of Hourhand alone."""
        self._require_own()
        options = StepOptions(timeout_seconds=self._step_seconds(None))
        return self._carry_out(self._step(path, (), options, (function, args, {})))

    def _step(
        self,
        path: str,
        aliases: tuple[str, ...],
        options: StepOptions,
        call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]],
    ) -> _Course:
        run = self.run
        if aliases:
            path = yield _Ask(lambda: run.path_of(path, aliases))
        answer = yield _Ask(lambda: run.begin_step(path, options, fits=self._fits(options)))
        while isinstance(answer, Try):
            if answer.delay > timedelta(0):
                yield _Sleep(answer.delay.total_seconds())
            self._require_running()
            begun: Try | Value | Failure = yield _Ask(self._starting(answer, options))
            if not isinstance(begun, Try):
                answer = begun
                break
            self.state.step = RunningStep(
                begun, options, self.monotonic() + options.timeout_seconds
            )
            try:
                if self.state.before_call is not None:
                    self.state.before_call(path)
                value = yield self._call(call, begun, options)
                text = _checked_text(value)
            except Exception as error:  # noqa: BLE001 - whatever it raised is the step's failure
                answer = yield _Ask(self._failing(begun, options, error))
            else:
                answer = yield _Ask(self._ending(begun, options, text))
        return self._step_result(path, answer, is_lazy=options.is_lazy)

    def _starting(self, attempt: Try, options: StepOptions) -> Callable[[], Any]:
        return lambda: self.run.start_step(attempt, options)

    def _ending(self, attempt: Try, options: StepOptions, text: str) -> Callable[[], Any]:
        return lambda: self.run.end_step(attempt, options, text)

    def _failing(
        self, attempt: Try, options: StepOptions, error: Exception, *, in_place: bool = True
    ) -> Callable[[], Any]:
        info = ErrorInfo(
            type=type(error).__name__,
            message=_message_of(error),
            retryable=not isinstance(error, (NotRetryable, ResultNotJson)),
        )
        wish = error if isinstance(error, (RetryLater, Snooze)) else None
        return lambda: self.run.fail_step(
            attempt,
            options,
            info,
            policy=options.policy_for(error),
            delay=None if wish is None else wish.wait,
            counts=not isinstance(error, Snooze),
            fits=in_place and self._fits(options),
        )

    def _call(
        self,
        call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]],
        attempt: Try,
        options: StepOptions,
    ) -> _Call:
        function, args, kwargs = call
        key = attempt.key
        return _Call(
            function,
            tuple(key if arg is STEP_KEY else arg for arg in args),
            {name: key if arg is STEP_KEY else arg for name, arg in kwargs.items()},
            key,
            options.timeout_seconds,
        )

    def _step_result(
        self, path: str, answer: Value | Recorded | Failure | Suspension, *, is_lazy: bool
    ) -> Any:
        if isinstance(answer, Recorded) or (is_lazy and isinstance(answer, Value)):
            found: Value | Recorded = answer

            def get() -> Any:
                self._require_own()
                return self._carry_out(self._lazy_result(path, found))

            return LazyResult(get)
        if isinstance(answer, Value):
            return json.loads(answer.text)
        if isinstance(answer, Suspension):
            raise self._unwind(answer)
        error = answer.error
        kind = StepInterrupted if error.type == StepInterrupted.__name__ else StepFailed
        raise kind(path, error.type, error.message)

    def _lazy_result(self, path: str, found: Value | Recorded) -> _Course:
        value = found
        if isinstance(found, Recorded):
            value = yield _Ask(lambda: self.run.result_of(path))
        assert isinstance(value, Value), "a result that is read has a text"
        return json.loads(value.text)

    @property
    def step_key(self) -> Any:
        """The idempotency key of the step that runs; outside, a placeholder for its arguments."""
        return CURRENT_STEP.get() or STEP_KEY

    # --- waits ---

    def sleep(self, name: str, seconds: float | timedelta) -> Any:
        """Sleep; for more than 5 s the run suspends and holds no worker."""
        span = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        if not timedelta(0) <= span <= MAX_SLEEP:
            raise InvalidCall(f"A run sleeps for 0 s to {MAX_SLEEP.days} days, not {seconds!r}.")
        return self._carry_out(self._sleep(self._bind(name), span))

    def sleep_until(self, name: str, instant: datetime) -> Any:
        """Sleep until an aware datetime."""
        if instant.tzinfo is None:
            raise InvalidCall(f"The time must be an aware datetime, not {instant}.")
        return self._carry_out(self._sleep(self._bind(name), instant))

    def _sleep(self, path: str, until: datetime | timedelta) -> _Course:
        answer = yield _Ask(lambda: self.run.sleep(path, until))
        if isinstance(answer, Suspension):
            raise self._unwind(answer)
        if answer > timedelta(0):
            yield _Sleep(answer.total_seconds())

    def wait_for(
        self, signal: str, timeout: float | timedelta | None = None, default: Any = _MISSING
    ) -> Any:
        """Wait for a signal and return its payload; each wait takes the next one of the name.

        ``timeout``: how long to wait; then ``default`` is returned, or `SignalTimeout` raised.
        """
        return self._carry_out(
            self._wait_for(self._bind(signal), signal, _span("timeout", timeout), default)
        )

    def _wait_for(self, path: str, signal: str, timeout: timedelta | None, default: Any) -> _Course:
        has_default = default is not _MISSING
        answer = yield _Ask(
            lambda: self.run.wait_for_signal(path, signal, timeout, has_default=has_default)
        )
        if isinstance(answer, Suspension):
            raise self._unwind(answer)
        if not isinstance(answer, TimedOut):
            return json.loads(answer.text)
        if not has_default:
            raise SignalTimeout(f"No signal {signal} came in time.")
        return default

    def callback(
        self,
        name: str,
        timeout: float | timedelta | None = None,
        heartbeat: float | timedelta | None = None,
    ) -> Any:
        """Return a `Callback`, whose token or URL lets another system complete a wait of this run.

        ``timeout``: how long it may take; ``heartbeat``: at most how long between two heartbeats.
        """
        path = self._bind(name)
        spans = _span("timeout", timeout), _span("heartbeat", heartbeat)
        return self._carry_out(self._callback(path, *spans))

    def _callback(
        self, path: str, timeout: timedelta | None, heartbeat: timedelta | None
    ) -> _Course:
        token = yield _Ask(lambda: self.run.open_callback(path, timeout, heartbeat))

        def result() -> Any:
            self._require_own()
            return self._carry_out(self._callback_result(path))

        return Callback(token, result, self.run.api_url)

    def _callback_result(self, path: str) -> _Course:
        answer = yield _Ask(lambda: self.run.callback_result(path))
        if isinstance(answer, Suspension):
            raise self._unwind(answer)
        if isinstance(answer, Value):
            return json.loads(answer.text)
        raise CallbackFailed(path, answer.error.type, answer.error.message)

    # --- what is recorded otherwise ---

    def now(self) -> Any:
        """Return the time, as it was at the first call."""
        path = self._bind("now")
        return self._carry_out(self._asking(lambda: self.run.now(path)))

    def uuid(self, name: str) -> uuid.UUID:
        """Return an id that every replay gets again, and no other run; it costs no record."""
        path = self._bind(name)
        run = self.run
        digest = content_hash("uuid", run.run_id, str(run.segment), path)
        return uuid.uuid5(uuid.NAMESPACE_OID, digest)

    def version(self, change: str) -> Any:
        """Return 1 if this run takes a change of the code, 0 if it was past it before."""
        self._require_own()
        problem = name_problem(change)
        if problem is not None:
            raise InvalidCall(f"The name of a change {problem}.")
        path = self.branch_path + change
        return self._carry_out(self._asking(lambda: self.run.version(path)))

    def iterate(
        self,
        name: str,
        rows: Sequence[Any] | RowSource,
        *,
        every: int = 100,
    ) -> Any:
        """Yield each of ``rows`` once, and save the place after ``every`` of them and at the end.

        ``rows``: a sequence, or a function that takes the last saved cursor, ``None`` at first, and
        returns pairs of a row and the cursor behind it, any JSON value of at most `INLINE_BYTES`.
        After a lost worker or at the end of an invocation's time it continues there: up to
        ``every`` rows are seen again. An ``async`` handler uses ``async for``, and may give pairs
        that are iterated asynchronously.
        """
        path = self._bind(name)
        if every < 1:
            raise InvalidCall(f"every must be at least 1, not {every}.")
        source = rows if callable(rows) else _pairs_of(rows)
        if self.state.is_async:
            return self._iterate_async(path, source, every)
        return self._iterate(path, source, every)

    def _iterate(self, path: str, source: RowSource, every: int) -> Any:
        place = self._carry_out_now(self._asking(lambda: self.run.place(path)))
        if place.is_done:
            return
        seen, cursor = 0, json.loads(place.cursor_text)
        for row, behind in source(cursor):
            if seen and seen % every == 0:
                # Here, so that the last of the rows is not followed by an invocation of its own.
                self._carry_out_now(self._save_place(path, cursor))
            yield row
            seen, cursor = seen + 1, behind
        self._carry_out_now(self._save_place(path, cursor, is_done=True))

    async def _iterate_async(self, path: str, source: RowSource, every: int) -> Any:
        place = await self._carry_out_async(self._asking(lambda: self.run.place(path)))
        if place.is_done:
            return
        seen, cursor = 0, json.loads(place.cursor_text)
        async for row, behind in _async_pairs(source(cursor)):
            if seen and seen % every == 0:
                await self._carry_out_async(self._save_place(path, cursor))
            yield row
            seen, cursor = seen + 1, behind
        await self._carry_out_async(self._save_place(path, cursor, is_done=True))

    def _save_place(self, path: str, cursor: Any, *, is_done: bool = False) -> _Course:
        self._require_running()
        place = Place(_checked_cursor(cursor), is_done)
        yield _Ask(lambda: self.run.save_place(path, place))
        rest = min(DEFAULT_STEP_SECONDS, self.limit_seconds / 4)
        if not is_done and self.remaining_seconds < rest:
            raise self._unwind(NOW)

    @property
    def cursor(self) -> Any:
        """Refused: a durable handler saves its place with `iterate`. Raises `InvalidCall`."""
        raise InvalidCall("ctx.cursor is for other handlers; in a durable one use ctx.iterate.")

    @cursor.setter
    def cursor(self, _: Any) -> None:
        _ = self.cursor

    def restart(self, payload: Any = None) -> Any:
        """Begin the run again from the top, with a new payload and an empty journal.

        It keeps its id, and the signals that no wait has returned yet.
        """
        self._require_own()
        text = _checked_text(payload)
        return self._carry_out(self._restart(text))

    def _restart(self, text: str) -> _Course:
        yield _Ask(self.run.before_restart)
        raise self._unwind(Restart(text))

    def branch(self, name: str) -> RunContext:
        """Return a context for one thread or task; its paths begin with the name and a slash."""
        path = self._bind(name)
        inherited = {
            slot: getattr(self, slot)
            for slot in JobContext.__dataclass_fields__
            if slot != "last_progress"
        }
        return RunContext(
            **inherited,
            run=self.run,
            limit_seconds=self.limit_seconds,
            state=self.state,
            branch_path=f"{path}/",
            _parent=self,
        )

    @property
    def suspending(self) -> bool:
        """Whether the handler is being unwound: its ``finally`` clauses run at each suspension."""
        return self._unwound or (self._parent is not None and self._parent.suspending)

    @property
    def limit_at_monotonic(self) -> float:
        """When the handler must stop: at its end, or at that of the step that runs."""
        step = self.state.step
        if step is None or self.state.is_async:
            return self.ends_at_monotonic
        return min(self.ends_at_monotonic, step.ends_at_monotonic)

    def step_overran(self, *, still_runs: bool) -> Finished | None:
        """Record that the step that runs failed for its time, from the thread that watches.

        Return how the attempt ends, ``None`` where no step ran too long. The run goes on in another
        invocation: a step that hangs uses up its own tries and not those of the run.
        """
        step = self.state.step
        if step is None or self.monotonic() < step.ends_at_monotonic:
            return None
        self.state.step = None
        error = StepTimeout(
            f"The step ran longer than its limit of {step.options.timeout_seconds:g} s."
        )
        failing = self._failing(step.attempt, step.options, error, in_place=False)
        answer = self.state.ask(failing)
        # What the function does from now on finds the attempt recorded, and is refused.
        self._unwind(answer if isinstance(answer, (ErrorInfo, Lost)) else NOW)
        unwound = self.unwound_as()
        return None if unwound is None else replace(unwound, still_runs=still_runs)

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
                return Finished(outcome=Outcome.SUSPENDED, suspension=suspension)

    # --- rules of calls ---

    def _asking(self, call: Callable[[], Any]) -> _Course:
        return (yield _Ask(call))

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

    def _carry_out(self, course: _Course) -> Any:
        if self.state.is_async:
            return self._carry_out_async(course)
        return self._carry_out_now(course)

    def _carry_out_now(self, course: _Course) -> Any:
        answer, error = None, None
        while True:
            try:
                command = course.throw(error) if error is not None else course.send(answer)
            except StopIteration as end:
                return end.value
            answer, error = None, None
            match command:
                case _Ask(call):
                    answer = self._judged(self.state.ask(call))
                case _Sleep(seconds):
                    self._rest(seconds)
                case _Call():
                    try:
                        answer = _run_step(command)
                    except Exception as raised:  # noqa: BLE001 - the step's course judges it
                        error = raised
                    finally:
                        self.state.step = None

    async def _carry_out_async(self, course: _Course) -> Any:
        state = self.state
        state.active += 1
        if state.idle is None:
            state.idle = asyncio.Event()
        state.idle.clear()
        try:
            return await self._follow(course)
        except Suspended:
            # The other calls go on to their ends first: none of them is cancelled half-way.
            state.active -= 1
            self._note_idle()
            await state.idle.wait()
            state.active += 1
            raise
        finally:
            state.active -= 1
            self._note_idle()

    def _note_idle(self) -> None:
        if self.state.active <= 0 and self.state.idle is not None:
            self.state.idle.set()

    async def _follow(self, course: _Course) -> Any:
        answer, error = None, None
        while True:
            try:
                command = course.throw(error) if error is not None else course.send(answer)
            except StopIteration as end:
                return end.value
            answer, error = None, None
            match command:
                case _Ask(call):
                    answer = self._judged(await asyncio.to_thread(self.state.ask, call))
                case _Sleep(seconds):
                    await asyncio.to_thread(self._rest, seconds)
                case _Call():
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


def _run_step(call: _Call) -> Any:
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


async def _run_step_async(call: _Call) -> Any:
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


def _checked_text(value: Any) -> str:
    text = result_text(value)
    size = len(text.encode())
    if size > MAX_CONTENT_BYTES:
        raise ResultNotJson(
            f"The result is {size:,} bytes of JSON; at most {MAX_CONTENT_BYTES:,} are kept."
        )
    return text


def _checked_cursor(cursor: Any) -> str:
    text = result_text(cursor)
    size = len(text.encode())
    if size > INLINE_BYTES:
        raise InvalidCall(f"A cursor is {size:,} bytes of JSON; at most {INLINE_BYTES:,} are kept.")
    return text


def _pairs_of(rows: Sequence[Any]) -> RowSource:
    """Return the rows behind a cursor, which is their number."""

    def behind(cursor: Any) -> Iterable[tuple[Any, int]]:
        done = cursor or 0
        return ((rows[index], index + 1) for index in range(done, len(rows)))

    return behind


async def _async_pairs(pairs: Any) -> AsyncIterator[tuple[Any, Any]]:
    if inspect.isawaitable(pairs):
        pairs = await pairs
    if isinstance(pairs, AsyncIterable):
        async for pair in pairs:
            yield pair
    else:
        for pair in pairs:
            yield pair


def _checked_retry(retry: object) -> Retries | None:
    if retry is None or isinstance(retry, RetryPolicy):
        return retry
    given = tuple(retry) if isinstance(retry, Iterable) else ()
    policies = tuple(one for one in given if isinstance(one, On))
    if not policies or len(policies) < len(given):
        raise InvalidCall(f"retry must be a Retry or a list of On, not {retry!r}.")
    return policies


def _checked_aliases(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or len(names) > MAX_ALIASES:
        raise InvalidCall(f"aka must be a list of at most {MAX_ALIASES} names, not {names!r}.")
    for name in names:
        problem = name_problem(name)
        if problem is not None:
            raise InvalidCall(f"A name in aka {problem}.")
    return tuple(names)


def _span(name: str, value: float | timedelta | None) -> timedelta | None:
    if value is None:
        return None
    span = value if isinstance(value, timedelta) else timedelta(seconds=value)
    if not timedelta(0) <= span <= MAX_SLEEP:
        raise InvalidCall(f"{name} must be from 0 s to {MAX_SLEEP.days} days, not {value!r}.")
    return span


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as own:  # noqa: BLE001 - an error's __str__ is user code: it may raise anything
        return f"The message cannot be read: its __str__ raised {type(own).__name__}."
