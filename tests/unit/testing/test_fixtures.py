"""The fixtures that users' tests are given."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hourhand import Client
from hourhand.handlers import StopReason
from hourhand.memory import START
from hourhand.testing import FakeHourhand, make_context
from hourhand.testing.fixtures import hourhand_jobs, hourhand_start

__all__ = ["hourhand_jobs", "hourhand_start"]


class TestWithoutAnythingSaid:
    def test_jobs_are_submitted_to_the_double(self, hourhand_jobs: FakeHourhand) -> None:
        hourhand_jobs.stub("report")
        with Client() as client:
            client.submit("report")
        hourhand_jobs.assert_submitted("report", count=1)

    def test_each_test_has_one_of_its_own(self, hourhand_jobs: FakeHourhand) -> None:
        hourhand_jobs.assert_not_submitted()


class TestWithAStart:
    @pytest.fixture
    def hourhand_start(self) -> datetime:
        return START

    def test_the_clock_starts_there(self, hourhand_jobs: FakeHourhand) -> None:
        assert hourhand_jobs.now == START


def test_a_context_needs_nothing_said() -> None:
    context = make_context()
    assert (context.attempt, context.run_at, context.tags) == (1, START, {})
    assert not context.cancelled
    assert context.deadline == START + timedelta(seconds=300)


def test_a_context_is_as_a_test_says() -> None:
    later = START + timedelta(days=1)
    context = make_context(run_at=later, attempt=3, tenant="acme")
    assert (context.attempt, context.tenant) == (3, "acme")
    assert context.deadline > later
    context.cancelled.tell(StopReason.CANCELLED)
    assert context.cancelled


def test_a_field_that_no_context_has_is_refused() -> None:
    with pytest.raises(TypeError, match="attempts"):
        make_context(attempts=3)
