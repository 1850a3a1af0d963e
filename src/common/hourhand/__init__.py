"""Hourhand: jobs at a time, after a delay or on a schedule, on AWS without servers.

What handlers are written with can be imported from here. It is looked up when first used, so
that ``import hourhand.domain`` loads nothing beyond the domain.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hourhand.handlers import (
        JobContext,
        NotRetryable,
        Occurrence,
        Retry,
        RetryLater,
        Snooze,
        job,
    )

__all__ = ["JobContext", "NotRetryable", "Occurrence", "Retry", "RetryLater", "Snooze", "job"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("hourhand.handlers"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
