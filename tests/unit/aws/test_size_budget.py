"""A small job costs one write unit at every write of its life."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from bench.children.sizes import child_job, children, join_records
from bench.item_size import BUDGET_BYTES, item_size_bytes, side_item_size_bytes
from bench.schedule_size import EVERYDAY, sizes_of_visits
from bench.small_jobs import FAR, WORKER, kinds, life, scheduled_job
from hourhand.aws.layout.jobs import job_to_item
from hourhand.domain.jobs.job import Job, JobStatus, Lease, OnLost, Outcome
from hourhand.domain.jobs.transitions import change, die, discard, take_over
from hourhand.domain.schedules.journal import RING_ENTRIES
from hourhand.domain.ticks.buckets import Entry
from hourhand.memory import START

KINDS = pytest.mark.parametrize("job", kinds().values(), ids=kinds().keys())


@KINDS
def test_a_small_job_stays_below_one_unit_through_six_attempts(job: Job) -> None:
    sizes = {name: item_size_bytes(job_to_item(lived)) for name, lived in life(job)}
    assert len([name for name in sizes if name.startswith("claimed")]) == 6
    assert max(sizes.values()) < BUDGET_BYTES, sizes


def test_a_child_stays_below_one_unit_through_six_attempts() -> None:
    sizes = {name: item_size_bytes(job_to_item(lived)) for name, lived in life(child_job())}
    assert max(sizes.values()) < BUDGET_BYTES, sizes


@pytest.mark.parametrize("job", children().values(), ids=children().keys())
def test_a_child_exceeds_one_unit_by_its_end_alone(job: Job) -> None:
    sizes = [item_size_bytes(job_to_item(lived)) for _, lived in life(job)]
    assert max(sizes[:-1]) < BUDGET_BYTES, sizes


def test_a_join_record_of_a_hundred_children_stays_below_one_unit() -> None:
    sizes = {name: side_item_size_bytes(item) for name, item in join_records().items()}
    assert list(sizes.values()) == sorted(sizes.values())
    assert max(sizes.values()) < BUDGET_BYTES, sizes


LENGTHS = pytest.mark.parametrize("length", [0, 40, 80, 120, 160, 200, 240, 2000])
TYPES = pytest.mark.parametrize("name", ["E", "ConnectionError", "T" * 100])


@KINDS
@LENGTHS
@TYPES
def test_a_small_job_stays_below_one_unit_however_long_its_errors(
    job: Job, length: int, name: str
) -> None:
    reason = f"{name}: " + "x" * length
    sizes = {n: item_size_bytes(job_to_item(lived)) for n, lived in life(job, reason)}
    assert max(sizes.values()) < BUDGET_BYTES, sizes


@KINDS
@LENGTHS
@TYPES
def test_a_small_job_that_dies_stays_below_one_unit(job: Job, length: int, name: str) -> None:
    last = [lived for _, lived in life(job) if lived.status is JobStatus.RUNNING][-1]
    assert last.started_at is not None
    reason = f"{name}: " + "x" * length
    dead = die(last, now=last.started_at, actor="w-0123abcd", outcome=Outcome.FAILED, reason=reason)
    died = dead.apply(last)
    item = job_to_item(died)
    assert "d" in item
    assert item_size_bytes(item) < BUDGET_BYTES
    closed = discard(died, now=last.started_at, actor="a" * 32, note="", reason="bulk").apply(died)
    assert item_size_bytes(job_to_item(closed)) < BUDGET_BYTES


@KINDS
def test_a_small_job_that_is_lost_and_taken_over_stays_below_one_unit(job: Job) -> None:
    running = [lived for _, lived in life(job) if lived.status is JobStatus.RUNNING]
    for lived in running[:-1]:
        assert lived.lease is not None
        move = take_over(
            replace(lived, on_lost=OnLost.RETRY),
            now=lived.lease.until + timedelta(minutes=1),
            margin=timedelta(seconds=1),
            lease=Lease(
                owner=WORKER,
                until=lived.lease.until + timedelta(minutes=2),
                claim_id="k3j9x2m1qa",
            ),
        )
        taken = replace(move.apply(lived), on_lost=OnLost.DEAD)
        assert item_size_bytes(job_to_item(taken)) < BUDGET_BYTES


def test_a_job_that_was_put_off_many_times_stays_below_one_unit() -> None:
    """Each time its generation rises, and its history has one more to tell."""
    job = scheduled_job(is_backfilled=True)
    put_off = partial(
        change,
        now=START + FAR - timedelta(hours=1),
        actor=WORKER,
        sets={},
        entry=Entry(START + FAR, 3),
        sends_now=False,
        reason="waits for a slot",
    )
    for _ in range(120):
        job = put_off(job).apply(job)
    sizes = {name: item_size_bytes(job_to_item(lived)) for name, lived in life(job)}
    assert job.generation > 100
    assert max(sizes.values()) < BUDGET_BYTES, sizes


def test_a_schedule_s_own_item_stays_below_one_unit_with_a_full_journal() -> None:
    full = [size for size in sizes_of_visits(EVERYDAY) if size.entries >= RING_ENTRIES]
    assert full
    assert max(size.bytes for size in full) < BUDGET_BYTES


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "é"}, 2),
        ({"N": "0"}, 2),
        ({"N": "1767603600000"}, 8),
        ({"N": "-1"}, 3),
        ({"L": [{"S": "ab"}, {"S": ""}]}, 3 + 2 + 2),
        ({"M": {"k": {"S": "v"}}}, 3 + 1 + 2),
    ],
)
def test_sizes_are_counted_by_the_published_rules(value: dict[str, Any], size: int) -> None:
    assert item_size_bytes({"a": value}) == 1 + size
