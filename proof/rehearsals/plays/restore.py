"""The rehearsal of a restore: the tables of one instant in the place of those of today.

It is played on the memory cloud: the services that are deployed, in virtual time, over stores in
memory. A copy of the tables' contents stands for AWS's restore to a point in time, which no
emulator has. The copy is taken between two calls, as a restore sees each table at one instant.
Queues, objects and the clock go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.schedule import JournalEntry
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.ports.handler_runner import Finished, Pulse
from proof.explorer.world_parts import fill, read_part
from proof.rehearsals.stage import MOST_PAGES, Stage
from tests.world.runs import fail, fail_for_good, succeed
from tests.world.world import World

HOURS_BEFORE = 3
HOURS_AFTER = 30
"""Longer than a day, how far back the deep re-read looks by itself."""

OVERDUE = 5
"""Jobs whose messages are lost, so that their buckets are open at the instant."""

LARGE = "x" * 300_000
"""A payload that is kept as an object."""

EVERY_MINUTES = 10
RETRIED_BEFORE_MINUTES = 5
TICKS_TO_FIND = 5
MINUTES_TO_END = 120

_KEYED: tuple[dict[str, Any], ...] = (
    {"idempotency_key": "done before"},
    {"idempotency_key": "done after", "delay_seconds": 90 * 60},
)
_TABLES = {
    "store": "jobs",
    "side_items": "side_items",
    "keys": "keys",
    "schedules": "schedules",
    "control": "control",
}
"""The stores of the world that the four tables hold, and what each is: jobs
and side items share one."""


@dataclass
class Installation:
    """A world, what it was asked to do, and the tables of the instant."""

    world: World = field(default_factory=World)
    instant: datetime | None = None
    tables: dict[str, Any] = field(default_factory=dict)
    running_id: str = ""
    retried_id: str = ""

    def copy_tables(self) -> None:
        """Keep what is in the tables now: DynamoDB does so by itself, all the time."""
        self.instant = self.world.clock.now()
        self.tables = {
            store: read_part(kind, getattr(self.world, store)) for store, kind in _TABLES.items()
        }

    def restore(self, *, with_all: bool) -> None:
        """Put the tables of the instant in the place of today's; start new processes."""
        world = self.world
        for store, part in self.tables.items():
            if with_all or store not in {"control", "keys"}:
                setattr(world, store, fill(_TABLES[store], part, world.clock))
        process = world.process()
        world.api, world.scheduler, world.worker = process.api, process.scheduler, process.worker

    @property
    def jobs(self) -> Mapping[str, Job]:
        """The jobs of the instant."""
        jobs, _texts, _failures = self.tables["store"]
        return {job.id: job for job in jobs}


def restore(stage: Stage) -> None:
    """The tables are restored to an instant hours ago: a resweep finds every job of them."""
    for with_all in (False, True):
        _play(stage, with_all=with_all)


def _play(stage: Stage, *, with_all: bool) -> None:
    found = _lived_until_the_instant()
    world, at = found.world, found.instant
    assert at is not None
    before = Counter(job.status.value for job in found.jobs.values())
    stage.tell("seen", f"the tables at {at:%H:%M}: {_told(before)}, and a schedule")
    late = [world.submit(delay_seconds=600 * number) for number in range(OVERDUE)]
    for _ in range(HOURS_AFTER * 60 - RETRIED_BEFORE_MINUTES):
        world.minute()
    for _ in range(RETRIED_BEFORE_MINUTES):
        world.minute(
            lambda job, pulse: (fail if job.id == found.retried_id else succeed)(job, pulse)
        )
    retried = world.job(found.retried_id)
    stage.check("a job's retry is under way", retried.status is JobStatus.RETRYING, retried.status)
    ended = [job for job in found.jobs.values() if _has_ended_since(world, job)]
    stage.check(
        "the installation ran on, and jobs ended", not world.unfinished() or len(ended) > OVERDUE
    )
    gone = [world.submit() for _ in range(3)]
    runs = len(world.runs)
    stage.tell("breaks", f"{HOURS_AFTER} hours later the data is wrong: back to {at:%H:%M}")
    found.restore(with_all=with_all)
    told = "all four tables" if with_all else "only jobs and schedules, the hardest case"
    stage.tell("repairs", f"restores {told}; the messages in the queues are those of today")
    waiting = [job for job in found.jobs.values() if not job.status.is_final]
    _tick(world, TICKS_TO_FIND)
    if not with_all:
        low = world.control._watermark
        assert low is not None
        closed = [job for job in waiting if _is_closed(low, job)]
        stage.check("the watermark is above restored jobs", len(closed) > 0, len(closed))
    # From a day before: older jobs may have been overdue at the instant.
    stage.repair(
        "hourhand resweep --since a day before the instant",
        lambda: world.api.resweeps.request(at - timedelta(days=1)),
    )
    for _ in range(MINUTES_TO_END):
        world.minute()
    _check(stage, found, waiting, runs)
    ran = sum(run.job.idempotency_key == "done after" for run in world.runs[runs:])
    stage.check(
        "a job under a key that ended since ran again only if its record was restored, too",
        ran == (1 if with_all else 0),
        f"{ran} times",
    )
    stage.check(
        "jobs submitted after the instant are gone, and their messages were dropped",
        not {job.id for job in (*late, *gone)} & set(world.store.jobs())
        and not world.queues.messages(),
        f"{len(late) + len(gone)} jobs",
    )
    stage.check("the resweep is done", world.api.resweeps.progress().state == "done")


