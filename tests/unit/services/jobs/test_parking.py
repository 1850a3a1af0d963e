"""Parking and waking: what crash tests do not reach."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.pauses import wait_for_resume
from hourhand.memory import START
from hourhand.services.jobs.due import DueJobs
from tests.world.world import World


@pytest.fixture
def world() -> World:
    return World()


def parked(world: World) -> Job:
    job = world.submit()
    world.pause_handler()
    world.deliver()
    return world.job(job)


def test_a_job_that_was_woken_meanwhile_is_not_woken_again(world: World) -> None:
    job = parked(world)
    parking = world.scheduler.scheduling.parking
    world.advance(1)
    world.resume_handler()
    before = world.job(job)
    assert parking.wake(job, "tick") is None
    assert world.job(job) == before


def test_a_record_of_a_job_that_is_about_to_be_parked_stays(world: World) -> None:
    job = world.submit()
    world.pause_handler()
    waiters = world.scheduler.scheduling.parking.waiters
    waiters.put(job, wait_for_resume(job), START)
    world.resume_handler()
    assert len(world.side_items.items()) == 1, "its worker looks at the pauses again"


def test_a_resume_ends_in_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [world.submit() for _ in range(3)]
    world.pause_handler()
    world.deliver()
    plain = DueJobs.announce

    def announce(self: DueJobs, sent: Sequence[Job], actor: str) -> None:
        world.advance(16)
        plain(self, sent, actor)

    monkeypatch.setattr(DueJobs, "announce", announce)
    for module in ("parking", "waiter_records"):
        monkeypatch.setattr(f"hourhand.services.jobs.{module}.RECORDS_A_READ", 1)
    world.resume_handler()
    assert [world.job(job).waits_for is None for job in jobs].count(True) == 1
