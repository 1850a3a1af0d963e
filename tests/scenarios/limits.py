"""What components do with the slots of concurrency limits: take, wait, hand off, free, recheck."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.rates import PAID_FOR
from hourhand.domain.side_items import SideItemKind
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.wiring.functions import WorkerServices
from tests.scenarios.steps import after, passed
from tests.scenarios.work import Work
from tests.world.runs import Behaviour, HandlerKilled, fail, kill_process, succeed
from tests.world.world import FUNCTION_SECONDS, Process, World

SUCCEEDED, CANCELLED, EXPIRED = JobStatus.SUCCEEDED, JobStatus.CANCELLED, JobStatus.EXPIRED


class LimitedWorld(World):
    """A world whose handler has limits. ``most_running``: how many jobs ever ran at once."""

    def __init__(self, *limits: Limit, **how: Any) -> None:
        self.limits = limits
        self.most_running = 0
        super().__init__(handlers=(HandlerInfo(name="greet", limits=limits),), **how)

    def handle(
        self,
        delivery: Delivery,
        behaviour: Behaviour = succeed,
        by: WorkerServices | None = None,
        *,
        seconds_left: float = FUNCTION_SECONDS,
    ) -> Disposition:
        def watched(job: Job, pulse: Pulse) -> Finished:
            self.most_running = max(self.most_running, len(self.running()))
            return behaviour(job, pulse)

        return super().handle(delivery, watched, by, seconds_left=seconds_left)

    def running(self) -> list[Job]:
        """Return the jobs that run."""
        jobs = self.store.jobs().values()
        return [job for job in jobs if job.status is JobStatus.RUNNING]

    def parked(self) -> list[Job]:
        """Return the jobs that wait for a slot, in the order in which they were submitted."""
        jobs = self.store.jobs().values()
        waiting = [job for job in jobs if job.waits_for is not None and not job.status.is_final]
        return sorted(waiting, key=lambda job: (job.created_at, job.id))

    def side_kinds(self, kind: SideItemKind) -> list[str]:
        """Return the sort keys of the side items of one kind, in order."""
        return [key.sort for key in sorted(self.side_items.items()) if key.kind is kind]

    def holders(self) -> set[str]:
        """Return the keys of all holders of slots."""
        items = self.side_items.items().values()
        return {key for item in items for key in item.numbers("holders")}


def check_limits(world: World) -> None:
    """Check that no limit was exceeded, that no waiter is left, and no slot of a live job."""
    assert isinstance(world, LimitedWorld)
    for limit in world.limits:
        if isinstance(limit, Rate):
            check_rate(world, limit)
        elif not limit.path.divides:
            assert world.most_running <= limit.max, f"{world.most_running} jobs ran at once"
    assert world.side_kinds(SideItemKind.WAITER) == [], "a waiter record is left"
    alive = {j.id for j in world.store.jobs().values() if not j.status.is_final}
    assert not alive & world.holders(), "a job that waits holds a slot"


def check_rate(world: World, rate: Rate) -> None:
    """Check that attempts started no closer than the rate allows: a burst of 1 has equal distances.

    A gate that was passed counts for a while, so one of two starts may be late by that.
    """
    assert rate.burst_size == 1
    first = 2 if rate.on == "retry" else 1
    starts = sorted(run.started_at for run in world.runs if run.job.attempt >= first)
    allowed = timedelta(seconds=rate.per / rate.count) - PAID_FOR
    for sooner, later in pairwise(starts):
        assert later - sooner >= allowed, f"two attempts started {later - sooner} apart"


# --- where the work begins ---


def submits(count: int, **body: Any) -> Callable[[World], object]:
    """Let jobs be submitted, a millisecond after one another."""

    def arrange(world: World) -> None:
        for _ in range(count):
            world.submit(**body)
            world.advance(0.001)

    return arrange


def runs_elsewhere(world: World) -> None:
    """Let the first message's job run in a process that dies in it."""
    with pytest.raises(HandlerKilled):
        world.handle(world.receive()[0], kill_process)
    _show_all(world)


def wait(world: World) -> None:
    """Let all jobs that are sent find their limit full."""
    world.deliver()


