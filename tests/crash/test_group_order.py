"""The jobs of a schedule or backfill that wait for each other start oldest first, in any case."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import permutations
from random import Random
from typing import Any

import pytest

from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.aspects import Candidate
from hourhand.services.limits import slot_tables
from hourhand.services.limits.slot_admission import UNTIL_OLDER_BEGIN
from tests.world.limits import holders, limited
from tests.world.occurrences import job_id_of, nominal, put_occurrence, put_schedule
from tests.world.runs import succeed
from tests.world.world import World

HOUR = timedelta(hours=1)
SCHEDULE = "hourly"


class Order:
    """Workers that take messages in any order, and which jobs they started, in their order."""

    def __init__(self, world: World, random: Random, workers: int = 2) -> None:
        self.world, self.random, self.workers = world, random, workers
        self.began: list[datetime] = []
        self._running = 0

    def work(self, seconds: int = 60) -> None:
        for _ in range(seconds):
            self._work_off(self.world.receive())
            self.world.advance(1)

    def work_off(self, deliveries: Iterable[Delivery]) -> None:
        for delivery in deliveries:
            self.world.handle(delivery, self._run)

    def _work_off(self, deliveries: list[Delivery]) -> None:
        self.random.shuffle(deliveries)
        self.work_off(deliveries)

    def _run(self, job: Job, pulse: Pulse) -> Finished:
        assert job.occurrence is not None
        self.began.append(job.occurrence)
        self._running += 1
        if self._running < self.workers:
            # The other worker works meanwhile.
            self._work_off(self.world.receive())
        self._running -= 1
        return succeed(job, pulse)


def backfill(world: World, hours: int, to: int = 0, **fields: Any) -> None:
    body = {"from": rfc3339(START - hours * HOUR), "to": rfc3339(START - to * HOUR), **fields}
    world.api.backfills.start(SCHEDULE, BackfillInput.parse(body), actor="caller")


def one_of(world: World, number: int) -> Delivery:
    """Receive the message of an occurrence; the others stay visible."""
    deliveries = world.receive()
    for delivery in deliveries:
        world.queues.hide(delivery, 0)
    return next(each for each in deliveries if each.message.job_id == job_id_of(number))


def missed(hours: int) -> World:
    """Return a world whose schedule missed so many hours in a pause, and makes up all of them."""
    world = World()
    world.put_schedule(SCHEDULE, expression="0 * * * *", misfire={"policy": "all"})
    world.pause(SCHEDULE)
    world.advance(hours * 3600 + 60)
    world.resume(SCHEDULE)
    world.tick()
    return world


@pytest.mark.parametrize("max_active", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_jobs_of_a_backfill_start_oldest_first(seed: int, max_active: int) -> None:
    world = World()
    world.put_schedule(SCHEDULE, expression="0 * * * *")
    backfill(world, 8, order="oldest", max_active=max_active)
    order = Order(world, Random(seed), workers=2 + max_active)
    order.work()
    assert order.began == [START - hours * HOUR for hours in range(8, -1, -1)]


@pytest.mark.parametrize("seed", range(4))
def test_the_jobs_of_a_schedule_that_was_put_again_start_oldest_first(seed: int) -> None:
    world = World()
    world.put_schedule(SCHEDULE, expression="0 * * * *")
    world.delete_schedule(SCHEDULE)
    world.put_schedule(SCHEDULE, expression="0 * * * *", overlap="buffer_all")
    backfill(world, 6, order="oldest")
    order = Order(world, Random(seed))
    order.work()
    assert order.began == [START - hours * HOUR for hours in range(6, -1, -1)]


@pytest.mark.parametrize("seed", range(8))
def test_missed_times_that_are_made_up_start_oldest_first(seed: int) -> None:
    order = Order(missed(7), Random(seed))
    order.work()
    assert len(order.began) >= 6
    assert order.began == sorted(order.began)


@pytest.mark.parametrize("seed", range(8))
def test_the_jobs_that_a_schedule_buffers_start_oldest_first(seed: int) -> None:
    world = World()
    world.put_schedule(SCHEDULE, expression="*/10 * * * * *", overlap="buffer_all")
    world.tick()
    # No worker comes for a minute and a half.
    world.advance(90)
    order = Order(world, Random(seed))
    order.work()
    assert len(order.began) >= 8
    assert order.began == sorted(order.began)


@pytest.mark.parametrize("arrival", list(permutations(range(3))), ids=str)
def test_whatever_message_comes_first_the_oldest_job_starts_first(
    arrival: tuple[int, ...],
) -> None:
    world = World()
    put_schedule(world)
    jobs = [put_occurrence(world, number, "buffer_all") for number in range(3)]
    order = Order(world, Random(0), workers=1)
    by_job = {delivery.message.job_id: delivery for delivery in world.receive()}
    order.work_off(by_job[jobs[number].id] for number in arrival)
    order.work()
    assert order.began == [nominal(number) for number in range(3)]


@pytest.mark.parametrize("key", ["tenant", "tags.a", "tags.b", "tags.c", "tags.d"])
def test_a_job_that_waits_for_an_older_one_holds_no_slot_that_it_needs(key: str) -> None:
    world = limited(Concurrency(1, key=key))
    put_schedule(world)
    tags = dict.fromkeys("abcd", "x")
    for number in range(3):
        put_occurrence(world, number, "buffer_all", tenant="acme", tags=tags)
    order = Order(world, Random(0), workers=1)
    order.work_off([one_of(world, 2), one_of(world, 1)])
    order.work()
    assert order.began == [nominal(number) for number in range(3)]


def test_jobs_that_ended_without_a_start_are_passed_over() -> None:
    world = World()
    put_schedule(world)
    for number in range(4):
        put_occurrence(world, number, "buffer_all")
    world.api.operations.cancel(job_id_of(1), actor="caller")
    world.api.operations.cancel(job_id_of(2), actor="caller")
    order = Order(world, Random(0), workers=1)
    order.work_off([one_of(world, 3)])
    assert world.job(job_id_of(3)).is_parked
    order.work()
    assert order.began == [nominal(0), nominal(3)]


def test_a_job_does_not_wait_for_an_older_one_that_was_put_off() -> None:
    world = World()
    put_schedule(world)
    for number in range(2):
        put_occurrence(world, number, "buffer_all")
    world.change(job_id_of(0), run_at=rfc3339(START + HOUR))
    order = Order(world, Random(0))
    order.work()
    assert order.began == [nominal(1)]


def test_a_job_does_not_wait_for_an_older_one_whose_handler_is_paused() -> None:
    world = World(handlers=("greet", "other"))
    put_schedule(world)
    put_occurrence(world, 0, "buffer_all")
    put_occurrence(world, 1, "buffer_all", handler="other")
    world.pause_handler()
    order = Order(world, Random(0))
    order.work(90)
    assert order.began == [nominal(1)]


def test_a_job_that_waits_for_an_older_one_starts_when_that_one_is_cancelled() -> None:
    world = World()
    put_schedule(world)
    for number in range(2):
        put_occurrence(world, number, "buffer_all")
    order = Order(world, Random(0))
    order.work_off([one_of(world, 1)])
    world.api.operations.cancel(job_id_of(0), actor="caller")
    order.work(5)
    assert order.began == [nominal(1)]


def test_a_backfill_passes_over_the_times_that_have_a_job() -> None:
    world = World()
    world.put_schedule(SCHEDULE, expression="30 * * * *")
    for hours in (5, 3, 2):
        backfill(world, hours, to=hours - 1)
        world.settle()
    made = len(world.runs)
    assert made == 3
    backfill(world, 6, order="oldest")
    deliveries = world.receive()
    assert len(deliveries) == 3
    order = Order(world, Random(0), workers=1)
    order.work_off(reversed(deliveries))
    order.work()
    assert [(START - began) / HOUR for began in order.began] == [5.5, 3.5, 0.5]


def test_a_job_with_a_slot_waits_until_the_older_one_with_a_slot_began() -> None:
    world = World()
    put_schedule(world)
    for number in range(2):
        put_occurrence(world, number, "buffer_all", max_running=2)
    order = Order(world, Random(0), workers=1)
    first, second = world.receive()
    assert first.message.job_id == job_id_of(0)
    # The first takes its slot, and its worker dies before the claim.
    assert world.worker.execution.admit(Candidate(first, world.store)) is None
    world.queues.hide(first, 60)
    order.work_off([second])
    order.work(int(UNTIL_OLDER_BEGIN.total_seconds()) + 5)
    assert (order.began, len(holders(world))) == ([], 2)
    order.work(90)
    assert order.began == [nominal(0), nominal(1)]
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}


def test_no_job_looks_back_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_tables, "MAX_OLDER", 1)
    world = World()
    put_schedule(world)
    for number in range(3):
        put_occurrence(world, number, "buffer_all")
    world.api.operations.cancel(job_id_of(1), actor="caller")
    order = Order(world, Random(0), workers=1)
    order.work_off([one_of(world, 2)])
    assert order.began == [nominal(2)]


def test_a_job_of_a_definition_with_a_lower_number_waits_for_those_of_the_one_before() -> None:
    world = World()
    put_schedule(world)
    for number in range(2):
        put_occurrence(world, number, "buffer_all", max_running=2)
    one, other = world.receive()

    def run_third(job: Job, pulse: Pulse) -> Finished:
        put_occurrence(world, 2, "buffer_all", max_running=1)
        world.deliver()
        return succeed(job, pulse)

    def run_other(job: Job, pulse: Pulse) -> Finished:
        world.handle(other, run_third)
        # The job that ended allows two side by side; the one that waits allows none beside it.
        world.deliver()
        assert world.job(job_id_of(2)).is_parked
        assert list(holders(world)) == [job_id_of(0)]
        return succeed(job, pulse)

    world.handle(one, run_other)
    world.deliver()
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}
