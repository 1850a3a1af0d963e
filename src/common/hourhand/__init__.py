"""Hourhand: jobs at a time, after a delay or on a schedule, on AWS without servers.

What handlers are written with can be imported from here, and the client that submits and operates
jobs. It is looked up when first used, so that ``import hourhand.domain`` loads nothing beyond the
domain, and a handler loads no client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hourhand.client import AsyncClient, Client
    from hourhand.handlers import (
        CallbackFailed,
        ChildFailed,
        ChildTimeout,
        Concurrency,
        Deadlock,
        Debounce,
        JobContext,
        MapFailed,
        NotRetryable,
        Occurrence,
        On,
        Rate,
        RateLimited,
        RateLimitTooLong,
        Retry,
        RetryLater,
        SignalTimeout,
        Snooze,
        StepFailed,
        StepInterrupted,
        TooManyChildren,
        Unique,
        job,
    )
    from hourhand.handlers._canvas import chain, chord, group, link_error, starmap
    from hourhand.handlers._graph import Graph, result
    from hourhand.handlers._runs.context import RunContext
    from hourhand.handlers._runs.state import step_key

__all__ = [
    "AsyncClient",
    "CallbackFailed",
    "ChildFailed",
    "ChildTimeout",
    "Client",
    "Concurrency",
    "Deadlock",
    "Debounce",
    "Graph",
    "JobContext",
    "MapFailed",
    "NotRetryable",
    "Occurrence",
    "On",
    "Rate",
    "RateLimitTooLong",
    "RateLimited",
    "Retry",
    "RetryLater",
    "RunContext",
    "SignalTimeout",
    "Snooze",
    "StepFailed",
    "StepInterrupted",
    "TooManyChildren",
    "Unique",
    "chain",
    "chord",
    "group",
    "job",
    "link_error",
    "result",
    "starmap",
    "step_key",
]

_ELSEWHERE = {
    "AsyncClient": "hourhand.client",
    "Client": "hourhand.client",
    "Graph": "hourhand.handlers._graph",
    "RunContext": "hourhand.handlers._runs.context",
    "chain": "hourhand.handlers._canvas",
    "chord": "hourhand.handlers._canvas",
    "group": "hourhand.handlers._canvas",
    "link_error": "hourhand.handlers._canvas",
    "result": "hourhand.handlers._graph",
    "starmap": "hourhand.handlers._canvas",
    "step_key": "hourhand.handlers._runs.state",
}
"""What is in no module that every handler loads."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "hourhand.handlers")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
