"""Workers that look, decide, store and claim in any order: never too many run, nobody is forgotten.

The model has what the protocol rests on and nothing else: jobs that change under conditions, and
slots that are written one after another. Each step of a worker is a step of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.groups.overlap import Overlap, OverlapPolicy, Slots
from hourhand.domain.groups.slots import (
    Admit,
    Wait,
    decide_place,
    has_begun,
    ids_next_in_line,
    ids_to_look_up,
    next_in_line,
    rank_of,
)
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START, MemorySlotStore
from hourhand.testing import make_job
from tests.examples import examples

TIMINGS = Timings()
GROUP = "nightly"
KEEP = START + timedelta(days=900)
JOBS = 4
STEPS_TO_CLAIM = 5
ROUNDS_TO_REST = 2 * JOBS
LONGEST_WAIT = timedelta(minutes=15)

OVERLAPS = st.builds(
    Overlap,
    group=st.just(GROUP),
    policy=st.sampled_from(list(OverlapPolicy)),
    max_running=st.integers(min_value=1, max_value=2),
    buffer_limit=st.integers(min_value=1, max_value=3),
    newest_first=st.booleans(),
)
WORK = ("work a", "work b", "come")
CHANGES = ("end", "retry", "cancel", "redrive", "put off", "put off for long", "a minute", "wake")
NUMBERS = st.integers(min_value=0, max_value=JOBS - 1)
STEP = st.one_of(
    st.tuples(st.sampled_from(WORK), NUMBERS), st.tuples(st.sampled_from(CHANGES), NUMBERS)
)
STEPS = st.lists(STEP, min_size=50, max_size=100)


@dataclass
class Worker:
    """What a worker that holds a message of one job knows by now; each look is one step."""

    job: Job
    slots: Slots | None = None
    known: dict[str, Job | None] | None = None
    is_admitted: bool = False


@dataclass
class Group:
    """The jobs of one group, their slots, and workers at any stage of admitting them."""

    overlap: Overlap
    now: datetime = START + timedelta(hours=1)
    slots: MemorySlotStore = field(default_factory=MemorySlotStore)
    jobs: dict[str, Job] = field(default_factory=dict)
    workers: dict[tuple[str, str], Worker] = field(default_factory=dict)
    decisions: int = 0

    def __post_init__(self) -> None:
        for number in range(JOBS):
            job = make_job(
                id=f"o{number}",
                status=JobStatus.ENQUEUED,
                due_at=self.now,
                schedule_id=GROUP,
                occurrence=START + timedelta(minutes=number),
            )
            self.jobs[job.id] = job

    def step(self, name: str, number: int) -> None:
        """Do one step: of a worker, of a handler, of people, or of time."""
        job = self.jobs[f"o{number}"]
        if name.startswith("work"):
            self.work(name, job)
        elif name == "come":
            self.come(job)
        elif name == "a minute":
            self.now += timedelta(minutes=1)
        else:
            self.disturb(name, job)

    def disturb(self, name: str, job: Job) -> None:
        """Let a run end, or somebody change a job, where its state allows it."""
        is_waiting, is_running = job.status.is_waiting, job.status is JobStatus.RUNNING
        if name == "end" and is_running:
            self.change(job, status=JobStatus.DEAD, due_at=None, shard=None)
        elif name == "retry" and is_running:
            self.renew(job, status=JobStatus.RETRYING)
        elif name == "cancel" and is_waiting:
            self.change(job, status=JobStatus.CANCELLED, due_at=None, shard=None)
        elif name == "redrive" and job.status.is_final:
            redriven = {"round": job.round + 1, "due_at": self.now, "shard": 0, "lateness_ms": None}
            self.renew(job, status=JobStatus.ENQUEUED, **redriven)
        elif name == "put off" and is_waiting:
            self.renew(job, due_at=self.now + timedelta(seconds=20))
        elif name == "put off for long" and is_waiting:
            self.renew(job, due_at=self.now + timedelta(hours=9))
        elif name == "wake" and is_waiting:
            self.renew(job, due_at=self.now)

    def come(self, job: Job) -> None:
        """Let a worker take a job from its message to its claim, undisturbed."""
        for _ in range(STEPS_TO_CLAIM):
            self.work("alone", self.jobs[job.id])

    def work(self, name: str, job: Job) -> None:
        """Let a worker go one step on with a job: take it, look, look again, decide, claim."""
        worker = self.workers.get((name, job.id))
        if worker is None:
            if self.is_due(job):
                self.workers[name, job.id] = Worker(job)
        elif worker.slots is None:
            worker.slots = self.slots.read_slots(GROUP)
        elif worker.known is None:
            ids = ids_to_look_up(worker.job, self.overlap, worker.slots)
            worker.known = {job_id: self.jobs.get(job_id) for job_id in ids}
        elif not worker.is_admitted:
            worker.is_admitted = self.decide(worker.job, worker.slots, worker.known)
            if not worker.is_admitted:
                del self.workers[name, job.id]
        else:
            del self.workers[name, job.id]
            self.claim(worker.job)

    def decide(self, job: Job, slots: Slots, known: dict[str, Job | None]) -> bool:
        """Decide and do what follows; whether the job was admitted."""
        self.decisions += 1
        decision = decide_place(
            job,
            self.overlap,
            slots,
            known,
            now=self.now,
            timings=TIMINGS,
            write_id=f"w{self.decisions}",
        )
        stored = self.jobs[job.id]
        is_unchanged = stored.status.is_waiting and stored.generation == job.generation
        if not isinstance(decision, Admit | Wait):
            if is_unchanged:
                self.change(stored, status=JobStatus.CANCELLED, due_at=None, shard=None)
            return False
        if decision.slots and not self.slots.write_slots(decision.slots, keep_until=KEEP):
            return False
        if isinstance(decision, Admit):
            return True
        assert timedelta(0) < decision.deferral <= LONGEST_WAIT
        for other in decision.stops:
            self.step("end", int(other.id[1:]))
            self.step("cancel", int(other.id[1:]))
        if is_unchanged:
            self.renew(stored, due_at=self.now + decision.deferral)
        return False

    def claim(self, job: Job) -> None:
        """Make the claim, under its condition."""
        stored = self.jobs[job.id]
        if self.is_due(stored) and stored.generation == job.generation:
            begun = {"token": stored.token + 1, "lateness_ms": stored.lateness_ms or 1}
            self.change(stored, status=JobStatus.RUNNING, **begun)

    def is_due(self, job: Job) -> bool:
        return job.status.is_waiting and job.due_at is not None and job.due_at <= self.now

    def change(self, job: Job, **fields: Any) -> None:
        self.jobs[job.id] = replace(job, **fields)

    def renew(self, job: Job, **fields: Any) -> None:
        self.change(job, generation=job.generation + 1, **fields)

    def running(self) -> set[str]:
        return {job.id for job in self.jobs.values() if job.status is JobStatus.RUNNING}

    def waiting(self) -> list[Job]:
        """Return those that wait, in the order of the line."""
        waiting = [job for job in self.jobs.values() if job.status.is_waiting]
        return sorted(waiting, key=lambda job: rank_of(job, self.overlap))


@given(overlap=OVERLAPS, steps=STEPS)
@examples(300)
def test_never_more_run_than_may_in_whatever_order_things_happen(
    overlap: Overlap, steps: list[tuple[str, int]]
) -> None:
    group = Group(overlap)
    for name, number in steps:
        group.step(name, number)
        slots = group.slots.read_slots(GROUP)
        assert len(group.running()) <= overlap.max_running
        assert group.running() <= set(slots.holders)
        assert len(slots.holders) <= overlap.max_running
        assert len(slots.waiting) <= overlap.buffer_limit
        assert list(slots.waiting) == sorted(set(slots.waiting))


@given(overlap=OVERLAPS, steps=STEPS)
@examples(300)
def test_whatever_happened_everybody_comes_to_run_or_is_told_why_not(
    overlap: Overlap, steps: list[tuple[str, int]]
) -> None:
    group = Group(overlap)
    for name, number in steps:
        group.step(name, number)
    group.workers.clear()
    for _ in range(ROUNDS_TO_REST):
        group.now += timedelta(hours=10)
        for job in list(group.jobs.values()):
            # Whoever began before ends now.
            if job.status is JobStatus.RUNNING or has_begun(job):
                group.change(job, status=JobStatus.SUCCEEDED, due_at=None, shard=None)
        for job in group.waiting():
            group.come(job)
    assert all(job.status.is_final for job in group.jobs.values())


@given(overlap=OVERLAPS, steps=STEPS)
@examples(200)
def test_who_is_called_is_admitted_when_it_comes(
    overlap: Overlap, steps: list[tuple[str, int]]
) -> None:
    group = Group(overlap)
    for name, number in steps:
        group.step(name, number)
    group.workers.clear()
    slots = group.slots.read_slots(GROUP)
    known = {job_id: group.jobs.get(job_id) for job_id in ids_next_in_line(overlap, slots)}
    called = next_in_line(overlap, slots, known, now=group.now, timings=TIMINGS)
    for job in called:
        group.renew(job, due_at=group.now)
    if overlap.policy is OverlapPolicy.CANCEL_OTHER:
        return  # There an older one that waits gives way to a newer one.
    for job in called:
        group.come(job)
        assert group.jobs[job.id].status is JobStatus.RUNNING
