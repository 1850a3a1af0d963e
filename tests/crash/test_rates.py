"""Start times between two calls of another component: the rate is kept, and no job is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.limits import rate_retimes
from tests.world.faults import Faults
from tests.world.limits import holders, limited
from tests.world.runs import HandlerKilled, fail, kill_process, succeed
from tests.world.world import World

SLOW = Rate(6, per=60, burst=1)


def starts(world: World) -> list[datetime]:
    return sorted(run.started_at for run in world.runs)


def gaps(world: World) -> list[float]:
    return [(later - sooner).total_seconds() for sooner, later in pairwise(starts(world))]


def deliver_for(world: World, seconds: float) -> None:
    end = world.clock.monotonic() + seconds
    while world.clock.monotonic() < end:
        world.deliver()
        world.advance(0.5)


def deliver_until_one_dies(world: World) -> None:
    """Let time pass until a worker dies in a job that it started."""
    for _ in range(40):
        with suppress(HandlerKilled):
            world.deliver(kill_process)
            world.advance(0.5)
            continue
        return


def refuse(job: Job, pulse: Pulse) -> Finished:
    """Raise `RateLimited(retry_after=20)`."""
    wait = timedelta(seconds=20)
    return Finished(outcome=Outcome.SNOOZED, retry_after=wait, is_rate_limited=True)


def worked_off(world: World, delivery: Delivery, plan: Callable[[Faults], object]) -> None:
    faults = Faults()
    plan(faults)
    world.handle(delivery, succeed, world.process(faults).worker)
    world.queues.hide(delivery, 0)


def test_jobs_start_no_closer_than_the_rate_allows() -> None:
    world = limited(SLOW)
    for _ in range(4):
        world.submit()
    deliver_for(world, 45)
    assert len(starts(world)) == 4
    assert min(gaps(world)) >= 9.9


def test_jobs_that_come_back_late_together_pass_the_gate_one_by_one() -> None:
    world = limited(SLOW)
    for _ in range(4):
        world.submit()
    world.deliver()
    world.advance(40)
    deliver_for(world, 45)
    assert len(starts(world)) == 4
    assert min(gaps(world)) >= 4.9


def test_a_job_holds_no_slot_while_it_waits_for_its_start_time() -> None:
    world = limited(SLOW, Concurrency(3))
    for name in ("one", "two"):
        world.submit(id=name)
    world.deliver()
    assert world.job("two").reservation is not None
    assert holders(world) == {}


def test_a_job_that_finds_the_rate_used_up_after_it_took_a_slot_gives_the_slot_back() -> None:
    world = limited(SLOW, Concurrency(3))
    one, two = world.submit(id="one"), world.submit(id="two")
    first, second = world.receive()
    faults = Faults().interrupt("side_items.query_items", lambda: world.handle(second))
    world.handle(first, succeed, world.process(faults).worker)
    assert world.job(two).status is JobStatus.SUCCEEDED
    assert world.job(one).reservation is not None
    assert holders(world) == {}


def test_a_reservation_whose_worker_died_wastes_a_start_and_exceeds_nothing() -> None:
    world = limited(SLOW)
    world.submit(id="one")
    world.deliver()
    world.submit(id="two")
    [delivery] = world.receive()
    worked_off(world, delivery, lambda faults: faults.throttle("jobs.transition", times=20))
    assert world.job("two").reservation is None
    deliver_for(world, 35)
    assert world.job("two").status is JobStatus.SUCCEEDED
    assert 19 <= gaps(world)[0] <= 31


def test_a_start_whose_claim_failed_is_not_made_up_for() -> None:
    world = limited(SLOW)
    world.submit(id="one")
    [delivery] = world.receive()
    worked_off(world, delivery, lambda faults: faults.throttle("jobs.transition", times=20))
    world.submit(id="two")
    deliver_for(world, 40)
    assert {world.job(name).status for name in ("one", "two")} == {JobStatus.SUCCEEDED}
    assert min(gaps(world)) >= 9.9


def test_each_attempt_passes_the_gate() -> None:
    world = limited(SLOW)
    world.submit(id="one", retry={"max_attempts": 3, "base_seconds": 1, "jitter": "none"})
    world.deliver(fail)
    world.advance(1.5)
    world.deliver()
    assert len(starts(world)) == 1
    deliver_for(world, 12)
    assert world.job("one").status is JobStatus.SUCCEEDED


def test_a_job_that_is_changed_gives_its_start_time_up() -> None:
    world = limited(SLOW)
    for name in ("one", "two"):
        world.submit(id=name)
    world.deliver()
    world.change("two", priority="high")
    assert world.job("two").reservation is None
    world.deliver()
    assert len(starts(world)) == 1


def test_a_job_that_paid_the_gate_long_ago_passes_it_again() -> None:
    world = limited(SLOW)
    for _ in range(5):
        world.submit()
    world.deliver()
    # All four come back late at once, and those that find the gate crowded come late again.
    world.advance(60)
    world.deliver()
    world.advance(60)
    deliver_for(world, 60)
    assert len(starts(world)) == 5
    assert min(gaps(world)) >= timedelta(seconds=4.9).total_seconds()


def test_a_job_that_another_service_refuses_holds_the_others_back() -> None:
    world = limited(Rate(60, per=60, burst=10))
    world.submit(id="one")

    world.deliver(refuse)
    world.submit(id="two")
    deliver_for(world, 19)
    assert len(starts(world)) == 1
    deliver_for(world, 10)
    assert len(starts(world)) == 3


def test_a_hold_of_any_length_leaves_a_start_to_later_jobs() -> None:
    world = limited(Rate(60, per=3600, burst=1))
    refused = world.submit()

    def refuse_for_a_month(job: Job, pulse: Pulse) -> Finished:
        wait = timedelta(days=30)
        return Finished(outcome=Outcome.SNOOZED, retry_after=wait, is_rate_limited=True)

    world.deliver(refuse_for_a_month)
    later = [world.submit() for _ in range(20)]
    world.deliver()
    latest = world.clock.now() + timedelta(days=8)
    assert all((world.job(job).due_at or world.clock.now()) < latest for job in later)
    assert {world.job(job).reservation is None for job in later} == {False}
    assert (world.job(refused).due_at or latest) > latest + timedelta(days=21)
    assert any("for longer than they can be held" in one for one in world.telemetry.sentences)


def test_a_refusal_holds_every_shard_of_a_rate() -> None:
    world = limited(Rate(1000, per=1))
    world.submit(id="one")
    world.deliver(refuse)
    for _ in range(40):
        world.submit()
    deliver_for(world, 19)
    assert len(starts(world)) == 1
    deliver_for(world, 10)
    assert len(starts(world)) == 42


def test_a_deployment_that_lowers_the_count_below_a_cost_loses_no_job() -> None:
    world = limited(Rate(60, per=60, burst=1, cost="payload.tokens"))
    for _ in range(3):
        world.submit(payload={"tokens": 60})
    world.deliver()
    lower = Rate(10, per=60, burst=1, cost="payload.tokens")
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=(lower,)))
    worker = world.process().worker
    for _ in range(300):
        world.deliver(by=worker)
        world.advance(0.5)
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}
    assert min(gaps(world)) >= 57


@pytest.mark.parametrize(
    ("rate", "at_once"),
    [
        (Rate(60, per=60, burst=4, shards=4), 4),
        (Rate(600, per=1, burst=1), 1),
        (Rate(600, per=1, burst=2), 2),
        (Rate(300, per=1, window="fixed"), 300),
    ],
    ids=["declared", "of a high rate", "two", "window"],
)
def test_shards_do_not_multiply_the_burst(rate: Rate, at_once: int) -> None:
    world = limited(rate)
    for _ in range(700):
        world.submit()
    begun = world.clock.now()
    world.deliver()
    interval = timedelta(seconds=rate.per / rate.count)
    assert sum(at < begun + interval for at in starts(world)) <= at_once


def test_a_number_that_is_set_lowers_the_burst_and_the_shards() -> None:
    world = limited(Rate(100, per=60, burst=50, shards=10))
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=1), "operator")
    for _ in range(60):
        world.submit()
    deliver_for(world, 50)
    assert len(starts(world)) == 1


@pytest.mark.parametrize(
    ("rate", "starts_together", "seconds_between"),
    [(SLOW, 1, 9.9), (Rate(5, per=200, exact=True), 5, 200)],
    ids=["line", "window"],
)
def test_attempts_that_were_lost_start_again_at_the_rate(
    rate: Rate, starts_together: int, seconds_between: float
) -> None:
    world = limited(rate)
    for _ in range(5):
        world.submit(timeout_seconds=60)
        deliver_until_one_dies(world)
    world.advance(61)
    deliver_for(world, 320)
    begun = starts(world)
    apart = zip(begun, begun[starts_together:], strict=False)
    assert min(later - sooner for sooner, later in apart) >= timedelta(seconds=seconds_between)
    jobs = world.store.jobs().values()
    assert {(job.status, job.attempt) for job in jobs} == {(JobStatus.SUCCEEDED, 2)}
    assert len(begun) == 10


def test_a_worker_that_died_after_its_handler_reserved_a_start_exceeds_nothing() -> None:
    world = limited(Rate(6, per=60, burst=1, name="api", on="take"))
    calls: list[datetime] = []

    def take(job: Job, pulse: Pulse) -> Finished:
        taken = pulse.take_start("api", 1, timedelta(0))
        if not taken.is_start:
            return Finished(outcome=Outcome.SNOOZED, retry_after=taken.wait)
        calls.append(world.clock.now())
        return Finished(outcome=Outcome.SUCCEEDED)

    def take_and_die(job: Job, pulse: Pulse) -> Finished:
        assert not pulse.take_start("api", 1, timedelta(0)).is_start
        raise HandlerKilled

    world.submit(id="one")
    world.deliver(take)
    world.submit(id="two")
    with pytest.raises(HandlerKilled):
        world.deliver(take_and_die)
    assert world.job("two").reserved_starts == ()
    end = world.clock.monotonic() + 200
    while world.clock.monotonic() < end:
        world.deliver(take)
        world.advance(0.5)
    assert world.job("two").status is JobStatus.SUCCEEDED
    assert (calls[1] - calls[0]).total_seconds() >= 9.9


def test_handlers_that_come_back_late_together_take_no_more_starts_than_the_rate_allows() -> None:
    world = limited(Rate(6, per=60, burst=1, name="api", on="take"))
    calls: list[datetime] = []

    def take(job: Job, pulse: Pulse) -> Finished:
        taken = pulse.take_start("api", 1, timedelta(0))
        if not taken.is_start:
            return Finished(outcome=Outcome.SNOOZED, retry_after=taken.wait)
        calls.append(world.clock.now())
        return Finished(outcome=Outcome.SUCCEEDED)

    for _ in range(5):
        world.submit()
    world.deliver(take)
    world.advance(120)
    end = world.clock.monotonic() + 90
    while world.clock.monotonic() < end:
        world.deliver(take)
        world.advance(0.5)
    assert len(calls) == 5
    gaps = [(later - sooner).total_seconds() for sooner, later in pairwise(calls[1:])]
    assert min(gaps) >= 7.9


@pytest.mark.parametrize("moved", [1_000, 3], ids=["whole", "broken off"])
def test_a_retiming_starts_no_more_jobs_than_the_rate_allows(
    monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    monkeypatch.setattr(rate_retimes, "MAX_JOBS_A_CALL", moved)
    world = limited(Rate(6, per=60, burst=1))
    for _ in range(16):
        world.submit()
    world.deliver()
    # The workers were away: all come back late together, and pass the gate for later times.
    world.advance(160)
    world.deliver()
    paid = [job for job in world.unfinished() if job.reservation and job.reservation.paid]
    assert len(paid) > 10
    world.advance(1)
    done = world.api.limits.retime("greet.1", None, None, actor="caller")
    assert (done.next_cursor is None) is (moved == 1_000)
    # They get the places in the line that the jobs had which were not moved.
    for _ in range(8):
        world.submit()
    deliver_for(world, 260)
    assert len(starts(world)) == 24
    # The reset itself lets one job start at once.
    assert min(gaps(world)[2:]) >= 4.9


def test_a_retiming_moves_each_job_once_in_however_many_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rate_retimes, "MAX_JOBS_A_CALL", 3)
    world = limited(Rate(60, per=3600, burst=1))
    for _ in range(10):
        world.submit()
        world.deliver()
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=30), "operator")
    world.advance(31)
    moved = 0
    cursor: str | None = None
    for _ in range(20):
        done = world.api.limits.retime("greet.1", None, cursor, actor="caller")
        moved, cursor = moved + done.changed, done.next_cursor
        world.advance(1)
        if cursor is None:
            break
    assert (moved, cursor) == (9, None)
    times = sorted(job.reservation.at for job in world.unfinished() if job.reservation)
    assert {later - sooner for sooner, later in pairwise(times)} == {timedelta(minutes=2)}


def test_a_retiming_starts_no_job_by_a_number_that_a_worker_still_holds() -> None:
    world = limited(Rate(1, per=3600, burst=1))
    for _ in range(4):
        world.submit()
        world.deliver()
    # By now a worker has read the old number, which it keeps for a while.
    changed_at = world.clock.now()
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=3600), "operator")
    world.api.limits.retime("greet.1", None, None, actor="caller")
    times = sorted(job.reservation.at for job in world.unfinished() if job.reservation)
    assert len(times) == 3
    assert times[0] >= changed_at + world.timings.control_cache
    deliver_for(world, 60)
    assert len(starts(world)) == 4
    assert min(gaps(world)[1:]) >= 0.9
