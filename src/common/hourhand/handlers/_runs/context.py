"""The context of a durable handler: the calls that it may make of its run."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.ids import content_hash
from hourhand.domain.runs.answers import Retries, StepOptions
from hourhand.domain.runs.calls import BeforeRestart, NextChildren, RecordedNow, VersionOf
from hourhand.domain.runs.joins import MAX_CHILDREN, ChildrenCall
from hourhand.domain.runs.names import name_problem
from hourhand.handlers._context import JobContext, RateLimit, attempt_of
from hourhand.handlers._errors import InvalidCall, StepTimeout
from hourhand.handlers._results import kept_text
from hourhand.handlers._runs import branches, child_calls, steps, waits
from hourhand.handlers._runs.calls import Branch, Course, StepFunction, asking
from hourhand.handlers._runs.child_calls import GatherMode, OnParentEnd, Timeout
from hourhand.handlers._runs.state import CURRENT_STEP, STEP_KEY, Restart, RunState
from hourhand.handlers._runs.steps import RowSource
from hourhand.handlers._runs.waits import MISSING, optional_span, span
from hourhand.handlers._submission import handler_of_function
from hourhand.ports.durable_run import DurableRun


@dataclass(kw_only=True, slots=True)
class RunContext(JobContext):
    """The first argument of a durable handler.

    In an ``async`` handler, every call that may wait returns an awaitable. A context belongs to
    one thread or task; parallel code takes a `branch` for each of its parts. Between calls of the
    context a handler decides only by its payload, by recorded results and by the context.
    """

    _attempt: Branch = field(repr=False)

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
        run, path = self._attempt, self._attempt.bind(name)
        aliases = steps.checked_aliases(aka)
        if compensate is not None:
            run.state.reversals.append((path, aliases, compensate))
        seconds = steps.step_seconds(run, timeout)
        unknown = steps.checked_errors(effect_unknown, has_reversal=compensate is not None)
        options = StepOptions(
            retry=steps.checked_retry(retry),
            timeout_seconds=seconds,
            is_once=once,
            is_compensated=compensate is not None,
            is_private=private,
            is_lazy=lazy,
            effect_unknown=(StepTimeout, *unknown),
        )
        call = StepFunction(function, args, kwargs)
        return run.carry_out(path, steps.step(run, path, call, options, aliases))

    @property
    def step_key(self) -> Any:
        """The idempotency key of the step that runs; outside, a placeholder for its arguments."""
        return CURRENT_STEP.get() or STEP_KEY

    @property
    def suspending(self) -> bool:
        """Whether the handler is being unwound: its ``finally`` clauses run at each suspension."""
        return self._attempt.suspending

    def iterate(self, name: str, rows: Sequence[Any] | RowSource, *, every: int = 100) -> Any:
        """Yield each of ``rows`` once, and save the place after ``every`` of them and at the end.

        ``rows``: a sequence, or a function that takes the last saved cursor, ``None`` at first, and
        returns pairs of a row and the cursor behind it, any JSON value of at most `INLINE_BYTES`.
        After a lost worker or at the end of an invocation's time it continues there: up to
        ``every`` rows are seen again. An ``async`` handler uses ``async for``, and may give pairs
        that are iterated asynchronously.
        """
        path = self._attempt.bind(name)
        if every < 1:
            raise InvalidCall(f"every must be at least 1, not {every}.")
        source = rows if callable(rows) else steps.pairs_of(rows)
        is_async = self._attempt.state.is_async
        iterate = steps.iterate_async if is_async else steps.iterate
        return iterate(self._attempt, path, source, every)

    @property
    def cursor(self) -> Any:
        """Refused: a durable handler saves its place with `iterate`. Raises `InvalidCall`."""
        raise InvalidCall("ctx.cursor is for other handlers; in a durable one use ctx.iterate.")

    @cursor.setter
    def cursor(self, _: Any) -> None:
        _ = self.cursor

    # --- children ---

    def submit(
        self,
        handler: str | Callable[..., Any],
        payload: Any = None,
        *,
        name: str | None = None,
        on_parent_end: OnParentEnd = "cancel",
        **options: Any,
    ) -> Any:
        """Submit a child job and return it as a `Child`, without waiting for it.

        ``handler``: a name, or a function with ``@job``. ``name``: of the call; the handler's by
        default. ``on_parent_end``: ``cancel``, or ``abandon`` for a job that goes on whatever
        becomes of this run. ``options``: as in a submission, such as ``delay`` or ``priority``.
        """
        run = self._attempt
        one = child_calls.one_child(run, name, handler, payload, options, on_parent_end)
        return run.carry_out(one.path, child_calls.submit(run, one))

    def submit_and_wait(
        self,
        handler: str | Callable[..., Any],
        payload: Any = None,
        *,
        name: str | None = None,
        timeout: Timeout = None,
        **options: Any,
    ) -> Any:
        """Submit a child job, wait for it and return its result. Raises `ChildFailed`.

        ``timeout``: how long to wait; then the child is cancelled, and `ChildTimeout` raised.
        """
        run = self._attempt
        one = child_calls.one_child(run, name, handler, payload, options)
        longest = optional_span("timeout", timeout)
        return run.carry_out(one.path, child_calls.submit_and_wait(run, one, longest))

    def gather(self, *children: Any, mode: GatherMode = "all", timeout: Timeout = None) -> Any:
        """Wait for several children and return their results, in their order.

        ``mode``: ``all`` raises `ChildFailed` at the first failure. ``any`` returns the first
        success and cancels the others; it raises if all failed. ``settled`` waits for all, and
        returns a `ChildFailed` in the place of a result. With ``any``, functions may stand in the
        place of the children: each is called with a branch of its own, side by side, and the
        first that returns wins. The winner is recorded. The others are cancelled at their next
        call; what their steps did is reversed like that of any other step if the run fails.
        ``timeout``: how long to wait for children; then those that have not ended are cancelled,
        and `ChildTimeout` is raised.
        """
        run, longest = self._attempt, optional_span("timeout", timeout)
        if child_calls.are_functions(children, mode):
            if longest is not None:
                raise InvalidCall("A race of functions has no timeout: add a branch that sleeps.")
            return branches.race(run, run.bind("gather"), children, self._beside)
        path = run.bind("gather")
        return run.carry_out(path, child_calls.gather(run, path, children, mode, longest))

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
        run, path = self._attempt, self._attempt.bind(name)
        listed = child_calls.map_items(items)
        most = child_calls.tolerated(tolerate, len(listed))
        longest = optional_span("timeout", timeout)
        if callable(handler) and handler_of_function(handler) is None:
            if min_success is not None or longest is not None or options:
                raise InvalidCall("A map over a function takes concurrency and tolerate alone.")
            return branches.map_function(run, path, handler, listed, concurrency, most)
        named = child_calls.required_name(handler)
        call = ChildrenCall(
            total=len(listed),
            handler=named,
            is_map=True,
            is_abandoned=child_calls.is_abandoned(on_parent_end),
            window=child_calls.whole_number("concurrency", concurrency, MAX_CHILDREN),
            tolerate=most,
            min_success=child_calls.whole_number("min_success", min_success, MAX_CHILDREN),
        )
        submission = NextChildren(
            path, call, lambda index: child_calls.child_spec(named, listed[index], options)
        )
        return run.carry_out(path, child_calls.map_children(run, submission, longest))

    # --- waits ---

    def sleep(self, name: str, seconds: float | timedelta) -> Any:
        """Sleep; for more than 5 s the run suspends and holds no worker."""
        length = span("seconds", seconds)
        path = self._attempt.bind(name)
        return self._attempt.carry_out(path, waits.sleep(path, length))

    def sleep_until(self, name: str, instant: datetime) -> Any:
        """Sleep until an aware datetime."""
        given: object = instant
        if not isinstance(given, datetime) or given.tzinfo is None:
            raise InvalidCall(f"The time must be an aware datetime, not {instant!r}.")
        path = self._attempt.bind(name)
        return self._attempt.carry_out(path, waits.sleep(path, instant))

    def wait_for(
        self, signal: str, timeout: float | timedelta | None = None, default: Any = MISSING
    ) -> Any:
        """Wait for a signal and return its payload; each wait takes the next one of the name.

        ``timeout``: how long to wait; then ``default`` is returned, or `SignalTimeout` raised.
        """
        path, longest = self._attempt.bind(signal), optional_span("timeout", timeout)
        return self._attempt.carry_out(path, waits.wait_for(path, signal, longest, default))

    def callback(
        self,
        name: str,
        timeout: float | timedelta | None = None,
        heartbeat: float | timedelta | None = None,
    ) -> Any:
        """Return a `Callback`, whose token or URL lets another system complete a wait of this run.

        ``timeout``: how long it may take; ``heartbeat``: at most how long between two heartbeats.
        """
        run, path = self._attempt, self._attempt.bind(name)
        spans = optional_span("timeout", timeout), optional_span("heartbeat", heartbeat)
        if spans[1] == timedelta(0):
            raise InvalidCall("heartbeat must be above 0 s.")
        return run.carry_out(path, waits.callback(run, path, *spans))

    def limit(self, name: str) -> RateLimit:
        """Return the rate limit that handlers share by this name, to take and record starts."""
        return waits.rate_limit(self._attempt, name)

    # --- the run itself ---

    def now(self) -> Any:
        """Return the time, as it was at the first call."""
        path = self._attempt.bind("now")
        return self._attempt.carry_out(path, asking(RecordedNow(path)))

    def uuid(self, name: str) -> uuid.UUID:
        """Return an id that every replay gets again, and no other run; it costs no record."""
        path, run = self._attempt.bind(name), self._attempt.run
        digest = content_hash("uuid", run.run_id, str(run.segment), path)
        return uuid.uuid5(uuid.NAMESPACE_OID, digest)

    def version(self, change: str) -> Any:
        """Return 1 if this run takes a change of the code, 0 if it was past it before."""
        self._attempt.require_own()
        problem = name_problem(change)
        if problem is not None:
            raise InvalidCall(f"The name of a change {problem}.")
        path = self._attempt.path + change
        return self._attempt.carry_out(path, asking(VersionOf(path)))

    def restart(self, payload: Any = None) -> Any:
        """Begin the run again from the top, with a new payload and an empty journal.

        It keeps its id, and the signals that no wait has returned yet.
        """
        self._attempt.require_own()
        text = kept_text(payload, what="payload")
        return self._attempt.carry_out("the run", _restart(self._attempt, text))

    def branch(self, name: str) -> RunContext:
        """Return a context for one thread or task; its paths begin with the name and a slash."""
        return self._beside(self._attempt.open(self._attempt.bind(name)))

    def _beside(self, branch: Branch) -> RunContext:
        return replace(self, _attempt=branch)


def _restart(branch: Branch, text: str) -> Course:
    branch.require_no_children()
    yield BeforeRestart()
    raise branch.unwind(Restart(text))


def durable_context(context: JobContext, run: DurableRun, state: RunState) -> RunContext:
    """Return the context of a durable handler, in the attempt of ``context``."""
    branch = Branch(**_given(attempt_of(context)), run=run, state=state)
    return RunContext(**{**_given(context), "_attempt": branch})


def _given(value: Any) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value) if one.init}


def branch_of(context: RunContext) -> Branch:
    """Return what makes the calls of a context."""
    return context._attempt
