"""What workers do with the occurrences of a schedule: take places, wait, skip, withdraw, call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hourhand.domain.jobs.job import Job, JobStatus, OnLost
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.aspects import Candidate
from hourhand.services.jobs.due import outgoing_of
from tests.scenarios.steps import IN_BUCKET, after, delivered, passed, works
from tests.scenarios.work import Work
from tests.world.occurrences import (
    let_failures_pause,
    nominal,
    put_occurrence,
    put_running,
    put_schedule,
)
from tests.world.runs import fail, fail_for_good, succeed
from tests.world.world import Process, World

SUCCEEDED, DEAD, CANCELLED = JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED
LEASE = START + timedelta(seconds=45)


def scheduled(world: World) -> None:
    put_schedule(world)


def due(number: int, policy: str | None = "skip", **fields: Any) -> Callable[[World], object]:
    return lambda world: put_occurrence(world, number, policy, **fields)


def runs_elsewhere(policy: str = "skip", **fields: Any) -> Callable[[World], object]:
    """Let the first occurrence run in a process that is never heard of again."""
    return lambda world: put_running(world, 0, policy, lease_until=LEASE, **fields)


def admitted_elsewhere(world: World) -> None:
    """Let the first occurrence take its place, and its worker die before the claim."""
    (delivery,) = world.receive()
    candidate = Candidate(delivery, world.store)
    assert world.worker.execution.admit(candidate) is None
    world.queues.hide(delivery, 0)


def waits_already(number: int, policy: str) -> Callable[[World], object]:
    """Let a further occurrence come while the first holds its place, and be put off."""

    def arrange(world: World) -> None:
        job = put_occurrence(world, number, policy)
        (delivery,) = [d for d in world.receive() if d.message.job_id == job.id]
        assert world.handle(delivery) == "done"
        for held in world.queues.messages():
            held.visible_at = max(world.clock.now(), held.message.due_at)

    return arrange


def replaced(world: World) -> None:
    put_schedule(world, revision=2)


def sent_twice(world: World) -> None:
    for job in world.store.jobs().values():
        rounding = world.timings.delay_rounding
        world.queues.send([outgoing_of(job, world.clock.now(), rounding)])


def in_the_bucket(world: World) -> None:
    content = world.worker.execution.tools.contents.keep_payload(
        "any", f'"{IN_BUCKET}"', START + timedelta(days=9)
    )
    put_occurrence(world, 1, payload=content)


def the_first_fails(job: Job, pulse: Pulse) -> Finished:
    return (fail_for_good if job.occurrence == nominal(0) else succeed)(job, pulse)


def works_on_one(world: World, process: Process) -> None:
    """Work off the first message; the others lie in their queues for whoever comes."""
    first, *others = world.receive()
    for delivery in others:
        world.queues.hide(delivery, 0)
    world.handle(first, succeed, process.worker)


ALONE = [
    Work(name="take a place", arrange=after(scheduled, due(0)), act=works(succeed)),
    Work(name="start without limits", arrange=after(scheduled, due(0, None)), act=works(succeed)),
    Work(
        name="two for one place",
        arrange=after(scheduled, due(0), due(1)),
        act=works(succeed),
    ),
    *(
        Work(
            name=f"the first of two for one place, {policy}",
            arrange=after(scheduled, due(0, policy), due(1, policy)),
            act=works_on_one,
            ends=(SUCCEEDED, CANCELLED),
        )
        for policy in ("skip", "buffer_all", "cancel_other")
    ),
    Work(
        name="the first of two messages of one job",
        arrange=after(scheduled, due(0), sent_twice),
        act=works_on_one,
    ),
    Work(
        name="a message delivered twice",
        arrange=after(scheduled, due(0, "buffer_all"), due(1, "buffer_all"), sent_twice),
        act=works(succeed),
    ),
    Work(
        name="end and call the next",
        arrange=after(
            scheduled,
            due(0, "buffer_all"),
            admitted_elsewhere,
            waits_already(1, "buffer_all"),
        ),
        act=works(succeed),
    ),
    Work(
        name="cancel one that waits for its retry",
        arrange=after(
            scheduled, due(0, "cancel_other"), delivered(fail), due(1, "cancel_other"), passed(5)
        ),
        act=works(succeed),
        ends=(SUCCEEDED, CANCELLED),
    ),
    Work(
        name="withdraw what was replaced",
        arrange=after(scheduled, due(0), replaced),
        act=works(succeed),
        ends=(CANCELLED,),
    ),
    Work(
        name="withdraw a job with a payload in the bucket",
        arrange=after(scheduled, in_the_bucket, replaced),
        act=works(succeed),
        ends=(CANCELLED,),
    ),
    Work(
        name="fail and pause the schedule",
        arrange=after(
            scheduled,
            let_failures_pause,
            due(0, None, pauses_schedule=True),
            due(1, None, pauses_schedule=True),
        ),
        act=works(the_first_fails),
        behaviour=the_first_fails,
        ends=(DEAD, CANCELLED, SUCCEEDED),
    ),
]

BESIDE_ANOTHER = [
    Work(
        name="skip",
        arrange=after(scheduled, let_failures_pause, runs_elsewhere(), due(1)),
        act=works(succeed),
        ends=(SUCCEEDED, CANCELLED),
    ),
    Work(
        name="wait for a run that is lost",
        arrange=after(scheduled, runs_elsewhere("buffer_all"), due(1, "buffer_all")),
        act=works(succeed),
    ),
    Work(
        name="wait for a run that dies",
        arrange=after(
            scheduled, runs_elsewhere("buffer_all", on_lost=OnLost.DEAD), due(1, "buffer_all")
        ),
        act=works(succeed),
        ends=(SUCCEEDED, DEAD),
    ),
    Work(
        name="a third where one may wait",
        arrange=after(
            scheduled, runs_elsewhere("buffer_one"), due(1, "buffer_one"), due(2, "buffer_one")
        ),
        act=works(succeed),
        ends=(SUCCEEDED, CANCELLED),
    ),
    Work(
        name="stop one that runs",
        arrange=after(scheduled, runs_elsewhere("cancel_other"), due(1, "cancel_other")),
        act=works(succeed),
        ends=(SUCCEEDED, CANCELLED),
    ),
]


def check_places(world: World) -> None:
    """At no moment did more of the group run than may."""
    running: set[str] = set()
    for change in world.store.changes:
        job = change.after
        if job.overlap is None:
            continue
        if job.status is JobStatus.RUNNING:
            running.add(job.id)
        else:
            running.discard(job.id)
        assert len(running) <= job.overlap.max_running, (change.name, running)
