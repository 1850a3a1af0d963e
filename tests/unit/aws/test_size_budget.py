"""A small job costs one write unit at every write of its life."""

from __future__ import annotations

from typing import Any

import pytest

from bench.item_size import BUDGET_BYTES, item_size_bytes, life, small_job
from hourhand.aws.items import job_to_item
from hourhand.domain.model import JobStatus, Outcome
from hourhand.domain.moves import die


@pytest.mark.parametrize("with_key", [False, True])
def test_a_small_job_stays_below_one_unit_through_six_attempts(with_key: bool) -> None:
    sizes = {
        name: item_size_bytes(job_to_item(job)) for name, job in life(small_job(with_key=with_key))
    }
    assert len([name for name in sizes if name.startswith("claimed")]) == 6
    assert max(sizes.values()) < BUDGET_BYTES, sizes


@pytest.mark.parametrize("with_key", [False, True])
def test_a_small_job_that_dies_stays_below_one_unit(with_key: bool) -> None:
    running = [
        job for _, job in life(small_job(with_key=with_key)) if job.status is JobStatus.RUNNING
    ]
    last = running[-1]
    assert last.started_at is not None
    reason = "ConnectionError: " + "x" * 200
    dead = die(last, now=last.started_at, actor="w-0123abcd", outcome=Outcome.FAILED, reason=reason)
    item = job_to_item(dead.apply(last))
    assert "d" in item
    assert item_size_bytes(item) < BUDGET_BYTES


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
