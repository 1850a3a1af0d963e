"""Join records on every store: ends count once, late reports are refused, no report creates one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hourhand.domain.jobs.parents import ParentLink
from hourhand.domain.runs.joins import (
    ChildrenCall,
    is_root,
    join_of,
    join_prefix,
    joined_calls,
    root_of,
)
from hourhand.domain.runs.records import RecordKind, record_key
from hourhand.domain.runs.writes import (
    Scope,
    put_join,
    put_record,
    put_root,
    report_failure,
    report_failures,
    report_full,
    report_success,
    require_rounds,
)
from hourhand.domain.side_items import SideItemKind
from hourhand.ports.side_item_store import SideItemStore
from tests.contract.fresh import new_id

END = datetime(2099, 1, 1, tzinfo=UTC)
CALL = ChildrenCall(total=150, handler="child", is_map=True, tolerate=3, min_success=140)


def scope_of(run_id: str) -> Scope:
    return Scope(run_id=run_id, created_ms=5, segment=0, round=1, token=1, keep_until=END)


def link_of(run_id: str, index: int) -> ParentLink:
    return ParentLink(run_id=run_id, segment=0, join_key="key", index=index, kept_until=END)


def test_each_end_counts_once_and_late_reports_are_refused(side_item_store: SideItemStore) -> None:
    run_id, items = new_id(), side_item_store
    scope = scope_of(run_id)
    for number in (0, 1):
        put = put_join(scope, "all", "key", number, CALL, order=number + 1, now_ms=9)
        assert items.write_item(put).is_applied
        again = items.write_item(put)
        assert (again.is_applied, again.item is not None) == (False, True)
    first, last = link_of(run_id, 0), link_of(run_id, 149)
    assert items.write_item(report_failure(first, 1)).is_applied
    assert not items.write_item(report_failure(first, 1)).is_applied
    assert items.write_item(report_success(last, "1")).is_applied
    assert items.write_item(report_success(last, "1")).is_applied
    assert not items.write_item(report_failure(last, 7)).is_applied

    (joined,) = joined_calls(items.query_items(run_id, prefix=join_prefix(0), limit=9), 5)
    assert (joined.call, joined.submitted, joined.failed, joined.succeeded) == (CALL, 150, 1, 1)
    read = joined.records[0]
    later = replace(scope, round=2)
    opened = items.write_item(require_rounds(later, read, {0: 2}))
    assert opened.is_applied
    assert not items.write_item(require_rounds(later, read, {0: 2})).is_applied
    assert not items.write_item(report_failure(first, 1)).is_applied
    written = items.write_item(report_failure(first, 2))
    assert written.is_applied
    assert written.item is not None
    assert join_of(written.item).ends == {0: 2}


def test_a_root_counts_full_records_and_failures(side_item_store: SideItemStore) -> None:
    run_id, items = new_id(), side_item_store
    scope = scope_of(run_id)
    put = put_join(scope, "all", "key", 0, CALL, order=1, now_ms=9)
    item = items.write_item(put).item
    assert item is not None
    one = replace(join_of(item), ends={0: 1})
    assert not items.write_item(report_failures(run_id, 0, one)).is_applied
    assert not items.write_item(report_full(run_id, 0, one)).is_applied
    assert items.write_item(put_root(scope, "key", CALL)).is_applied
    assert not items.write_item(put_root(scope, "key", CALL)).is_applied
    assert items.write_item(report_failures(run_id, 0, one)).is_applied
    assert not items.write_item(report_failures(run_id, 0, one)).is_applied
    full = replace(one, ends={**dict.fromkeys(range(100), 0), 7: 1, 8: 1})
    root = items.write_item(report_full(run_id, 0, full)).item
    assert root is not None
    assert is_root(root)
    read = root_of(root)
    assert (read.records, read.full, read.failed, read.is_full) == (2, {0: 98}, {0: 2}, False)


def test_no_report_creates_an_item(side_item_store: SideItemStore) -> None:
    run_id = new_id()
    link = link_of(run_id, 0)
    for update in (report_success(link, None), report_failure(link, 1)):
        written = side_item_store.write_item(update)
        assert (written.is_applied, written.item) == (False, None)
    assert side_item_store.query_items(run_id, limit=9) == ()


def test_the_items_of_a_call_and_of_a_graph_are_of_their_kinds(
    side_item_store: SideItemStore,
) -> None:
    run_id, items = new_id(), side_item_store
    scope = scope_of(run_id)
    items.write_item(put_root(scope, "key", CALL))
    items.write_item(put_join(scope, "all", "key", 0, CALL, order=1, now_ms=9))
    decisions = put_record(
        scope, RecordKind.DECISIONS, "", 1, {"decisions": {"0": 1}}, allowed=scope.may_put(0)
    )
    assert items.write_item(decisions).is_applied
    kinds = [item.key.kind for item in items.query_items(run_id, limit=9)]
    assert kinds == [SideItemKind.JOIN, SideItemKind.JOIN, SideItemKind.DECISIONS]
    read = items.read_item(record_key(run_id, 0, RecordKind.DECISIONS, ""))
    assert read is not None
    assert read.numbers("decisions") == {"0": 1}
