"""The same operation on many jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests import BulkRequest
from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.jobs.job import JobStatus
from hourhand.memory import START
from hourhand.services.jobs import bulk
from hourhand.services.jobs.bulk import BulkResult
from hourhand.testing import Faults, make_job
from tests.world.runs import fail_for_good
from tests.world.world import World


def _request(**body: Any) -> BulkRequest:
    return BulkRequest.parse(body)


def _put(world: World, count: int, status: JobStatus = JobStatus.PENDING, **fields: Any) -> None:
    for n in range(count):
        created_at = START + timedelta(seconds=n)
        job = make_job(id=f"{status}-{n}", status=status, created_at=created_at, **fields)
        world.store.put(job)


def _cancel(world: World, **body: Any) -> BulkResult:
    return world.api.bulk.cancel(_request(**body), actor="caller")


def _statuses(world: World) -> set[JobStatus]:
    return {job.status for job in world.store.jobs().values()}


# --- cancel -------------------------------------------------------------------------------------


def test_every_job_that_matches_and_is_not_final_is_cancelled(world: World) -> None:
    _put(world, 3)
    _put(world, 2, JobStatus.SUCCEEDED)
    assert _cancel(world, all=True) == BulkResult(3, 3, (), None)
    assert _statuses(world) == {JobStatus.CANCELLED, JobStatus.SUCCEEDED}
    assert world.job("PENDING-0").history[-1].reason == "bulk"


def test_a_filter_leaves_the_others_alone(world: World) -> None:
    _put(world, 2)
    world.store.put(make_job(id="other", handler="other"))
    assert _cancel(world, handler="other").changed == 1
    assert world.job("PENDING-0").status is JobStatus.PENDING


def test_a_dry_run_counts_and_changes_nothing(world: World) -> None:
    _put(world, 3)
    assert _cancel(world, all=True, dry_run=True) == BulkResult(3, 0, (), None)
    assert _statuses(world) == {JobStatus.PENDING}


def test_a_job_that_cannot_be_changed_is_told_and_the_others_are(world: World) -> None:
    _put(world, 3)
    service = world.process(Faults().throttle("jobs.get", nth=2)).api.bulk
    result = service.cancel(_request(all=True), actor="caller")
    assert (result.matched, result.changed) == (3, 2)
    (failure,) = result.failed
    assert failure.id == "PENDING-1"
    assert isinstance(failure.error, Unavailable)


# --- redrive ------------------------------------------------------------------------------------


def test_only_dead_jobs_are_redriven_unless_another_status_is_named(world: World) -> None:
    for status in (JobStatus.DEAD, JobStatus.CANCELLED, JobStatus.EXPIRED, JobStatus.SUCCEEDED):
        _put(world, 1, status)
    redriven = world.api.bulk.redrive(_request(all=True), actor="caller")
    assert (redriven.matched, redriven.changed) == (1, 1)
    assert world.job("DEAD-0").status is JobStatus.ENQUEUED
    cancelled = world.api.bulk.redrive(_request(status="CANCELLED"), actor="caller")
    assert cancelled.changed == 1
    assert world.job("CANCELLED-0").status is JobStatus.ENQUEUED
    assert world.job("EXPIRED-0").status is JobStatus.EXPIRED


def test_a_redrive_of_no_status_looks_at_dead_jobs_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MAX_STEPS", 1)
    monkeypatch.setattr(bulk, "MAX_JOBS_A_CALL", 1)
    for status in (JobStatus.DEAD, JobStatus.SUCCEEDED):
        _put(world, 2, status)
    first = world.api.bulk.redrive(_request(handler="greet"), actor="caller")
    assert first.changed == 1
    second = _request(handler="greet", cursor=first.next_cursor)
    assert world.api.bulk.redrive(second, actor="caller").changed == 1


def test_jobs_that_succeeded_are_never_redriven(world: World) -> None:
    _put(world, 1, JobStatus.SUCCEEDED)
    result = world.api.bulk.redrive(_request(status="SUCCEEDED"), actor="caller")
    assert result == BulkResult(0, 0, (), None)


def test_redriven_jobs_run_again(world: World) -> None:
    for _ in range(3):
        world.submit()
    world.deliver(fail_for_good)
    assert world.api.bulk.redrive(_request(status="DEAD"), actor="caller").changed == 3
    world.settle()
    assert _statuses(world) == {JobStatus.SUCCEEDED}


# --- bounds -------------------------------------------------------------------------------------


def test_a_call_ends_at_its_number_of_jobs_and_its_cursor_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MAX_JOBS_A_CALL", 3)
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 2)
    _put(world, 5)
    first = _cancel(world, all=True)
    assert (first.matched, first.changed) == (3, 3)
    assert first.next_cursor is not None
    second = _cancel(world, all=True, cursor=first.next_cursor)
    assert (second.changed, second.next_cursor) == (2, None)
    assert _statuses(world) == {JobStatus.CANCELLED}


def test_a_call_ends_at_its_time_and_its_cursor_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 2)
    _put(world, 5)
    faults = Faults().interrupt("jobs.transition", lambda: world.advance(bulk.MAX_SECONDS_A_CALL))
    service = world.process(faults).api.bulk
    result = service.cancel(_request(all=True), actor="caller")
    assert (result.changed, result.next_cursor is None) == (1, False)
    rest = _cancel(world, all=True, cursor=result.next_cursor)
    assert (rest.matched, rest.changed, rest.next_cursor) == (4, 4, None)


def test_a_call_ends_at_the_job_that_used_up_its_time(world: World) -> None:
    _put(world, 5)
    faults = Faults()
    faults.interrupt("jobs.transition", lambda: world.advance(bulk.MAX_SECONDS_A_CALL), nth=3)
    result = world.process(faults).api.bulk.cancel(_request(all=True), actor="caller")
    assert (result.matched, result.changed) == (3, 3)
    assert world.job("PENDING-1").status is JobStatus.PENDING
    rest = _cancel(world, all=True, cursor=result.next_cursor)
    assert (rest.matched, rest.changed, rest.next_cursor) == (2, 2, None)


def test_a_call_ends_at_its_number_of_steps(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 1)
    monkeypatch.setattr(bulk, "MAX_STEPS", 2)
    _put(world, 5, JobStatus.SUCCEEDED)
    _put(world, 1)
    result = _cancel(world, all=True)
    assert (result.matched, result.next_cursor is None) == (0, False)


def test_a_cursor_of_another_request_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MAX_JOBS_A_CALL", 1)
    _put(world, 2)
    cursor = _cancel(world, all=True).next_cursor
    with pytest.raises(InvalidInput):
        _cancel(world, handler="greet", cursor=cursor)
