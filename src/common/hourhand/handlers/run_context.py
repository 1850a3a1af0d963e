"""The context of a durable handler: steps, waits, signals and callbacks of its run."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hourhand.domain.durable.calls import (
    DEFAULT_STEP_SECONDS,
    IN_PLACE,
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
from hourhand.domain.durable.names import MAX_NAME, name_problem
from hourhand.domain.durable.run_calls import (
    BeforeRestart,
    BeginStep,
    CallbackResult,
    EndStep,
    FailStep,
    LiveChildren,
    OpenBranch,
    OpenCallback,
    PathOf,
    PlaceOf,
    RecordedNow,
    ResultOf,
    SavePlace,
    SleepUntil,
    StartStep,
    TakeRateStart,
    VersionOf,
    WaitForSignal,
)
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.waiting import TakenStart, WaitKind
from hourhand.handlers._context import MAX_STEPS, JobContext, seconds_to_wait
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
    message_of,
)
from hourhand.handlers._submission import handler_of_function
from hourhand.handlers.run_arguments import (
    RowSource,
    async_pairs,
    checked_aliases,
    checked_cursor,
    checked_errors,
    checked_names,
    checked_pair,
    checked_retry,
    checked_text,
    optional_span,
    pairs_of,
    span,
)
from hourhand.handlers.run_calls import Ask, CallStep, Course, Raised, Sleep
from hourhand.handlers.run_child_calls import (
    ChildCalls,
    OnParentEnd,
    Timeout,
    child_spec,
    is_abandoned,
    map_items,
    required_name,
    tolerated,
    whole_number,
)
from hourhand.handlers.run_function_map import MAX_THREADS, map_async, map_in_threads
from hourhand.handlers.run_pending_call import PendingCall
from hourhand.handlers.run_race import race
from hourhand.handlers.run_state import (
    CURRENT_STEP,
    STEP_KEY,
    Lost,
    Restart,
    RunningStep,
)
from hourhand.ports.handler_runner import Finished

_MISSING: Any = object()


def _take_name(limit: str) -> str:
    """Return the name of a take: not that of a step which is called like the service."""
    return f"take-{limit}"[:MAX_NAME]


@dataclass(frozen=True, slots=True)
class Callback:
    """A callback that another system completes by its ``token``, at its ``url``."""

    # A handler may log it.
    token: str = field(repr=False)
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
        effect_unknown: type[BaseException] | Iterable[type[BaseException]] = (),
        aka: Sequence[str] = (),
        private: bool = False,
        lazy: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Call ``function`` once and record its JSON result, which every replay returns.

        ``retry``: a `Retry`, or a list of `On` by the names of errors. ``timeout``: the seconds
        that it may take (default 60). ``once``: at most one call for each try. ``compensate``:
        called with the result and the step's key if the run fails later. A step that raises counts
        as without effect, but for errors in ``effect_unknown``: if it fails permanently after one
        of these, ``compensate`` is called with ``None``. ``aka``: older names.
        ``private``: the result is shown nowhere. ``lazy``: the call returns a `LazyResult`, so that
        a replay reads the result only where it is needed. Raises `StepFailed`, `StepInterrupted`.
        """
        path, aliases = self._bind(name), checked_aliases(aka)
        if compensate is not None:
            self.state.reversals.append((path, aliases, compensate))
        seconds = self._step_seconds(timeout)
        unknown = checked_errors(effect_unknown, has_reversal=compensate is not None)
        options = StepOptions(
            retry=checked_retry(retry),
            timeout_seconds=seconds,
            is_once=once,
            is_compensated=compensate is not None,
            is_private=private,
            is_lazy=lazy,
            effect_unknown=(StepTimeout, *unknown),
        )
        call = (function, args, kwargs)
        return self._carry_out(path, self._step(path, aliases, options, call))

    def step_at(self, path: str, function: Callable[..., Any], /, *args: Any) -> Any:
        """Call a function as a step of this very path. For the handlers of Hourhand alone."""
        self._require_own()
        options = StepOptions(timeout_seconds=self._step_seconds(None))
        return self._carry_out(path, self._step(path, (), options, (function, args, {})))

    def _step(
        self,
        path: str,
        aliases: tuple[str, ...],
        options: StepOptions,
        call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]],
    ) -> Course:
        if aliases:
            path = yield PathOf(path, aliases)
        answer = yield BeginStep(path=path, options=options, fits=self._fits(options))
        while isinstance(answer, Try):
            if answer.delay > timedelta(0):
                yield Sleep(answer.delay.total_seconds())
            self._require_running()
            begun: Try | Value | Failure = yield StartStep(answer, options)
            if not isinstance(begun, Try):
                answer = begun
                break
            self.state.step = RunningStep(
                begun, options, self.monotonic() + options.timeout_seconds
            )
            ended: str | Raised = yield self._call(call, begun, options)
            if isinstance(ended, str):
                answer = yield EndStep(begun, options, ended)
            else:
                answer = yield self._failing(
                    begun, options, ended.error, is_unknown=ended.is_unknown
                )
        return self._step_result(path, answer, is_lazy=options.is_lazy)

    def _failing(
        self,
        attempt: Try,
        options: StepOptions,
        error: BaseException,
        *,
        in_place: bool = True,
        is_unknown: bool = False,
    ) -> FailStep:
        info = ErrorInfo(
            type=type(error).__name__,
            message=message_of(error),
            retryable=not isinstance(error, (NotRetryable, ResultNotJson)),
        )
        wish = error if isinstance(error, (RetryLater, Snooze)) else None
        return FailStep(
            attempt=attempt,
            options=options,
            error=info,
            policy=options.policy_for(error),
            delay=None if wish is None else wish.wait,
            counts=not isinstance(error, Snooze),
            # A step that asks for a later try holds no worker, however short the time is.
            fits=in_place and not isinstance(error, Snooze) and self._fits(options),
            is_unknown=is_unknown or options.leaves_unknown(error),
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
            attempt.path,
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
                return self._carry_out(path, self._lazy_result(path, found))

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
            value = yield ResultOf(path)
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
        timeout: Timeout = None,
        **options: Any,
    ) -> Any:
        """Run a child job for each item, or a plain function as a step, and return the results.

        ``handler``: a name or a function with ``@job``, whose children get the items as payloads;
        or any other function, which is called with each item in this process, by up to 16 threads.
        ``concurrency``: how many run at a time. ``tolerate``: how many may fail, or which share of
        them as a float; ``None``: all. ``min_success``: return once so many succeeded; `MapFailed`
        as soon as they cannot. ``timeout``: how long to wait; then `ChildTimeout` is raised. The
        children that are not needed then are cancelled. Returns
        `MapResults`; above 1,000 items a sequence that reads its results where they are asked for.
        Raises `MapFailed`, and `StepFailed`.
        """
        path, listed = self._bind(name), map_items(items)
        most, longest = tolerated(tolerate, len(listed)), optional_span("timeout", timeout)
        if callable(handler) and handler_of_function(handler) is None:
            if min_success is not None or longest is not None or options:
                raise InvalidCall("A map over a function takes concurrency and tolerate alone.")
            threads = whole_number("concurrency", concurrency, MAX_THREADS) or MAX_THREADS
            given = self, path, handler, listed, threads, most
            if self.state.is_async:
                return PendingCall(lambda: map_async(*given), path, self.state)
            return map_in_threads(*given)
        named = required_name(handler)
        call = ChildrenCall(
            total=len(listed),
            handler=named,
            is_map=True,
            is_abandoned=is_abandoned(on_parent_end),
            window=whole_number("concurrency", concurrency, MAX_CHILDREN),
            tolerate=most,
            min_success=whole_number("min_success", min_success, MAX_CHILDREN),
        )
        return self._map_children(
            path, named, lambda index: child_spec(named, listed[index], options), call, longest
        )

    def _race(self, path: str, functions: Sequence[Any]) -> Any:
        entered = race(self, path, functions)
        if self.state.is_async:
            return PendingCall(entered.run_async, path, self.state)
        return entered.run()

    def item_step(self, path: str, function: Callable[..., Any], item: Any) -> Course:
        """Return the step of one item of a map over a function."""
        options = StepOptions(timeout_seconds=self._step_seconds(None))
        return self._step(path, (), options, (function, (item,), {}))

    def before_end(self) -> None:
        """Suspend a run that returned while attached children live: it ends after them."""
        if self.state.unwinding is None:
            self.state.require_awaited()
            self.refuse_calls()
            if self.run.answer(LiveChildren()):
                raise self._unwind(Suspension(WaitKind.CHILDREN))

    # --- waits ---

    def sleep(self, name: str, seconds: float | timedelta) -> Any:
        """Sleep; for more than 5 s the run suspends and holds no worker."""
        length = span("seconds", seconds)
        return self._carry_out(path := self._bind(name), self._sleep(path, length))

    def sleep_until(self, name: str, instant: datetime) -> Any:
        """Sleep until an aware datetime."""
        given: object = instant
        if not isinstance(given, datetime) or given.tzinfo is None:
            raise InvalidCall(f"The time must be an aware datetime, not {instant!r}.")
        return self._carry_out(path := self._bind(name), self._sleep(path, instant))

    def _sleep(self, path: str, until: datetime | timedelta) -> Course:
        answer = yield SleepUntil(path, until)
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
        path, longest = self._bind(signal), optional_span("timeout", timeout)
        return self._carry_out(path, self._wait_for(path, signal, longest, default))

    def _wait_for(self, path: str, signal: str, timeout: timedelta | None, default: Any) -> Course:
        has_default = default is not _MISSING
        answer = yield WaitForSignal(path, signal, timeout, has_default)
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
        return self._carry_out(path, self._callback(path, *spans))

    def _callback(
        self, path: str, timeout: timedelta | None, heartbeat: timedelta | None
    ) -> Course:
        token = yield OpenCallback(path, timeout, heartbeat)

        def result() -> Any:
            self._require_own()
            return self._carry_out(path, self._callback_result(path))

        return Callback(token, result, self.run.api_url)

    def _callback_result(self, path: str) -> Course:
        answer = yield CallbackResult(path)
        if isinstance(answer, Suspension):
            raise self._unwind(answer)
        if isinstance(answer, Value):
            return json.loads(answer.text)
        raise CallbackFailed(path, answer.error.type, answer.error.message)

    # --- starts of rate limits ---

    def take(self, name: str, cost: float, max_wait: float | None) -> None:
        """Take a start of a rate limit, and record it; see `RateLimit.take`."""
        self.carry_out_now(self._take(self._bind(_take_name(name)), name, cost, max_wait))

    def take_async(self, name: str, cost: float, max_wait: float | None) -> Any:
        """Take a start of a rate limit without blocking the event loop."""
        path = self._bind(_take_name(name))
        return self._carry_out(path, self._take(path, name, cost, max_wait))

    def _take(self, path: str, name: str, cost: float, max_wait: float | None) -> Course:
        in_place = IN_PLACE.total_seconds()
        longest = min(in_place if max_wait is None else max_wait, self._longest_wait(None))
        ends_at = self.monotonic() + longest
        for _ in range(MAX_STEPS):
            left = timedelta(seconds=max(0.0, ends_at - self.monotonic()))
            taken = yield Ask(partial(self._take_start, path, name, cost, left))
            if isinstance(taken, Suspension):
                raise self._unwind(taken)
            wait = seconds_to_wait(name, taken)
            if wait > 0:
                yield Sleep(wait)
            if taken.is_start:
                return
        raise self._unwind(NOW)

    def _take_start(
        self, path: str, name: str, cost: float, longest: timedelta
    ) -> TakenStart | Suspension:
        assert self.take_start is not None, "a run that takes starts has a worker"
        take = partial(self.take_start, name, cost, longest)
        return self.run.answer(TakeRateStart(path, name, longest, take))

    # --- what is recorded otherwise ---

    def now(self) -> Any:
        """Return the time, as it was at the first call."""
        path = self._bind("now")
        return self._carry_out(path, self._asking(RecordedNow(path)))

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
        return self._carry_out(path, self._asking(VersionOf(path)))

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
        place = self.carry_out_now(self._asking(PlaceOf(path)))
        self._names.count_on(place.names)
        if place.is_done:
            return
        seen, cursor = 0, json.loads(place.cursor_text)
        for row, behind in map(checked_pair, source(cursor)):
            if seen and seen % every == 0:
                # Here, so that the last of the rows is not followed by an invocation of its own.
                self.carry_out_now(self._save_place(path, cursor, before))
            yield row
            seen, cursor = seen + 1, behind
        self.carry_out_now(self._save_place(path, cursor, before, is_done=True))

    async def _iterate_async(self, path: str, source: RowSource, every: int) -> Any:
        before = self._names.counts()
        place = await self.carry_out_async(self._asking(PlaceOf(path)))
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
        yield SavePlace(path, place)
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
        return self._carry_out("the run", self._restart(text))

    def _restart(self, text: str) -> Course:
        if self.run.answer(LiveChildren()):
            raise self._unwind(Suspension(WaitKind.CHILDREN))
        yield BeforeRestart()
        raise self._unwind(Restart(text))

    def branch(self, name: str) -> RunContext:
        """Return a context for one thread or task; its paths begin with the name and a slash."""
        path = self._bind(name)
        self.run.answer(OpenBranch(path))
        return self.below(f"{path}/")

    def below(self, branch_path: str) -> RunContext:
        """Return a context whose paths begin with ``branch_path``."""
        inherited = {
            slot: getattr(self, slot)
            for slot, one in JobContext.__dataclass_fields__.items()
            if one.init
        }
        return RunContext(
            **inherited,
            run=self.run,
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
        answer = self.state.ask(partial(self.run.answer, failing))
        # What the function does from now on finds the attempt recorded, and is refused.
        self._unwind(answer if isinstance(answer, (ErrorInfo, Lost)) else NOW)
        unwound = self.unwound_as()
        return None if unwound is None else replace(unwound, still_runs=still_runs)
