"""The steps and iterations of a durable handler: what it does once, and how far it is."""

from __future__ import annotations

import inspect
import json
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.runs.answers import (
    DEFAULT_STEP_SECONDS,
    NOW,
    Failure,
    On,
    Place,
    Recorded,
    Retries,
    StepOptions,
    Try,
    Value,
)
from hourhand.domain.runs.calls import (
    BeginStep,
    EndStep,
    FailStep,
    PathOf,
    PlaceOf,
    ResultOf,
    SavePlace,
    StartStep,
)
from hourhand.domain.runs.names import name_problem
from hourhand.domain.runs.records import INLINE_BYTES
from hourhand.handlers._errors import (
    InvalidCall,
    NotRetryable,
    ResultNotJson,
    RetryLater,
    Snooze,
    StepFailed,
    StepInterrupted,
    StepTimeout,
    message_of,
)
from hourhand.handlers._results import result_text
from hourhand.handlers._runs.calls import (
    Branch,
    CallStep,
    Course,
    Raised,
    Sleep,
    StepFunction,
)
from hourhand.handlers._runs.state import RunningStep

MAX_ALIASES = 10
PAIR = 2

MAX_NAMES_BYTES = 250_000
"""The names that the rows of an iteration use: they are kept in the item of its cursor."""

NAME_EXTRA_BYTES = 10
"""What a name takes there beside its characters, at most."""

RowSource = Callable[[Any], Any]
"""What `RunContext.iterate` gets its rows from; see there."""


@dataclass(frozen=True, slots=True)
class LazyResult:
    """The result of a step with ``lazy=True``."""

    _get: Callable[[], Any]

    def get(self) -> Any:
        """Read the result and return it; an ``async`` handler awaits it."""
        return self._get()


# --- steps ---


def step(
    branch: Branch,
    path: str,
    function: StepFunction,
    options: StepOptions,
    aliases: tuple[str, ...] = (),
) -> Course:
    """Call a function once, with its tries, and record its result."""
    if aliases:
        path = yield PathOf(path, aliases)
    answer = yield BeginStep(path=path, options=options, fits=_fits(branch, options))
    while isinstance(answer, Try):
        if answer.delay > timedelta(0):
            yield Sleep(answer.delay.total_seconds())
        branch.require_running()
        begun: Try | Value | Failure = yield StartStep(answer, options)
        if not isinstance(begun, Try):
            answer = begun
            break
        seconds = options.timeout_seconds
        branch.state.step = RunningStep(
            begun, partial(_overrun, begun, options), branch.monotonic() + seconds
        )
        ended: str | Raised = yield CallStep(begun.path, function, begun.key, seconds)
        if isinstance(ended, str):
            answer = yield EndStep(begun, options, ended)
        else:
            answer = yield _failing(
                begun,
                options,
                ended.error,
                fits=_fits(branch, options),
                is_unknown=ended.is_unknown,
            )
    return _step_result(branch, path, answer, is_lazy=options.is_lazy)


def plain_step(branch: Branch, path: str, function: Callable[..., Any], *args: Any) -> Course:
    """Call a function as a step of this very path, with the options of a step that states none."""
    options = StepOptions(timeout_seconds=step_seconds(branch, None))
    return step(branch, path, StepFunction(function, args), options)


def step_at(branch: Branch, path: str, function: Callable[..., Any], *args: Any) -> Any:
    """Make a `plain_step`. For the handlers of Hourhand alone."""
    branch.require_own()
    return branch.carry_out(path, plain_step(branch, path, function, *args))


def step_seconds(branch: Branch, timeout: float | None) -> float:
    """Return how long a step may take. Raises `InvalidCall` for more than its handler may."""
    if timeout is None:
        # Two such steps fit into an invocation, however short that is.
        return min(DEFAULT_STEP_SECONDS, branch.limit_seconds / 2)
    if not 0 < timeout <= branch.limit_seconds:
        raise InvalidCall(
            f"The timeout of a step must be above 0 s and at most that of its handler, "
            f"{branch.limit_seconds:g} s, not {timeout!r}."
        )
    return float(timeout)


def _fits(branch: Branch, options: StepOptions) -> bool:
    return branch.remaining_seconds >= options.timeout_seconds


def _failing(
    attempt: Try,
    options: StepOptions,
    error: BaseException,
    *,
    fits: bool,
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
        fits=fits and not isinstance(error, Snooze),
        is_unknown=is_unknown or options.leaves_unknown(error),
    )


def _overrun(attempt: Try, options: StepOptions) -> FailStep:
    error = StepTimeout(f"The step ran longer than its limit of {options.timeout_seconds:g} s.")
    return _failing(attempt, options, error, fits=False)


def _step_result(
    branch: Branch, path: str, answer: Value | Recorded | Failure, *, is_lazy: bool
) -> Any:
    if isinstance(answer, Recorded) or (is_lazy and isinstance(answer, Value)):
        found: Value | Recorded = answer

        def get() -> Any:
            branch.require_own()
            return branch.carry_out(path, _lazy_result(path, found))

        return LazyResult(get)
    if isinstance(answer, Value):
        return json.loads(answer.text)
    error = answer.error
    kind = StepInterrupted if error.type == StepInterrupted.__name__ else StepFailed
    raise kind(path, error.type, error.message)


def _lazy_result(path: str, found: Value | Recorded) -> Course:
    value = found
    if isinstance(found, Recorded):
        value = yield ResultOf(path)
    assert isinstance(value, Value), "a result that is read has a text"
    return json.loads(value.text)


