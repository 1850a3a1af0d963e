"""What the memory store has beside its contract: stale indexes, expiry, refusals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Attempt, JobStatus, Outcome
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.memory import START, KeptFailure, KeptText, MemoryClock, MemoryJobStore
from hourhand.ports.job_store import Listing
from tests.world.factories import ACTOR, make_entry, make_event, make_job

BUCKET = bucket_of(START)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def shown(store: MemoryJobStore, bucket: int = BUCKET) -> list[str]:
    page = store.read_bucket(bucket, 0, position=None, limit=100)
    return [entry.job_id for entry in page.entries]


def listed(store: MemoryJobStore, listing: Listing = Listing.ALL) -> list[str]:
    page = store.list_jobs(
        listing,
        newest=None,
        created_before=START + DAY,
        created_after=START - DAY,
        limit=100,
    )
    return [one.job_id for one in page.jobs]


def test_a_frozen_index_shows_what_it_showed_until_it_is_thawed() -> None:
    store = MemoryJobStore()
    job = make_job(id="old")
    store.put(job)
    store.freeze_index()
    store.put(make_job(id="new"))
    store.transition(transitions.cancel_waiting(job, now=START, actor=ACTOR, reason=""))
    assert shown(store) == listed(store) == ["old"]
    assert store.get("old") != job
    store.thaw_index()
    assert shown(store) == ["new"]
    assert sorted(listed(store)) == ["new", "old"]


def test_an_index_that_lags_shows_each_change_when_its_time_has_come() -> None:
    clock = MemoryClock()
    store = MemoryJobStore(clock=clock, index_lag=30 * SECOND)
    store.put(make_job(id="first"))
    clock.advance(20)
    store.put(make_job(id="second"))
    assert shown(store) == []
    clock.advance(10)
    assert shown(store) == ["first"]
    clock.advance(20)
    assert shown(store) == ["first", "second"]


def test_an_entry_that_moved_is_still_shown_where_it_was_while_the_index_lags() -> None:
    clock = MemoryClock()
    store = MemoryJobStore(clock=clock, index_lag=SECOND)
    job = make_job()
    store.put(job)
    clock.advance(1)
    entry = make_entry(job, due_at=START + timedelta(minutes=3))
    store.transition(
        transitions.change(job, now=START, actor=ACTOR, sets={}, entry=entry, sends_now=False)
    )
    assert (shown(store), shown(store, BUCKET + 3)) == (["job-1"], [])
    clock.advance(1)
    assert (shown(store), shown(store, BUCKET + 3)) == ([], ["job-1"])


def test_the_listing_of_dead_jobs_lags_too() -> None:
    store = MemoryJobStore()
    job = make_job(status=JobStatus.RUNNING)
    store.put(job)
    store.freeze_index()
    store.transition(
        transitions.die(job, now=START, actor=ACTOR, outcome=Outcome.FAILED, reason="")
    )
    assert listed(store, Listing.UNRESOLVED) == []
    store.thaw_index()
    assert listed(store, Listing.UNRESOLVED) == ["job-1"]


def test_a_lag_needs_a_clock_to_measure_it() -> None:
    with pytest.raises(ValueError, match="clock"):
        MemoryJobStore(index_lag=SECOND)


def test_a_page_of_the_listing_can_be_shorter_than_asked_for_and_not_the_last() -> None:
    store = MemoryJobStore(listing_page=2)
    for n in range(3):
        store.put(make_job(id=f"job-{n}", created_at=START + n * SECOND))
    page = store.list_jobs(
        Listing.ALL,
        newest=None,
        created_before=START + DAY,
        created_after=START,
        limit=100,
    )
    assert [one.job_id for one in page.jobs] == ["job-2", "job-1"]
    assert page.next == page.jobs[-1].position


def test_only_what_is_kept_until_a_time_that_is_over_expires() -> None:
    store = MemoryJobStore()
    failure = Attempt(number=1, token=1, worker="w-1", started_at=START)
    store.put(make_job(id="open"))
    store.put(make_job(id="ended", status=JobStatus.DEAD, keep_until=START + DAY))
    store.put(make_job(id="kept", status=JobStatus.DEAD, keep_until=START + 3 * DAY))
    for job_id, days in (("ended", 1), ("kept", 3)):
        keep_until = START + days * DAY
        store.put_text(job_id, "payload.a1", "1", keep_until)
        store.put_failure(job_id, failure, keep_until)
    assert store.delete_expired(START + DAY) == 0
    assert store.delete_expired(START + 2 * DAY) == 3
    assert sorted(store.jobs()) == ["kept", "open"]
    assert sorted(listed(store)) == ["kept", "open"]
    assert listed(store, Listing.UNRESOLVED) == ["kept"]
    assert store.kept_texts("ended") == {}
    assert store.kept_failures("ended") == {}
    assert store.kept_texts("kept") == {"payload.a1": KeptText("1", START + 3 * DAY)}
    assert store.kept_failures("kept") == {1: KeptFailure(failure, START + 3 * DAY)}


def test_a_text_kept_longer_expires_later() -> None:
    store = MemoryJobStore()
    store.put_text("job-1", "payload.a1", "1", START + DAY)
    store.extend_text("job-1", "payload.a1", START + 5 * DAY)
    assert store.delete_expired(START + 4 * DAY) == 0
    assert store.delete_expired(START + 6 * DAY) == 1
    assert store.get_text("job-1", "payload.a1") is None


def test_a_text_is_never_kept_shorter() -> None:
    store = MemoryJobStore()
    store.put_text("job-1", "payload.a1", "1", START + 5 * DAY)
    store.extend_text("job-1", "payload.a1", START + DAY)
    assert store.kept_texts("job-1") == {"payload.a1": KeptText("1", START + 5 * DAY)}


CET = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"run_at": START + timedelta(microseconds=1)}, "run_at.*milliseconds"),
        ({"expires_at": START.astimezone(CET)}, "expires_at.*UTC"),
        ({"expires_at": datetime(2026, 1, 1)}, "expires_at.*aware"),  # noqa: DTZ001
        ({"due_at": None}, "due_at"),
        ({"due_at": START, "shard": None}, "shard"),
        ({"history": (make_event(reason="x" * 41),)}, "history"),
        ({"history": (make_event(at=START + timedelta(microseconds=1)),)}, "history.at"),
    ],
)
def test_a_job_that_no_real_store_could_give_back_is_refused(
    fields: dict[str, Any], message: str
) -> None:
    store = MemoryJobStore()
    with pytest.raises(ValueError, match=message):
        store.put(make_job(**fields))
    assert store.jobs() == {}


def test_a_move_to_what_no_real_store_could_give_back_is_refused_and_changes_nothing() -> None:
    store = MemoryJobStore()
    job = make_job()
    store.put(job)
    late = START + timedelta(microseconds=1)
    with pytest.raises(ValueError, match="milliseconds"):
        store.transition(transitions.mark_enqueued(job, now=late, actor=ACTOR))
    assert store.get(job.id) == job


@pytest.mark.parametrize(
    "keep",
    [
        lambda store, until: store.put_text("job-1", "payload.a1", "1", until),
        lambda store, until: store.extend_text("job-1", "payload.a1", until),
        lambda store, until: store.put_failure(
            "job-1", Attempt(number=1, token=1, worker="w-1", started_at=START), until
        ),
    ],
    ids=["text", "extended text", "failure"],
)
def test_what_lies_beside_a_job_ends_at_a_whole_millisecond_in_utc(
    keep: Callable[[MemoryJobStore, datetime], None],
) -> None:
    with pytest.raises(ValueError, match="keep_until"):
        keep(MemoryJobStore(), datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC))