def _show_all(world: World) -> None:
    for held in world.queues.messages():
        running = world.job(held.message.job_id).status is JobStatus.RUNNING
        if not running:
            held.visible_at = world.clock.now()


# --- the work ---


def works_off_one(behaviour: Behaviour = succeed) -> Callable[[World, Process], object]:
    """Let the process work off the first message."""

    def act(world: World, process: Process) -> None:
        deliveries = world.receive()
        world.handle(deliveries[0], behaviour, process.worker)
        for delivery in deliveries[1:]:
            world.queues.hide(delivery, 0)

    return act


def works_off_all(world: World, process: Process) -> None:
    """Let the process work off all messages."""
    for delivery in world.receive():
        world.handle(delivery, by=process.worker)


def works_while_others_come(behaviour: Behaviour = succeed) -> Callable[[World, Process], object]:
    """Let the process work off the first message, and others come while its handler runs."""

    def act(world: World, process: Process) -> None:
        first, *others = world.receive()

        def meanwhile(job: Job, pulse: Pulse) -> Finished:
            for delivery in others:
                world.handle(delivery)
            return behaviour(job, pulse)

        world.handle(first, meanwhile, process.worker)

    return act


def comes_while_another_works(world: World, process: Process) -> None:
    """Let the process find a limit full whose holder runs, and ends well."""
    first, *others = world.receive()

    def meanwhile(job: Job, pulse: Pulse) -> Finished:
        for delivery in others:
            with suppress(BaseException):
                world.handle(delivery, succeed, process.worker)
        return succeed(job, pulse)

    world.handle(first, meanwhile)


def operates_on_parked(name: str, **body: Any) -> Callable[[World, Process], object]:
    """Let the API of the process do something to the first parked job."""

    def act(world: World, process: Process) -> None:
        assert isinstance(world, LimitedWorld)
        parked = world.parked()[0]
        if name == "change":
            world.change(parked, by=process.api, **body)
        else:
            getattr(process.api.operations, name)(parked.id, actor="caller")

    return act


def ticks(world: World, process: Process) -> None:
    """Let the scheduler of the process tick."""
    world.tick(process.scheduler)


_ONE = Work(
    name="a job takes a free slot, and frees it at its end",
    make=lambda: LimitedWorld(Concurrency(3)),
    arrange=submits(1),
    act=works_off_one(),
)
_LAZY = replace(
    _ONE,
    name="a job takes the slot that another left in a lazy limit",
    make=lambda: LimitedWorld(Concurrency(1)),
    arrange=after(submits(1), wait, submits(1)),
)
_RETRY = replace(_ONE, name="a job frees its slot between two attempts", act=works_off_one(fail))
_PARKS = Work(
    name="a job finds a limit full, and is parked",
    make=lambda: LimitedWorld(Concurrency(1)),
    arrange=after(submits(2), runs_elsewhere),
    act=works_off_one(),
)
_PARKS_BEHIND = replace(
    _PARKS,
    name="a job finds a limit full in which another waits",
    arrange=after(submits(2), runs_elsewhere, wait, submits(1)),
)
_HANDS_OFF = Work(
    name="a job ends while others wait",
    make=lambda: LimitedWorld(Concurrency(1)),
    arrange=submits(3),
    act=works_while_others_come(),
)
_COMES = Work(
    name="a job finds a limit full whose holder ends soon",
    make=lambda: LimitedWorld(Concurrency(1)),
    arrange=submits(3),
    act=comes_while_another_works,
)
_CANCELS = Work(
    name="a waiter is cancelled",
    make=lambda: LimitedWorld(Concurrency(1)),
    arrange=after(submits(3), runs_elsewhere, wait),
    act=operates_on_parked("cancel"),
    ends=(CANCELLED, SUCCEEDED),
)
_CHANGES = replace(
    _CANCELS,
    name="a waiter is rescheduled",
    act=operates_on_parked("change", delay_seconds=400),
    ends=(SUCCEEDED,),
)
_HURRIES = replace(_CHANGES, name="a waiter is run now", act=operates_on_parked("run_now"))
_SWEPT = replace(
    _CHANGES,
    name="the sweep ends a lost attempt for which another job waits",
    arrange=after(submits(3), runs_elsewhere, wait, passed(48)),
    act=ticks,
)
_EXPIRES = Work(
    name="the sweep expires a waiter",
    make=lambda: LimitedWorld(Concurrency(1)),
    arrange=after(
        submits(1),
        submits(2, expires_at=rfc3339(START + timedelta(seconds=30))),
        runs_elsewhere,
        wait,
        passed(40),
    ),
    act=ticks,
    ends=(EXPIRED, SUCCEEDED),
)
_TWO_LIMITS = tuple(
    replace(
        work,
        name=f"{work.name}, of a key and of all",
        make=lambda: LimitedWorld(Concurrency(1, key="tenant"), Concurrency(3)),
    )
    for work in (_ONE, _PARKS, _HANDS_OFF, _CANCELS, _CHANGES, _SWEPT)
)
_EAGER = tuple(
    replace(
        work,
        name=f"{work.name}, under a limit of three",
        make=lambda: LimitedWorld(Concurrency(3)),
        arrange=after(submits(5), runs_elsewhere, runs_elsewhere, runs_elsewhere, *rest),
    )
    for work, rest in ((_PARKS, ()), (_CANCELS, (wait,)), (_SWEPT, (wait, passed(48))))
)

