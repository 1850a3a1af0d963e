"""The ``run_at`` index and the listing: what a store shows of its jobs, and page by page."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hourhand.domain.ids import listing_tie
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import IndexEntry, Job, JobStatus, Lease, Outcome
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.times import to_ms
from hourhand.ports.job_store import Applied, JobStore, ListedJob, Listing, ListingPosition
from tests.contract.fresh import new_id
from tests.contract.move_makers import of_a_run
from tests.world.factories import ACTOR, make_content, make_entry, make_job, make_message

MINUTE = timedelta(minutes=1)
MILLISECOND = timedelta(milliseconds=1)
MAX_PAGES = 200
"""More pages than any test here needs: one that never ends fails instead."""


def entries_of(
    store: JobStore, bucket: int, shard: int = 0, *, limit: int = 100
) -> list[IndexEntry]:
    """Read a bucket's shard to the last page."""
    entries: list[IndexEntry] = []
    position = None
    for _ in range(MAX_PAGES):
        page = store.read_bucket(bucket, shard, position=position, limit=limit)
        assert len(page.entries) <= limit
        entries.extend(page.entries)
        position = page.next
        if position is None:
            return entries
    raise AssertionError("the last page never came")


def listing_of(
    store: JobStore,
    now: datetime,
    listing: Listing = Listing.ALL,
    *,
    newest: ListingPosition | None = None,
    limit: int = 100,
) -> list[ListedJob]:
    """Read the listing of this test's own day to the last page."""
    listed: list[ListedJob] = []
    for _ in range(MAX_PAGES):
        page = store.list_jobs(
            listing,
            newest=newest,
            created_before=now + timedelta(hours=12),
            created_after=now - timedelta(hours=12),
            limit=limit,
        )
        assert len(page.jobs) <= limit
        listed.extend(page.jobs)
        newest = page.next
        if newest is None:
            return listed
    raise AssertionError("the last page never came")


def entry_of(job: Job) -> IndexEntry:
    assert job.due_at is not None
    return IndexEntry(job_id=job.id, due_at=job.due_at)


def listed(job: Job) -> ListedJob:
    return ListedJob(job.id, ListingPosition(to_ms(job.created_at), listing_tie(job.id)))


# --- the run_at index -----------------------------------------------------------------------------


def test_a_new_job_is_shown_in_the_bucket_and_shard_of_its_due_time(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now, due_at=now + MINUTE - MILLISECOND, shard=3)
    job_store.put(job)
    bucket = bucket_of(now)
    assert entries_of(job_store, bucket, 3) == [entry_of(job)]
    assert entries_of(job_store, bucket, 2) == []
    assert entries_of(job_store, bucket - 1, 3) == []
    assert entries_of(job_store, bucket + 1, 3) == []


@pytest.mark.parametrize("limit", [1, 7, 25, 26, 100])
def test_every_entry_is_on_one_page_in_the_order_of_due_times(
    job_store: JobStore, now: datetime, limit: int
) -> None:
    jobs = [
        make_job(id=new_id(), created_at=now, due_at=now + (n % 5) * MILLISECOND) for n in range(25)
    ]
    for job in jobs:
        job_store.put(job)
    entries = entries_of(job_store, bucket_of(now), limit=limit)
    assert sorted(entries, key=lambda e: e.job_id) == sorted(
        map(entry_of, jobs), key=lambda e: e.job_id
    )
    assert [e.due_at for e in entries] == sorted(e.due_at for e in entries)


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_the_first_pages_of_many_shards_are_those_that_are_read_alone(
    job_store: JobStore, now: datetime, limit: int
) -> None:
    for minute, shard, count in ((0, 0, 3), (1, 2, 1), (9, 0, 5)):
        due_at = now + minute * MINUTE
        for _ in range(count):
            job_store.put(make_job(id=new_id(), created_at=now, due_at=due_at, shard=shard))
    places = [(bucket_of(now) + minute, shard) for minute in range(11) for shard in (0, 2)]
    alone = [job_store.read_bucket(*place, position=None, limit=limit) for place in places]
    pages = job_store.read_buckets(places, limit=limit)
    assert pages == alone
    assert sum(len(page.entries) for page in pages if page) == sum(
        min(limit, count) for count in (3, 1, 5)
    )
    assert job_store.read_buckets([], limit=limit) == []