def checked_retry(retry: object) -> Retries | None:
    """Return the retries that a step states. Raises `InvalidCall`."""
    if retry is None or isinstance(retry, RetryPolicy):
        return retry
    given = tuple(retry) if isinstance(retry, Iterable) else ()
    policies = tuple(one for one in given if isinstance(one, On))
    if not policies or len(policies) < len(given):
        raise InvalidCall(f"retry must be a Retry or a list of On, not {retry!r}.")
    return policies


def checked_errors(errors: object, *, has_reversal: bool) -> tuple[type[BaseException], ...]:
    """Return the errors after which the effect of a step is not known. Raises `InvalidCall`."""
    given = (errors,) if isinstance(errors, type) else errors
    classes = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(one, type) and issubclass(one, BaseException) for one in classes):
        raise InvalidCall(f"effect_unknown must be classes of errors, not {errors!r}.")
    if classes and not has_reversal:
        raise InvalidCall("effect_unknown needs compensate: it says when that is called.")
    return classes


def checked_aliases(names: Sequence[str]) -> tuple[str, ...]:
    """Return the older names of a step. Raises `InvalidCall`."""
    if isinstance(names, str) or len(names) > MAX_ALIASES:
        raise InvalidCall(f"aka must be a list of at most {MAX_ALIASES} names, not {names!r}.")
    for name in names:
        problem = name_problem(name)
        if problem is not None:
            raise InvalidCall(f"A name in aka {problem}.")
    return tuple(names)


# --- iterations ---


def iterate(branch: Branch, path: str, rows: RowSource, every: int) -> Iterable[Any]:
    """Yield each row, and save the place after ``every`` of them and at the end."""
    before = branch.names.counts()
    place = branch.answer_now(PlaceOf(path))
    branch.names.count_on(place.names)
    if place.is_done:
        return
    seen, cursor = 0, json.loads(place.cursor_text)
    for row, behind in map(_checked_pair, rows(cursor)):
        if seen and seen % every == 0:
            # Here, so that the last of the rows is not followed by an invocation of its own.
            branch.carry_out_now(_save_place(branch, path, cursor, before))
        yield row
        seen, cursor = seen + 1, behind
    branch.carry_out_now(_save_place(branch, path, cursor, before, is_done=True))


async def iterate_async(
    branch: Branch, path: str, rows: RowSource, every: int
) -> AsyncIterator[Any]:
    """Yield each row of an ``async`` handler; see `iterate`."""
    before = branch.names.counts()
    place = await branch.answer_async(PlaceOf(path))
    branch.names.count_on(place.names)
    if place.is_done:
        return
    seen, cursor = 0, json.loads(place.cursor_text)
    async for row, behind in _async_pairs(rows(cursor)):
        if seen and seen % every == 0:
            await branch.carry_out_async(_save_place(branch, path, cursor, before))
        yield row
        seen, cursor = seen + 1, behind
    await branch.carry_out_async(_save_place(branch, path, cursor, before, is_done=True))


def _save_place(
    branch: Branch, path: str, cursor: Any, before: Mapping[str, int], *, is_done: bool = False
) -> Course:
    branch.require_running()
    names = _checked_names(branch.names.used_since(before))
    yield SavePlace(path, Place(_checked_cursor(cursor), is_done, names))
    rest = min(DEFAULT_STEP_SECONDS, branch.limit_seconds / 4)
    if not is_done and branch.remaining_seconds < rest:
        raise branch.unwind(NOW)


def _checked_cursor(cursor: Any) -> str:
    """Return a cursor as JSON text. Raises `ResultNotJson`, and `InvalidCall` for a large one."""
    text = result_text(cursor, what="cursor")
    size = len(text.encode())
    if size > INLINE_BYTES:
        raise InvalidCall(f"A cursor is {size:,} bytes of JSON; at most {INLINE_BYTES:,} are kept.")
    return text


def _checked_names(names: Mapping[str, int]) -> Mapping[str, int]:
    """Return how often the rows of an iteration used each name. Raises `InvalidCall`."""
    if sum(map(len, names)) + NAME_EXTRA_BYTES * len(names) > MAX_NAMES_BYTES:
        raise InvalidCall(
            f"The rows of an iteration use {len(names):,} names. Use the same names for each row: "
            "repetitions are numbered."
        )
    return names


def pairs_of(rows: Sequence[Any]) -> RowSource:
    """Return what yields the rows behind a cursor, which is their number. Raises `InvalidCall`."""
    given: object = rows
    if isinstance(given, Mapping) or not (
        hasattr(given, "__len__") and hasattr(given, "__getitem__")
    ):
        raise InvalidCall(
            "The rows must be a sequence, such as a list, or a function that takes a cursor and "
            f"returns pairs of a row and the cursor behind it, not a {type(given).__name__}."
        )

    def behind(cursor: Any) -> Iterable[tuple[Any, int]]:
        done = cursor or 0
        return ((rows[index], index + 1) for index in range(done, len(rows)))

    return behind


def _checked_pair(pair: Any) -> tuple[Any, Any]:
    """Return a row and the cursor behind it. Raises `InvalidCall`."""
    if not isinstance(pair, (tuple, list)) or len(pair) != PAIR:
        raise InvalidCall(
            "The function must return pairs of a row and the cursor behind it, and it returned a "
            f"{type(pair).__name__}."
        )
    return pair[0], pair[1]


async def _async_pairs(pairs: Any) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the pairs of an async or a plain iterable, or of one that is awaited."""
    if inspect.isawaitable(pairs):
        pairs = await pairs
    if isinstance(pairs, AsyncIterable):
        async for pair in pairs:
            yield _checked_pair(pair)
    else:
        for pair in pairs:
            yield _checked_pair(pair)