def _check(stage: Stage, found: Installation, waiting: list[Job], runs: int) -> None:
    world = found.world
    again = Counter(run.job.id for run in world.runs[runs:])
    now = world.clock.now()
    due = [job for job in waiting if job.run_at < now]
    left = [job.id for job in due if world.job(job).status is not JobStatus.SUCCEEDED]
    stage.check(
        "every job of the instant that was due has ended", not left, f"{len(due)}, left {len(left)}"
    )
    stage.check(
        "jobs that are due in the future wait",
        all(world.job(job).status is JobStatus.PENDING for job in waiting if job.run_at >= now),
        f"{len(waiting) - len(due)} jobs",
    )
    stage.check("the job that was RUNNING then was recovered", again[found.running_id] == 1)
    finals = [job.id for job in found.jobs.values() if job.status.is_final]
    stage.check(
        "jobs that were final then did not run again",
        not set(finals) & set(again),
        f"{len(finals)} jobs",
    )
    twice = [job for job in due if again[job.id]]
    stage.tell(
        "seen",
        f"{len(twice)} jobs that had ended after the instant ran AGAIN: that cannot be undone",
    )
    _check_keys(stage, found)
    _check_schedule(stage, found)


def _check_keys(stage: Stage, found: Installation) -> None:
    answers = [found.world.submit(**body).id for body in _KEYED]
    known = {job.idempotency_key: job.id for job in found.jobs.values() if job.idempotency_key}
    stage.check(
        "a key from before the instant still names its job",
        answers == [known[body["idempotency_key"]] for body in _KEYED],
    )


def _check_schedule(stage: Stage, found: Installation) -> None:
    entries = _journal(found.world)
    step = timedelta(minutes=EVERY_MINUTES)
    first, last = min(each.first for each in entries), max(each.last for each in entries)
    wanted = (last - first) // step + 1
    stage.check(
        "each scheduled time, before and since the instant, is one job or one reason",
        sum(each.count for each in entries) == wanted
        and wanted >= (HOURS_BEFORE + HOURS_AFTER) * 60 // EVERY_MINUTES,
        f"{wanted} times",
    )


def _journal(world: World) -> list[JournalEntry]:
    entries: list[JournalEntry] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = world.api.occurrences.history("report", limit=200, cursor=cursor)
        entries += [record.entry for record in page.entries]
        cursor = page.next_cursor
        if cursor is None:
            break
    return entries


def _lived_until_the_instant() -> Installation:
    """Let an installation live for hours, and copy its tables while a job runs."""
    found = Installation()
    world = found.world
    world.put_schedule("report", expression=f"rate({EVERY_MINUTES} minutes)")
    world.submit(**_KEYED[0])
    world.submit(payload=LARGE)
    world.minute()
    world.submit()
    world.minute(fail_for_good)
    for _ in range((HOURS_BEFORE - 1) * 60):
        world.minute()
    for minutes in range(0, OVERDUE * 10, 10):
        world.submit(delay_seconds=minutes * 60 + 400)
    world.submit(delay_seconds=5 * 24 * 3600)
    world.submit(delay_seconds=2 * 3600, payload=LARGE)
    world.submit(**_KEYED[1])
    # It fails shortly before the restore: a message of a generation that the table then lacks.
    due = timedelta(minutes=58, hours=HOURS_AFTER) - timedelta(minutes=RETRIED_BEFORE_MINUTES - 1)
    retry = {"base_seconds": 600, "backoff": "fixed"}
    found.retried_id = world.submit(delay_seconds=due.total_seconds(), retry=retry).id
    for _ in range(58):
        # Their messages are lost: they are overdue at the instant, in buckets that are open.
        world.tick()
        world.queues.purge()
        world.advance(60)
    running = world.submit(priority="high")
    found.running_id = running.id

    def copies(job: Job, _pulse: Pulse) -> Finished:
        if job.id == running.id:
            found.copy_tables()
        return succeed(job, _pulse)

    world.deliver(copies)
    return found


def _tick(world: World, minutes: int) -> None:
    for _ in range(minutes):
        world.minute()


def _has_ended_since(world: World, job: Job) -> bool:
    return not job.status.is_final and world.job(job).status.is_final


def _is_closed(state: Any, job: Job) -> bool:
    if job.due_at is None:
        return False
    bucket = bucket_of(job.due_at)
    return bucket < state.low and bucket not in state.open


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
