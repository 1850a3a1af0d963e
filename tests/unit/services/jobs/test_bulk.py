"""The same operation on many jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.filters import BulkDiscard, BulkRequest
from hourhand.domain.errors import CountChanged, InvalidInput, Unavailable
from hourhand.domain.groups.overlap import Overlap
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.searches import BulkChange
from hourhand.memory import START
from hourhand.services.jobs import bulk
from hourhand.services.jobs.bulk import BulkResult, BulkService
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import fail_for_good
from tests.world.world import World


def _request(**body: Any) -> BulkChange:
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


def test_a_redrive_names_the_schedules_whose_overlap_decides_when_its_jobs_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(name: str, **fields: Any) -> None:
        world.store.put(make_job(id=name, status=JobStatus.DEAD, **fields))

    for n, schedule in enumerate("aabd"):
        put(f"job-{n}", schedule_id=schedule, overlap=Overlap(group=schedule))
    put("allowed", schedule_id="c")
    put("none")
    monkeypatch.setattr(bulk, "MAX_SCHEDULES_NAMED", 2)
    counted = world.api.bulk.redrive(_request(all=True, dry_run=True), actor="caller")
    assert (counted.matched, counted.schedules) == (6, ())
    result = world.api.bulk.redrive(_request(all=True), actor="caller")
    assert (result.changed, len(result.schedules)) == (6, 2)
    assert set(result.schedules) < {"a", "b", "d"}


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


# --- discard ------------------------------------------------------------------------------------


def _discard(world: World, **body: Any) -> BulkResult:
    return world.api.bulk.discard(BulkDiscard.parse(body), actor="caller")


def test_every_dead_job_that_matches_is_discarded_once(world: World) -> None:
    _put(world, 3, JobStatus.DEAD)
    _put(world, 2, JobStatus.CANCELLED)
    _put(world, 1)
    assert _discard(world, all=True, note="known") == BulkResult(3, 3, (), None)
    job = world.job("DEAD-0")
    assert (job.discard_note, job.history[-1].reason) == ("known", "known")
    assert _discard(world, all=True) == BulkResult(0, 0, (), None)
    assert world.store.count_dead(10) == 0


def test_a_bulk_discard_without_a_note_says_so_in_the_history(world: World) -> None:
    _put(world, 1, JobStatus.DEAD)
    _discard(world, handler="greet")
    job = world.job("DEAD-0")
    assert (job.discard_note, job.history[-1].reason) == (None, "bulk")


@pytest.mark.parametrize("body", [{"status": "CANCELLED"}, {"discarded": True}])
def test_a_bulk_discard_of_what_cannot_be_discarded_matches_nothing(
    world: World, body: dict[str, Any]
) -> None:
    _put(world, 1, JobStatus.DEAD, discarded_at=START)
    _put(world, 1, JobStatus.CANCELLED)
    assert _discard(world, **body) == BulkResult(0, 0, (), None)


def test_a_discard_reads_unresolved_jobs_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MAX_STEPS", 1)
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 1)
    _put(world, 1, JobStatus.DEAD)
    _put(world, 3, JobStatus.SUCCEEDED)
    assert _discard(world, handler="greet").changed == 1


def test_a_bulk_redrive_leaves_discarded_jobs_alone_unless_they_are_named(world: World) -> None:
    _put(world, 2, JobStatus.DEAD)
    world.api.operations.discard("DEAD-0", actor="caller")
    for body in ({"all": True}, {"status": "DEAD"}):
        counted = world.api.bulk.redrive(_request(**body, dry_run=True), actor="caller")
        assert counted.matched == 1
    assert world.api.bulk.redrive(_request(discarded=True), actor="caller").changed == 1
    assert world.job("DEAD-0").status is JobStatus.ENQUEUED
    assert world.job("DEAD-1").status is JobStatus.DEAD


# --- the count that the caller saw --------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "there", "is_refused"),
    [
        (10, 11, False),
        (10, 12, True),
        (9, 9, False),
        (9, 10, True),
        (10, 3, False),
        (0, 0, False),
        (0, 1, True),
        (19, 20, False),
        (19, 21, True),
    ],
)
def test_a_count_that_grew_by_more_than_a_tenth_is_refused_before_any_change(
    world: World, expected: int, there: int, *, is_refused: bool
) -> None:
    _put(world, there)
    _put(world, 5, JobStatus.SUCCEEDED)
    if not is_refused:
        assert _cancel(world, all=True, expected_count=expected).changed == there
        return
    with pytest.raises(CountChanged) as refused:
        _cancel(world, all=True, expected_count=expected)
    said = f"A count of {expected} was expected, and the count is {there} now. Nothing was changed."
    assert (refused.value.detail, refused.value.status) == (said, 409)
    assert JobStatus.CANCELLED not in _statuses(world)


def test_a_dry_run_checks_the_count_too(world: World) -> None:
    _put(world, 3)
    with pytest.raises(CountChanged):
        _cancel(world, all=True, expected_count=1, dry_run=True)


def test_the_count_is_read_in_the_first_call_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MAX_JOBS_A_CALL", 4)
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 2)
    _put(world, 6)
    first = _cancel(world, all=True)
    assert first.changed == 4
    rest = _cancel(world, all=True, cursor=first.next_cursor, expected_count=0)
    assert (rest.changed, rest.next_cursor) == (2, None)


def test_a_count_stops_at_its_bound_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MAX_JOBS_A_CALL", 10)
    _put(world, 12)
    counted = _cancel(world, all=True, dry_run=True)
    assert (counted.matched, counted.changed, counted.count_is_bounded) == (10, 0, True)
    rest = _cancel(world, all=True, dry_run=True, cursor=counted.next_cursor)
    assert (rest.matched, rest.count_is_bounded, rest.next_cursor) == (2, False, None)
    with pytest.raises(CountChanged, match="and the count is 10 or more now"):
        _cancel(world, all=True, expected_count=5)


@pytest.mark.parametrize(
    ("expected", "there", "counted"),
    [
        (9, 30, "10 or more"),
        (10, 11, None),
        (10, 12, "12 or more"),
        (10, 30, "12 or more"),
        (27, 29, None),
        (27, 31, "30 or more"),
        (1_000_000, 30, None),
    ],
)
def test_a_count_goes_beyond_the_jobs_of_a_call_until_it_can_refuse(
    world: World, monkeypatch: pytest.MonkeyPatch, expected: int, there: int, counted: str | None
) -> None:
    monkeypatch.setattr(bulk, "MAX_JOBS_A_CALL", 10)
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 4)
    _put(world, there)
    if counted is None:
        assert _cancel(world, all=True, expected_count=expected).changed == 10
        return
    with pytest.raises(CountChanged, match=f"and the count is {counted} now"):
        _cancel(world, all=True, expected_count=expected)
    assert _statuses(world) == {JobStatus.PENDING}


def _slow(world: World, seconds: float) -> BulkService:
    """Return a service whose reads of the listing take that long."""
    faults = Faults()
    for nth in range(1, 30):
        faults.interrupt("jobs.list_jobs", lambda: world.advance(seconds), nth=nth)
    return world.process(faults).api.bulk


def test_a_count_that_takes_long_is_continued_by_the_next_call(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 2)
    _put(world, 5)
    cursor: str | None = None
    calls: list[tuple[int, int]] = []
    for _ in range(10):
        asked = _request(all=True, expected_count=5, **({"cursor": cursor} if cursor else {}))
        result = _slow(world, bulk.MAX_SECONDS_A_COUNT / 2).cancel(asked, actor="caller")
        calls.append((result.matched, result.changed))
        cursor = result.next_cursor
        if cursor is None:
            break
    assert calls[0] == (0, 0), "nothing is changed before the count is complete"
    assert sum(changed for _, changed in calls) == 5
    assert _statuses(world) == {JobStatus.CANCELLED}


def test_a_count_that_takes_long_is_refused_once_it_is_too_high(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 2)
    _put(world, 9)
    first = _slow(world, bulk.MAX_SECONDS_A_COUNT).cancel(
        _request(all=True, expected_count=3), actor="caller"
    )
    assert (first.matched, first.changed, first.next_cursor is None) == (0, 0, False)
    # The rest of the count is in the cursor: the new expectation is not read.
    with pytest.raises(CountChanged, match="A count of 3 was expected, and the count is 9 now"):
        _cancel(world, all=True, expected_count=100, cursor=first.next_cursor)
    assert _statuses(world) == {JobStatus.PENDING}


def test_the_cursor_of_a_count_belongs_to_its_filters(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "JOBS_A_STEP", 1)
    _put(world, 3)
    first = _slow(world, bulk.MAX_SECONDS_A_COUNT).cancel(
        _request(all=True, expected_count=3), actor="caller"
    )
    with pytest.raises(InvalidInput):
        _cancel(world, handler="greet", cursor=first.next_cursor)
