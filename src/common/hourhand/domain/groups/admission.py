"""Whether a schedule still wants a job that is about to start: judged at the claim, purely.

What a schedule made before it was replaced, paused or deleted is withdrawn by the component that
changed it, as far as possible; whatever is left is judged here before it starts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.jobs.outbox import is_pausing
from hourhand.domain.limits.job_limits import waits_for_group
from hourhand.domain.limits.slots import waits_in_any_case
from hourhand.domain.schedules.schedule import (
    MISFIRE_GRACE,
    Backfill,
    JournalEntry,
    Schedule,
    SkipReason,
)

BACKFILL_MARK = "backfill "
"""What a job's history says, before the id, of the backfill that created or redrove it."""


class Verdict(StrEnum):
    """What becomes of a job that its schedule does not withdraw."""

    RUN = "run"
    WAIT = "wait"


def judge_occurrence(
    job: Job,
    schedule: Schedule | None,
    earlier: Collection[Job] = (),
    paged: Iterable[JournalEntry] = (),
    *,
    is_late: bool = False,
    backfill: Backfill | None = None,
) -> Verdict | SkipReason:
    """Judge a schedule's job that waits for its start; a `SkipReason` says why it is cancelled.

    ``schedule`` is read after ``earlier``: the jobs that ran before this one, as far as they are
    known. ``paged``: entries of the journal's pages, where `must_ask_pages` asks for them.
    ``is_late``: see `may_be_missed`. ``backfill``: see `backfill_of`.
    `Verdict.WAIT`: what the schedule decides is still to come; ask again soon.
    """
    if backfill is not None and schedule is not None:
        after_stop = _judge_in_backfill(job, backfill, schedule, earlier)
        if after_stop is not None:
            return after_stop
    if waits_in_any_case(job):
        return Verdict.RUN
    if schedule is None or schedule.deleted_at is not None or _is_of_deleted(job, schedule):
        return SkipReason.DELETED
    if not _is_withdrawable(job):
        return Verdict.RUN
    if job.pauses_schedule:
        after_failure = _judge_after_failure(schedule, earlier)
        if after_failure is not None:
            return after_failure
    entries = [entry for entry in (*schedule.journal, *paged) if not entry.salt]
    if _is_older(job, schedule):
        return _judge_older(job, schedule, entries)
    return _judge_present(job, schedule, entries, is_late=is_late)


def backfill_of(job: Job) -> str | None:
    """Return the id of the backfill that created ``job``, or redrove it last."""
    redrives = [event.reason for event in job.history if event.kind is EventKind.REDRIVEN]
    mark = redrives[-1] if redrives else job.history[0].actor if job.history else ""
    return mark.removeprefix(BACKFILL_MARK) if mark.startswith(BACKFILL_MARK) else None


def _judge_in_backfill(
    job: Job, backfill: Backfill, schedule: Schedule, earlier: Collection[Job]
) -> Verdict | SkipReason | None:
    """Judge a job of a backfill by what stops that. A pause leaves alone what has begun."""
    reason = backfill.stopped_by(schedule)
    if reason is SkipReason.BACKFILL_CANCELLED or (reason and not job.attempt):
        return reason
    return Verdict.WAIT if not job.attempt and any(map(is_pausing, earlier)) else None


def may_be_missed(job: Job, now: datetime, margin: timedelta) -> bool:
    """Whether a visit may by now have counted the time of this job as missed.

    ``now`` is the worker's clock, ``margin`` by how much the visit's may be ahead of it. Who finds
    a job before that need not ask: any visit that would skip its time finds the job, too.
    """
    return now + margin >= job.run_at + MISFIRE_GRACE


def _judge_present(
    job: Job, schedule: Schedule, entries: Sequence[JournalEntry], *, is_late: bool
) -> Verdict | SkipReason:
    """Judge a job that was made under the revision in force.

    A visit that stood still between its decision and its put may make a job for a time that
    another visit skipped meanwhile: what is on record holds, and nothing late runs without it.
    """
    nominal = nominal_of(job)
    for entry in entries:
        if entry.reason is not None and entry.first <= nominal <= entry.last:
            return entry.reason
    return Verdict.WAIT if is_late and _is_visit_to_come(schedule, nominal) else Verdict.RUN


