"""What is looked at in every state, and at every start of a handler."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.schedule import Backfill
from hourhand.services.jobs.submission import Submitted
from proof.explorer.effects import (
    CONTROL,
    JOBS,
    KEYS,
    OBJECTS,
    QUEUES,
    SCHEDULES,
    SIDE_ITEMS,
    true_time,
)
from proof.explorer.histories import History
from proof.explorer.rules import Run, judge_start, letters_owed, out_of_sight
from proof.explorer.rules_of_limits import judge_groups, judge_order, judge_runs
from proof.explorer.rules_of_records import keys_and_jobs
from proof.explorer.rules_of_schedules import (
    failed_before,
    is_stopped,
    is_withdrawn,
    judge_journal,
    pauses_owed,
)
from proof.explorer.states import Ground, State

SOON_MS = 1000
"""Shorter than any lease, and than the time that a process has to end that hands a job back."""


class Sight:
    """Judges states, those that were never seen before."""

    def __init__(self, ground: Ground) -> None:
        """Nothing was looked at yet."""
        self._ground = ground
        self._looked: dict[tuple[int, ...], tuple[tuple[str, str], ...]] = {}
        self._written: dict[int, frozenset[str]] = {}
        first = ground.effects.jobs(ground.effects.first[JOBS])
        self._stood = frozenset(job.id for job in first if job.waits_for is not None)

    def look(self, state: State) -> Iterator[str]:
        """Yield what is wrong with a state."""
        parts = state.parts
        key = (
            *(parts[JOBS], parts[CONTROL], parts[QUEUES], parts[KEYS], parts[SCHEDULES]),
            parts[SIDE_ITEMS] if self._ground.scenario.has_limits else 0,
        )
        found = self._looked.get(key)
        if found is None:
            found = self._looked[key] = tuple(self._look_at(state))
        if not state.actors and state.budget.crashes == self._ground.limits.crashes:
            yield from self._payloads_at_risk(state)
        for job_id, told in found:
            if not self._is_excused(state, job_id):
                yield told

    def _payloads_at_risk(self, state: State) -> Iterator[str]:
        """Yield the jobs that are to run and whose payload in the bucket expires."""
        finished = self._ground.value(state, OBJECTS)[1]
        for job in self._ground.jobs(state) if finished else ():
            if not job.status.is_final and job.payload.key in finished:
                yield f"job {job.id} is to run, and its payload expires"

    def _look_at(self, state: State) -> Iterator[tuple[str, str]]:
        jobs = self._ground.jobs(state)
        _, shard_map, watermark, *_ = self._ground.value(state, CONTROL)
        yield from out_of_sight(jobs, shard_map, watermark)
        letters = self._ground.value(state, QUEUES)[1]
        for told in letters_owed(jobs, letters):
            yield "", told
        if self._ground.scenario.has_limits:
            items = self._ground.value(state, SIDE_ITEMS)[0]
            for told in judge_runs(jobs, items, self._ground.scenario.declared):
                yield "", told
        if self._ground.scenario.has_groups:
            for told in judge_groups(jobs, true_time(state.now_ms)):
                yield "", told
        yield from keys_and_jobs(jobs, self._ground.value(state, KEYS)[0])
        schedules = self._ground.value(state, SCHEDULES)[0]
        for told in pauses_owed(jobs, schedules):
            yield "", told
        for schedule in schedules.values():
            for told in judge_journal(schedule, jobs):
                yield "", told

    def grants(self, state: State, after: int) -> Iterator[str]:
        """Yield what is wrong with the order in which a write on side items gives slots."""
        effects, largest = self._ground.effects, self._ground.scenario.largest_limit
        before, new = (
            effects.value(SIDE_ITEMS, part)[0] for part in (state.parts[SIDE_ITEMS], after)
        )
        yield from judge_order(self._ground.jobs(state), before, new, self._stood, largest)

    def _is_excused(self, state: State, job_id: str) -> bool:
        """Whether a job may be out of sight: its writer is about to notice that it stalled.

        If that writer died, the deep re-read of the last day finds it: the continuation shows it.
        """
        if not job_id:
            return False
        histories = self._ground.histories
        return job_id in state.left or any(
            job_id in self.written_by(histories[number]) for number in state.actors
        )

    def written_by(self, history: History) -> frozenset[str]:
        """Return the jobs that an actor wrote so far."""
        found = self._written.get(history.number)
        if found is None:
            ids = set()
            node: History | None = history
            while node is not None and node.parent is not None:
                value = self._ground.histories.answers.value(node.answer).value
                ids.add(getattr(getattr(value, "job", None), "id", ""))
                node = node.parent
            found = self._written[history.number] = frozenset(ids - {""})
        return found

    def _read_backfills(self, history: History) -> list[Backfill]:
        """Return the backfills that a worker has read."""
        found: list[Backfill] = []
        node: History | None = history
        while node is not None and node.parent is not None:
            value = self._ground.histories.answers.value(node.answer).value
            found += [value] if isinstance(value, Backfill) else []
            node = node.parent
        return found

    def promises(self, state: State, history: History) -> Iterator[str]:
        """Yield what was promised to a caller and is not so."""
        result = history.result
        submitted = result if isinstance(result, list) else [result]
        known = {job.id for job in self._ground.jobs(state)}
        for each in submitted:
            if isinstance(each, Submitted) and each.job.id not in known:
                yield f"job {each.job.id} was acknowledged and is not there"

    def start(
        self, state: State, job: Job, runs: tuple[Run, ...], history: History
    ) -> Iterator[str]:
        """Yield what the start of a handler breaks. ``runs``: those that run already."""
        ground = self._ground
        now = true_time(state.now_ms)
        by_id = {each.id: each for each in ground.jobs(state)}
        writer = ground.writer(history.root)
        for told in judge_start(job, by_id.get(job.id), runs, writer, now, ground.bounds):
            yield f"job {job.id}: {told}"
        same = [run for run in runs if run.job_id == job.id and ground.bounds.are_kept]
        if not _stood_still(state, history) and any(
            self._has_just_begun(state, run) for run in same
        ):
            yield f"job {job.id}: two handlers run it at once, and nobody stood still"
        if any(_must_end(run, state) and run.token < job.token for run in same):
            yield f"job {job.id}: a handler started beside one whose process has yet to end"
        if job.idempotency_key is not None:
            records = ground.value(state, KEYS)[0]
            if not any(r.job_id == job.id and not r.is_done for r in records.values()):
                yield f"job {job.id}: a handler started whose idempotency key is not its own"
        if job.schedule_id is not None:
            schedules = ground.value(state, SCHEDULES)
            schedule = schedules[0].get(job.schedule_id)
            began = _began(history)
            # Who asks at the moment of a change may hear of what was before.
            is_first = state.parts[SCHEDULES] == ground.effects.first[SCHEDULES]
            has_stood = is_first or (schedule is not None and schedule.updated_at < began)
            if has_stood and is_withdrawn(job, schedule):
                yield f"job {job.id}: a handler started for a time that its schedule took back"
            # A change that stood still between its time and its write came after what it read.
            backfills = self._read_backfills(history) or schedules[3].values()
            if is_stopped(job, schedule, backfills, began):
                yield f"job {job.id}: a handler started of a backfill that is paused or cancelled"
            if failed_before(job, by_id.values(), began):
                yield f"job {job.id}: a handler started after the failure of the one before"

    def _has_just_begun(self, state: State, run: Run) -> bool:
        """Whether a handler that runs began so lately that no lease of its can be over."""
        actors = [self._ground.histories[number] for number in state.actors]
        node = next(each for each in actors if each.root.label == run.label)
        while node.parent is not None:
            call = self._ground.call(node.parent)
            if call.port == "handler" and call.method == "start":
                lease_until = call.args[0].lease.until
                is_soon = state.now_ms - node.at_ms <= SOON_MS
                return is_soon and true_time(state.now_ms) < lease_until
            node = node.parent
        return False


def _must_end(run: Run, state: State) -> bool:
    """Whether a handler would not stop, and the timer of its process has yet to end it."""
    return run.ends_ms is not None and state.now_ms < run.ends_ms


def _stood_still(state: State, history: History) -> bool:
    """Whether time passed since an actor read its clock, and before the call that it makes next."""
    return history.reads_clock and state.now_ms - history.at_ms > SOON_MS


def _began(history: History) -> datetime:
    while history.parent is not None:
        history = history.parent
    return true_time(history.at_ms)
