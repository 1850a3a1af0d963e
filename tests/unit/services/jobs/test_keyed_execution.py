"""The records that guard execution: what they say to an attempt that wants to run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.api.requests._limits import MAX_TIMEOUT_SECONDS
from hourhand.domain.jobs.job import Content
from hourhand.memory import START
from hourhand.services.jobs.keyed_execution import IdempotencyGuard, KeyCheck, KeyState
from tests.world.factories import make_content, make_job
from tests.world.world import World

RESULT = make_content('"done"')
RUN = KeyCheck(KeyState.RUN)


@pytest.fixture
def guard(world: World) -> IdempotencyGuard:
    return IdempotencyGuard(world.keys, world.clock)


KEYED = make_job(idempotency_key="k", token=1)


def test_a_job_without_a_key_needs_no_record(world: World, guard: IdempotencyGuard) -> None:
    job = make_job()
    assert guard.begin(job, "null") == RUN
    assert guard.finish(job, "null", RESULT)
    assert not world.keys.records()


def test_a_key_is_claimed_and_then_holds_the_result(guard: IdempotencyGuard) -> None:
    assert guard.begin(KEYED, "null") == RUN
    assert guard.finish(KEYED, "null", RESULT)
    assert guard.begin(replace(KEYED, token=2), "null") == KeyCheck(KeyState.REPLAY, RESULT)


def test_done_work_is_not_replayed_for_other_inputs(guard: IdempotencyGuard) -> None:
    guard.begin(KEYED, "null")
    guard.finish(KEYED, "null", RESULT)
    assert guard.begin(replace(KEYED, token=2), "1").state is KeyState.OTHER_INPUTS
    other = replace(KEYED, token=2, handler="other")
    assert guard.begin(other, "null").state is KeyState.OTHER_INPUTS


def test_a_key_in_progress_for_another_job_is_taken(guard: IdempotencyGuard) -> None:
    guard.begin(KEYED, "null")
    assert guard.begin(replace(KEYED, id="job-2"), "null").state is KeyState.TAKEN


def test_a_key_in_progress_passes_to_the_next_attempt_and_not_back(
    guard: IdempotencyGuard,
) -> None:
    second = replace(KEYED, token=2)
    assert guard.begin(KEYED, "null") == RUN
    assert guard.begin(second, "null") == RUN
    assert guard.begin(KEYED, "null").state is KeyState.TAKEN
    assert not guard.finish(KEYED, "null", RESULT), "the zombie records nothing"
    assert guard.finish(second, "null", RESULT)


@pytest.mark.parametrize("is_done", [False, True], ids=["in progress", "done"])
def test_the_next_job_of_a_key_takes_it_over_and_the_one_before_learns_it(
    guard: IdempotencyGuard, is_done: bool
) -> None:
    next_job = replace(KEYED, created_at=START + timedelta(days=7))
    guard.begin(KEYED, "null")
    guard.finish(KEYED, "null", RESULT)
    assert guard.begin(next_job, "null") == RUN
    if is_done:
        assert guard.finish(next_job, "null", make_content('"next"'))
    zombie = replace(KEYED, token=2)
    assert guard.begin(zombie, "null").state is KeyState.TAKEN
    assert not guard.finish(zombie, "null", RESULT)


def test_a_key_belongs_to_its_tenant(guard: IdempotencyGuard) -> None:
    guard.begin(KEYED, "null")
    assert guard.begin(replace(KEYED, id="job-2", tenant="t"), "null") == RUN


def test_a_record_in_progress_outlives_the_longest_attempt_and_not_much_more(
    world: World, guard: IdempotencyGuard
) -> None:
    guard.begin(KEYED, "null")
    (record,) = world.keys.records().values()
    assert record.keep_until == START + timedelta(hours=1)
    assert record.keep_until > START + timedelta(seconds=MAX_TIMEOUT_SECONDS)


def test_a_record_of_done_work_outlives_its_job(world: World, guard: IdempotencyGuard) -> None:
    for retention, kept in ((0, timedelta(days=1)), (7 * 86_400, timedelta(days=7))):
        job = replace(KEYED, retention_seconds=retention)
        guard.begin(job, "null")
        guard.finish(job, "null", RESULT)
        (record,) = world.keys.records().values()
        assert record.keep_until == START + kept + timedelta(days=1)


def test_a_result_kept_elsewhere_is_recorded_by_its_place(guard: IdempotencyGuard) -> None:
    place = Content(size_bytes=300, item="result.x")
    guard.begin(KEYED, "null")
    guard.finish(KEYED, "null", place)
    assert guard.begin(replace(KEYED, token=2), "null").result == place
