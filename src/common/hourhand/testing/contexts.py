"""A handler's first argument, for tests that call the handler as the function that it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hourhand.handlers import JobContext
from hourhand.memory.clock import START

DEFAULT_TIMEOUT = timedelta(seconds=300)


def make_context(**overrides: Any) -> JobContext:
    """Return the context of a job's first attempt, with one attempt in all by default.

    ``overrides`` are fields of `JobContext`. To ask the handler to stop:
    ``context.cancelled.tell(StopReason.CANCELLED)``.
    """
    run_at = overrides.get("run_at", START)
    fields = {"job_id": "job-1", "run_at": run_at, "deadline": run_at + DEFAULT_TIMEOUT}
    return JobContext(**{**fields, **overrides})
