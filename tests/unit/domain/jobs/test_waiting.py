"""What a job waits for: its words, and the keys of waiter records."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.ids import short_digest
from hourhand.domain.jobs.waiting import (
    PAUSE,
    WaitKind,
    WaitsFor,
    delete_own_waiter,
    delete_waiter,
    pause_partition,
    put_waiter,
    waiter_generation,
    waiter_job_id,
    waiter_key,
    waiter_rank,
)
from hourhand.domain.side_items import SideItemKind
from hourhand.memory import START, MemorySideItemStore

LATER = START + timedelta(days=1)


def test_only_a_slot_of_the_limit_of_pauses_is_a_pause() -> None:
    assert WaitsFor(WaitKind.SLOT, PAUSE, rank=1).is_pause
    assert not WaitsFor(WaitKind.SLOT, "0", rank=1).is_pause
    assert not WaitsFor(WaitKind.TIME, PAUSE).is_pause


def test_a_digest_depends_on_each_part_and_its_place() -> None:
    digests = {short_digest(*parts) for parts in (("a", "bc"), ("ab", "c"), ("abc",), ("bc", "a"))}
    assert len(digests) == 4
    assert {len(digest) for digest in digests} == {16}
    assert pause_partition("a") != pause_partition("b")


def test_waiter_records_sort_by_their_ranks() -> None:
    keys = [waiter_key("l.digest.0", rank, "a") for rank in (10, 9, 1_700_000_000_000)]
    assert [key.sort for key in sorted(keys)] == [keys[1].sort, keys[0].sort, keys[2].sort]
    assert keys[0].kind is SideItemKind.WAITER


@pytest.mark.parametrize("job_id", ["job-1", "j" * 100, "a.b.c"])
def test_a_waiter_record_says_which_job_waits(job_id: str) -> None:
    store = MemorySideItemStore()
    written = store.write_item(put_waiter("l.digest.0", 5, job_id, 3, LATER))
    assert written.item is not None
    assert (waiter_job_id(written.item), waiter_generation(written.item)) == (job_id, 3)
    assert waiter_rank(written.item) == 5


def test_a_waiter_record_is_neither_replaced_nor_deleted_by_an_older_generation() -> None:
    store = MemorySideItemStore()
    older = store.write_item(put_waiter("l.digest.0", 5, "job-1", 2, LATER)).item
    assert older is not None
    assert store.write_item(put_waiter("l.digest.0", 5, "job-1", 3, LATER)).is_applied
    for late in (
        put_waiter("l.digest.0", 5, "job-1", 2, LATER),
        delete_own_waiter("l.digest.0", 5, "job-1", 2),
        delete_waiter(older),
    ):
        assert not store.write_item(late).is_applied
    assert store.write_item(delete_own_waiter("l.digest.0", 5, "job-1", 4)).is_applied
