"""Occurrences of a group, and workers that meet in any order: never too many run, none is lost.

The services are the real ones, and so are the slots. A worker handles a message, and at a call that
is drawn, other steps happen first: another worker's message, an end, a cancel, time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hourhand.domain.errors import HourhandError
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.domain.jobs.transitions import complete, retry_later
from hourhand.domain.limits.slots import waits_in_any_case
from hourhand.services.jobs.due import outgoing_of
from tests.examples import examples
from tests.world.factories import make_content
from tests.world.faults import Faults
from tests.world.occurrences import (
    held_in,
    job_id_of,
    put_occurrence,
    put_schedule,
    reason_of,
    waiting_in,
)
from tests.world.runs import HandlerKilled, kill_process
from tests.world.world import World

JOBS = 4
MINUTES_TO_REST = 120
DEEPEST = 2
"""How many workers may be in the middle of something while another one is stepped."""

REASONS = {
    OverlapPolicy.SKIP: {"overlap"},
    OverlapPolicy.ALLOW: {"overlap"},
    OverlapPolicy.BUFFER_ONE: {"buffer full"},
    OverlapPolicy.BUFFER_ALL: {"buffer full"},
    OverlapPolicy.CANCEL_OTHER: {"overlap"},
}
CALLS = (
    "jobs.get",
    "jobs.get_many",
    "jobs.transition",
    "side_items.query_items",
    "side_items.write_item",
    "schedules.get",
)

pytestmark = pytest.mark.timeout(600)  # the more examples of CI take a minute on a free core
POLICIES = st.sampled_from(list(OverlapPolicy))
CHANGES = ("end", "retry", "cancel", "redrive", "put off", "put off for long", "copy", "a minute")
NUMBERS = st.integers(min_value=0, max_value=JOBS - 1)
MEETINGS = st.none() | st.tuples(st.sampled_from(CALLS), st.integers(min_value=1, max_value=4))
STEP = st.one_of(
    st.tuples(st.just("work"), NUMBERS, MEETINGS),
    st.tuples(st.sampled_from(CHANGES), NUMBERS, st.none()),
)
STEPS = st.lists(STEP, min_size=20, max_size=60)
Step = tuple[str, int, tuple[str, int] | None]


@dataclass
class Group:
    """The jobs of one group, and who does what with them."""

    policy: OverlapPolicy
    max_running: int
    buffer_limit: int
    steps: Iterator[Step]
    world: World = field(default_factory=World)
    depth: int = 0

    def __post_init__(self) -> None:
        put_schedule(self.world)
        for number in range(JOBS):
            put_occurrence(
                self.world,
                number,
                self.policy,
                max_running=self.max_running,
                buffer_limit=self.buffer_limit,
            )
        self.world.tick()

    def play(self) -> None:
        """Do all steps, and look after each."""
        for step in self.steps:
            self.step(*step)

    def step(self, name: str, number: int, meeting: tuple[str, int] | None) -> None:
        """Do one step: of a worker, of a handler, of a caller, or of time."""
        job = self.world.job(job_id_of(number))
        with contextlib.suppress(HourhandError):
            if name == "work":
                self.work(job, meeting)
            elif name == "a minute":
                self.world.advance(60)
                self.world.tick()
            else:
                self.disturb(name, job)
        self.check()

    def work(self, job: Job, meeting: tuple[str, int] | None) -> None:
        """Let a worker handle the message of a job up to its handler, which runs on alone."""
        mine = None
        for delivery in self.world.receive():
            if delivery.message.job_id == job.id and mine is None:
                mine = delivery
            else:
                self.world.queues.hide(delivery, 0)
        if mine is None:
            return
        faults = Faults()
        if meeting is not None and self.depth < DEEPEST:
            faults.interrupt(meeting[0], self.meet, nth=meeting[1])
        with contextlib.suppress(HandlerKilled):
            self.world.handle(mine, kill_process, self.world.process(faults).worker)

    def meet(self) -> None:
        """Let the next steps happen while a worker is in the middle of something."""
        self.depth += 1
        for _ in range(2):
            step = next(self.steps, None)
            if step is not None:
                self.step(*step)
        self.depth -= 1

    def disturb(self, name: str, job: Job) -> None:
        """Let a run end, or a caller change a job, where its state allows it."""
        world, now = self.world, self.world.clock.now()
        tools = world.worker.execution.tools
        if name == "end" and job.status is JobStatus.RUNNING:
            end = partial(complete, now=now, actor="w", result=make_content(), progress=None)
            tools.due.make(job, end)
            tools.recovery.settle_end(world.job(job))
        elif name == "retry" and job.status is JobStatus.RUNNING:
            again = partial(retry_later, outcome=Outcome.FAILED, reason="Error: no")
            tools.due.move(job, timedelta(seconds=2), again, "w")
        elif name == "cancel" and job.status.is_waiting:
            world.api.operations.cancel(job.id, actor="caller", reason="by hand")
        elif name == "redrive" and job.status.is_final:
            world.api.operations.redrive(job.id, actor="caller")
        elif name.startswith("put off") and job.status.is_waiting:
            world.change(job, delay_seconds=20 if name == "put off" else 1200)
        elif name == "copy" and job.status.is_waiting:
            world.queues.send([outgoing_of(job, now, timedelta(0))])

    def check(self) -> None:
        """No more run than may, each with a slot of its own, and no more wait than may."""
        jobs = self.jobs()
        running = {job.id: job.generation for job in jobs if job.status is JobStatus.RUNNING}
        held = held_in(self.world)
        assert len(running) <= self.max_running
        assert running.items() <= held.items()
        assert len(held) <= self.max_running
        own = {job.id for job in jobs if not waits_in_any_case(job)}
        waiting = [job_id for job_id in waiting_in(self.world) if job_id in own]
        most = {
            OverlapPolicy.BUFFER_ONE: 1,
            OverlapPolicy.BUFFER_ALL: self.buffer_limit,
            OverlapPolicy.SKIP: 0,
            OverlapPolicy.ALLOW: 0,
        }.get(self.policy, JOBS)
        assert len(waiting) <= most

    def jobs(self) -> list[Job]:
        """Return the jobs in the order of their times."""
        return [self.world.job(job_id_of(number)) for number in range(JOBS)]


def _played(policy: OverlapPolicy, max_running: int, buffer_limit: int, steps: list[Step]) -> Group:
    group = Group(policy, max_running, buffer_limit, iter(steps))
    group.play()
    return group


some_group = given(
    policy=POLICIES,
    max_running=st.integers(min_value=1, max_value=3),
    buffer_limit=st.integers(min_value=1, max_value=3),
    steps=STEPS,
)


@pytest.mark.no_cover
@some_group
@examples(300)
def test_never_more_run_than_may_and_each_job_ends_or_is_told_why_not(
    policy: OverlapPolicy, max_running: int, buffer_limit: int, steps: list[Step]
) -> None:
    group = _played(policy, max_running, buffer_limit, steps)
    group.world.settle(minutes=MINUTES_TO_REST)
    for job in group.jobs():
        assert job.status.is_final
        if job.status is JobStatus.CANCELLED and job.token == 0:
            assert reason_of(job) in {*REASONS[policy], "by hand"}
    assert waiting_in(group.world) == []


def is_due(world: World, job: Job) -> bool:
    """Whether a job has not begun, though its time has come."""
    return job.status.is_waiting and job.due_at is not None and job.due_at <= world.clock.now()


@pytest.mark.no_cover
@some_group
@examples(200)
@example(
    policy=OverlapPolicy.BUFFER_ALL,
    max_running=2,
    buffer_limit=1,
    steps=[
        *(("work", 1, None), ("work", 0, ("jobs.get", 1)), ("work", 2, ("jobs.get", 1))),
        *(("put off", 0, None), ("a minute", 0, None)),
    ],
)
def test_a_job_that_got_a_slot_starts_when_its_message_comes(
    policy: OverlapPolicy, max_running: int, buffer_limit: int, steps: list[Step]
) -> None:
    group = _played(policy, max_running, buffer_limit, steps)
    held, world = held_in(group.world), group.world
    granted = [
        job for job in group.jobs() if job.status.is_waiting and held.get(job.id) == job.generation
    ]
    for job in granted:
        number = next(n for n in range(JOBS) if job_id_of(n) == job.id)
        older = group.jobs()[:number] if policy is OverlapPolicy.BUFFER_ALL else []
        if not is_due(world, job) or any(is_due(world, one) for one in older):
            # Jobs that are buffered start in the order of their times (ADR 67).
            continue
        world.queues.purge()
        world.queues.send([outgoing_of(job, world.clock.now(), timedelta(0))])
        group.step("work", number, None)
        assert world.job(job).status is JobStatus.RUNNING