_SITS = replace(
    _PARKS,
    name="a job takes the only seat of a full limit",
    make=lambda: LimitedWorld(Concurrency(1, max_waiting=1)),
)
_REFUSED = replace(
    _PARKS_BEHIND,
    name="a job finds the only seat of a full limit taken",
    make=lambda: LimitedWorld(Concurrency(1, max_waiting=1)),
    ends=(CANCELLED, SUCCEEDED),
)
_REPLACES = replace(
    _REFUSED,
    name="a job replaces the one that waits for a full limit",
    make=lambda: LimitedWorld(Concurrency(1, on_full="replace_waiting")),
)
_STOPS = replace(
    _PARKS,
    name="a job stops the one that holds the slot",
    make=lambda: LimitedWorld(Concurrency(1, on_full="cancel_running")),
    ends=(CANCELLED, SUCCEEDED),
)
_SUCCEEDS = replace(
    _HANDS_OFF,
    name="a job that holds its slot until success ends while others wait",
    make=lambda: LimitedWorld(Concurrency(1, holds="success")),
)


def _paced() -> LimitedWorld:
    return LimitedWorld(Rate(6, per=60, burst=1), Concurrency(3))


_STARTS = replace(_ONE, name="a job starts under a rate", make=_paced)
_RESERVES = replace(
    _STARTS,
    name="a job finds the rate used up, and reserves a start time",
    arrange=after(submits(1), wait, submits(1)),
)
_COMES_BACK = replace(
    _STARTS,
    name="a job comes back at its start time",
    arrange=after(submits(2), wait, passed(10)),
)
_LOST = replace(
    _STARTS,
    name="the messages of several attempts that were lost come back together",
    arrange=after(submits(1), runs_elsewhere, passed(10), submits(1), runs_elsewhere, passed(50)),
    act=works_off_all,
)
_CROWDED = replace(
    _STARTS,
    name="several jobs come back late together",
    arrange=after(submits(4), wait, passed(45)),
)
_LINE_BEHIND = replace(
    _STARTS,
    name="a job gets a slot, and finds that the rate is used up",
    make=lambda: LimitedWorld(Rate(6, per=60, burst=1, on="retry"), Concurrency(1)),
    arrange=after(submits(2), runs_elsewhere),
)

LIMITS = (
    _ONE,
    _LAZY,
    _RETRY,
    _PARKS,
    _PARKS_BEHIND,
    _HANDS_OFF,
    _COMES,
    _CANCELS,
    _CHANGES,
    _HURRIES,
    _SWEPT,
    _EXPIRES,
    *_TWO_LIMITS,
    *_EAGER,
    _SITS,
    _REFUSED,
    _REPLACES,
    _STOPS,
    _SUCCEEDS,
    _STARTS,
    _RESERVES,
    _COMES_BACK,
    _LOST,
    _CROWDED,
    _LINE_BEHIND,
)
"""All the work that touches slots."""
