"""Ranks of waiters, and what a waiter record is worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.domain.jobs.waiting import WaitKind, WaitsFor, waiter_key
from hourhand.domain.limits.wait_queue import (
    Waiter,
    WaiterState,
    rank_in_group,
    rank_of,
    state_of,
)
from hourhand.domain.times import from_ms
from tests.unit.domain.job_samples import NOW, a_running_job, a_sent_job, after

PAUSE = WaitsFor(WaitKind.SLOT, "p")
SIGNAL = WaitsFor(WaitKind.SIGNAL, name="approved")


def test_priority_is_a_head_start_of_ten_minutes() -> None:
    due = {
        Priority.HIGH: after(599),
        Priority.MEDIUM: after(0),
        Priority.LOW: after(-601),
    }
    ranks = {priority: rank_of(at, priority) for priority, at in due.items()}
    assert sorted(ranks, key=lambda priority: ranks[priority]) == ["high", "low", "medium"]
    waited_longer = rank_of(after(-1201), Priority.LOW)
    assert waited_longer < rank_of(after(0), Priority.HIGH)


def test_a_negated_rank_puts_the_newest_first() -> None:
    older, newer = after(0), after(1)
    assert rank_of(newer, Priority.MEDIUM) > rank_of(older, Priority.MEDIUM)
    assert rank_of(newer, Priority.MEDIUM, newest_first=True) < rank_of(
        older, Priority.MEDIUM, newest_first=True
    )


@pytest.mark.parametrize(
    ("milliseconds", "newest_first"), [(0, False), (0, True), (7_289_654_400_000, True)]
)
def test_every_rank_has_thirteen_digits(milliseconds: int, newest_first: bool) -> None:
    for priority in Priority:
        rank = rank_of(from_ms(milliseconds), priority, newest_first=newest_first)
        key = waiter_key("l.limit.0", rank, "job")
        assert len(key.sort.split(".")[1]) == 13


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("policy", list(OverlapPolicy))
def test_in_a_group_the_scheduled_time_ranks_and_what_cancels_others_the_other_way_round(
    policy: OverlapPolicy, newest_first: bool
) -> None:
    overlap = Overlap(group="nightly", policy=policy, newest_first=newest_first)
    late = a_sent_job(run_at=after(99), priority=Priority.HIGH)
    older, newer = (replace(late, occurrence=after(seconds)) for seconds in (0, 1))
    first = min((older, newer), key=lambda job: rank_in_group(job, overlap))
    assert (first is newer) is (newest_first is not (policy is OverlapPolicy.CANCEL_OTHER))
    assert rank_in_group(replace(late, occurrence=None), overlap) == rank_in_group(
        replace(late, occurrence=after(99)), overlap
    )


def test_a_waiter_does_not_rank_before_itself() -> None:
    waiter = Waiter(5, "job-1", 1)
    assert not waiter.ranks_before(6, "job-1")
    assert waiter.ranks_before(6, "job-2")
    assert waiter.ranks_before(5, "job-2")
    assert not waiter.ranks_before(5, "job-0")
    assert not waiter.ranks_before(4, "job-2")


@pytest.mark.parametrize(
    ("job", "how", "state"),
    [
        (None, {}, WaiterState.STRAY),
        (a_sent_job(status=JobStatus.CANCELLED), {}, WaiterState.STRAY),
        (a_running_job(), {}, WaiterState.STRAY),
        (a_sent_job(generation=2), {}, WaiterState.STRAY),
        (a_sent_job(), {"is_parked": False}, WaiterState.ON_ITS_WAY),
        (a_sent_job(waits_for=SIGNAL), {"is_parked": False}, WaiterState.ON_ITS_WAY),
        (a_sent_job(waits_for=PAUSE), {"is_parked": False}, WaiterState.ELSEWHERE),
        (a_sent_job(), {"is_paused": True, "holds": True}, WaiterState.PAUSED),
        (a_sent_job(expires_at=NOW), {}, WaiterState.EXPIRED),
        (a_sent_job(expires_at=after(1)), {}, WaiterState.WAITS),
        (a_sent_job(), {"holds": True}, WaiterState.HOLDS),
    ],
    ids=[
        "gone",
        "ended",
        "runs",
        "changed since",
        "on its way to park",
        "a run that waited for a signal, on its way to park",
        "waits for something else",
        "is paused",
        "expired",
        "will expire",
        "was granted a slot",
    ],
)
def test_a_waiter_record_is_worth_what_its_job_says(
    job: Job | None, how: dict[str, Any], state: WaiterState
) -> None:
    waiter = Waiter(5, "job-1", 1)
    found = state_of(
        waiter,
        job,
        is_parked=how.get("is_parked", True),
        is_paused=how.get("is_paused", False),
        holds=how.get("holds", False),
        now=NOW,
    )
    assert found is state
