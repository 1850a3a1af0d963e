"""Limits in hard cases: holders that kill their worker, and very many waiters of one tenant."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.declarations import Concurrency
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from tests.world.limits import Crowd, limited, live_holders, waiters
from tests.world.runs import HandlerKilled, kill_process, succeed
from tests.world.world import World


def kills_its_worker(job: Job, pulse: Pulse) -> Finished:
    """Kill the process for a job whose id says so; succeed for any other."""
    return (kill_process if job.id.startswith("poison") else succeed)(job, pulse)


def work_off(world: World, delivery: Delivery) -> None:
    try:
        world.handle(delivery, kills_its_worker)
    except HandlerKilled:
        world.queues.hide(delivery, 60)


@pytest.mark.parametrize("holds", ["attempt", "job"])
@pytest.mark.parametrize("on_lost", ["retry", "dead"])
def test_a_job_that_kills_each_worker_gives_its_slot_to_those_behind_it(
    on_lost: str, holds: str
) -> None:
    world = limited(Concurrency(1, holds=holds))  # type: ignore[arg-type]
    world.submit(id="poison", on_lost=on_lost, retry={"max_attempts": 3})
    [delivery] = world.receive()
    work_off(world, delivery)
    behind = [world.submit() for _ in range(3)]
    for _ in range(200):
        for delivery in world.receive():
            work_off(world, delivery)
        world.advance(5)
    assert world.job("poison").status is JobStatus.DEAD
    assert [world.job(job).status for job in behind] == [JobStatus.SUCCEEDED] * 3
    assert waiters(world) == []
    assert live_holders(world) == set()


@pytest.mark.parametrize(
    "key",
    ["x" * 300_000, {"deep": [{"er": [1.5, None]}]}, [[]], "", 0, 1e300, False, "\ud83d\ude00"],
    ids=lambda key: repr(key)[:20],
)
def test_a_key_of_any_type_and_size_is_valid_and_counts_for_itself(key: object) -> None:
    world = limited(Concurrency(1, key="payload.account"))
    jobs = [world.submit(payload={"account": one}) for one in (key, key, "another")]
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 2
    assert [world.job(job).status for job in jobs] == [JobStatus.SUCCEEDED] * 3
    assert {len(job.limit_keys or b"") for job in jobs} == {12}


class Calls:
    """Counts the calls of the side items that a world makes."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        store = type(world.side_items)
        for name in ("read_item", "query_items", "count_items", "write_item"):
            monkeypatch.setattr(store, name, self._counted(getattr(store, name)))

    def _counted(self, method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return method(*args, **kwargs)

        return call


def crowded(waiting: int) -> World:
    """Return a world where so many jobs of one tenant wait for a slot that another one holds."""
    world = limited(Concurrency(1, order="fair"))
    world.submit(id="first", tenant="big")
    [first] = world.receive()

    def fill(job: Job, pulse: Pulse) -> Finished:
        for _ in range(waiting):
            world.submit(tenant="big")
        for delivery in world.receive():
            world.handle(delivery)
        world.submit(id="light", tenant="light")
        world.deliver()
        return succeed(job, pulse)

    world.handle(first, fill)
    return world


def test_a_tenant_with_very_many_waiters_delays_another_one_by_a_few_jobs() -> None:
    world = crowded(500)
    started: list[str] = []

    def note(job: Job, pulse: Pulse) -> Finished:
        started.append(job.id)
        return succeed(job, pulse)

    for _ in range(5):
        world.deliver(note)
    assert "light" in started[:3]
    assert len(waiters(world)) > 490


def test_an_end_costs_the_same_however_many_jobs_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = []
    for waiting in (5, 500):
        world = crowded(waiting)
        with monkeypatch.context() as patch:
            calls = Calls(world, patch)
            world.deliver()
            costs.append(calls.count)
    assert costs[0] == costs[1]


def test_very_many_waiters_have_no_message_and_are_not_polled_for() -> None:
    world = crowded(200)
    [granted] = world.receive()
    for _ in range(20):
        world.advance(30)
        assert world.receive() == []
        world.queues.hide(granted, 600)
    crowd = Crowd(world)
    world.queues.hide(granted, 0)
    crowd.settle(rounds=300)
    statuses = {job.status for job in world.store.jobs().values()}
    assert statuses == {JobStatus.SUCCEEDED}
