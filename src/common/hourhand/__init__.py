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
        Concurrency,
        Debounce,
        JobContext,
        NotRetryable,
        Occurrence,
        Rate,
        RateLimited,
        RateLimitTooLong,
        Retry,
        RetryLater,
        Snooze,
        Unique,
        job,
    )

__all__ = [
    "AsyncClient",
    "Client",
    "Concurrency",
    "Debounce",
    "JobContext",
    "NotRetryable",
    "Occurrence",
    "Rate",
    "RateLimitTooLong",
    "RateLimited",
    "Retry",
    "RetryLater",
    "Snooze",
    "Unique",
    "job",
]

_OF_THE_CLIENT = frozenset({"AsyncClient", "Client"})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "hourhand.client" if name in _OF_THE_CLIENT else "hourhand.handlers"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
