"""Join records: every order of reports counts each child once, and wakes the run in time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations, product

import pytest

from hourhand.domain.jobs.parents import CHUNK, ParentLink
from hourhand.domain.runs.joins import (
    GROUP,
    ChildrenCall,
    JoinedCall,
    JoinRecord,
    RootRecord,
    is_decided,
    is_root,
    join_of,
    join_record_key,
    joined_calls,
    root_key,
    root_of,
    wakes_run,
)
from hourhand.domain.runs.records import RecordKind, RecordOutcome, record_of_children
from hourhand.domain.runs.writes import (
    Scope,
    put_join,
    put_root,
    report_failure,
    report_failures,
    report_full,
    report_success,
    require_rounds,
)
from hourhand.domain.side_items import SideItem, SideItemUpdate, SideKey

END = datetime(2027, 1, 1, tzinfo=UTC)
SCOPE = Scope(run_id="run", created_ms=5, segment=0, round=1, token=3, keep_until=END)
THREE = ChildrenCall(total=3, handler="double")
MANY = ChildrenCall(total=250, handler="double", is_map=True, tolerate=2, min_success=150)


class Items:
    """Side items in memory, on which writes are made as a store makes them."""

    def __init__(self) -> None:
        self.items: dict[SideKey, SideItem] = {}

    def write(self, update: SideItemUpdate) -> bool:
        standing = self.items.get(update.key)
        if not update.is_allowed(standing):
            return False
        item = update.apply(standing)
        assert item is not None
        self.items[update.key] = item
        return True

    def record(self, number: int = 0) -> JoinRecord:
        return join_of(self.items[join_record_key("run", 0, "key", number)])

    def root(self) -> RootRecord:
        return root_of(self.items[root_key("run", 0, "key")])

    def joined(self) -> JoinedCall:
        (joined,) = joined_calls(self.items.values(), 5)
        return joined


def put(items: Items, call: ChildrenCall, number: int = 0) -> JoinRecord:
    update = put_join(SCOPE, "all", "key", number, call, order=number + 1, now_ms=9)
    assert items.write(update)
    assert not items.write(update)
    return items.record(number)


def link(index: int, call: ChildrenCall = THREE) -> ParentLink:
    return ParentLink(
        run_id="run", segment=0, join_key="key", index=index, chunk=call.chunk, kept_until=END
    )


def test_a_join_record_gives_back_what_the_call_said() -> None:
    call = replace(MANY, window=40, is_abandoned=True)
    items = Items()
    record = put(items, call, 1)
    assert (record.call, record.expected, record.first_index) == (call, 10, 10)
    assert (record.path, record.token, record.order, record.round) == ("all", 3, 2, 1)
    assert record.open_positions() == list(range(10))
    assert not is_root(items.items[join_record_key("run", 0, "key", 1)])


@pytest.mark.parametrize("reports", list(permutations("sff")))
def test_each_child_counts_once_however_often_it_reports(reports: tuple[str, ...]) -> None:
    items = Items()
    put(items, THREE)
    for index, end in enumerate(reports):
        for _ in range(2):
            is_success = end == "s"
            update = report_success(link(index), None) if is_success else None
            items.write(update or report_failure(link(index), 1))
        assert items.record().is_full is (index == 2)
    record = items.record()
    assert (record.succeeded, record.failed, record.open_positions()) == (1, 2, [])


CODES = {None: "not ended", 0: "succeeded", 1: "failed", 2: "failed again", -2: "redriven to 2"}


@pytest.mark.parametrize(("code", "round_"), list(product(CODES, [1, 2, 3])))
def test_a_late_report_of_a_failure_changes_nothing(code: int | None, round_: int) -> None:
    items = Items()
    put(items, THREE)
    key = join_record_key("run", 0, "key", 0)
    if code is not None:
        item = items.items[key]
        items.items[key] = SideItem(key, {**item.values, "ends": {"0": code}})
    is_news = {None: True, 0: False, 1: round_ > 1, 2: round_ > 2, -2: round_ >= 2}[code]
    assert items.write(report_failure(link(0), round_)) is is_news
    assert items.record().ends.get(0) == (round_ if is_news else code)
    assert items.write(report_success(link(0), None))
    assert items.record().ends[0] == 0


def test_a_report_to_a_run_that_is_gone_creates_no_item() -> None:
    items = Items()
    record = JoinRecord(
        key="key",
        number=0,
        created_ms=5,
        round=1,
        token=1,
        order=1,
        began_ms=None,
        path="all",
        expected=1,
        call=THREE,
        ends={},
    )
    for update in (
        report_success(link(0), "1"),
        report_failure(link(0), 1),
        report_full("run", 0, record),
        report_failures("run", 0, record),
    ):
        assert not items.write(update)


def test_an_only_child_has_its_small_result_in_its_record() -> None:
    items = Items()
    call = ChildrenCall(total=1, handler="double")
    put(items, call)
    assert items.write(report_success(link(0, call), "42"))
    assert (items.record().result_text, items.joined().is_over) == ("42", True)


def test_only_the_ends_that_were_read_are_opened_for_a_later_round() -> None:
    items = Items()
    put(items, THREE)
    for index in (0, 1):
        items.write(report_failure(link(index), 1))
    read = items.record()
    scope = replace(SCOPE, round=2)
    items.write(report_success(link(1), None))
    assert not items.write(require_rounds(scope, read, {0: 2, 1: 2}))
    assert items.write(require_rounds(scope, items.record(), {0: 2}))
    record = items.record()
    assert (record.round, record.ends, record.open_positions()) == (2, {0: -2, 1: 0}, [0, 2])


def test_an_owner_of_an_older_round_does_not_lower_the_round_of_a_record() -> None:
    items = Items()
    put(items, THREE)
    assert items.write(require_rounds(replace(SCOPE, round=3), items.record(), {}))
    items.write(report_failure(link(0), 1))
    assert items.write(require_rounds(replace(SCOPE, round=2), items.record(), {0: 2}))
    assert items.record().round == 3


# --- calls ---


@pytest.mark.parametrize(
    ("total", "window", "chunk", "has_root"),
    [
        (1, None, 1, False),
        (100, None, CHUNK, False),
        (101, None, CHUNK, True),
        (1_000, 3, 1, False),
        (1_000, 50, 13, False),
        (1_000, 2_000, CHUNK, False),
    ],
)
def test_the_children_of_a_join_record_follow_from_the_window(
    total: int, window: int | None, chunk: int, has_root: bool
) -> None:
    call = ChildrenCall(total=total, handler="double", window=window)
    assert (call.chunk, call.has_root) == (chunk, has_root)
    assert sum(map(call.expected, range(call.records))) == total


@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 7, 8, 13, 50, 399, 400, 1_000])
def test_a_window_is_never_exceeded_and_three_quarters_of_it_are_used(window: int) -> None:
    call = ChildrenCall(total=5_000, handler="double", window=window)
    records: list[JoinRecord] = []
    items = Items()
    for _ in range(20):
        joined = JoinedCall("key", tuple(records))
        numbers = joined.next_numbers(call)
        if not numbers:
            break
        records += [put(items, call, number) for number in numbers]
    live = JoinedCall("key", tuple(records)).live
    assert window * 3 // 4 <= live <= window
    assert not JoinedCall("key", tuple(records)).has_room


def test_a_group_has_so_many_children_at_most() -> None:
    call = ChildrenCall(total=10_000, handler="double")
    assert JoinedCall("key", ()).next_numbers(call) == list(range(GROUP // CHUNK))
    few = ChildrenCall(total=150, handler="double")
    assert JoinedCall("key", ()).next_numbers(few) == [0, 1]


def test_a_call_is_over_when_every_child_was_submitted_and_ended() -> None:
    call = ChildrenCall(total=3, handler="double", window=2)
    items = Items()
    put(items, call)
    put(items, call, 1)
    items.write(report_success(link(0, call), None))
    items.write(report_failure(link(1, call), 1))
    joined = items.joined()
    assert (joined.is_over, joined.live, joined.has_room) == (False, 0, True)
    put(items, call, 2)
    items.write(report_success(link(2, call), None))
    joined = items.joined()
    assert joined.is_over
    assert [joined.end_of(n) for n in range(4)] == [0, 1, 0, None]
    assert list(joined.failed_indexes()) == [1]
    assert len(joined.last_group) == 3


def test_a_call_is_one_record_of_the_journal() -> None:
    items = Items()
    put(items, THREE)
    record = record_of_children(items.joined())
    assert (record.kind, record.path, record.order) == (RecordKind.CHILD, "all", (3, 1))
    assert record.outcome is RecordOutcome.WAITING
    for index in range(3):
        items.write(report_success(link(index), None))
    assert record_of_children(items.joined()).outcome is RecordOutcome.SUCCEEDED


def test_the_records_of_an_earlier_run_of_the_id_are_left_out() -> None:
    items = Items()
    put(items, THREE)
    assert joined_calls(items.items.values(), 6) == []


# --- the root, and when a run is woken ---


def full(items: Items, number: int, failed: int = 0) -> None:
    record = items.record(number)
    for position in range(record.expected):
        child = link(record.first_index + position, MANY)
        ended_badly = position >= record.expected - failed
        update = report_failure(child, 1) if ended_badly else report_success(child, None)
        assert items.write(update)


def test_the_root_is_full_once_all_join_records_are() -> None:
    items = Items()
    call = replace(MANY, min_success=None, tolerate=None)
    items.write(put_root(SCOPE, "key", call))
    assert is_root(items.items[root_key("run", 0, "key")])
    for number in range(3):
        put(items, call, number)
        full(items, number)
        assert items.write(report_full("run", 0, items.record(number)))
        assert wakes_run(items.record(number), items.root()) is (number == 2)


def test_a_failure_that_fills_its_record_wakes_a_run_that_does_not_tolerate_it() -> None:
    items = Items()
    items.write(put_root(SCOPE, "key", MANY))
    put(items, MANY)
    full(items, 0, failed=3)
    items.write(report_full("run", 0, items.record()))
    assert wakes_run(items.record(), items.root())


def test_the_root_counts_the_failures_of_a_record_and_a_late_copy_lowers_none() -> None:
    items = Items()
    items.write(put_root(SCOPE, "key", MANY))
    put(items, MANY)
    items.write(report_failure(link(0, MANY), 1))
    one = items.record()
    items.write(report_failure(link(1, MANY), 1))
    two = items.record()
    assert items.write(report_failures("run", 0, two))
    assert not items.write(report_failures("run", 0, one))
    assert items.root().failed == {0: 2}
    assert not wakes_run(two, items.root())
    items.write(report_failure(link(2, MANY), 1))
    assert items.write(report_failures("run", 0, items.record()))
    assert wakes_run(items.record(), items.root())


def test_enough_successes_wake_a_run() -> None:
    items = Items()
    items.write(put_root(SCOPE, "key", MANY))
    for number in (0, 1):
        put(items, MANY, number)
        full(items, number)
        items.write(report_full("run", 0, items.record(number)))
        assert wakes_run(items.record(number), items.root()) is (number == 1)


@pytest.mark.parametrize(
    ("successes", "failures", "wakes"), [(1, 0, False), (2, 0, True), (0, 1, False), (0, 2, True)]
)
def test_without_a_root_the_record_says_whether_a_threshold_is_crossed(
    successes: int, failures: int, wakes: bool
) -> None:
    call = ChildrenCall(total=50, handler="double", tolerate=1, min_success=2)
    items = Items()
    put(items, call)
    for index in range(successes):
        items.write(report_success(link(index, call), None))
    for index in range(failures):
        items.write(report_failure(link(10 + index, call), 1))
    assert wakes_run(items.record(), None) is wakes


@pytest.mark.parametrize(
    ("tolerate", "min_success", "most"),
    [(None, None, None), (3, None, 3), (None, 48, 2), (3, 48, 2), (1, 48, 1), (None, 51, -1)],
)
def test_no_more_children_may_fail_than_the_required_successes_leave(
    tolerate: int | None, min_success: int | None, most: int | None
) -> None:
    call = ChildrenCall(total=50, handler="double", tolerate=tolerate, min_success=min_success)
    assert call.most_failures == most
    assert is_decided(call, 0, 3) is (most is not None and most < 3)


def test_an_early_end_needs_a_threshold() -> None:
    items = Items()
    put(items, THREE)
    items.write(report_failure(link(0), 1))
    assert not wakes_run(items.record(), None)
