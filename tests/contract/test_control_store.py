"""Leases, shard map and watermark: each write under its condition, on every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import botocore
import pytest

from hourhand.aws.control_store import DynamoControlStore
from hourhand.domain.jobs.job import Priority
from hourhand.domain.jobs.pauses import NO_PAUSES
from hourhand.domain.jobs.quotas import Quota, QuotaKind
from hourhand.domain.limits.overrides import NO_OVERRIDES, LimitChanges
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion, bucket_of
from hourhand.domain.ticks.resweep import ResweepRequest, take_up
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.unmarked_dispatch import SentWindow
from hourhand.domain.ticks.watermark import (
    MAX_OPEN_BUCKETS,
    OpenBucket,
    Resweep,
    Watermark,
    first_watermark,
)
from hourhand.ports.control_store import ControlStore, Lease, LeaseHeld, TickRecord

SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)
LEASE = timedelta(seconds=30)
MARGIN = timedelta(seconds=2)


def acquire(
    store: ControlStore, holder: str, now: datetime, *, name: str = "leader"
) -> Lease | LeaseHeld:
    return store.acquire_lease(name, holder, now=now, until=now + LEASE, margin=MARGIN)


def acquired(store: ControlStore, holder: str, now: datetime, *, name: str = "leader") -> Lease:
    lease = acquire(store, holder, now, name=name)
    assert isinstance(lease, Lease)
    return lease


# --- leases ---------------------------------------------------------------------------------------


def test_nobody_holds_a_lease_that_was_never_taken(control_store: ControlStore) -> None:
    assert control_store.read_lease("leader") is None


def test_a_free_lease_is_taken_with_the_first_epoch(
    control_store: ControlStore, now: datetime
) -> None:
    lease = acquired(control_store, "one", now)
    assert lease == Lease(
        name="leader", holder="one", epoch=1, until=now + LEASE, acquired_at=now, taken_from=None
    )
    assert control_store.read_lease("leader") == lease


@pytest.mark.parametrize(
    "after", [timedelta(0), LEASE, LEASE + MARGIN], ids=["at once", "at its end", "at its margin"]
)
def test_a_lease_is_not_taken_before_it_is_over_by_more_than_the_margin(
    control_store: ControlStore, now: datetime, after: timedelta
) -> None:
    lease = acquired(control_store, "one", now)
    assert acquire(control_store, "two", now + after) == LeaseHeld("one", 1, now + LEASE)
    assert control_store.read_lease("leader") == lease


def test_a_lease_is_taken_once_it_is_over_by_more_than_the_margin(
    control_store: ControlStore, now: datetime
) -> None:
    acquired(control_store, "one", now)
    later = now + LEASE + MARGIN + MILLISECOND
    lease = acquired(control_store, "two", later)
    assert lease == Lease(
        name="leader",
        holder="two",
        epoch=2,
        until=later + LEASE,
        acquired_at=later,
        taken_from="one",
    )
    assert control_store.read_lease("leader") == lease


def test_a_lease_is_not_taken_from_a_holder_whose_clock_is_ahead_by_the_margin(
    control_store: ControlStore, now: datetime
) -> None:
    lease = acquired(control_store, "ahead", now + MARGIN)
    assert acquire(control_store, "two", now) == LeaseHeld("ahead", 1, now + MARGIN + LEASE)
    assert control_store.read_lease("leader") == lease


def test_a_lease_from_a_clock_that_was_further_ahead_locks_nobody_out(
    control_store: ControlStore, now: datetime
) -> None:
    acquired(control_store, "ahead", now + MARGIN + MILLISECOND)
    lease = acquired(control_store, "two", now)
    assert (lease.epoch, lease.until, lease.taken_from) == (2, now + LEASE, "ahead")
    assert control_store.read_lease("leader") == lease


def test_the_holder_takes_its_own_lease_again_in_the_same_epoch(
    control_store: ControlStore, now: datetime
) -> None:
    first = acquired(control_store, "one", now)
    again = acquired(control_store, "one", now + SECOND)
    assert (again.holder, again.epoch, again.until) == ("one", 1, now + SECOND + LEASE)
    assert control_store.read_lease("leader") == again
    assert control_store.renew_lease(first, now + 2 * LEASE) is not None


def test_a_renewed_lease_lasts_longer(control_store: ControlStore, now: datetime) -> None:
    lease = acquired(control_store, "one", now)
    renewed = control_store.renew_lease(lease, now + 2 * LEASE)
    assert renewed == replace(lease, until=now + 2 * LEASE)
    assert control_store.read_lease("leader") == renewed
    late = now + LEASE + MARGIN + SECOND
    assert acquire(control_store, "two", late) == LeaseHeld("one", 1, now + 2 * LEASE)


def test_a_lease_that_another_took_can_be_neither_renewed_nor_given_up(
    control_store: ControlStore, now: datetime
) -> None:
    lost = acquired(control_store, "one", now)
    lease = acquired(control_store, "two", now + 2 * LEASE)
    assert control_store.renew_lease(lost, now + 3 * LEASE) is None
    assert control_store.release_lease(lost) is False
    assert control_store.read_lease("leader") == lease


def test_a_lease_of_an_older_epoch_is_lost_even_to_the_same_holder(
    control_store: ControlStore, now: datetime
) -> None:
    old = acquired(control_store, "one", now)
    acquired(control_store, "two", now + 2 * LEASE)
    lease = acquired(control_store, "one", now + 4 * LEASE)
    assert lease.epoch == 3
    assert control_store.renew_lease(old, now + 9 * LEASE) is None
    assert control_store.release_lease(old) is False
    assert control_store.read_lease("leader") == lease


def test_a_lease_that_nobody_ever_took_can_be_neither_renewed_nor_given_up(
    control_store: ControlStore, now: datetime
) -> None:
    never = Lease(name="leader", holder="one", epoch=1, until=now + LEASE, acquired_at=now)
    assert control_store.renew_lease(never, now + LEASE) is None
    assert control_store.release_lease(never) is False
    assert control_store.read_lease("leader") is None


def test_a_lease_given_up_is_free_at_once_and_its_epoch_goes_on(
    control_store: ControlStore, now: datetime
) -> None:
    lease = acquired(control_store, "one", now)
    assert control_store.release_lease(lease) is True
    assert control_store.read_lease("leader") is None
    following = acquired(control_store, "two", now + SECOND)
    assert (following.epoch, following.taken_from) == (2, None)


def test_a_lease_given_up_can_be_neither_renewed_nor_given_up_again(
    control_store: ControlStore, now: datetime
) -> None:
    lease = acquired(control_store, "one", now)
    control_store.release_lease(lease)
    assert control_store.renew_lease(lease, now + 2 * LEASE) is None
    assert control_store.release_lease(lease) is False


def test_leases_of_different_names_have_nothing_to_do_with_each_other(
    control_store: ControlStore, now: datetime
) -> None:
    leader = acquired(control_store, "one", now)
    shard = acquired(control_store, "two", now, name="shard.0")
    assert control_store.release_lease(leader) is True
    assert control_store.read_lease("shard.0") == shard


# --- the shard map --------------------------------------------------------------------------------


def test_a_new_installation_has_one_shard(control_store: ControlStore) -> None:
    assert control_store.read_shard_map() == ShardMap()


def test_a_shard_map_is_stored_with_all_its_versions(
    control_store: ControlStore, now: datetime
) -> None:
    shard_map = ShardMap()
    for number in range(1, 4):
        shard_map = shard_map.with_version(bucket_of(now) + number, 4 * number, now=now)
        assert control_store.write_shard_map(shard_map, expected_version=number) is True
        assert control_store.read_shard_map() == shard_map


def test_a_shard_map_is_not_stored_where_another_was_stored_meanwhile(
    control_store: ControlStore, now: datetime
) -> None:
    first = ShardMap().with_version(bucket_of(now) + 1, 4, now=now)
    second = ShardMap().with_version(bucket_of(now) + 1, 8, now=now)
    assert control_store.write_shard_map(first, expected_version=1) is True
    assert control_store.write_shard_map(second, expected_version=1) is False
    assert control_store.read_shard_map() == first


def test_a_shard_map_with_anything_but_one_more_version_is_not_stored(
    control_store: ControlStore, now: datetime
) -> None:
    assert control_store.write_shard_map(ShardMap(), expected_version=1) is False
    three = ShardMap((*ShardMap().versions, ShardMapVersion(5, 2), ShardMapVersion(6, 3)))
    assert control_store.write_shard_map(three, expected_version=1) is False
    assert control_store.read_shard_map() == ShardMap()


# --- the watermark --------------------------------------------------------------------------------


def test_a_new_installation_has_no_watermark(control_store: ControlStore) -> None:
    assert control_store.read_watermark() is None


def test_the_first_watermark_is_stored_where_there_is_none(
    control_store: ControlStore, now: datetime
) -> None:
    first = first_watermark(now, 1, Timings())
    assert control_store.write_watermark(first, previous=None) is True
    assert control_store.read_watermark() == first
    assert control_store.write_watermark(replace(first, low=first.low + 1), previous=None) is False
    assert control_store.read_watermark() == first


def test_a_watermark_does_not_replace_one_that_does_not_exist(
    control_store: ControlStore, now: datetime
) -> None:
    first = first_watermark(now, 1, Timings())
    assert control_store.write_watermark(replace(first, low=first.low + 1), previous=first) is False
    assert control_store.read_watermark() is None


def full(now: datetime) -> Watermark:
    """Return a watermark with a value in every field."""
    return Watermark(
        low=bucket_of(now),
        candidate=bucket_of(now) + 3,
        candidate_at=now + SECOND,
        open={
            bucket_of(now) - 9: OpenBucket(now),
            bucket_of(now) - 7: OpenBucket(now + SECOND, now - MILLISECOND),
        },
        deep_next=bucket_of(now) - 500,
        shard_map_version=1,
        resweep=Resweep("r-1", bucket_of(now) - 900, bucket_of(now) - 100),
    )


def test_every_field_of_a_watermark_is_given_back(
    control_store: ControlStore, now: datetime
) -> None:
    assert control_store.write_watermark(full(now), previous=None) is True
    assert control_store.read_watermark() == full(now)


def test_a_watermark_with_the_largest_open_set_is_given_back(
    control_store: ControlStore, now: datetime
) -> None:
    opened = {
        bucket_of(now) - n: OpenBucket(now - n * SECOND, now if n % 2 else None)
        for n in range(MAX_OPEN_BUCKETS)
    }
    state = replace(full(now), open=opened)
    assert control_store.write_watermark(state, previous=None) is True
    assert control_store.read_watermark() == state


CHANGES: dict[str, Any] = {
    "low": 1,
    "candidate": None,
    "candidate_at": None,
    "open": {},
    "deep_next": None,
    "resweep": None,
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_watermark_is_replaced_only_by_one_who_knows_all_of_it(
    control_store: ControlStore, now: datetime, field: str
) -> None:
    state = full(now)
    control_store.write_watermark(state, previous=None)
    following = replace(state, low=state.low + 1)
    mistaken = replace(state, **{field: CHANGES[field]})
    assert control_store.write_watermark(following, previous=mistaken) is False
    assert control_store.read_watermark() == state
    assert control_store.write_watermark(following, previous=state) is True
    assert control_store.read_watermark() == following


def test_the_watermark_never_falls(control_store: ControlStore, now: datetime) -> None:
    state = full(now)
    control_store.write_watermark(state, previous=None)
    assert control_store.write_watermark(replace(state, low=state.low - 1), previous=state) is False
    assert control_store.read_watermark() == state


def test_the_watermark_falls_with_a_new_resweep(control_store: ControlStore, now: datetime) -> None:
    state = full(now)
    control_store.write_watermark(state, previous=None)
    lowered = take_up(state, ResweepRequest("r-2", now - timedelta(days=3), now))
    assert lowered.low < state.low
    assert control_store.write_watermark(lowered, previous=state) is True
    assert control_store.read_watermark() == lowered


def test_a_watermark_may_stay_where_it_is_while_the_rest_changes(
    control_store: ControlStore, now: datetime
) -> None:
    state = full(now)
    control_store.write_watermark(state, previous=None)
    following = replace(state, candidate=None, candidate_at=None, open={})
    assert control_store.write_watermark(following, previous=state) is True
    assert control_store.read_watermark() == following


def test_a_watermark_of_an_older_shard_map_is_not_stored(
    control_store: ControlStore, now: datetime
) -> None:
    state = first_watermark(now, 1, Timings())
    control_store.write_watermark(state, previous=None)
    grown = ShardMap().with_version(bucket_of(now) + 1, 4, now=now)
    control_store.write_shard_map(grown, expected_version=1)
    following = replace(state, low=state.low + 1)
    assert control_store.write_watermark(following, previous=state) is False
    assert control_store.read_watermark() == state
    current = replace(following, shard_map_version=2)
    assert control_store.write_watermark(current, previous=state) is True
    assert control_store.read_watermark() == current


def test_a_watermark_of_a_shard_map_that_does_not_exist_is_not_stored(
    control_store: ControlStore, now: datetime
) -> None:
    assert control_store.write_watermark(first_watermark(now, 2, Timings()), previous=None) is False
    assert control_store.read_watermark() is None


def test_a_new_shard_map_leaves_the_watermark_and_the_leases_alone(
    control_store: ControlStore, now: datetime
) -> None:
    lease = acquired(control_store, "one", now)
    control_store.write_watermark(full(now), previous=None)
    grown = ShardMap().with_version(bucket_of(now) + 1, 4, now=now)
    assert control_store.write_shard_map(grown, expected_version=1) is True
    assert control_store.read_watermark() == full(now)
    assert control_store.read_lease("leader") == lease


# --- requests for a resweep -----------------------------------------------------------------------


def test_a_request_for_a_resweep_is_given_back(control_store: ControlStore, now: datetime) -> None:
    assert control_store.read_resweep() is None
    first = ResweepRequest("r-1", now - timedelta(days=35), now)
    assert control_store.write_resweep(first, previous=None) is True
    assert control_store.read_resweep() == first


def test_a_request_replaces_only_the_one_that_its_writer_saw(
    control_store: ControlStore, now: datetime
) -> None:
    first = ResweepRequest("r-1", now - timedelta(days=1), now)
    second = ResweepRequest("r-2", now - timedelta(days=2), now)
    assert control_store.write_resweep(second, previous=first) is False
    assert control_store.write_resweep(first, previous=None) is True
    assert control_store.write_resweep(second, previous=None) is False
    assert control_store.read_resweep() == first
    assert control_store.write_resweep(second, previous=first) is True
    assert control_store.write_resweep(first, previous=first) is False
    assert control_store.read_resweep() == second


# --- the last tick --------------------------------------------------------------------------------


def test_the_record_of_the_last_tick_replaces_the_one_before(
    control_store: ControlStore, now: datetime
) -> None:
    assert control_store.read_tick() is None
    first = TickRecord(at=now, holder="one", epoch=1)
    control_store.write_tick(first)
    assert control_store.read_tick() == first
    second = TickRecord(
        at=now + SECOND,
        holder="two",
        epoch=2,
        oldest_due_seconds={Priority.HIGH: 1.5, Priority.LOW: 86_400.0},
        open_buckets=7,
        skew_ms=-12,
        sent=SentWindow(now, now - SECOND, now + 300 * SECOND),
    )
    control_store.write_tick(second)
    assert control_store.read_tick() == second


def test_the_record_of_a_tick_says_on_which_botocore_the_scheduler_ran(
    control_store: ControlStore, now: datetime
) -> None:
    control_store.write_tick(TickRecord(at=now, holder="one", epoch=1))
    record = control_store.read_tick()
    assert record is not None
    # The store in memory calls AWS by no botocore.
    on_aws = isinstance(control_store, DynamoControlStore)
    assert record.botocore == (botocore.__version__ if on_aws else "")


def test_the_secret_of_an_installation_is_created_once(control_store: ControlStore) -> None:
    assert control_store.read_secret() is None
    first, second = bytes(range(32)), bytes(32)
    assert control_store.create_secret(first) == first
    assert control_store.create_secret(second) == first
    assert control_store.create_secret(first) == first
    assert control_store.read_secret() == first


def test_the_first_identity_under_a_key_stands(control_store: ControlStore) -> None:
    assert control_store.keep_caller("@first", "arn:aws:iam::1:user/one") == (
        "arn:aws:iam::1:user/one"
    )
    assert control_store.keep_caller("@first", "another") == "arn:aws:iam::1:user/one"
    assert control_store.keep_caller("@first", "arn:aws:iam::1:user/one") == (
        "arn:aws:iam::1:user/one"
    )
    assert control_store.keep_caller("@other", "another") == "another"


def test_callers_are_read_by_their_keys(control_store: ControlStore) -> None:
    keys = [f"@{number}" for number in range(130)]
    for key in keys:
        control_store.keep_caller(key, f"caller {key}")

    found = control_store.read_callers([*keys, "@0", "@unknown"])

    assert found == {key: f"caller {key}" for key in keys}
    assert control_store.read_callers([]) == {}


# --- pauses of handlers ---


def test_pauses_of_handlers_are_given_back(control_store: ControlStore, now: datetime) -> None:
    assert control_store.read_pauses() == NO_PAUSES
    first = NO_PAUSES.paused("greet", now, until=now + SECOND, note="why")
    both = first.paused("other.handler", now, until=None, note=None).resumed("greet", now)
    assert control_store.write_pauses(first, previous=0) is True
    assert control_store.read_pauses() == first
    assert control_store.write_pauses(both, previous=1) is True
    assert control_store.read_pauses() == both


def test_quotas_are_given_back_with_the_pauses(control_store: ControlStore) -> None:
    bounded = Quota(kind=QuotaKind.TENANT, name="käse/1", accepted_per_minute=10)
    first = NO_PAUSES.with_quota(bounded)
    assert control_store.write_pauses(first, previous=0) is True
    assert control_store.read_pauses() == first
    none = first.with_quota(Quota(kind=QuotaKind.TENANT, name="käse/1"))
    assert control_store.write_pauses(none, previous=1) is True
    assert control_store.read_pauses().quotas == ()


def test_pauses_are_replaced_only_by_a_writer_that_saw_them(
    control_store: ControlStore, now: datetime
) -> None:
    mine = NO_PAUSES.paused("mine", now, until=None, note=None)
    theirs = NO_PAUSES.paused("theirs", now, until=None, note=None)
    assert control_store.write_pauses(mine, previous=1) is False
    assert control_store.write_pauses(mine, previous=0) is True
    assert control_store.write_pauses(theirs, previous=0) is False
    later = mine.paused("theirs", now, until=None, note=None)
    assert control_store.write_pauses(later, previous=1) is True
    assert control_store.write_pauses(later, previous=1) is False
    assert control_store.read_pauses() == later


# --- overrides of limits ---


def test_overrides_of_limits_are_given_back(control_store: ControlStore) -> None:
    assert control_store.read_overrides() == NO_OVERRIDES
    lowered = LimitChanges(sets_max=True, max=0, keys={"acme": 10, "käse": 0})
    first = NO_OVERRIDES.changed("stripe", lowered, ())
    both = first.changed("sync.1", LimitChanges(sets_max=True, max=7), ())
    assert control_store.write_overrides(first, previous=0) is True
    assert control_store.read_overrides() == first
    assert control_store.write_overrides(both, previous=1) is True
    assert control_store.read_overrides() == both
    assert control_store.write_overrides(both.without("stripe"), previous=2) is True
    assert list(control_store.read_overrides().limits) == ["sync.1"]


def test_overrides_are_replaced_only_by_a_writer_that_saw_them(control_store: ControlStore) -> None:
    mine = NO_OVERRIDES.changed("mine", LimitChanges(sets_max=True, max=1), ())
    theirs = NO_OVERRIDES.changed("theirs", LimitChanges(sets_max=True, max=2), ())
    assert control_store.write_overrides(mine, previous=1) is False
    assert control_store.write_overrides(mine, previous=0) is True
    assert control_store.write_overrides(theirs, previous=0) is False
    assert control_store.read_overrides() == mine