def test_an_entry_that_goes_between_two_pages_hides_no_other(
    job_store: JobStore, now: datetime
) -> None:
    jobs = [make_job(id=new_id(), created_at=now, due_at=now + n * MILLISECOND) for n in range(6)]
    for job in jobs:
        job_store.put(job)
    first = job_store.read_bucket(bucket_of(now), 0, position=None, limit=3)
    assert first.entries == tuple(map(entry_of, jobs[:3]))
    for job in jobs[1:4]:
        job_store.transition(transitions.cancel_waiting(job, now=now, actor=ACTOR, reason=""))
    rest = job_store.read_bucket(bucket_of(now), 0, position=first.next, limit=3)
    assert rest.entries == tuple(map(entry_of, jobs[4:]))


def test_an_entry_moves_with_the_due_time(job_store: JobStore, now: datetime) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    entry = make_entry(job, due_at=now + 5 * MINUTE, shard=2)
    move = transitions.change(job, now=now, actor=ACTOR, sets={}, entry=entry, sends_now=False)
    job_store.transition(move)
    assert entries_of(job_store, bucket_of(now)) == []
    assert entries_of(job_store, bucket_of(now) + 5, 2) == [
        IndexEntry(job_id=job.id, due_at=now + 5 * MINUTE)
    ]


def test_an_entry_stays_while_its_job_is_sent_claimed_and_kept_alive(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    mark = transitions.mark_enqueued(job, now=now, actor=ACTOR)
    claim = transitions.claim(
        make_message(job),
        now=now,
        wait=timedelta(0),
        lease=Lease(owner="worker-1", until=now + MINUTE, claim_id="claim-1"),
    )
    running = claim.apply(mark.apply(job))
    beat = transitions.heartbeat(running, lease_until=now + 2 * MINUTE, progress=None)
    for move in (mark, claim, beat):
        job_store.transition(move)
        assert entries_of(job_store, bucket_of(now)) == [entry_of(job)]


def test_an_entry_goes_when_the_job_succeeds(job_store: JobStore, now: datetime) -> None:
    job = make_job(id=new_id(), status=JobStatus.RUNNING, created_at=now)
    job_store.put(job)
    job_store.transition(
        transitions.complete(job, now=now, actor=ACTOR, result=make_content(), progress=None)
    )
    assert entries_of(job_store, bucket_of(now)) == []


def test_the_entry_of_a_dead_job_goes_only_when_nothing_is_owed_any_more(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), status=JobStatus.RUNNING, created_at=now)
    job_store.put(job)
    die = transitions.die(job, now=now, actor=ACTOR, outcome=Outcome.FAILED, reason="")
    job_store.transition(die)
    assert entries_of(job_store, bucket_of(now)) == [entry_of(job)]
    job_store.transition(transitions.finish(die.apply(job)))
    assert entries_of(job_store, bucket_of(now)) == []


def test_a_redriven_job_is_shown_again(job_store: JobStore, now: datetime) -> None:
    job = make_job(id=new_id(), status=JobStatus.DEAD, created_at=now)
    job_store.put(job)
    assert entries_of(job_store, bucket_of(now)) == []
    entry = make_entry(job, due_at=now)
    job_store.transition(
        transitions.redrive(job, now=now, actor=ACTOR, entry=entry, sends_now=False, reason="")
    )
    assert entries_of(job_store, bucket_of(now)) == [IndexEntry(job_id=job.id, due_at=now)]


def test_texts_and_errors_beside_a_job_are_in_no_index(job_store: JobStore, now: datetime) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    job_store.put_text(job.id, "payload.a1", "1", now + MINUTE)
    assert entries_of(job_store, bucket_of(now)) == [entry_of(job)]
    assert listing_of(job_store, now) == [listed(job)]


# --- the listing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 4, 8, 9, 100])
def test_the_listing_shows_every_job_once_newest_first(
    job_store: JobStore, now: datetime, limit: int
) -> None:
    jobs = [make_job(id=new_id(), created_at=now + (n % 4) * MINUTE) for n in range(9)]
    for job in jobs:
        job_store.put(job)
    expected = sorted(map(listed, jobs), key=lambda one: one.position, reverse=True)
    assert listing_of(job_store, now, limit=limit) == expected


def test_the_listing_leaves_children_out_unless_they_are_dead_letters(
    job_store: JobStore, now: datetime
) -> None:
    child = make_job(id=new_id(), created_at=now, parent=of_a_run(now))
    dead = make_job(id=new_id(), status=JobStatus.DEAD, created_at=now, parent=of_a_run(now))
    job_store.put(child)
    job_store.put(dead)
    assert listing_of(job_store, now) == []
    assert listing_of(job_store, now, Listing.UNRESOLVED) == [listed(dead)]
    assert job_store.get(child.id) == child


