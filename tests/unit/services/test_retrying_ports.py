"""Calls of a worker without an answer: tried again, a second apart."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.errors import NotFound, Unavailable
from hourhand.domain.jobs.transitions import keep_payload
from hourhand.memory import START
from hourhand.ports.control_store import ControlStore
from hourhand.ports.job_store import JobStore
from hourhand.services.retrying_ports import MAX_TRIES, Retries
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.world import World


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def jobs(world: World, faults: Faults) -> JobStore:
    return Retries(world.clock, world.telemetry).of(faults.wrap(world.store), "jobs")


def test_a_call_without_an_answer_is_tried_again_a_second_later(
    world: World, faults: Faults, jobs: JobStore
) -> None:
    job = make_job()
    world.store.put(job)
    faults.throttle("get", times=MAX_TRIES - 1)
    assert jobs.get(job.id) == job
    assert world.clock.now() == START + timedelta(seconds=MAX_TRIES - 1)


def test_after_the_last_try_the_caller_is_notified(
    world: World, faults: Faults, jobs: JobStore
) -> None:
    faults.throttle("get", times=MAX_TRIES)
    with pytest.raises(Unavailable):
        jobs.get("job-1")
    assert len(faults.calls) == MAX_TRIES
    assert world.clock.now() == START + timedelta(seconds=MAX_TRIES - 1)


def test_what_is_no_lack_of_an_answer_is_not_tried_again(faults: Faults, jobs: JobStore) -> None:
    faults.fail("get", NotFound())
    with pytest.raises(NotFound):
        jobs.get("job-1")
    assert len(faults.calls) == 1


def test_a_log_line_names_the_call_and_its_job_and_no_secret(
    world: World, faults: Faults, jobs: JobStore
) -> None:
    job = make_job()
    world.store.put(job)
    for method in ("get", "transition", "get_many", "create_secret"):
        faults.throttle(method)
    control: ControlStore = Retries(world.clock, world.telemetry).of(
        faults.wrap(world.control), "control"
    )
    jobs.get(job.id)
    jobs.transition(keep_payload(job, kept_until=START))
    jobs.get_many([job.id])
    control.create_secret(b"secret")
    told = [(line.fields["call"], line.fields["key"]) for line in world.telemetry.warnings]
    assert told == [
        ("jobs.get", job.id),
        ("jobs.transition", job.id),
        ("jobs.get_many", None),
        ("control.create_secret", None),
    ]
    assert {line.sentence for line in world.telemetry.warnings} == {
        "AWS did not answer a call. The worker tries it again in a second."
    }
    assert all("reason" in line.fields for line in world.telemetry.warnings)
