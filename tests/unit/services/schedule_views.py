"""What tests of schedules look at: the jobs of nominal times, and the record of what became."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.schedule import JournalEntry, Schedule
from hourhand.memory import FAKE_SECRET, START
from tests.world.world import World

MINUTELY = "* * * * *"


def at(minutes: float) -> datetime:
    """Return the instant so many minutes after the start of the world."""
    return START + timedelta(minutes=minutes)


def minute_of(instant: datetime) -> float:
    """Return how many minutes after the start of the world an instant is."""
    return (instant - START) / timedelta(minutes=1)


def stored(world: World, schedule_id: str = "s") -> Schedule:
    """Return the schedule as it stands."""
    found = world.schedules.get(schedule_id)
    assert found is not None
    return found


def job_at(world: World, minutes: float, schedule_id: str = "s", salt: str = "") -> Job:
    """Return the job of a nominal time."""
    return world.job(occurrence_job_id(FAKE_SECRET, schedule_id, at(minutes), salt))


def job_minutes(world: World) -> list[float]:
    """Return the nominal times that have a job, in minutes after the start."""
    jobs = world.store.jobs().values()
    return sorted(minute_of(job.occurrence) for job in jobs if job.occurrence is not None)


def statuses(world: World) -> dict[float, str]:
    """Return the state of each nominal time's job."""
    jobs = world.store.jobs().values()
    found = {minute_of(job.occurrence): str(job.status) for job in jobs if job.occurrence}
    return dict(sorted(found.items()))


def recorded(world: World, schedule_id: str = "s") -> list[JournalEntry]:
    """Return the whole record of a schedule, oldest first: its pages, then its own item."""
    schedule = stored(world, schedule_id)
    pages = world.schedules.read_journal(schedule_id, before=None, limit=1000)
    return whole_record(schedule, [page.entries for page in pages])


def whole_record(schedule: Schedule, pages: Sequence[Sequence[JournalEntry]]) -> list[JournalEntry]:
    """Return the journal with its pages (newest first), as far as they tell of what was stored."""
    found = list(schedule.journal)
    for page in pages:
        own = [entry.first for entry in found if not entry.salt]
        end = min(own, default=schedule.cursor + timedelta(milliseconds=1))
        known = {(entry.first, entry.salt) for entry in found if entry.salt}
        found += [e for e in page if (e.first, e.salt) not in known and (e.salt or e.first < end)]
    return sorted(found, key=lambda entry: entry.first)


def told(world: World, schedule_id: str = "s") -> list[tuple[float, int, str]]:
    """Return the record as (first minute, count, reason); "job" is a job."""
    return [
        (minute_of(entry.first), entry.count, entry.reason or entry.salt or "job")
        for entry in recorded(world, schedule_id)
    ]


def reason_of(job: Job) -> str:
    """Return why a job ended as it did."""
    return job.history[-1].reason
