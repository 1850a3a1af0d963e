"""Deadlocks of a job and its ancestors: runs that wait for it hold all slots that it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

from hourhand.domain.jobs.job import ErrorInfo, EventKind, Job
from hourhand.domain.jobs.parents import MAX_LEVELS
from hourhand.domain.jobs.run_times import LONGEST_WAIT
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.limits.declarations import Holds
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.slot_tables import Slots, SlotTables
from hourhand.services.runs.children import READ_TOGETHER, calls_of, open_children

DEADLOCK = "Deadlock"
"""The type of the error with which the descendant ends."""

CONFIRMED_AFTER = timedelta(seconds=60)
"""So long nothing may have changed of a deadlock: two rechecks of a minute would both find it."""

MAX_CHILDREN_READ = 1_000
"""Live children of a run that are looked at; one that has more may go on."""


_SENT_AGAIN = frozenset({EventKind.DISPATCHED_AGAIN, EventKind.AGED})


@dataclass(frozen=True, slots=True)
class Deadlocks:
    """Finds deadlocks."""

    limits: JobLimits
    tables: SlotTables

    def search(self) -> DeadlockSearch:
        """Return a search, which reads each job and each slot once."""
        return DeadlockSearch(self.limits, self.tables)

    def refusal(self, run: Job, child: Job) -> str | None:
        """Return why an attached child of ``run`` could never start."""
        return self.search().refusal(run, child)


@dataclass(slots=True)
class DeadlockSearch:
    """Finds deadlocks, from jobs and slots as they are first read.

    A job is *stuck* that is parked for a limit whose slots are all with its ancestors, and so is a
    run that waits for children alone, without a time, all of which are stuck.
    """

    limits: JobLimits
    tables: SlotTables
    _jobs: dict[str, Job | None] = field(default_factory=dict, init=False)
    _holders: dict[str, frozenset[str]] = field(default_factory=dict, init=False)
    _stuck: dict[str, bool] = field(default_factory=dict, init=False)

    def refusal(self, run: Job, child: Job) -> str | None:
        """Return why an attached child of ``run`` could never start: the run has the only slot."""
        own = {one.digest for one in self.limits.of(run)}
        for limit in self.limits.of(child) if own else ():
            slots = self.tables.slots_of(limit) if limit.digest in own else None
            stays = slots is not None and slots.max == 1 and slots.holds is not Holds.ATTEMPT
            if slots is not None and stays and self._holders_in(slots) == {run.id}:
                return (
                    f"Job {run.id} holds the only slot of {limit.name} until it ends, and its "
                    f"child {child.id} needs it to start."
                )
        return None

    def blocker(self, job: Job, slots: Slots) -> str | None:
        """Return the nearest ancestor that has one of the slots for which a job is parked."""
        holders = self._holders_in(slots) if job.parent is not None else ()
        runs = self._ancestors(job) if holders else []
        return next((run.id for run in runs if run.id in holders), None)

    def error(self, job: Job) -> ErrorInfo | None:
        """Return the error with which a parked job ends that waits in a confirmed deadlock.

        ``None``: there is none. Raises `Unavailable`.
        """
        chain = self._holding_chain(job) if job.parent is not None and self._is_stuck(job) else []
        for below, run in pairwise([job, *chain]):
            if not self._is_stuck(run) or not self._waits_for(run, below):
                return None
        if not chain:
            return None
        name, holders = self._holders_of(job)
        first = next(run.id for run in chain if run.id in holders)
        return ErrorInfo(
            type=DEADLOCK,
            message=f"Job {job.id} waits for a slot of {name}. Its ancestor {first} holds it until "
            "it ends, and waits for this job.",
            retryable=False,
        )

    def _is_stuck(self, job: Job) -> bool:
        if job.id not in self._stuck:
            # A child that is met again above itself is no reason to be stuck.
            self._stuck[job.id] = False
            self._stuck[job.id] = self._is_old(job) and (
                bool(self._holding_chain(job)) if job.is_parked else self._waits_for_stuck(job)
            )
        return self._stuck[job.id]

    def _is_old(self, job: Job) -> bool:
        """Whether nothing changed of a job for a minute, but that it was sent again."""
        changes = [event.at for event in job.history if event.kind not in _SENT_AGAIN]
        return self.tables.clock.now() - max(changes, default=job.created_at) >= CONFIRMED_AFTER

    def _waits_for_stuck(self, run: Job) -> bool:
        if not _waits_for_children(run):
            return False
        calls = calls_of(self.tables.side_items, run)
        live = [one for joined in calls for one in open_children(run, joined, joined.records)]
        if not live or len(live) > MAX_CHILDREN_READ:
            return False
        for start in range(0, len(live), READ_TOGETHER):
            page = live[start : start + READ_TOGETHER]
            found = self.tables.jobs.get_many(page)
            if len(found) < len(page) or not all(map(self._is_stuck, found.values())):
                return False
        return True

    def _waits_for(self, run: Job, child: Job) -> bool:
        """Whether the call for which a run waits is, or may be, that of this child."""
        assert run.waits_for is not None, "it is stuck"
        assert child.parent is not None, "it has this run"
        name, key = run.waits_for.name, child.parent.join_key
        if not name:
            return not child.parent.is_abandoned
        calls = calls_of(self.tables.side_items, run)
        return any(one.key == key and one.records[0].path == name for one in calls)

    def _holding_chain(self, job: Job) -> list[Job]:
        """Return the ancestors of a parked job, nearest first, up to the last that has a slot.

        Nothing if another job has one, or a run that waits for something else than children.
        """
        _, holders = self._holders_of(job)
        runs = self._ancestors(job) if holders else []
        places = [place for place, run in enumerate(runs) if run.id in holders]
        return runs[: places[-1] + 1] if holders and len(places) == len(holders) else []

    def _holders_of(self, job: Job) -> tuple[str, frozenset[str]]:
        """Return the name of the limit for which a job is parked, and the holders of its slots.

        No holders if one of them waits for something else than children, or if a slot is free.
        """
        slots = self.tables.slots_of(self.limits.parked_for(job))
        if slots is None:
            return "", frozenset()
        digest = slots.limit.digest16
        if digest not in self._holders:
            held = self._holders_in(slots)
            is_full = 0 < slots.max <= len(held) <= MAX_LEVELS
            found = self.tables.jobs.get_many(list(held)) if is_full else {}
            are_all = len(found) == len(held) and all(map(_waits_for_children, found.values()))
            self._holders[digest] = held if are_all else frozenset()
        return slots.limit.name, self._holders[digest]

    def _holders_in(self, slots: Slots) -> frozenset[str]:
        views = [self.tables.view(one, 0) for one in slots.shards]
        return frozenset(holder for view in views for holder in view.record.holders)

    def _ancestors(self, job: Job) -> list[Job]:
        """Return the run of a job, the run of that one, and so on."""
        found: list[Job] = []
        while len(found) < MAX_LEVELS and (run := self._run_of(job)) is not None:
            found.append(run)
            job = run
        return found

    def _run_of(self, job: Job) -> Job | None:
        link = job.parent
        if link is None:
            return None
        if link.run_id not in self._jobs:
            self._jobs[link.run_id] = self.tables.jobs.get(link.run_id)
        run = self._jobs[link.run_id]
        return run if run is not None and run.segment == link.segment else None


def _waits_for_children(job: Job) -> bool:
    """Whether a run waits for children alone, and for no time before its own end."""
    waits = job.waits_for
    if waits is None or waits.kind is not WaitKind.CHILDREN or not job.status.is_waiting:
        return False
    suspended = [event.at for event in job.history if event.kind is EventKind.SUSPENDED]
    began = max(suspended, default=job.created_at)
    ends = min(time for time in (job.run_deadline, began + LONGEST_WAIT) if time is not None)
    return job.due_at is not None and job.due_at >= ends - CONFIRMED_AFTER
