"""Previews of schedules: when they would fire, and what their authors should know."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from hourhand.domain.schedules import rule
from hourhand.domain.schedules.recurrence import (
    BadExpression,
    DstGap,
    ExcludedDate,
    ExcludedExpression,
)
from hourhand.domain.schedules.schedule import (
    CalendarName,
    ScheduleDefinition,
)
from hourhand.memory import START
from hourhand.services.schedules import previews
from hourhand.services.schedules.previews import Preview, PreviewDay, Previews
from tests.unit.services.schedule_bench import Bench, define

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def previews_of(bench: Bench) -> Previews:
    return Previews(recurrences=bench.recurrences, clock=bench.clock)


def _preview(
    bench: Bench,
    definition: ScheduleDefinition,
    count: int = 3,
    after: datetime | None = None,
) -> Preview:
    return previews_of(bench).preview(definition, count=count, after=after)


def test_a_preview_tells_when_a_schedule_fires_strictly_after_now(bench: Bench) -> None:
    preview = _preview(bench, define(timezone="Europe/Berlin", handler=""))
    assert [fire.at for fire in preview.fires] == [START + n * HOUR for n in (1, 2, 3)]
    assert preview.fires[0].local == "2026-01-05T11:00:00.000+01:00"
    assert (preview.fires[0].note, preview.warnings) == (None, ())
    assert bench.schedules.list_schedules(after=None, limit=1).names == ()


def test_a_preview_begins_strictly_after_a_time_that_is_given(bench: Bench) -> None:
    preview = _preview(bench, define(), after=START + 10 * HOUR)
    assert preview.fires[0].at == START + 11 * HOUR


def test_the_bounds_of_the_definition_are_kept(bench: Bench) -> None:
    definition = define(start_at=START + 5 * HOUR, end_at=START + 6 * HOUR)
    preview = _preview(bench, definition)
    assert [fire.at for fire in preview.fires] == [START + 5 * HOUR, START + 6 * HOUR]
    assert preview.warnings == ("The schedule runs 2 more times, then never again.",)


def test_a_preview_ends_with_the_occurrences_that_are_allowed(bench: Bench) -> None:
    preview = _preview(bench, define(max_occurrences=1))
    assert len(preview.fires) == 1
    assert preview.warnings == ("The schedule runs once more, then never again.",)
    assert _preview(bench, define(max_occurrences=3)).warnings == ()


def test_a_rule_that_never_fires_says_so(bench: Bench) -> None:
    preview = _preview(bench, define("at(2025-01-01T00:00)"))
    assert preview == Preview(
        (), ("The schedule has no scheduled times after 2026-01-05T09:00:00.000Z.",)
    )


def test_effects_of_a_change_of_the_clocks_are_named(bench: Bench) -> None:
    after = datetime(2026, 3, 28, 12, tzinfo=UTC)
    daily = define("30 2 * * *", timezone="Europe/Berlin")
    first, second = _preview(bench, daily, 2, after).fires
    assert (first.local, second.note) == ("2026-03-29T03:00:00.000+02:00", None)
    assert first.note is not None
    assert "does not exist in Europe/Berlin" in first.note


def test_times_that_are_left_out_are_warned_of(bench: Bench) -> None:
    after = datetime(2026, 3, 28, 12, tzinfo=UTC)
    daily = define("30 2 * * *", timezone="Europe/Berlin", dst_gap=DstGap.SKIP)
    preview = _preview(bench, daily, 1, after)
    assert preview.fires[0].local == "2026-03-30T02:30:00.000+02:00"
    [warning] = preview.warnings
    assert "2026-03-29 02:30 does not exist" in warning


def test_a_rate_without_an_anchor_is_counted_from_its_start_or_from_now(
    bench: Bench,
) -> None:
    bench.clock.advance(7)
    now = bench.clock.now()
    preview = _preview(bench, define("rate(90 minutes)"), 2, after=START + DAY)
    assert preview.fires[0].at == now + DAY
    begun = _preview(bench, define("rate(90 minutes)", start_at=START + 2 * HOUR), 2)
    assert [fire.at for fire in begun.fires] == [START + 2 * HOUR, START + 3.5 * HOUR]


def test_calendars_are_looked_up_and_those_that_are_missing_warned_of(bench: Bench) -> None:
    bench.put_calendar("holidays", ExcludedDate(date(2026, 1, 6)))
    names = tuple(CalendarName(name) for name in ("holidays", "gone"))
    preview = _preview(bench, define("0 0 * * *", exclude=names), 1)
    assert preview.fires[0].at == datetime(2026, 1, 7, tzinfo=UTC)
    assert preview.warnings == ("There is no calendar gone, so it excludes nothing.",)


def test_a_rule_that_is_wrong_is_refused(bench: Bench) -> None:
    with pytest.raises(BadExpression):
        _preview(bench, define("never"))


def _month(
    bench: Bench, definition: ScheduleDefinition, month: date = date(2026, 3, 1)
) -> dict[date, PreviewDay]:
    preview = previews_of(bench).preview(definition, count=1, after=None, month=month)
    return {day.times.day: day for day in preview.days}


def test_a_month_has_all_its_days_and_the_times_of_each(bench: Bench) -> None:
    days = _month(bench, define("0 9,10,11,12 * * MON", timezone="Asia/Tokyo"))
    assert sorted(days) == [date(2026, 3, number) for number in range(1, 32)]
    monday = days[date(2026, 3, 2)]
    assert (monday.times.count, monday.times.is_least) == (4, False)
    assert [fire.local[11:16] for fire in monday.first] == ["09:00", "10:00", "11:00"]
    assert days[date(2026, 3, 3)].times.count == 0


def test_a_month_without_a_month_given_is_not_computed(bench: Bench) -> None:
    assert _preview(bench, define()).days == ()


def test_the_day_of_a_clock_change_is_marked_and_has_its_note(bench: Bench) -> None:
    days = _month(bench, define("30 2 * * *", timezone="Europe/Berlin"))
    assert [day for day, found in days.items() if found.times.clocks_change] == [date(2026, 3, 29)]
    assert "02:30 does not exist" in str(days[date(2026, 3, 29)].first[0].note)


def test_each_excluded_day_names_its_calendars(bench: Bench) -> None:
    bench.put_calendar("holidays", ExcludedDate(date(2026, 3, 5)))
    bench.put_calendar("closed", ExcludedDate(date(2026, 3, 5)), ExcludedDate(date(2026, 3, 6)))
    names = tuple(CalendarName(name) for name in ("holidays", "closed", "gone"))
    own = ExcludedDate(date(2026, 3, 7))
    days = _month(bench, define("0 0,12 * * *", exclude=(*names, own)))
    found = {n: days[date(2026, 3, n)] for n in (4, 5, 6, 7)}
    assert {n: day.excluded_by for n, day in found.items()} == {
        4: (),
        5: ("holidays", "closed"),
        6: ("closed",),
        7: (),
    }
    assert {n: (day.times.count, day.times.excluded) for n, day in found.items()} == {
        4: (2, 0),
        5: (0, 2),
        6: (0, 2),
        7: (0, 2),
    }


# --- what takes long to find ---

SEASONAL = define("* * * * *", exclude=(ExcludedExpression("* * * 1-11 *"),))
"""Every minute of December: 475,200 excluded ones lie before it."""


def test_a_preview_that_takes_too_long_says_so_and_not_that_nothing_comes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "MAX_WORK_A_PREVIEW", previews.MAX_WORK_A_PREVIEW // 20)
    preview = _preview(bench, SEASONAL)
    assert preview.fires == ()
    assert preview.warnings == (
        "The search for more scheduled times took too long, so there may be more than are listed.",
    )
    near = _preview(bench, SEASONAL, after=datetime(2026, 11, 30, tzinfo=UTC))
    assert near.fires[0].at == datetime(2026, 12, 1, tzinfo=UTC)


def test_a_preview_stops_when_its_time_is_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "MAX_SECONDS_A_PREVIEW", -1.0)
    monkeypatch.setattr(rule, "UNITS_BETWEEN_QUESTIONS", 1)
    preview = _preview(bench, define())
    assert [fire.at for fire in preview.fires] == [START + HOUR]
    assert preview.warnings[0].startswith("The search for more scheduled times took too long")
