"""What `hourhand jobs show` says of a job's retries."""

from __future__ import annotations

import pytest

from hourhand.cli.jobs.showing import _facts
from hourhand.cli.output.times import Times
from hourhand.memory import START
from tests.unit.cli.jobs.test_following import job


@pytest.mark.parametrize(
    ("backoff", "told"),
    [
        ("fixed", "fixed backoff of 30 s, none jitter"),
        ("exponential", "exponential backoff from 30 s to 1 h, none jitter"),
    ],
)
def test_only_delays_that_grow_have_a_longest_one(backoff: str, told: str) -> None:
    retry = {
        "max_attempts": 5,
        "backoff": backoff,
        "base_seconds": 30,
        "max_delay_seconds": 3600,
        "jitter": "none",
    }
    facts = dict(_facts(job(retry=retry), Times(START)))
    assert facts["attempts used"] == f"1 of 5, {told}"
