"""Dispatch without marks: one record says what a whole sweep has sent.

A mark says of one job that its message was sent, for a write unit. In economy mode a sweep that
read everything and had every message accepted says it once, of all jobs that it must have seen:
those that stood as they stand now long enough before it, and were due within its horizon. What
that does not cover is sent, and a job that is due and still waits is sent again and marked then,
as any other whose message is missed: the record saves writes, and a wrong one loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.timings import Timings

FRESH_TICKS = 2
"""Marks are spared only after a record so young: where sweeps do not end, each job would be sent
again by every one of them."""


@dataclass(frozen=True, slots=True)
class SentWindow:
    """What a sweep at ``swept_at`` sent: all that stood so by ``stood_by``, due by ``due_until``.

    ``stood_by`` is earlier than the sweep by what an index may lag, a writer stall and clocks
    differ: what was written before it, the sweep saw.
    """

    swept_at: datetime
    stood_by: datetime
    due_until: datetime

    def covers(self, job: Job) -> bool:
        """Whether ``job``, which has no mark, was sent by that sweep or one before."""
        is_due = job.due_at is not None and job.due_at <= self.due_until
        return is_due and stands_since(job) <= self.stood_by


@dataclass(frozen=True, slots=True)
class Economy:
    """Lets a sweep leave out marks. ``window``: what is sent already.

    ``settled_by``: a job that stood so by then will be covered by this sweep's own record; a
    younger one is marked, or the next sweep would send it again.
    """

    window: SentWindow
    settled_by: datetime

    def spares_mark(self, job: Job) -> bool:
        """Whether the record of this sweep will do for ``job``."""
        return stands_since(job) <= self.settled_by


def stands_since(job: Job) -> datetime:
    """Return when the last event of ``job`` was: nothing about its dispatch changed since."""
    return job.history[-1].at if job.history else job.created_at


def window_of(now: datetime, horizon: datetime, timings: Timings) -> SentWindow:
    """Return what a sweep has sent that read every bucket up to ``horizon`` after ``now``."""
    return SentWindow(now, now - timings.settling, horizon)


def economy_at(now: datetime, window: SentWindow | None, timings: Timings) -> Economy | None:
    """Return how a sweep at ``now`` leaves out marks; ``None``: it marks whatever it sends."""
    if window is None or now - window.swept_at > FRESH_TICKS * timings.tick:
        return None
    return Economy(window, now - timings.settling)
