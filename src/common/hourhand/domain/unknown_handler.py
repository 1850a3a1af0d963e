"""What becomes of a job whose handler the worker does not know.

Either a deploy removed the handler, or one is under way that brings it: the API knows a new
handler a little before the last worker does. So the job waits for a while at no attempt, then it
fails as often as it may, and ends as a dead letter that can be redriven.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from hourhand.domain.model import Job
from hourhand.domain.timings import Timings

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(seconds=60)
"""A wait costs the write units of a retry; in between it is as long as has been waited so far."""


def wait_for_handler(job: Job, now: datetime, timings: Timings) -> timedelta | None:
    """Return after how long to look again, at no attempt; ``None``: it has waited long enough.

    What counts is the time since the round's first start, which the job keeps. One that began
    long ago was run by a worker that knew its handler, so that none that is to come is waited for.
    """
    if job.lateness_ms is None:
        return FIRST_WAIT
    waited = now - job.run_at - timedelta(milliseconds=job.lateness_ms)
    if waited >= timings.handler_grace:
        return None
    return min(max(waited, FIRST_WAIT), LONGEST_WAIT)