def test_jobs_of_one_millisecond_are_parted_by_their_ties(
    job_store: JobStore, now: datetime
) -> None:
    jobs = [make_job(id=new_id(), created_at=now) for _ in range(12)]
    for job in jobs:
        job_store.put(job)
    expected = sorted(map(listed, jobs), key=lambda one: one.position, reverse=True)
    assert listing_of(job_store, now, limit=5) == expected


def test_pages_stay_what_they_were_while_new_jobs_are_put(
    job_store: JobStore, now: datetime
) -> None:
    jobs = [make_job(id=new_id(), created_at=now + n * MINUTE) for n in range(10)]
    for job in jobs:
        job_store.put(job)
    expected = [listed(job) for job in reversed(jobs)]
    seen: list[ListedJob] = []
    newest = None
    for turn in range(MAX_PAGES):
        page = job_store.list_jobs(
            Listing.ALL,
            newest=newest,
            created_before=now + timedelta(hours=12),
            created_after=now,
            limit=3,
        )
        seen.extend(page.jobs)
        newest = page.next
        if newest is None:
            break
        job_store.put(make_job(id=new_id(), created_at=now + timedelta(hours=1) + turn * MINUTE))
    assert seen == expected


def test_a_page_begins_strictly_after_the_position_it_is_given(
    job_store: JobStore, now: datetime
) -> None:
    jobs = [make_job(id=new_id(), created_at=now) for _ in range(5)]
    for job in jobs:
        job_store.put(job)
    everything = listing_of(job_store, now)
    for number, one in enumerate(everything):
        assert listing_of(job_store, now, newest=one.position) == everything[number + 1 :]


def test_the_listing_is_bounded_by_the_times_of_creation(
    job_store: JobStore, now: datetime
) -> None:
    jobs = [make_job(id=new_id(), created_at=now + n * MILLISECOND) for n in range(5)]
    for job in jobs:
        job_store.put(job)
    page = job_store.list_jobs(
        Listing.ALL,
        newest=None,
        created_after=now + 1 * MILLISECOND,
        created_before=now + 3 * MILLISECOND,
        limit=100,
    )
    assert page.jobs == (listed(jobs[2]), listed(jobs[1]))


def test_a_position_outside_the_times_asked_for_shows_nothing_beyond_them(
    job_store: JobStore, now: datetime
) -> None:
    jobs = [make_job(id=new_id(), created_at=now + n * MINUTE) for n in range(4)]
    for job in jobs:
        job_store.put(job)
    page = job_store.list_jobs(
        Listing.ALL,
        newest=listed(jobs[3]).position,
        created_after=now,
        created_before=now + 2 * MINUTE,
        limit=100,
    )
    assert page.jobs == (listed(jobs[1]), listed(jobs[0]))


def test_a_job_keeps_its_place_in_the_listing_whatever_its_state(
    job_store: JobStore, now: datetime
) -> None:
    jobs = [make_job(id=new_id(), status=status, created_at=now) for status in JobStatus]
    for job in jobs:
        job_store.put(job)
    expected = sorted(map(listed, jobs), key=lambda one: one.position, reverse=True)
    assert listing_of(job_store, now) == expected
    waiting = next(job for job in jobs if job.status is JobStatus.PENDING)
    job_store.transition(transitions.cancel_waiting(waiting, now=now, actor=ACTOR, reason=""))
    assert listing_of(job_store, now) == expected


