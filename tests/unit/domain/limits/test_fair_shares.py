"""The ranks of jobs under a fair order: those of one tenant stand apart."""

from __future__ import annotations

from hourhand.domain.limits.wait_queue import STRIDE, rank_given, share_key, share_write
from hourhand.domain.side_items import SideItem, SideItemKind
from tests.unit.domain.job_samples import NOW

KEY = share_key("a" * 16, "acme")


def ranks(item: SideItem | None, virtual_time: int, count: int) -> tuple[list[int], SideItem]:
    found = []
    after = item
    for _ in range(count):
        write = share_write(KEY, after, virtual_time, NOW)
        assert write.is_allowed(after)
        after = write.apply(after)
        assert after is not None
        found.append(rank_given(after))
    assert after is not None
    return found, after


def test_the_jobs_of_a_tenant_stand_apart_by_a_stride() -> None:
    found, _ = ranks(None, 5_000, 3)
    assert found == [5_000, 5_000 + STRIDE, 5_000 + 2 * STRIDE]


def test_a_tenant_that_was_idle_begins_at_the_present_virtual_time() -> None:
    _, item = ranks(None, 0, 3)
    found, _ = ranks(item, 100_000, 2)
    assert found == [100_000, 100_000 + STRIDE]


def test_a_write_is_refused_where_others_of_the_tenant_were_first() -> None:
    _, item = ranks(None, 0, 1)
    assert not share_write(KEY, None, 0, NOW).is_allowed(item)
    assert not share_write(KEY, item, 0, NOW).is_allowed(None)


def test_each_tenant_has_a_share_and_jobs_without_one_share_one() -> None:
    keys = {share_key("a" * 16, tenant) for tenant in (None, "", "acme", "globex")}
    assert len(keys) == 4
    assert {key.kind for key in keys} == {SideItemKind.FAIR_SHARE}
