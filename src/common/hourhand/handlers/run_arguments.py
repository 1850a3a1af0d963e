"""Arguments and results of a durable handler's calls, checked before anything is recorded."""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from datetime import timedelta
from typing import Any

from hourhand.domain.durable.calls import (
    On,
    Retries,
)
from hourhand.domain.durable.names import name_problem
from hourhand.domain.durable.records import INLINE_BYTES
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.handlers._errors import (
    InvalidCall,
    ResultTooLarge,
)
from hourhand.handlers._results import result_text

MAX_SLEEP = timedelta(days=366)
MAX_ALIASES = 10
PAIR = 2

MAX_NAMES_BYTES = 250_000
"""The names that the rows of an iteration use: they are kept in the item of its cursor."""

NAME_EXTRA_BYTES = 10
"""What a name takes there beside its characters, at most."""

RowSource = Callable[[Any], Any]
"""What `RunContext.iterate` gets its rows from; see there."""


def checked_text(value: Any, *, what: str = "result") -> str:
    """Return a result as JSON text; ``what`` names it. Raises `ResultNotJson`, `ResultTooLarge`."""
    text = result_text(value, what=what)
    size = len(text.encode())
    if size > MAX_CONTENT_BYTES:
        raise ResultTooLarge(
            f"The {what} is {size:,} bytes of JSON; at most {MAX_CONTENT_BYTES:,} are kept."
        )
    return text


def checked_cursor(cursor: Any) -> str:
    """Return a cursor as JSON text. Raises `ResultNotJson`, and `InvalidCall` for a large one."""
    text = result_text(cursor, what="cursor")
    size = len(text.encode())
    if size > INLINE_BYTES:
        raise InvalidCall(f"A cursor is {size:,} bytes of JSON; at most {INLINE_BYTES:,} are kept.")
    return text


def checked_names(names: Mapping[str, int]) -> Mapping[str, int]:
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


def checked_pair(pair: Any) -> tuple[Any, Any]:
    """Return a row and the cursor behind it. Raises `InvalidCall`."""
    if not isinstance(pair, (tuple, list)) or len(pair) != PAIR:
        raise InvalidCall(
            "The function must return pairs of a row and the cursor behind it, and it returned a "
            f"{type(pair).__name__}."
        )
    return pair[0], pair[1]


async def async_pairs(pairs: Any) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the pairs of an async or a plain iterable, or of one that is awaited."""
    if inspect.isawaitable(pairs):
        pairs = await pairs
    if isinstance(pairs, AsyncIterable):
        async for pair in pairs:
            yield checked_pair(pair)
    else:
        for pair in pairs:
            yield checked_pair(pair)


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


def optional_span(name: str, value: float | timedelta | None) -> timedelta | None:
    """Return the argument ``name`` as `span` does, or ``None``. Raises `InvalidCall`."""
    return None if value is None else span(name, value)


def span(name: str, value: float | timedelta) -> timedelta:
    """Return the argument ``name``, in seconds or as a span, as a span. Raises `InvalidCall`."""
    try:
        given = value if isinstance(value, timedelta) else timedelta(seconds=value)
    except (TypeError, ValueError, OverflowError):
        given = None
    if given is None or not timedelta(0) <= given <= MAX_SLEEP:
        raise InvalidCall(
            f"{name} must be from 0 s to {MAX_SLEEP.days} days, in seconds or as a timedelta, not "
            f"{value!r}."
        )
    return given
