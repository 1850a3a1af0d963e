"""Fixtures of pytest: write ``pytest_plugins = ["hourhand.testing.fixtures"]`` in a conftest.py."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from hourhand.testing.fake_hourhand import FakeHourhand


@pytest.fixture
def hourhand_start() -> datetime | None:
    """When the clock of `hourhand_jobs` starts: now.

    Override it to test code that depends on the date.
    """
    return None


@pytest.fixture
def hourhand_jobs(hourhand_start: datetime | None) -> Iterator[FakeHourhand]:
    """Take the place of the installation that jobs are submitted to, for one test."""
    with FakeHourhand(start=hourhand_start) as double:
        yield double
