"""A job waits for a while for a deploy to bring its handler; then it fails."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.timings import Timings
from hourhand.domain.unknown_handler import FIRST_WAIT, LONGEST_WAIT, wait_for_handler
from hourhand.testing import START, make_job

LATE = timedelta(seconds=3)
GRACE = Timings().handler_grace


@pytest.mark.parametrize(
    ("waited", "wait"),
    [
        (timedelta(0), FIRST_WAIT),
        (timedelta(seconds=20), timedelta(seconds=20)),
        (timedelta(seconds=200), LONGEST_WAIT),
        (GRACE - timedelta(milliseconds=1), LONGEST_WAIT),
        (GRACE, None),
        (timedelta(days=3), None),
        (-timedelta(seconds=1), FIRST_WAIT),
    ],
)
def test_the_wait_grows_with_the_time_since_the_first_start_and_has_an_end(
    waited: timedelta, wait: timedelta | None
) -> None:
    job = make_job(run_at=START, lateness_ms=LATE // timedelta(milliseconds=1))
    assert wait_for_handler(job, START + LATE + waited, Timings()) == wait


def test_a_job_that_never_started_is_looked_at_again_soon() -> None:
    assert wait_for_handler(make_job(), START + GRACE, Timings()) == FIRST_WAIT


def test_a_new_handler_is_waited_for_in_some_fifteen_looks() -> None:
    job, waited, looks = make_job(run_at=START, lateness_ms=0), timedelta(0), 0
    while (wait := wait_for_handler(job, START + waited, Timings())) is not None:
        waited, looks = waited + wait, looks + 1
    assert 10 <= looks <= 16
