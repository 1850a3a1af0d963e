"""Retiming: jobs that wait for a rate get start times by its new number."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable, WrongState
from hourhand.domain.jobs.job import EventKind, JobStatus
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.services.jobs.bulk import BulkResult
from hourhand.services.limits import rate_retimes
from hourhand.services.limits.rate_limiters import Crowded
from tests.world.faults import Faults
from tests.world.limits import limited
from tests.world.world import World

HOURLY = Rate(1, per=3600)


def waiting(*limits: Limit, count: int = 5, **body: Any) -> World:
    """Return a world whose first job ran, and whose others have start times in their order."""
    world = limited(*limits)
    for number in range(count):
        world.submit(id=f"job-{number}", **body)
        world.deliver()
    world.advance(1)
    return world


def changed_to(world: World, number: int, name: str = "greet.1") -> None:
    changes = LimitChanges(sets_max=True, max=number)
    world.api.limits.change(name, changes, actor="caller")


def retimed(world: World, name: str = "greet.1", key: str | None = None) -> BulkResult:
    """Retime until the end; return the sums."""
    matched = changed = 0
    cursor = None
    world.advance(1)
    for _ in range(1000):
        done = world.api.limits.retime(name, key, cursor, actor="caller")
        matched, changed, cursor = matched + done.matched, changed + done.changed, done.next_cursor
        if cursor is None:
            return BulkResult(matched, changed, done.failed, None)
    raise AssertionError("the retiming never ended")


def minutes(world: World) -> dict[str, float]:
    """Return when each waiting job starts, in minutes from now."""
    now, jobs = world.clock.now(), world.store.jobs().values()
    left = sorted((job for job in jobs if job.status.is_waiting), key=lambda job: job.id)
    return {
        job.id: round((job.reservation.at - now) / timedelta(minutes=1), 1)
        for job in left
        if job.reservation is not None
    }


def starts(world: World) -> list[float]:
    return sorted((run.started_at - START) / timedelta(minutes=1) for run in world.runs)


def test_after_an_increase_waiting_jobs_start_at_the_new_rate_in_their_order() -> None:
    world = waiting(HOURLY)
    assert minutes(world) == {"job-1": 60, "job-2": 120, "job-3": 180, "job-4": 240}
    world.submit(id="later", delay_seconds=7000)
    changed_to(world, 60)
    assert minutes(world)["job-4"] == 240, "a new number alone moves no job"
    assert retimed(world) == BulkResult(4, 4, (), None)
    moved = minutes(world)
    assert list(moved.values()) == sorted(moved.values())
    assert moved["job-4"] <= 5
    later = world.store.jobs()["later"]
    assert later.due_at == START + timedelta(seconds=7001), "it has no start time of the rate"
    world.api.operations.cancel("later", actor="caller")
    world.settle()
    assert len(starts(world)) == 5
    assert starts(world)[-1] <= 6
    for number in range(5):
        job = world.store.jobs()[f"job-{number}"]
        assert job.status is JobStatus.SUCCEEDED
    [reason] = [e.reason for e in job.history if e.kind is EventKind.CHANGED and "was" in e.reason]
    assert reason == "the rate of greet.1 was changed"


def test_new_jobs_start_behind_those_that_were_moved() -> None:
    world = waiting(HOURLY)
    changed_to(world, 60)
    retimed(world)
    world.advance(31)
    last = minutes(world)["job-4"]
    world.submit(id="late")
    world.deliver()
    assert last < minutes(world)["late"] <= last + 1.1
    assert retimed(world).changed <= 5, "and can be retimed once more"


def test_after_a_reduction_waiting_jobs_move_away() -> None:
    world = waiting(Rate(60, per=3600, burst=1))
    changed_to(world, 1)
    assert retimed(world) == BulkResult(4, 4, (), None)
    moved = list(minutes(world).values())
    assert moved == sorted(moved)
    assert moved[-1] >= 180


def test_a_call_moves_a_bounded_number_and_the_next_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rate_retimes, "MAX_JOBS_A_CALL", 3)
    monkeypatch.setattr(rate_retimes, "ENTRIES_A_PAGE", 2)
    world = waiting(Rate(120, per=3600, burst=1), count=12)
    changed_to(world, 12)
    first = world.api.limits.retime("greet.1", None, None, actor="caller")
    assert (first.matched, first.changed) == (3, 3)
    assert first.next_cursor is not None
    rest = world.api.limits.retime("greet.1", None, first.next_cursor, actor="caller")
    assert rest.matched == 3
    moved = minutes(world)
    assert moved["job-6"] >= 25
    # A call without the cursor begins anew, and no retiming moves a job twice.
    assert retimed(world).matched == 11
    spread = sorted(minutes(world).values())
    assert [round(later - earlier) for earlier, later in pairwise(spread)] == [5] * 10


def test_a_call_that_takes_too_long_goes_on_where_it_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rate_retimes, "MAX_SECONDS_A_CALL", 0.0)
    world = waiting(HOURLY)
    changed_to(world, 60)
    first = world.api.limits.retime("greet.1", None, None, actor="caller")
    assert (first.changed, first.next_cursor is None) == (0, False)
    assert retimed(world).changed == 4


def test_a_retiming_that_was_broken_off_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_retimes, "MAX_JOBS_A_CALL", 1)
    world = waiting(HOURLY)
    changed_to(world, 60)
    assert world.api.limits.retime("greet.1", None, None, actor="caller").next_cursor is not None
    monkeypatch.setattr(rate_retimes, "MAX_JOBS_A_CALL", 1000)
    assert retimed(world).matched == 4
    assert minutes(world)["job-4"] <= 6


def test_only_the_jobs_of_the_named_key_are_moved() -> None:
    limit = Rate(1, per=3600, key="payload.account", name="bank")
    world = waiting(limit, count=3, payload={"account": 42})
    for number in range(3):
        world.submit(id=f"other-{number}", payload={"account": 7})
        world.deliver()
    changed_to(world, 60, "bank")
    with pytest.raises(InvalidInput) as refused:
        world.api.limits.retime("bank", None, None, actor="caller")
    assert [error.field for error in refused.value.errors] == ["key"]
    assert retimed(world, "bank", "42").changed == 2
    left = minutes(world)
    assert left["job-2"] <= 3
    assert left["other-2"] == 120


def test_a_job_that_cost_a_day_is_forgotten() -> None:
    world = limited(Rate(1000, per=86400, cost="payload.tokens", burst=1))
    world.submit(id="huge", payload={"tokens": 1_000})
    world.deliver()
    retimed(world)
    world.submit(id="next", payload={"tokens": 1})
    world.advance(200)
    world.deliver()
    assert world.store.jobs()["next"].status is JobStatus.SUCCEEDED


def test_a_job_that_expires_before_its_new_start_time_keeps_the_old_one() -> None:
    world = waiting(Rate(60, per=3600, burst=1), count=3)
    expires = START + timedelta(minutes=30)
    world.submit(id="expiring", expires_at=expires.isoformat())
    world.deliver()
    before = world.store.jobs()["expiring"].reservation
    changed_to(world, 1)
    done = retimed(world)
    assert (done.matched, done.changed) == (3, 2)
    assert world.store.jobs()["expiring"].reservation == before


def test_a_job_that_waits_for_a_slot_or_starts_now_is_left_alone() -> None:
    world = limited(Rate(1, per=3600), Concurrency(1))
    changes = LimitChanges(sets_max=True, max=0)
    world.api.limits.change("greet.2", changes, actor="caller")
    world.submit(id="parked")
    world.deliver()
    assert retimed(world) == BulkResult(0, 0, (), None)


def test_a_job_that_was_moved_meanwhile_is_no_failure() -> None:
    world = waiting(HOURLY, count=2)
    changed_to(world, 60)
    faults = Faults()
    process = world.process(faults=faults)
    job = world.store.jobs()["job-1"]
    faults.interrupt("transition", lambda: world.api.operations.cancel(job.id, actor="caller"))
    done = process.api.limits.retime("greet.1", None, None, actor="caller")
    assert (done.matched, done.changed, done.failed) == (1, 0, ())


def test_a_failure_names_its_job_and_does_not_hold_up_the_others() -> None:
    world = waiting(HOURLY, count=3)
    changed_to(world, 60)
    faults = Faults()
    faults.fail("transition", Unavailable("no answer"))
    done = world.process(faults=faults).api.limits.retime("greet.1", None, None, actor="caller")
    assert (done.matched, done.changed) == (2, 1)
    assert [(each.id, each.error.code) for each in done.failed] == [("job-1", "unavailable")]


def test_what_cannot_be_retimed_is_refused() -> None:
    handler = HandlerInfo(name="greet", limits=(Concurrency(1), HOURLY))
    world = World(handlers=(handler,))
    with pytest.raises(WrongState, match="concurrency limit"):
        world.api.limits.retime("greet.1", None, None, actor="caller")
    with pytest.raises(NotFound):
        world.api.limits.retime("greet.3", None, None, actor="caller")
    with pytest.raises(InvalidInput) as refused:
        world.api.limits.retime("greet.2", "acme", None, actor="caller")
    assert [error.field for error in refused.value.errors] == ["key"]
    with pytest.raises(InvalidInput) as refused:
        world.api.limits.retime("greet.2", None, "no cursor", actor="caller")
    assert [error.field for error in refused.value.errors] == ["cursor"]


def test_a_crowded_rate_is_retimed_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    world = waiting(HOURLY, count=2)
    changed_to(world, 60)
    limiters = type(world.api.limits.retimes.limiters)

    def refuse(*_: object, **__: object) -> None:
        raise Crowded

    with monkeypatch.context() as patched:
        patched.setattr(limiters, "reserve", refuse)
        done = retimed(world)
        assert [(each.id, each.error.code) for each in done.failed] == [("job-1", "unavailable")]
        patched.setattr(limiters, "reset", refuse)
        with pytest.raises(Unavailable, match="retime once more"):
            retimed(world)
    assert retimed(world).changed == 1


def test_a_job_that_keeps_its_time_is_not_moved() -> None:
    world = waiting(Rate(60, per=3600, burst=1), count=3)
    retimed(world)
    world.advance(0.5)
    done = world.api.limits.retime("greet.1", None, None, actor="caller")
    assert (done.matched, done.changed) == (2, 0)


def test_entries_without_a_job_and_pages_without_end_end_a_retiming(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rate_retimes, "ENTRIES_A_PAGE", 1)
    monkeypatch.setattr(rate_retimes, "MAX_PAGES", 2)
    world = waiting(Rate(10, per=60, burst=1), count=8)
    monkeypatch.setattr(
        type(world.store), "read_buckets", lambda _, places, **__: [None] * len(places)
    )
    changed_to(world, 60)
    [gone, *_] = [job for job in world.store.jobs().values() if job.status.is_waiting]
    found = world.store.get_many
    monkeypatch.setattr(
        type(world.store), "get_many", lambda _, ids: found([i for i in ids if i != gone.id])
    )
    assert retimed(world).matched < 7
