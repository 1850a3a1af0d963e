"""A compiled rule as a whole: windows, unions, bounds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from hourhand.domain.schedules.recurrence import (
    EARLIEST,
    LATEST,
    DstGap,
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    Fire,
    Found,
    GivenUp,
    Rule,
    compile_rule,
)
from hourhand.domain.schedules.recurrence import _recurrence as module
from hourhand.domain.schedules.rule import MAX_EXPRESSIONS, Work
from tests.unit.domain.schedules.recurrence.recurrence_samples import (
    EVE,
    NEW_YEAR,
    compiled,
    fires,
    refusal,
    utc,
)

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
WORK_OF_TEN = 60
"""Twenty units for each of two expressions to begin with, and two for each fire."""


def test_a_window_leaves_out_its_start_and_has_its_end() -> None:
    rule = compiled("0 0 * * *")
    assert list(rule.fires(NEW_YEAR, NEW_YEAR + 2 * DAY)) == [
        Fire(NEW_YEAR + DAY, False),
        Fire(NEW_YEAR + 2 * DAY, False),
    ]
    assert list(rule.fires(NEW_YEAR, NEW_YEAR)) == []
    assert list(rule.fires(NEW_YEAR + DAY, NEW_YEAR)) == []


def test_fractions_of_a_window_count() -> None:
    rule = compiled("0 0 * * *")
    fraction = timedelta(milliseconds=1)
    assert rule.next_fire(NEW_YEAR - fraction, LATEST) == NEW_YEAR
    assert rule.next_fire(NEW_YEAR + fraction, LATEST) == NEW_YEAR + DAY
    assert rule.next_fire(NEW_YEAR, NEW_YEAR + DAY - fraction) is None


def test_a_window_may_be_given_in_any_offset() -> None:
    tokyo = datetime.fromisoformat("2026-01-01T09:00:00+09:00")
    assert compiled("0 0 * * *").next_fire(tokyo, tokyo + DAY) == NEW_YEAR + DAY


def test_fires_are_in_utc() -> None:
    fire = compiled("0 0 * * *", timezone="Europe/Berlin").next_fire(EVE, LATEST)
    assert fire is not None
    assert fire.tzinfo is UTC


def test_nothing_fires_before_the_earliest_or_from_the_latest_on() -> None:
    rule = compiled("* * * * *")
    long_ago, far_off = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
    assert rule.next_fire(long_ago, far_off) == EARLIEST
    assert rule.next_fire(LATEST - timedelta(minutes=2), far_off) == LATEST - timedelta(minutes=1)
    assert rule.next_fire(LATEST - timedelta(minutes=1), far_off) is None
    in_honolulu = compiled("0 14 31 12 *", timezone="Pacific/Honolulu")
    assert in_honolulu.next_fire(LATEST - DAY, far_off) is None


def test_fires_are_computed_as_they_are_taken() -> None:
    """All of these would be 7 billion."""
    found = compiled("* * * * * *").fires(EARLIEST - SECOND, LATEST)
    assert [next(found).at for _ in range(2)] == [EARLIEST, EARLIEST + SECOND]


def test_a_union_has_each_instant_once_in_order() -> None:
    assert fires("0 12 * * *", "0 */6 1 * *", "at(2026-01-01T13:00)", "0 12 * * 4", count=6) == [
        "2026-01-01T00:00",
        "2026-01-01T06:00",
        "2026-01-01T12:00",
        "2026-01-01T13:00",
        "2026-01-01T18:00",
        "2026-01-02T12:00",
    ]


@pytest.mark.parametrize("expressions", [(), ("0 0 * * *",) * (MAX_EXPRESSIONS + 1)])
def test_a_rule_has_one_to_twenty_expressions(expressions: tuple[str, ...]) -> None:
    assert "1 to 20 expressions" in refusal(*expressions)


def test_an_unknown_zone_is_refused() -> None:
    assert "There is no time zone 'Mars/Olympus'" in refusal("0 0 * * *", timezone="Mars/Olympus")


def test_a_recurrence_knows_its_rule() -> None:
    rule = Rule(expressions=("0 0 * * *",))
    assert compile_rule(rule).rule is rule


def test_sparse_fires_are_found_far_ahead() -> None:
    assert fires("0 0 29 2 *", after="2096-03-01", count=1) == ["2104-02-29T00:00"]
    assert fires("cron(0 0 1 1 ? 2199)", days=70_000) == ["2199-01-01T00:00"]
    # 29 February on a Monday: Vixie's AND needs the star.
    assert fires("0 0 29 2 */8", days=70_000, count=2) == ["2032-02-29T00:00", "2060-02-29T00:00"]


@pytest.mark.parametrize(
    ("text", "can"),
    [
        ("59 23 31 2 *", False),
        ("0 0 31 2,4,6,9,11 *", False),
        ("0 0 30 FEB *", False),
        ("0 0 */31 2 *", True),
        ("0 0 31 2 1", True),
        ("0 0 29 2 *", True),
        ("cron(0 0 31W 2 ? *)", False),
        ("cron(0 0 29 2 ? 2027)", False),
        ("cron(0 0 29 2 ? 2028)", True),
        ("cron(0 0 * * ? 2025)", False),
        ("cron(0 0 ? 2 1#5 2026)", False),
        ("at(2025-06-01T00:00)", False),
        ("at(2026-06-01T00:00)", True),
        ("rate(1 week)", True),
    ],
)
def test_what_can_never_fire_again_is_known(text: str, can: bool) -> None:
    assert compiled(text, anchor=NEW_YEAR).can_ever_fire(EVE) is can


def test_what_a_policy_or_an_exclusion_removes_altogether_can_never_fire() -> None:
    everything = (ExcludedExpression("* * * * *"),)
    # Not a single one of twenty years.
    assert not compiled("0 9 * * 1", exclude=everything).can_ever_fire(EVE)
    skipped = compiled("at(2026-03-29T02:30)", timezone="Europe/Berlin", dst_gap=DstGap.SKIP)
    assert not skipped.can_ever_fire(EVE)


def test_what_excludes_itself_can_never_fire_however_often_it_would() -> None:
    itself = (ExcludedExpression(" *  * * * * *"), ExcludedDate(EVE.date()))
    assert not compiled("* * * * * *", exclude=itself).can_ever_fire(EVE)


def test_what_is_excluded_for_longer_than_a_search_may_fire_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_WORK", 250)
    seasonal = compiled("0 9 * * *", exclude=(ExcludedExpression("0 9 * 1-8 *"),))
    assert seasonal.can_ever_fire(EVE)
    assert not seasonal.can_ever_fire(EVE, utc("2026-02-01T00:00"))


def test_the_next_fire_is_the_first_that_is_not_excluded() -> None:
    rule = compiled("0 9 * * *", exclude=(ExcludedExpression("0 9 1-5 * *"),))
    assert rule.next_fire(EVE, LATEST) == utc("2026-01-06T09:00")
    assert rule.next_fire(EVE, utc("2026-01-05T09:00")) is None


def test_a_search_tells_how_far_it_came_and_goes_on_from_there() -> None:
    rule = compiled("0 9 * * *", exclude=(ExcludedExpression("0 9 1-25 * *"),))
    given_up = rule.search(EVE, LATEST, Work(WORK_OF_TEN))
    assert isinstance(given_up, GivenUp)
    assert given_up == GivenUp(utc("2026-01-01T09:00"), utc("2026-01-10T09:00"))
    again = rule.search(given_up.at, LATEST, Work(WORK_OF_TEN))
    assert isinstance(again, GivenUp)
    assert again == GivenUp(utc("2026-01-11T09:00"), utc("2026-01-20T09:00"))
    assert rule.search(again.at, LATEST, Work(WORK_OF_TEN)) == Found(utc("2026-01-26T09:00"))
    assert rule.search(given_up.at, utc("2026-01-15T00:00"), Work(WORK_OF_TEN)) is None


def test_a_search_ends_for_good_where_all_is_excluded_for_twenty_years() -> None:
    everything = (ExcludedExpression("* * * * *"),)
    ended = compiled("0 9 * * 1", exclude=everything).search(EVE, LATEST)
    assert isinstance(ended, GivenUp)
    assert ended.is_for_good
    assert not GivenUp(ended.since, ended.at - DAY).is_for_good
    # One fire a year, and dates that are excluded for thirty: the next one is there.
    yearly = compiled("0 0 1 3 *", exclude=(ExcludedDates(date(2026, 1, 1), date(2056, 1, 1)),))
    assert yearly.search(EVE, LATEST) == Found(utc("2056-03-01T00:00"))
