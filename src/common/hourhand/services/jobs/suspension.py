"""How the invocation of a durable run ends, if the run does not: it suspends, or restarts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING

from hourhand.domain.durable.calls import NOW
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.run_times import LONGEST_WAIT
from hourhand.domain.jobs.transitions import clear_flag, restart, suspend
from hourhand.domain.jobs.waiting import WaitsFor
from hourhand.ports.handler_runner import Finished
from hourhand.ports.job_store import Applied, Refused
from hourhand.services.jobs.due import AT_ONCE
from hourhand.services.jobs.payload_store import payload_kept_until

if TYPE_CHECKING:
    from hourhand.services.jobs.attempt import RunningAttempt


class Suspended(Enum):
    """Whether a run waits now."""

    DONE = auto()
    FLAGGED = auto()
    """Something completed meanwhile: the journal must be read again."""
    LOST = auto()


def suspend_run(attempt: RunningAttempt, finished: Finished) -> Suspended:
    """Let the run wait for what ``finished`` says, unless it has the wake flag."""
    tools, job = attempt.tools, attempt.job
    suspension = finished.suspension or NOW
    now = tools.clock.now()
    waits_for, due_at, reason = None, now, "no time left"
    if suspension.kind is not None:
        waits_for = WaitsFor(suspension.kind, name=suspension.name)
        due_at = _look_at(job, suspension.until, now)
        reason = f"{suspension.kind} {suspension.name}".strip()
    build = partial(
        suspend,
        waits_for=waits_for,
        reason=reason,
        # The sweep, which renews payloads, may not read this job before the wait is over.
        payload_kept_until=tools.contents.renew_payload(job, due_at, tools.timings),
    )
    when = attempt.hand_back_delay(finished) or due_at
    result = tools.due.move(job, when, build, attempt.worker, follows_up=not finished.still_runs)
    if isinstance(result, Applied):
        tools.telemetry.count("runs_suspended")
        return Suspended.DONE
    if attempt.stopped_instead(result, "cancelled before it waited", finished):
        return Suspended.DONE
    is_flagged = waits_for is not None and _is_own(job, result) and _has_flag(result)
    return Suspended.FLAGGED if is_flagged else Suspended.LOST


def end_invocation(attempt: RunningAttempt, finished: Finished) -> bool:
    """Let the run wait; one with the wake flag goes on in another invocation at once.

    Returns whether the run was ours.
    """
    suspended = suspend_run(attempt, finished)
    if suspended is Suspended.FLAGGED:
        suspended = suspend_run(attempt, replace(finished, suspension=NOW))
    return suspended is Suspended.DONE


def clear_wake_flag(attempt: RunningAttempt) -> bool:
    """Clear the flag before the journal is read again; whether the run is still ours."""
    result = attempt.tools.jobs.transition(clear_flag(attempt.job))
    if isinstance(result, Applied):
        attempt.job = result.job
    return isinstance(result, Applied)


def restart_run(attempt: RunningAttempt, finished: Finished) -> bool:
    """Let the run begin a new segment; whether it was ours."""
    tools, job = attempt.tools, attempt.job
    kept_until = payload_kept_until(tools.clock.now(), job.retention_seconds, tools.timings)
    text = finished.payload_text or "null"
    payload = tools.contents.keep_payload(job.id, text, kept_until)
    build = partial(
        restart,
        payload=payload,
        payload_kept_until=kept_until if payload.item is not None else None,
    )
    result = tools.due.move(job, AT_ONCE, build, attempt.worker)
    if isinstance(result, Refused):
        return attempt.stopped_instead(result, "cancelled before it restarted", finished)
    if job.payload.key not in {None, payload.key}:
        tools.contents.settle_replaced(job.id, job.payload.key, kept_until)
    tools.telemetry.count("runs_restarted")
    return True


def _look_at(job: Job, until: datetime | None, now: datetime) -> datetime:
    """Return when a run that waits is looked at: at its time, but by its deadline."""
    times = (until, job.run_deadline, now + LONGEST_WAIT)
    return max(now, min(time for time in times if time is not None))


def _is_own(job: Job, refused: Refused) -> bool:
    current = refused.current
    return current is not None and current.token == job.token


def _has_flag(refused: Refused) -> bool:
    return refused.current is not None and bool(refused.current.wake_flag)