def _judge_older(
    job: Job, schedule: Schedule, entries: Sequence[JournalEntry]
) -> Verdict | SkipReason:
    """Judge a job that was made before the schedule changed last."""
    # A visit may die before it notes what it made: then the change that came next has noted it.
    is_own = _was_due_before(job, schedule) or _is_noted(job, entries)
    if schedule.paused_at is not None and not (is_own and _was_due(job, schedule.paused_at)):
        return SkipReason.PAUSED
    if is_own:
        # Of the revisions since, one may have passed over what an older one was about to make.
        return SkipReason.REPLACED if _is_unknown(job, entries) else Verdict.RUN
    # The visit under the new revision adopts what still holds before the cursor passes it.
    return Verdict.WAIT if _is_visit_to_come(schedule, nominal_of(job)) else SkipReason.REPLACED


def _is_visit_to_come(schedule: Schedule, nominal: datetime) -> bool:
    """Whether a nominal time is still to be decided: what wants no visit before it passes it over.

    Else a job that only an older revision wanted might wait for a visit next year.
    """
    return (
        schedule.cursor < nominal and schedule.next_at is not None and schedule.next_at <= nominal
    )


def _judge_after_failure(
    schedule: Schedule, earlier: Collection[Job]
) -> Verdict | SkipReason | None:
    """Judge a job that must not run after another of its schedule failed (``None``: none did)."""
    if any(is_pausing(job) for job in earlier):
        return Verdict.WAIT
    paused_at = schedule.paused_at
    if paused_at is None or not any(_stops_others(job, paused_at) for job in earlier):
        return None
    return SkipReason.PAUSED


def _stops_others(job: Job, paused_at: datetime) -> bool:
    """Whether a job failed before the pause, or was withdrawn by the pause that followed."""
    if job.finished_at is None or not job.pauses_schedule:
        return False
    if job.status is JobStatus.DEAD:
        return job.finished_at <= paused_at
    is_withdrawn = bool(job.history) and job.history[-1].reason == SkipReason.PAUSED
    return job.status is JobStatus.CANCELLED and is_withdrawn and job.finished_at >= paused_at


def must_ask_pages(job: Job, schedule: Schedule | None, *, is_late: bool = False) -> bool:
    """Whether only the pages of the journal show if a job was wanted.

    That is so of one from before a change, and of one that is late (`may_be_missed`).
    """
    if schedule is None or waits_in_any_case(job) or not _is_withdrawable(job):
        return False
    if not (is_late or _is_older(job, schedule)):
        return False
    own = [entry for entry in schedule.journal if not entry.salt]
    is_in_ring = bool(own) and own[0].first <= nominal_of(job)
    is_decided = _was_due_before(job, schedule) or nominal_of(job) <= schedule.cursor
    return is_decided and not is_in_ring


def _is_of_deleted(job: Job, schedule: Schedule) -> bool:
    """Whether a deleted schedule of the same id made the job."""
    return job.schedule_incarnation != schedule.incarnation


def _is_withdrawable(job: Job) -> bool:
    """Whether a change may withdraw it: neither triggered nor of a backfill."""
    return job.schedule_revision is not None


def _is_older(job: Job, schedule: Schedule) -> bool:
    """Whether the job was made under another revision than the one in force."""
    return job.schedule_revision not in {None, schedule.revision}


def _was_due_before(job: Job, schedule: Schedule) -> bool:
    """Whether the job's nominal time came before the schedule's last revision took effect."""
    return nominal_of(job) < schedule.effective_from


def _was_due(job: Job, instant: datetime) -> bool:
    """Whether the job was to start by then: its jitter was over, and it waited for no slot."""
    if waits_for_group(job):
        return False
    return job.due_at is not None and job.due_at <= instant


def _is_noted(job: Job, entries: Iterable[JournalEntry]) -> bool:
    """Whether the journal says that this job was made."""
    return any(entry.first == nominal_of(job) and entry.reason is None for entry in entries)


def _is_unknown(job: Job, entries: Sequence[JournalEntry]) -> bool:
    """Whether the journal reaches back to this job's time and does not say that it was made.

    What lies before all that is kept may have been forgotten: then nothing speaks against it.
    """
    reaches_back = any(entry.first <= nominal_of(job) for entry in entries)
    return reaches_back and not _is_noted(job, entries)


def nominal_of(job: Job) -> datetime:
    """Return the time that the job stands for."""
    return job.occurrence or job.run_at
