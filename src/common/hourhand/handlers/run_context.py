"""The context of a durable handler: steps, waits, signals and callbacks of its run."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.durable.calls import (
    DEFAULT_STEP_SECONDS,
    NOW,
    Failure,
    Place,
    Recorded,
    Retries,
    StepOptions,
    Suspension,
    TimedOut,
    Try,
    Value,
)
from hourhand.domain.durable.joins import MAX_CHILDREN, ChildrenCall
from hourhand.domain.durable.names import name_problem
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.handlers._context import JobContext
from hourhand.handlers._errors import (
    CallbackFailed,
    InvalidCall,
    NotRetryable,
    ResultNotJson,
    RetryLater,
    SignalTimeout,
    Snooze,
    StepFailed,
    StepInterrupted,
    StepTimeout,
)
from hourhand.handlers._submission import handler_of_function
from hourhand.handlers.run_arguments import (
    RowSource,
    async_pairs,
    checked_aliases,
    checked_cursor,
    checked_names,
    checked_retry,
    checked_text,
    message_of,
    optional_span,
    pairs_of,
    span,
)
from hourhand.handlers.run_calls import Ask, CallStep, Course, Sleep
from hourhand.handlers.run_child_calls import (
    ChildCalls,
    OnParentEnd,
    child_spec,
    is_abandoned,
    map_items,
    required_name,
    tolerated,
    whole_number,
)
from hourhand.handlers.run_function_map import MAX_THREADS, map_async, map_in_threads
from hourhand.handlers.run_state import (
    CURRENT_STEP,
    STEP_KEY,
    Lost,
    Restart,
    RunningStep,
)
from hourhand.ports.handler_runner import Finished

_MISSING: Any = object()


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


@dataclass(kw_only=True, slots=True)
class RunContext(ChildCalls):
    """The first argument of a durable handler.

    In an ``async`` handler, every call that may wait returns an awaitable. A context belongs to
    one thread or task; parallel code takes a `branch` for each of its parts. Between calls of the
    context a handler decides only by its payload, by recorded results and by the context.
    """

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
        path, aliases = self._bind(name), checked_aliases(aka)
        if compensate is not None:
            self.state.reversals.append((path, aliases, compensate))
        seconds = self._step_seconds(timeout)
        options = StepOptions(
            retry=checked_retry(retry),
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
    ) -> Course:
        run = self.run
        if aliases:
            path = yield Ask(lambda: run.path_of(path, aliases))
        answer = yield Ask(lambda: run.begin_step(path, options, fits=self._fits(options)))
        while isinstance(answer, Try):
            if answer.delay > timedelta(0):
                yield Sleep(answer.delay.total_seconds())
            self._require_running()
            begun: Try | Value | Failure = yield Ask(self._starting(answer, options))
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
                text = checked_text(value)
            except Exception as error:  # noqa: BLE001 - whatever it raised is the step's failure
                answer = yield Ask(self._failing(begun, options, error))
            else:
                answer = yield Ask(self._ending(begun, options, text))
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
            message=message_of(error),
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
    ) -> CallStep:
        function, args, kwargs = call
        key = attempt.key
        return CallStep(
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

    def _lazy_result(self, path: str, found: Value | Recorded) -> Course:
        value = found
        if isinstance(found, Recorded):
            value = yield Ask(lambda: self.run.result_of(path))
        assert isinstance(value, Value), "a result that is read has a text"
        return json.loads(value.text)

    @property
    def step_key(self) -> Any:
        """The idempotency key of the step that runs; outside, a placeholder for its arguments."""
        return CURRENT_STEP.get() or STEP_KEY

    # --- children ---

    def map(
        self,
        name: str,
        items: Iterable[Any],
        handler: str | Callable[..., Any],
        *,
        concurrency: int | None = None,
        tolerate: float | None = 0,
        min_success: int | None = None,
        on_parent_end: OnParentEnd = "cancel",
        **options: Any,
    ) -> Any:
        """Run a child job for each item, or a plain function as a step, and return the results.

        ``handler``: a name or a function with ``@job``, whose children get the items as payloads;
        or any other function, which is called with each item in this process, by up to 16 threads.
        ``concurrency``: how many run at a time. ``tolerate``: how many may fail, or which share of
        them as a float; ``None``: all. ``min_success``: return once so many succeeded. The children
        that are not needed then are cancelled. Returns `MapResults`; above 1,000 items a sequence
        that reads its results where they are asked for. Raises `MapFailed`, and `StepFailed`.
        """
        path, listed = self._bind(name), map_items(items)
        most = tolerated(tolerate, len(listed))
        if callable(handler) and handler_of_function(handler) is None:
            if min_success is not None or options:
                raise InvalidCall("A map over a function takes concurrency and tolerate alone.")
            threads = whole_number("concurrency", concurrency, MAX_THREADS) or MAX_THREADS
            run = map_async if self.state.is_async else map_in_threads
            return run(self, path, handler, listed, threads, most)
        named = required_name(handler)
        call = ChildrenCall(
            total=len(listed),
            handler=named,
            is_map=True,
            is_abandoned=is_abandoned(on_parent_end),
            window=whole_number("concurrency", concurrency, MAX_CHILDREN),
            tolerate=most,
            min_success=whole_number("min_success", min_success, max(len(listed), 1)),
        )
        return self._map_children(
            path, named, lambda index: child_spec(named, listed[index], options), call
        )

    def item_step(self, path: str, function: Callable[..., Any], item: Any) -> Course:
        """Return the step of one item of a map over a function."""
        options = StepOptions(timeout_seconds=self._step_seconds(None))
        return self._step(path, (), options, (function, (item,), {}))

    def before_end(self) -> None:
        """Suspend a run that returned while attached children live: it ends after them."""
        if self.state.unwinding is None and self.run.live_children():
            raise self._unwind(Suspension(WaitKind.CHILDREN))

    # --- waits ---

    def sleep(self, name: str, seconds: float | timedelta) -> Any:
        """Sleep; for more than 5 s the run suspends and holds no worker."""
        length = span("seconds", seconds)
        return self._carry_out(self._sleep(self._bind(name), length))

    def sleep_until(self, name: str, instant: datetime) -> Any:
        """Sleep until an aware datetime."""
        given: object = instant
        if not isinstance(given, datetime) or given.tzinfo is None:
            raise InvalidCall(f"The time must be an aware datetime, not {instant!r}.")
        return self._carry_out(self._sleep(self._bind(name), instant))

    def _sleep(self, path: str, until: datetime | timedelta) -> Course:
        answer = yield Ask(lambda: self.run.sleep(path, until))
        if isinstance(answer, Suspension):
            raise self._unwind(answer)
        if answer > timedelta(0):
            yield Sleep(answer.total_seconds())

    def wait_for(
        self, signal: str, timeout: float | timedelta | None = None, default: Any = _MISSING
    ) -> Any:
        """Wait for a signal and return its payload; each wait takes the next one of the name.

        ``timeout``: how long to wait; then ``default`` is returned, or `SignalTimeout` raised.
        """
        return self._carry_out(
            self._wait_for(self._bind(signal), signal, optional_span("timeout", timeout), default)
        )

    def _wait_for(self, path: str, signal: str, timeout: timedelta | None, default: Any) -> Course:
        has_default = default is not _MISSING
        answer = yield Ask(
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
        spans = optional_span("timeout", timeout), optional_span("heartbeat", heartbeat)
        if spans[1] == timedelta(0):
            raise InvalidCall("heartbeat must be above 0 s.")
        return self._carry_out(self._callback(path, *spans))

    def _callback(
        self, path: str, timeout: timedelta | None, heartbeat: timedelta | None
    ) -> Course:
        token = yield Ask(lambda: self.run.open_callback(path, timeout, heartbeat))

        def result() -> Any:
            self._require_own()
            return self._carry_out(self._callback_result(path))

        return Callback(token, result, self.run.api_url)

    def _callback_result(self, path: str) -> Course:
        answer = yield Ask(lambda: self.run.callback_result(path))
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
        source = rows if callable(rows) else pairs_of(rows)
        if self.state.is_async:
            return self._iterate_async(path, source, every)
        return self._iterate(path, source, every)

    def _iterate(self, path: str, source: RowSource, every: int) -> Any:
        before = self._names.counts()
        place = self.carry_out_now(self._asking(lambda: self.run.place(path)))
        self._names.count_on(place.names)
        if place.is_done:
            return
        seen, cursor = 0, json.loads(place.cursor_text)
        for row, behind in source(cursor):
            if seen and seen % every == 0:
                # Here, so that the last of the rows is not followed by an invocation of its own.
                self.carry_out_now(self._save_place(path, cursor, before))
            yield row
            seen, cursor = seen + 1, behind
        self.carry_out_now(self._save_place(path, cursor, before, is_done=True))

    async def _iterate_async(self, path: str, source: RowSource, every: int) -> Any:
        before = self._names.counts()
        place = await self.carry_out_async(self._asking(lambda: self.run.place(path)))
        self._names.count_on(place.names)
        if place.is_done:
            return
        seen, cursor = 0, json.loads(place.cursor_text)
        async for row, behind in async_pairs(source(cursor)):
            if seen and seen % every == 0:
                await self.carry_out_async(self._save_place(path, cursor, before))
            yield row
            seen, cursor = seen + 1, behind
        await self.carry_out_async(self._save_place(path, cursor, before, is_done=True))

    def _save_place(
        self, path: str, cursor: Any, before: Mapping[str, int], *, is_done: bool = False
    ) -> Course:
        self._require_running()
        names = checked_names(self._names.used_since(before))
        place = Place(checked_cursor(cursor), is_done, names)
        yield Ask(lambda: self.run.save_place(path, place))
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
        text = checked_text(payload, what="payload")
        return self._carry_out(self._restart(text))

    def _restart(self, text: str) -> Course:
        if self.run.live_children():
            raise self._unwind(Suspension(WaitKind.CHILDREN))
        yield Ask(self.run.before_restart)
        raise self._unwind(Restart(text))

    def branch(self, name: str) -> RunContext:
        """Return a context for one thread or task; its paths begin with the name and a slash."""
        path = self._bind(name)
        self.run.open_branch(path)
        return self.below(f"{path}/")

    def below(self, branch_path: str) -> RunContext:
        """Return a context whose paths begin with ``branch_path``."""
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
            branch_path=branch_path,
            _parent=self,
        )

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
