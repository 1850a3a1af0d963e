"""Faults and races where unique jobs are submitted: no key has two jobs, and no lock is left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from hourhand.api.routing import Services
from hourhand.domain.errors import Unavailable, UniqueConflict
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.unique_keys import Unique
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from tests.scenarios.grid import Points, at_every_point, play
from tests.scenarios.unique import DAY, UNIQUE, check_unique, unique_world
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.faults import Faults
from tests.world.runs import fail_for_good
from tests.world.world import World

each_work = pytest.mark.parametrize("work", UNIQUE, ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_unique(world)
    # Whatever happened: the key is free once its job has ended, and taken by one job alone.
    first = world.submit(payload=DAY, delay_seconds=60)
    assert world.submit(payload=DAY, delay_seconds=60).id == first.id
    world.settle()


@each_work
@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
def test_a_fault_at_any_call_leaves_no_second_job_of_a_key_and_no_lock(
    work: Work, points: Points
) -> None:
    at_every_point(work, points, check, minutes=15)


@each_work
def test_without_a_fault_the_submission_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=15)
    check(world)
    assert was_acknowledged


def submits(world: World, jobs: list[Job]) -> None:
    jobs.append(world.submit(payload=DAY))


def beside(world: World, step: Callable[[], object], call: str) -> Job:
    """Submit a job of the key in a process, with a step before one of its calls."""
    faults = Faults().interrupt(call, step)
    return world.submit(payload=DAY, by=world.process(faults).api)


@pytest.mark.parametrize("call", ["side_items.read_item", "jobs.put", "side_items.write_item"])
def test_of_two_submissions_at_once_one_creates_the_job(call: str) -> None:
    world, others = unique_world(), list[Job]()
    job = beside(world, partial(submits, world, others), call)
    assert [other.id for other in others] == [job.id]
    assert len(world.store.jobs()) == 1


def test_a_submission_that_is_paused_creates_no_number_that_existed() -> None:
    world, others = unique_world(), list[Job]()

    def meanwhile() -> None:
        submits(world, others)
        world.deliver()
        submits(world, others)
        world.deliver()

    job = beside(world, meanwhile, "jobs.put")
    numbers = [one.unique_key[1] for one in (*others, job) if one.unique_key is not None]
    assert numbers == [1, 2, 3]


def test_the_record_never_goes_back() -> None:
    world, others = unique_world(), list[Job]()

    def meanwhile() -> None:
        world.deliver()
        submits(world, others)
        world.deliver()

    beside(world, meanwhile, "side_items.write_item")
    [record] = world.side_items.items().values()
    assert record.number("newest") == 2


def test_a_record_that_is_behind_is_advanced_by_the_next_submission() -> None:
    world = unique_world()
    faults = Faults().throttle("side_items.write_item")
    with pytest.raises(Exception, match="throttled"):
        world.submit(payload=DAY, by=world.process(faults).api)
    [job] = world.store.jobs().values()
    assert world.submit(payload=DAY).id == job.id
    [record] = world.side_items.items().values()
    assert record.number("newest") == 1


def test_a_job_that_begins_as_it_is_replaced_stays_as_it_is() -> None:
    world = unique_world(until="start", on_conflict="replace")
    first = world.submit(payload={**DAY, "n": 1})
    second = beside(world, world.deliver, "jobs.transition")
    assert second.id != first.id
    assert world.job(first).status is JobStatus.SUCCEEDED
    assert world.runs[0].payload_text == '{"day":"monday","n":1}'


def cancelled(world: World) -> Job:
    job = world.submit(payload=DAY)
    return world.api.operations.cancel(job.id, actor="caller")


def redrive(world: World, job: Job, by: Services | None = None) -> Job:
    return (by or world.api).operations.redrive(job.id, actor="caller")


def in_scope(world: World) -> list[Job]:
    return [job for job in world.store.jobs().values() if not job.status.is_final]


@pytest.mark.parametrize("until", ["start", "end", "success"])
def test_an_older_job_of_a_key_is_not_redriven_beside_a_newer_one(until: str) -> None:
    world = unique_world(until=until)
    first = cancelled(world)
    second = world.submit(payload=DAY)
    with pytest.raises(UniqueConflict, match=second.id):
        redrive(world, first)
    world.deliver()
    with pytest.raises(UniqueConflict, match=second.id):
        redrive(world, first)
    assert len(world.runs) == 1


@pytest.mark.parametrize("until", ["start", 60])
def test_a_deployment_that_widens_the_scope_puts_no_two_jobs_of_a_key_in_it(until: Any) -> None:
    world = unique_world(until=until)
    first = world.submit(payload=DAY)
    world.deliver(fail_for_good)
    world.advance(60)
    second = world.submit(payload=DAY)
    widened = Unique("payload.day", until="end")
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", unique=widened))
    with pytest.raises(UniqueConflict, match=second.id):
        redrive(world, first, world.process().api)
    assert [job.id for job in in_scope(world)] == [second.id]


REDRIVE_CALLS = ["jobs.get", "control.read_shard_map", "jobs.transition", "queues.send"]
SUBMIT_CALLS = ["side_items.read_item", "jobs.get", "jobs.transition", "jobs.put", "queues.send"]


def check_one_is_in_scope(until: str, *, is_redrive: bool, call: str) -> None:
    world = unique_world(until=until)
    first = cancelled(world)
    seen: list[int] = []

    def submits_beside() -> None:
        world.submit(payload=DAY)
        seen.append(len(in_scope(world)))

    def redrives_beside() -> None:
        with suppress(UniqueConflict):
            redrive(world, first)
        seen.append(len(in_scope(world)))

    faults = Faults().interrupt(call, submits_beside if is_redrive else redrives_beside)
    process = world.process(faults).api
    with suppress(UniqueConflict):
        if is_redrive:
            redrive(world, first, process)
        else:
            world.submit(payload=DAY, by=process)
    assert seen
    assert max(seen) <= 1
    assert len(in_scope(world)) == 1
    world.settle()
    assert len(world.runs) == 1


def test_of_a_redrive_and_a_submission_at_once_one_is_in_scope() -> None:
    for until in ("start", "end", "success"):
        for call in REDRIVE_CALLS:
            check_one_is_in_scope(until, is_redrive=True, call=call)
        for call in SUBMIT_CALLS:
            check_one_is_in_scope(until, is_redrive=False, call=call)


def test_a_job_that_was_redriven_and_failed_again_keeps_its_key() -> None:
    world = unique_world(until="success")
    first = cancelled(world)

    def meanwhile() -> None:
        redrive(world, first)
        world.deliver(fail_for_good)

    job = beside(world, meanwhile, "jobs.transition")
    assert job.id == first.id
    assert world.job(first).status is JobStatus.DEAD


def test_a_submission_that_died_after_it_superseded_a_job_leaves_the_key_free() -> None:
    world = unique_world()
    first = cancelled(world)
    faults = Faults().fail("jobs.put", Unavailable("It did not answer."))
    with pytest.raises(Unavailable):
        world.submit(payload=DAY, by=world.process(faults).api)
    with pytest.raises(UniqueConflict, match="Submit the job again"):
        redrive(world, first)
    assert world.submit(payload=DAY).id != first.id
    assert len(in_scope(world)) == 1


def test_a_repeated_request_finds_the_job_that_it_created() -> None:
    world = unique_world()
    faults = Faults().fail("side_items.write_item", Unavailable("It did not answer."))
    with pytest.raises(Unavailable):
        world.submit(payload=DAY, id="mine", by=world.process(faults).api)
    world.deliver()
    again = world.submit(payload=DAY, id="mine")
    assert again.status is JobStatus.SUCCEEDED
    assert len(world.runs) == 1


@pytest.mark.parametrize(("one", "equal"), [(1, 1.0), (0, -0.0)])
def test_equal_numbers_are_one_key(one: float, equal: float) -> None:
    world = unique_world()
    first = world.submit(payload={"day": one})
    assert world.submit(payload={"day": equal}).id == first.id