def test_the_listing_of_dead_jobs_shows_jobs_while_they_are_dead(
    job_store: JobStore, now: datetime
) -> None:
    running = [
        make_job(id=new_id(), status=JobStatus.RUNNING, created_at=now + n * MINUTE)
        for n in range(4)
    ]
    for job in running:
        job_store.put(job)
    assert listing_of(job_store, now, Listing.UNRESOLVED) == []
    dead = []
    for job in running[:3]:
        die = transitions.die(job, now=now, actor=ACTOR, outcome=Outcome.FAILED, reason="")
        job_store.transition(die)
        dead.append(die.apply(job))
    expected = [listed(job) for job in reversed(dead)]
    assert listing_of(job_store, now, Listing.UNRESOLVED, limit=2) == expected
    redrive = transitions.redrive(
        dead[1],
        now=now,
        actor=ACTOR,
        entry=make_entry(dead[1]),
        sends_now=False,
        reason="",
    )
    job_store.transition(redrive)
    assert listing_of(job_store, now, Listing.UNRESOLVED) == [listed(dead[2]), listed(dead[0])]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_discarded_job_is_dead_and_no_longer_unresolved(
    job_store: JobStore, now: datetime, limit: int
) -> None:
    dead = [
        make_job(id=new_id(), status=JobStatus.DEAD, created_at=now + n * MINUTE) for n in range(5)
    ]
    for job in dead:
        job_store.put(job)
    for job in dead[1::2]:
        discard = transitions.discard(job, now=now, actor=ACTOR, note="seen", reason="seen")
        assert isinstance(job_store.transition(discard), Applied)

    def shown(listing: Listing) -> list[ListedJob]:
        return listing_of(job_store, now, listing, limit=limit)

    newest_first = [listed(job) for job in reversed(dead)]
    assert shown(Listing.DEAD) == shown(Listing.ALL) == newest_first
    assert shown(Listing.UNRESOLVED) == newest_first[::2]
    assert shown(Listing.DISCARDED) == newest_first[1::2]

    discarded = job_store.get(dead[1].id)
    assert discarded is not None
    entry = make_entry(discarded, due_at=now)
    job_store.transition(
        transitions.redrive(
            discarded, now=now, actor=ACTOR, entry=entry, sends_now=False, reason=""
        )
    )
    assert shown(Listing.DISCARDED) == [listed(dead[3])]
    assert listed(dead[1]) not in shown(Listing.DEAD)
    redriven = job_store.get(dead[1].id)
    assert redriven is not None
    assert (redriven.discarded_at, redriven.discard_note) == (None, None)


def test_a_job_that_is_put_as_discarded_is_listed_as_such(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), status=JobStatus.DEAD, created_at=now, discarded_at=now)
    job_store.put(job)
    assert listing_of(job_store, now, Listing.DISCARDED) == [listed(job)]
    assert listing_of(job_store, now, Listing.UNRESOLVED) == []


def test_a_finished_dead_job_is_still_listed_as_dead(job_store: JobStore, now: datetime) -> None:
    job = make_job(id=new_id(), status=JobStatus.DEAD, created_at=now, due_at=now)
    job_store.put(job)
    job_store.transition(transitions.finish(job))
    assert listing_of(job_store, now, Listing.UNRESOLVED) == [listed(job)]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_of_nothing_is_refused(job_store: JobStore, now: datetime, limit: int) -> None:
    bounds = {"newest": None, "created_before": now, "created_after": now}
    for read in (
        lambda: job_store.read_bucket(1, 0, position=None, limit=limit),
        lambda: job_store.read_buckets([(1, 0)], limit=limit),
        lambda: job_store.list_jobs(Listing.ALL, **bounds, limit=limit),  # type: ignore[arg-type]  # by name
    ):
        with pytest.raises(ValueError, match="limit must be at least 1"):
            read()


def test_dead_jobs_are_counted_while_they_are_dead(own_job_store: JobStore, now: datetime) -> None:
    assert own_job_store.count_dead(10) == 0
    dead = [make_job(id=new_id(), status=JobStatus.DEAD, created_at=now) for _ in range(5)]
    others = [make_job(id=new_id(), status=status, created_at=now) for status in JobStatus]
    for job in [*dead, *(job for job in others if job.status is not JobStatus.DEAD)]:
        own_job_store.put(job)
    assert own_job_store.count_dead(10) == 5
    redrive = transitions.redrive(
        dead[0], now=now, actor=ACTOR, entry=make_entry(dead[0]), sends_now=False, reason=""
    )
    own_job_store.transition(redrive)
    assert own_job_store.count_dead(10) == 4
    discard = transitions.discard(dead[1], now=now, actor=ACTOR, note="", reason="")
    own_job_store.transition(discard)
    assert own_job_store.count_dead(10) == 3


def test_more_dead_jobs_than_the_limit_are_counted_as_no_fewer(
    own_job_store: JobStore, now: datetime
) -> None:
    for _ in range(12):
        own_job_store.put(make_job(id=new_id(), status=JobStatus.DEAD, created_at=now))
    assert [own_job_store.count_dead(limit) for limit in (12, 13, 100)] == [12, 12, 12]
    assert all(limit <= own_job_store.count_dead(limit) <= 12 for limit in range(1, 12))


def test_counting_needs_a_limit(own_job_store: JobStore) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        own_job_store.count_dead(0)
