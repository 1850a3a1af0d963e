"""Stand-ins for what jobs are given by limits and runs, in tests of jobs that have none."""

from __future__ import annotations

from typing import Any

from hourhand.domain.jobs.job import Job
from hourhand.memory.handler_directory import MemoryHandlerDirectory
from hourhand.ports.job_store import JobDetails
from hourhand.services.limits.aspect import LimitsAspect

NEVER_ASKED: Any = None
"""A part that a test does not reach."""


class _NoQueues:
    def slots_of(self, job: Job) -> tuple[()]:
        """Return no slots, so that none is released."""
        return ()


def no_limits() -> LimitsAspect:
    """Return what limits do for jobs whose handler has none, and whose groups have no slots."""
    queues: Any = _NoQueues()
    handlers = MemoryHandlerDirectory("greet")
    return LimitsAspect(handlers, NEVER_ASKED, queues, NEVER_ASKED, NEVER_ASKED)


def ended(job: Job) -> JobDetails:
    """Return a job that ended, as an outbox task gets it."""
    return JobDetails(job=job)
