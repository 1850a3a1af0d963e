"""Long work is divided into jobs, of which each page is in exactly one."""

from __future__ import annotations

import pytest

from examples import long_work
from examples.long_work import Reindex, reindex_pages
from hourhand.handlers import StopReason
from hourhand.testing import FakeHourhand, make_context


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    pages: list[int] = []
    monkeypatch.setattr(long_work, "index_page", pages.append)
    return pages


def test_every_page_is_indexed_once_in_slices(
    hourhand_jobs: FakeHourhand, indexed: list[int]
) -> None:
    reindex_pages.submit(Reindex(250))
    runs = hourhand_jobs.run_due()

    assert indexed == list(range(250))
    results = [hourhand_jobs.get(run.job_id).result for run in runs]
    assert [result["indexed"] for result in results] == [100, 200, 250]
    assert [result.get("next") for result in results] == [runs[1].job_id, runs[2].job_id, None]


def test_the_progress_is_that_of_the_whole(hourhand_jobs: FakeHourhand, indexed: list[int]) -> None:
    context = make_context()
    reindex_pages(context, Reindex(250, start=200))

    assert context.last_progress is not None
    assert (context.last_progress.done, context.last_progress.total) == (250, 250)


def test_a_repeated_attempt_submits_no_second_next_job(
    hourhand_jobs: FakeHourhand, indexed: list[int]
) -> None:
    results = [reindex_pages(make_context(), Reindex(150)) for _ in range(2)]

    assert results[0] == results[1]
    hourhand_jobs.assert_submitted(reindex_pages, payload={"pages": 150, "start": 100}, count=1)


def test_a_cancelled_slice_submits_no_next_job(
    hourhand_jobs: FakeHourhand, indexed: list[int]
) -> None:
    context = make_context()
    context.cancelled.tell(StopReason.CANCELLED)

    with pytest.raises(InterruptedError):
        reindex_pages(context, Reindex(150))
    hourhand_jobs.assert_not_submitted()
