"""The starts that handlers take of rate limits while they run, and what their jobs keep of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.domain.jobs.waiting import TakenStart
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.times import rfc3339
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.side_item_store import SideItemWrite
from hourhand.services.jobs.attempt import MAX_RESERVED_STARTS
from hourhand.services.limits.rate_limiters import LONGEST_RETRY_SECONDS
from tests.world.limits import limited
from tests.world.runs import Behaviour, fail
from tests.world.world import World

NONE = timedelta(0)
SECOND = timedelta(seconds=1)


def rate(count: int = 6, per: float = 60, name: str = "api", **options: Any) -> Rate:
    return Rate(count, per=per, burst=1, name=name, on="take", **options)


class Calls:
    """A handler that takes a start of each of some limits, and when it went on."""

    def __init__(self, world: World, *names: str, longest: timedelta = NONE) -> None:
        self.world, self.names, self.longest = world, names or ("api",), longest
        self.at: list[datetime] = []
        self.taken: list[TakenStart] = []

    def __call__(self, job: Job, pulse: Pulse) -> Finished:
        for name in self.names:
            taken = pulse.take_start(name, 1, self.longest)
            self.taken.append(taken)
            if not taken.is_start:
                return Finished(outcome=Outcome.SNOOZED, retry_after=taken.wait, reason="rate")
        self.at.append(self.world.clock.now())
        return Finished(outcome=Outcome.SUCCEEDED)

    def gaps(self) -> list[float]:
        return [(later - sooner).total_seconds() for sooner, later in pairwise(sorted(self.at))]


def deliver_for(world: World, seconds: float, handler: Behaviour) -> None:
    end = world.clock.monotonic() + seconds
    while world.clock.monotonic() < end:
        world.deliver(handler)
        world.advance(0.5)


def test_a_reservation_is_kept_in_the_job_and_used_by_its_next_attempt() -> None:
    world = limited(rate())
    calls = Calls(world)
    for name in ("one", "two"):
        world.submit(id=name)
    world.deliver(calls)
    job = world.job("two")
    [reserved] = job.reserved_starts
    assert (job.status, job.attempt, reserved.at) == (JobStatus.RETRYING, 0, job.due_at)
    deliver_for(world, 12, calls)
    assert calls.gaps() == pytest.approx([10], abs=0.6)
    assert world.job("two").status is JobStatus.SUCCEEDED


def test_jobs_that_come_back_late_together_are_held_to_the_rate() -> None:
    world = limited(rate())
    calls = Calls(world)
    for _ in range(5):
        world.submit()
    world.deliver(calls)
    world.advance(120)
    deliver_for(world, 90, calls)
    assert len(calls.at) == 5
    assert min(calls.gaps()[1:]) >= 7.9
    # Each comes back from its reserved time, and once more from the gate where it paid.
    assert len(calls.taken) <= 5 * 3


@pytest.fixture
def paid() -> Calls:
    """Calls of three jobs that came late: two went on, the third has paid the gate and waits."""
    calls = Calls(limited(rate()))
    for _ in range(3):
        calls.world.submit()
    calls.world.deliver(calls)
    calls.world.advance(60)
    calls.world.deliver(calls)
    return calls


def test_a_job_that_paid_the_gate_and_comes_back_in_time_needs_no_write(paid: Calls) -> None:
    world = paid.world
    [job] = [job for job in world.store.jobs().values() if job.status is JobStatus.RETRYING]
    [start] = job.reserved_starts
    assert start.is_paid
    before = world.side_items.items()
    world.advance((start.at - world.clock.now()).total_seconds() + 4)
    world.deliver(paid)
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.side_items.items() == before


def test_a_job_that_paid_the_gate_long_ago_passes_it_again(paid: Calls) -> None:
    before = paid.world.side_items.items()
    paid.world.advance(60)
    paid.world.deliver(paid)
    assert len(paid.at) == 3
    assert paid.world.side_items.items() != before


def test_a_job_that_is_run_before_its_time_waits_for_it_and_reserves_no_other() -> None:
    world = limited(rate())
    calls = Calls(world)
    for name in ("one", "two"):
        world.submit(id=name)
    world.deliver(calls)
    [reserved] = world.job("two").reserved_starts
    world.advance(3)
    world.api.operations.run_now("two", actor="caller")
    world.deliver(calls)
    job = world.job("two")
    assert (job.reserved_starts, job.due_at) == ((reserved,), reserved.at)


def test_a_failed_attempt_gives_up_what_it_has_used_and_keeps_the_rest() -> None:
    world = limited(rate(), rate(name="mail"))
    calls = Calls(world, "api", "mail")
    for name in ("one", "two"):
        world.submit(id=name)
    world.deliver(calls)
    assert len(world.job("two").reserved_starts) == 1
    deliver_for(world, 12, fail)
    # It was not used, so the reservation stays for the next attempt.
    assert len(world.job("two").reserved_starts) == 1
    deliver_for(world, 60, calls)
    assert world.job("two").status is JobStatus.SUCCEEDED


def test_a_job_keeps_few_reservations() -> None:
    names = [f"api-{number}" for number in range(MAX_RESERVED_STARTS + 2)]
    others = [HandlerInfo(name=name, limits=(rate(1, 3600, name),)) for name in names]
    world = World(handlers=("greet", *others))
    everything = Calls(world, *names)
    world.submit(id="first")
    world.deliver(everything)

    def take_all(job: Job, pulse: Pulse) -> Finished:
        for name in names:
            assert not pulse.take_start(name, 1, NONE).is_start
        return Finished(outcome=Outcome.SNOOZED, retry_after=SECOND)

    world.submit(id="second")
    world.deliver(take_all)
    assert len(world.job("second").reserved_starts) == MAX_RESERVED_STARTS


def test_where_other_jobs_come_first_each_time_the_handler_asks_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = limited(rate())
    world.submit()
    refused = SideItemWrite(is_applied=False, item=None)
    monkeypatch.setattr(type(world.side_items), "write_item", lambda *_: refused)
    calls = Calls(world)
    world.deliver(calls)
    [taken] = calls.taken
    assert not taken.is_start
    assert taken.wait is not None
    assert 1 <= taken.wait.total_seconds() <= LONGEST_RETRY_SECONDS
    [job] = world.store.jobs().values()
    assert job.reserved_starts == ()


@pytest.mark.parametrize("left", [-30, 5], ids=["expired", "expires soon"])
def test_a_job_without_a_start_before_its_expiry_ends_its_attempt(left: int) -> None:
    # The next start is two hours away.
    world = limited(rate(1, per=7200))
    longest = 20 * SECOND
    first, late = Calls(world), Calls(world, longest=longest)
    world.submit(id="first")
    world.deliver(first)
    world.submit(id="late", expires_at=rfc3339(world.clock.now() + 31 * SECOND))

    def after_a_while(job: Job, pulse: Pulse) -> Finished:
        world.advance(31 - left)
        return late(job, pulse)

    world.deliver(after_a_while)
    [taken] = late.taken
    assert taken.wait is not None
    assert taken.wait > longest
    world.advance(taken.wait.total_seconds())
    world.deliver(late)
    assert world.job("late").status is JobStatus.EXPIRED
