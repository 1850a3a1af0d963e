"""The fixtures that users' tests are given."""

from __future__ import annotations

from datetime import datetime

import pytest

from hourhand import Client
from hourhand.memory import START
from hourhand.testing import FakeHourhand
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
