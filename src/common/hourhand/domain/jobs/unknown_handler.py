"""What becomes of a job whose handler the worker does not know.

Either a deploy removed the handler, or one is under way that brings it: the API knows a new
handler a little before the last worker does, and of two workers side by side only one may have
it. So the job waits for a while at no attempt, then it fails as often as it may, and ends as a
dead letter that can be redriven.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hourhand.domain.jobs.job import ATTEMPT_ENDS, EventKind, Job, Outcome
from hourhand.domain.ticks.timings import Timings

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(seconds=60)
"""A wait costs the write units of a retry; in between it is as long as has been waited so far."""

ERROR_TYPE = "UnknownHandler"
"""What the record of an attempt begins with that failed for want of its handler."""

_BEGINS_ANEW = frozenset({EventKind.REDRIVEN, EventKind.CHANGED, EventKind.RUN_NOW})
"""Kinds of events by which a person or the API made the job run again."""

_SINCE = re.compile(r"no handler since (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")


@dataclass(frozen=True, slots=True)
class HandlerWait:
    """Look again after ``duration``, at no attempt; ``reason`` is what the history shall say.

    The next look reads there since when the handler is unknown: the event of the look before is
    always at hand, while the first look's may have been dropped from a long history.
    """

    duration: timedelta
    reason: str


def wait_for_handler(job: Job, now: datetime, timings: Timings) -> HandlerWait | None:
    """Return the wait before the next look; ``None``: it has waited long enough, and fails.

    What counts is the time since the first look that missed the handler. A job that was run by a
    worker that had it, or that was made to run again, starts to wait from the beginning.
    """
    outcome, reason = _last_end(job)
    if outcome is Outcome.FAILED and reason.startswith(ERROR_TYPE):
        return None
    since = _since(reason) if outcome is Outcome.SNOOZED else None
    # A clock that is behind the one of the look before waits no longer for it.
    first_look = now if since is None else min(since, now)
    waited = now - first_look
    if waited >= timings.handler_grace:
        return None
    return HandlerWait(
        duration=min(max(waited, FIRST_WAIT), LONGEST_WAIT),
        reason=f"no handler since {first_look.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )


def _last_end(job: Job) -> tuple[Outcome | None, str]:
    """Return how the attempt before this one ended, and why, as far as that still counts."""
    for event in reversed(job.history):
        if event.kind in _BEGINS_ANEW:
            break
        if event.kind in ATTEMPT_ENDS:
            return ATTEMPT_ENDS[event.kind], event.reason
    return None, ""


def _since(reason: str) -> datetime | None:
    found = _SINCE.fullmatch(reason)
    return None if found is None else datetime.fromisoformat(found[1])
