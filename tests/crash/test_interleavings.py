"""Another actor steps in between any two calls of a piece of work: races by order, not by luck."""

from __future__ import annotations

import pytest

from tests.scenarios.beside import BESIDE_JOBS
from tests.scenarios.grid import beside_every_call
from tests.scenarios.jobs import ATTEMPTS, OPERATIONS, SUBMISSIONS, TICKS
from tests.scenarios.work import Work
from tests.world.checks import check_world


@pytest.mark.parametrize("step", BESIDE_JOBS)
@pytest.mark.parametrize(
    "work", [*SUBMISSIONS, *OPERATIONS, *TICKS, *ATTEMPTS], ids=lambda work: work.name
)
def test_a_step_of_another_between_any_two_calls_does_no_harm(work: Work, step: str) -> None:
    beside_every_call(work, BESIDE_JOBS[step], check_world, minutes=60)
