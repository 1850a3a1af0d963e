"""How long a durable run and its journal last."""

from __future__ import annotations

from datetime import datetime, timedelta

from hourhand.domain.jobs.job import Job

MAX_RUN = timedelta(days=366)
DEFAULT_RUN = timedelta(days=30)

LONGEST_WAIT = timedelta(days=30)
"""A run that waits without a time is looked at again after this time."""

LEAST_JOURNAL_REST = timedelta(days=7)
"""How long a journal outlasts its run at least: the time in which a redrive may begin."""


def journal_end(deadline: datetime, job: Job) -> datetime:
    """Return when the records of a run with this deadline may be deleted."""
    retention = timedelta(seconds=job.retention_seconds)
    return deadline + retention + max(retention, LEAST_JOURNAL_REST)


def signals_end(now: datetime, job: Job) -> datetime:
    """Return when a signal may be deleted that a run gets at ``now``, whatever its deadline is.

    The claim sets the deadline, and a restart sets another.
    """
    return journal_end(now + MAX_RUN, job)


def records_end(job: Job) -> datetime | None:
    """Return when the oldest records of a run may be deleted; ``None``: it has none."""
    if job.journal_ends is not None or job.run_deadline is None:
        return job.journal_ends
    return journal_end(job.run_deadline, job)
