"""The invariants of schedules: each nominal time is one job or one reason, and who may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from hourhand.domain.groups.admission import backfill_of
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.schedule import Backfill, JournalEntry, Schedule, SkipReason


def judge_groups(jobs: Sequence[Job], now: datetime) -> Iterator[str]:
    """Yield the groups of which more run, with their leases in force, than may."""
    limits = {
        job.overlap.group: job.overlap.max_running
        for job in jobs
        if job.overlap is not None and job.overlap.max_running is not None
    }
    running = Counter(
        job.overlap.group
        for job in jobs
        if job.overlap is not None
        and job.status is JobStatus.RUNNING
        and job.lease is not None
        and job.lease.until >= now
    )
    for group, limit in limits.items():
        if running[group] > limit:
            yield f"{running[group]} of the group {group} run, and {limit} may"


def judge_journal(schedule: Schedule, jobs: Iterable[Job]) -> Iterator[str]:
    """Yield where the journal of a schedule and its jobs do not fit."""
    own = [entry for entry in schedule.journal if not entry.salt]
    for before, after in pairwise(own):
        if before.last >= after.first:
            yield f"{schedule.id} has two entries for {after.first:%H:%M:%S}"
    by_time = {job.occurrence: job for job in jobs if _is_of(job, schedule)}
    for entry in own:
        if entry.reason is None and entry.first not in by_time:
            yield f"{schedule.id} tells of a job for {entry.first:%H:%M:%S}, and there is none"
    for nominal, job in by_time.items():
        if nominal is None or job.token == 0:
            continue
        if any(each.reason and _covers(each, nominal) for each in own):
            yield f"{schedule.id} tells that {nominal:%H:%M:%S} was skipped, and it ran"


def strays_left(schedule: Schedule, jobs: Iterable[Job]) -> Iterator[str]:
    """Yield the jobs for times that the schedule skipped which did not end as skipped.

    A visit that stands still right before its put makes such a job: its claim refuses it.
    """
    for job in jobs:
        if not _is_of(job, schedule) or job.occurrence is None or not job.schedule_revision:
            continue
        reasons = {e.reason for e in own(schedule) if e.reason and _covers(e, job.occurrence)}
        ended = job.history[-1].reason if job.status is JobStatus.CANCELLED else job.status
        if reasons and ended not in reasons:
            yield f"{job.occurrence:%H:%M:%S} was skipped ({reasons}), and its job is {ended}"


def judge_changes(before: Schedule, after: Schedule, now: datetime) -> Iterator[str]:
    """Yield what a write on a schedule broke; ``now`` is the true time."""
    if after.revision < before.revision:
        yield f"{after.id}: what changed meanwhile was written over"
    kept = (after.definition, after.paused_at, after.deleted_at) == (
        before.definition,
        before.paused_at,
        before.deleted_at,
    )
    if after.revision == before.revision and not kept:
        yield f"{after.id}: a change opened no revision"
    if after.definition != before.definition and after.revision > before.revision:
        if after.cursor > now:
            yield f"{after.id}: times that the new rule wants were decided by the old one"
        if any(entry.last > now for entry in own(after)):
            yield f"{after.id}: times of the old rule are still on record"


def pauses_owed(jobs: Iterable[Job], schedules: Mapping[str, Schedule]) -> Iterator[str]:
    """Yield the failures that were to pause their schedule, are settled, and did not."""
    for job in jobs:
        is_settled = job.status is JobStatus.DEAD and job.pauses_schedule and job.due_at is None
        schedule = schedules.get(job.schedule_id or "")
        if is_settled and schedule is not None and schedule.is_live:
            yield f"job {job.id} failed, and its schedule was never paused"


def failed_before(job: Job, jobs: Iterable[Job], began: datetime) -> bool:
    """Whether the occurrence before failed, and a worker that began then should know it."""
    return any(
        other.status is JobStatus.DEAD
        and other.pauses_schedule
        and other.schedule_id == job.schedule_id
        and other.occurrence == job.previous_occurrence
        and other.finished_at is not None
        and other.finished_at < began
        for other in jobs
        if job.pauses_schedule and job.token == 1
    )


def is_withdrawn(job: Job, schedule: Schedule | None) -> bool:
    """Whether a schedule wants no more a job of its own that never began."""
    if job.token > 1 or job.round > 1 or job.occurrence is None:
        return False
    if schedule is None or schedule.deleted_at is not None or not _is_of(job, schedule):
        return True
    if job.schedule_revision is None:
        return False
    if job.schedule_revision == schedule.revision or job.occurrence < schedule.effective_from:
        return False
    made = any(not e.salt and e.reason is None and e.first == job.occurrence for e in own(schedule))
    if schedule.paused_at is not None:
        return not (made and job.occurrence <= schedule.paused_at)
    return not made


def is_stopped(
    job: Job, schedule: Schedule | None, backfills: Iterable[Backfill], began: datetime
) -> bool:
    """Whether a job's backfill was paused or cancelled before ``began``, when its worker did."""
    found = [each for each in backfills if each.id == backfill_of(job)]
    if not found or schedule is None or found[0].stopped_by(schedule) is None:
        return False
    cancelled_at, paused_at = found[0].cancelled_at, found[0].paused_at or schedule.paused_at
    if cancelled_at is not None and cancelled_at < began:
        return True
    return paused_at is not None and paused_at < began and job.attempt <= 1


def is_outdated(job: Job, schedule: Schedule) -> bool:
    """Whether a job that never began is as an older revision made it, for a time of a newer one."""
    revision = job.schedule_revision
    if revision is None or revision == schedule.revision or job.token > 1 or job.round > 1:
        return False
    is_later = job.occurrence is not None and job.occurrence >= schedule.effective_from
    return is_later and schedule.is_live


def own(schedule: Schedule) -> list[JournalEntry]:
    """Return the entries of what the schedule itself decided."""
    return [entry for entry in schedule.journal if not entry.salt]


def untold(schedule: Schedule, nominals: Iterable[datetime], jobs: Iterable[Job]) -> Iterator[str]:
    """Yield the nominal times that were wanted, and are neither made nor skipped; or never ran."""
    by_time = {job.occurrence: job for job in jobs if _is_of(job, schedule)}
    for nominal in nominals:
        told = [entry for entry in own(schedule) if _covers(entry, nominal)]
        if not told:
            yield f"{nominal:%H:%M:%S} is neither made nor skipped"
        elif told[0].reason is SkipReason.REPLACED:
            yield f"{nominal:%H:%M:%S} was given up, and each rule has it"
        elif told[0].reason is None and nominal in by_time and by_time[nominal].token == 0:
            yield f"{nominal:%H:%M:%S} was made, and never ran"


def _is_of(job: Job, schedule: Schedule) -> bool:
    """Whether a job is of this incarnation of a schedule."""
    incarnation = job.schedule_id, job.schedule_incarnation
    return incarnation == (schedule.id, schedule.incarnation)


def _covers(entry: JournalEntry, nominal: datetime) -> bool:
    return entry.first <= nominal <= entry.last
