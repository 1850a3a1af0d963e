"""The decisions about a slots record, each from what was read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.declarations import Holds
from hourhand.domain.limits.slots import (
    Drop,
    Replace,
    SlotsRecord,
    Step,
    admitted_at_second,
    after_look_up,
    first_step,
    generation_ended,
    generation_of,
    holders_to_look_up,
    is_dead_holder,
    last_number,
    next_generation_number,
    place_to_try,
    slot_ends,
    slot_number,
    waits_in_any_case,
)
from hourhand.domain.times import to_ms
from tests.unit.domain.job_samples import NOW, a_job, a_running_job, a_sent_job, after

LEASE = timedelta(seconds=45)


DISCARDED = a_job(status=JobStatus.DEAD, discarded_at=NOW)
PAUSING = a_job(status=JobStatus.DEAD, pauses_schedule=True, due_at=NOW)


def record(**holders: int) -> SlotsRecord:
    """Holders by their age in seconds, each of generation 1."""
    return SlotsRecord(
        holders={name: slot_number(1, after(-age)) for name, age in holders.items()},
        is_stored=True,
    )


@pytest.mark.parametrize(
    ("holder", "generation", "is_so"),
    [("young", 1, True), ("old", 1, False), ("young", 2, False), ("none", 1, False)],
)
def test_a_holder_got_its_slot_just_now(holder: str, generation: int, is_so: bool) -> None:
    held = record(young=5, old=6)
    assert held.is_just_granted(holder, generation, NOW, timedelta(seconds=5)) is is_so


@pytest.mark.parametrize(("age", "places"), [(1, 5), (2, 1)])
def test_of_a_shard_that_admitted_many_jobs_just_now_one_of_the_first_waiters_is_tried(
    age: int, places: int
) -> None:
    """Else the first one."""
    held = record(**{f"holder{number}": age for number in range(20)})
    drawn = {place_to_try(held, f"ended-{number}", NOW) for number in range(100)}
    assert drawn == set(range(places))


def test_of_a_shard_that_admitted_few_jobs_just_now_the_first_waiter_is_tried() -> None:
    held = record(a=0, b=0, c=1, old=30)
    assert {place_to_try(held, f"ended-{number}", NOW) for number in range(100)} == {0}


def test_the_number_of_a_slot_holds_generation_and_second() -> None:
    number = slot_number(7, after(0.9))
    assert (generation_of(number), admitted_at_second(number)) == (7, to_ms(NOW) // 1000)
    assert last_number(7) == next_generation_number(7) - 1
    assert number <= last_number(7) < slot_number(8, after(-10_000))
    assert slot_number(6, after(10_000)) < number


FINAL = dict.fromkeys(("attempt", "job"), True)


@pytest.mark.parametrize(
    ("job", "generation", "dead"),
    [
        (None, 1, {"attempt": True, "job": True, "success": True}),
        (a_job(status=JobStatus.SUCCEEDED), 1, {**FINAL, "success": True}),
        (a_job(status=JobStatus.CANCELLED), 1, {**FINAL, "success": True}),
        (a_job(status=JobStatus.EXPIRED), 1, {**FINAL, "success": True}),
        (a_job(status=JobStatus.DEAD), 1, {**FINAL, "success": False}),
        (DISCARDED, 1, {**FINAL, "success": True}),
        (PAUSING, 1, {"attempt": True, "job": False, "success": False}),
        (a_running_job(), 1, {"attempt": False, "job": False, "success": False}),
        (a_sent_job(), 1, {"attempt": False, "job": False, "success": False}),
        (a_sent_job(generation=2), 1, {"attempt": True, "job": True, "success": True}),
        (
            a_sent_job(generation=2, lateness_ms=0, status=JobStatus.RETRYING),
            1,
            {"attempt": True, "job": False, "success": False},
        ),
    ],
    ids=[
        "gone",
        "succeeded",
        "cancelled",
        "expired",
        "dead",
        "discarded",
        "its schedule is still to be paused",
        "runs",
        "was granted a slot",
        "rescheduled",
        "waits for a retry",
    ],
)
def test_a_holder_is_dead_if_its_job_ended_or_moved_past_the_generation(
    job: Job | None, generation: int, dead: dict[str, bool]
) -> None:
    assert {holds.value: is_dead_holder(job, generation, holds) for holds in Holds} == dead


@pytest.mark.parametrize(
    ("holders", "share", "before", "all_read", "step"),
    [
        ({}, 1, 0, True, Step.TAKE),
        ({}, 1, 1, True, Step.QUEUE),
        ({"a": 1}, 1, 0, True, Step.LOOK_UP),
        ({"a": 1, "b": 1}, 1, 0, True, Step.LOOK_UP),
        ({"a": 1}, 3, 1, True, Step.TAKE),
        ({"a": 1}, 3, 2, True, Step.QUEUE),
        ({}, 5, 3, False, Step.READ_ON),
        ({}, 3, 3, False, Step.QUEUE),
        ({}, 0, 0, True, Step.LOOK_UP),
    ],
)
def test_a_job_takes_a_slot_if_more_are_free_than_wait_before_it(
    holders: dict[str, int], share: int, before: int, all_read: bool, step: Step
) -> None:
    found = first_step(
        record(**holders),
        holder="me",
        generation=1,
        share=share,
        waiters_before=before,
        all_read=all_read,
    )
    assert found is step


@pytest.mark.parametrize(("generation", "step"), [(1, Step.HOLDS), (2, Step.HOLDS), (3, Step.TAKE)])
def test_a_job_that_holds_a_slot_goes_by_its_generation(generation: int, step: Step) -> None:
    full = SlotsRecord(holders={"me": slot_number(2, NOW), "other": slot_number(1, NOW)})
    found = first_step(
        full, holder="me", generation=generation, share=1, waiters_before=3, all_read=False
    )
    assert found is step


@pytest.mark.parametrize(
    ("limit_max", "ages", "looked_up"),
    [
        (3, {"a": 10, "b": 44}, []),
        (3, {"a": 46, "b": 50, "c": 60}, ["c", "b"]),
        (3, {"a": 46, "b": 10}, ["a"]),
        (2, {"a": 10, "b": 20}, ["b", "a"]),
        (1, {"me": 10}, []),
        (3, {"me": 50}, []),
    ],
)
def test_old_holders_are_looked_up_and_every_holder_of_a_lazy_limit(
    limit_max: int, ages: dict[str, int], looked_up: list[str]
) -> None:
    found = holders_to_look_up(
        record(**ages), holder="me", limit_max=limit_max, now=NOW, lease=LEASE
    )
    assert list(found) == looked_up


@pytest.mark.parametrize(
    ("share", "dead", "waits_behind", "writes"),
    [
        (2, [], False, []),
        (2, ["a"], False, [Replace]),
        (2, ["a", "b"], False, [Replace]),
        (2, ["a"], True, []),
        (1, ["a"], False, [Drop]),
        (1, ["a", "b"], False, [Drop, Replace]),
        (1, ["a", "b"], True, [Drop]),
        (0, ["a", "b"], False, [Drop, Drop]),
    ],
)
def test_dead_holders_above_the_share_are_dropped_before_one_is_replaced(
    share: int, dead: list[str], waits_behind: bool, writes: list[type]
) -> None:
    full = record(a=60, b=50)
    found = after_look_up(full, dead, share=share, waits_behind=waits_behind)
    assert [type(one) for one in found] == writes
    assert [(one.dead, one.seen) for one in found] == [
        (name, full.holders[name]) for name in dead[: len(writes)]
    ]


@pytest.mark.parametrize(
    ("before", "after_it", "ended"),
    [
        (a_running_job(), a_running_job(lease_until=after(60)), False),
        (a_running_job(), a_job(status=JobStatus.SUCCEEDED), True),
        (a_running_job(), a_job(status=JobStatus.RETRYING, generation=2), True),
        (a_sent_job(), a_sent_job(generation=2), True),
        (a_sent_job(), a_sent_job(), False),
        (a_job(status=JobStatus.DEAD), a_job(status=JobStatus.DEAD), False),
        (a_job(status=JobStatus.DEAD), DISCARDED, True),
        (DISCARDED, a_sent_job(generation=2), True),
        (a_job(status=JobStatus.DEAD), a_sent_job(generation=2), True),
    ],
    ids=[
        *("heartbeat", "end", "retry", "change", "mark"),
        *("finish", "discard", "redrive of a discarded job", "redrive"),
    ],
)
def test_a_move_ends_a_generation_by_an_end_or_a_new_one(
    before: Job, after_it: Job, ended: bool
) -> None:
    assert generation_ended(before, after_it) is ended


BEGUN = {"lateness_ms": 0}


@pytest.mark.parametrize(
    ("before", "after_it", "ends"),
    [
        (a_running_job(), a_job(status=JobStatus.SUCCEEDED), {"attempt", "job", "success"}),
        (a_running_job(), a_job(status=JobStatus.DEAD), {"attempt", "job"}),
        (a_running_job(), PAUSING, {"attempt"}),
        (a_job(status=JobStatus.DEAD), DISCARDED, {"success"}),
        (a_running_job(), a_job(status=JobStatus.CANCELLED), {"attempt", "job", "success"}),
        (a_running_job(), a_job(status=JobStatus.RETRYING, generation=2), {"attempt"}),
        (a_sent_job(), a_sent_job(generation=2), {"attempt", "job", "success"}),
        (a_sent_job(**BEGUN), a_sent_job(generation=2, **BEGUN), {"attempt"}),
    ],
    ids=[
        "success",
        "death",
        "pausing",
        "discard",
        "cancel",
        "retry",
        "change",
        "change once begun",
    ],
)
def test_a_slot_ends_as_the_limit_says(before: Job, after_it: Job, ends: set[str]) -> None:
    assert {holds.value for holds in Holds if slot_ends(before, after_it, holds)} == ends


@pytest.mark.parametrize(
    ("job", "waits"),
    [
        (a_sent_job(), False),
        (a_sent_job(token=1), True),
        (a_sent_job(round=2), True),
        (a_sent_job(round=2, schedule_revision=1), False),
        (a_sent_job(round=2, schedule_revision=1, token=1), True),
    ],
    ids=["new", "begun", "redriven", "included again by its schedule", "begun, included again"],
)
def test_a_job_that_has_begun_or_was_redriven_waits_whatever_the_limit_says(
    job: Job, waits: bool
) -> None:
    assert waits_in_any_case(job) is waits
