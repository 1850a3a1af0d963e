"""The limits that ``@job`` declares: checked where they are written, together at packing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields

from hourhand.domain.limits.declarations import (
    Concurrency,
    Limit,
    Rate,
    check_limits,
)
from hourhand.domain.limits.keys import InvalidLimit
from hourhand.handlers._errors import InvalidHandler


def read_limits(limits: object) -> tuple[Limit, ...]:
    """Return the limits of ``@job``. Raises `InvalidHandler` naming the argument that is wrong."""
    if limits is None:
        return ()
    if (
        not isinstance(limits, Sequence)
        or isinstance(limits, str)
        or not all(isinstance(each, (Concurrency, Rate)) for each in limits)
    ):
        raise InvalidHandler(f"limits must be a list of Concurrency and Rate, not {limits!r}.")
    try:
        check_limits(limits)
    except InvalidLimit as error:
        raise InvalidHandler(error.detail) from None
    return tuple(limits)


def check_shared_limits(handlers: Iterable[tuple[str, Sequence[Limit]]]) -> None:
    """Raise `InvalidHandler` for a shared limit that two handlers declare differently.

    Each worker judges by the handler of its job: two numbers for one limit would admit more jobs
    than one of them allows.
    """
    declared: dict[str, tuple[str, Limit]] = {}
    for handler, limits in handlers:
        for limit in limits:
            if limit.name is None:
                continue
            first, as_declared = declared.setdefault(limit.name, (handler, limit))
            if as_declared != limit:
                raise InvalidHandler(
                    f"The handlers {first} and {handler} declare the shared limit {limit.name} "
                    f"differently: {_differences(as_declared, limit)}."
                )


def _differences(first: Limit, second: Limit) -> str:
    """Return how two declarations differ: ``max is 5 and 6``."""
    if isinstance(first, Concurrency) is not isinstance(second, Concurrency):
        return f"as {type(first).__name__} and as {type(second).__name__}"
    found = []
    for option in (one.name for one in fields(first)):
        values = getattr(first, option), getattr(second, option)
        if values[0] != values[1]:
            found.append(f"{option} is {values[0]} and {values[1]}")
    return ", ".join(found)
