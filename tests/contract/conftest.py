"""One fixture per port, over every store there is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from hourhand.ports import ControlStore, IdempotencyStore, JobStore, ObjectStore
from hourhand.testing import (
    START,
    MemoryControlStore,
    MemoryIdempotencyStore,
    MemoryJobStore,
    MemoryObjectStore,
)
from tests.contract.queue_rig import MemoryQueueRig, QueueRig

_NUMBERS = itertools.count(1)


@pytest.fixture
def now() -> datetime:
    """Return a time that no other test uses: the indexes of a shared table hold other jobs too."""
    return START + next(_NUMBERS) * timedelta(days=2)


@pytest.fixture
def new_id() -> Callable[[], str]:
    """Return a function that makes ids of jobs that no other test uses."""
    return lambda: f"job-{next(_NUMBERS)}"


@pytest.fixture(params=["memory"])
def job_store(request: pytest.FixtureRequest) -> JobStore:
    return MemoryJobStore()


@pytest.fixture(params=["memory"])
def control_store(request: pytest.FixtureRequest) -> ControlStore:
    return MemoryControlStore()


@pytest.fixture(params=["memory"])
def idempotency_store(request: pytest.FixtureRequest) -> IdempotencyStore:
    return MemoryIdempotencyStore()


@pytest.fixture(params=["memory"])
def object_store(request: pytest.FixtureRequest) -> ObjectStore:
    return MemoryObjectStore()


@pytest.fixture(params=["memory"])
def queue_rig(request: pytest.FixtureRequest) -> QueueRig:
    return MemoryQueueRig()
