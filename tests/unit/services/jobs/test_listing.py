"""Walking the listing under filters, with bounded work."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.filters import ListRequest
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.searches import JobFilter
from hourhand.memory import START
from hourhand.ports.job_store import ListingPosition
from hourhand.services.jobs import queries
from hourhand.services.jobs.queries import Collected, collect
from tests.world.factories import make_job
from tests.world.world import World


def _filters(**given: str) -> JobFilter:
    return ListRequest.parse(given).filters


def _collect(
    world: World, filters: JobFilter, position: ListingPosition | None = None, limit: int = 50
) -> Collected:
    now = world.clock.now()
    return collect(world.store, filters, position, limit=limit, now=now)


def _put(world: World, number: int, **fields: Any) -> Job:
    created_at = START + timedelta(seconds=number)
    job = make_job(id=f"job-{number}", created_at=created_at, **fields)
    world.store.put(job)
    return job


def _numbers(collected: Collected) -> list[int]:
    return [int(job.id.removeprefix("job-")) for job in collected.jobs]


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, True),
        ({"status": "PENDING"}, True),
        ({"status": "DEAD"}, False),
        ({"handler": "greet"}, True),
        ({"handler": "gree"}, False),
        ({"tenant": "t"}, True),
        ({"tenant": "u"}, False),
        ({"schedule_id": "s"}, True),
        ({"schedule_id": "x"}, False),
        ({"tag": "k:v"}, True),
        ({"tag": "k:w"}, False),
        ({"tag": "l:v"}, False),
        ({"status": "PENDING", "tag": "k:w"}, False),
    ],
)
def test_a_job_matches_when_every_filter_that_is_given_does(
    given: dict[str, str], fits: bool
) -> None:
    job = make_job(tenant="t", schedule_id="s", tags={"k": "v"})
    assert _filters(**given).matches(job) is fits


def test_jobs_come_newest_first_page_by_page(world: World) -> None:
    for n in range(5):
        _put(world, n)
    first = _collect(world, _filters(), limit=3)
    assert _numbers(first) == [4, 3, 2]
    second = _collect(world, _filters(), first.next, limit=3)
    assert _numbers(second) == [1, 0]
    assert second.next is None


def test_a_full_last_page_is_followed_by_an_empty_one(world: World) -> None:
    _put(world, 0)
    first = _collect(world, _filters(), limit=1)
    assert first.next is not None
    assert _collect(world, _filters(), first.next, limit=1) == Collected((), (), None)


def test_filters_do_not_starve_a_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "LISTING_CHUNK", 2)
    for n in range(9):
        _put(world, n, tenant="t" if n in {0, 5} else None)
    assert _numbers(_collect(world, _filters(tenant="t"))) == [5, 0]


def test_a_page_that_costs_too_much_comes_back_short_and_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "LISTING_CHUNK", 1)
    monkeypatch.setattr(queries, "MAX_LISTING_READS", 3)
    for n in range(5):
        _put(world, n, tenant="t" if n == 0 else None)
    first = _collect(world, _filters(tenant="t"))
    assert not first.jobs
    assert first.next is not None
    assert _numbers(_collect(world, _filters(tenant="t"), first.next)) == [0]


def test_times_of_creation_bound_the_listing(world: World) -> None:
    for n in range(5):
        _put(world, n)
    after, before = "2026-01-05T09:00:01Z", "2026-01-05T09:00:04Z"
    assert _numbers(_collect(world, _filters(created_after=after, created_before=before))) == [
        3,
        2,
        1,
    ]


def test_a_job_of_a_submitter_whose_clock_is_ahead_is_listed(world: World) -> None:
    _put(world, 599)
    assert _numbers(_collect(world, _filters())) == [599]


def test_a_job_that_is_gone_is_left_out(world: World) -> None:
    _put(world, 0, status=JobStatus.SUCCEEDED)
    world.store.freeze_index()
    world.store.delete_expired(START + timedelta(days=99))
    assert _collect(world, _filters()) == Collected((), (), None)


def test_dead_jobs_are_found_without_reading_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MAX_LISTING_READS", 1)
    monkeypatch.setattr(queries, "LISTING_CHUNK", 1)
    for n in range(4):
        _put(world, n, status=JobStatus.DEAD if n == 1 else JobStatus.SUCCEEDED)
    assert _numbers(_collect(world, _filters(status="DEAD"))) == [1]


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ({"status": JobStatus.DEAD}, [3, 2, 1, 0]),
        ({"status": JobStatus.DEAD, "discarded": False}, [2, 0]),
        ({"discarded": True}, [3, 1]),
        ({"status": JobStatus.DEAD, "discarded": True}, [3, 1]),
        ({"status": JobStatus.CANCELLED, "discarded": True}, []),
        ({"discarded": False}, [4, 2, 0]),
        ({"status": JobStatus.CANCELLED, "discarded": False}, [4]),
    ],
)
def test_a_discarded_job_is_dead_and_can_be_told_apart(
    world: World, given: dict[str, Any], numbers: list[int]
) -> None:
    for n in range(4):
        _put(world, n, status=JobStatus.DEAD, discarded_at=START if n % 2 else None)
    _put(world, 4, status=JobStatus.CANCELLED)
    assert _numbers(_collect(world, JobFilter(**given))) == numbers


def test_discarded_jobs_are_found_without_reading_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MAX_LISTING_READS", 1)
    monkeypatch.setattr(queries, "LISTING_CHUNK", 1)
    for n in range(4):
        _put(world, n, status=JobStatus.DEAD, discarded_at=START if n == 1 else None)
    assert _numbers(_collect(world, JobFilter(discarded=True))) == [1]
