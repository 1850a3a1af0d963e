"""The judges judged: the brute force by hand, cronsim by the brute force, the comparison too."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from cronsim import CronSim

from tests.properties import recurrence_comparison
from tests.properties.recurrence_cases import Case, changes_of
from tests.properties.recurrence_comparison import (
    CRONSIM_IS_WRONG,
    Tally,
    cronsim_is_known_wrong,
    has_change_by_part_of_an_hour,
    our_fires,
)
from tests.properties.recurrence_oracles import (
    brute_force,
    cronsim_fires,
    zone_of,
)

DAY = timedelta(days=1)


def _around(zone: str, day: date) -> tuple[datetime, datetime]:
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone_of(zone)).astimezone(UTC)
    return midnight - DAY, midnight + 2 * DAY


# --- the brute force ---


@pytest.mark.parametrize(
    ("zone", "text", "day", "gap", "fold", "fires"),
    [
        ("Europe/Berlin", "15,45 2 29 * *", date(2026, 3, 29), "next_valid", "first", "01:00"),
        ("Europe/Berlin", "15,45 2 29 * *", date(2026, 3, 29), "skip", "first", ""),
        ("Europe/Berlin", "15,45 2 29 * *", date(2026, 3, 29), "shift", "first", "01:15 01:45"),
        ("Europe/Berlin", "30 2 25 * *", date(2026, 10, 25), "skip", "first", "00:30"),
        ("Europe/Berlin", "30 2 25 * *", date(2026, 10, 25), "skip", "second", "01:30"),
        ("Europe/Berlin", "30 2 25 * *", date(2026, 10, 25), "skip", "both", "00:30 01:30"),
        ("Europe/Berlin", "*/30 2 29 * *", date(2026, 3, 29), "next_valid", "first", "01"),
        ("Europe/Berlin", "*/30 2 25 * *", date(2026, 10, 25), "skip", "first", "00 00:30"),
        ("America/Santiago", "30 0 6 9 *", date(2026, 9, 6), "next_valid", "first", "04:00"),
        ("America/Santiago", "30 0 6 9 *", date(2026, 9, 6), "shift", "first", "04:30"),
        ("Asia/Kathmandu", "0 9 6 9 *", date(2026, 9, 6), "skip", "first", "03:15"),
        ("UTC", "5 0 * * SUN#1", date(2026, 9, 6), "skip", "first", "00:05"),
        ("UTC", "5 0 */2 * SUN", date(2026, 9, 6), "skip", "first", ""),
        ("UTC", "30 5 0 L 2 *", date(2028, 2, 29), "skip", "first", "00:05:30"),
        ("UTC", "cron(0 9 15W * ? *)", date(2026, 11, 16), "skip", "first", "09:00"),
        ("UTC", "cron(0 9 ? * 2#3 2026)", date(2026, 11, 16), "skip", "first", "09:00"),
    ],
)
def test_the_brute_force_fires_as_worked_out_by_hand(
    zone: str, text: str, day: date, gap: str, fold: str, fires: str
) -> None:
    found = brute_force(text, zone, *_around(zone, day), gap=gap, fold=fold)
    assert found == [datetime.fromisoformat(f"{day}T{time}+00:00") for time in fires.split()]


# --- cronsim, where it is excused ---

WRONG = [
    ("Australia/Lord_Howe", "40 * * * *", date(2026, 10, 4)),
    ("Australia/Lord_Howe", "40 0-23 * * *", date(2026, 4, 5)),
]


@pytest.mark.parametrize(("zone", "text", "day"), WRONG)
def test_cronsim_is_wrong_on_the_days_on_which_it_is_excused(
    zone: str, text: str, day: date
) -> None:
    window = _around(zone, day)
    truth, theirs = brute_force(text, zone, *window), cronsim_fires(text, zone, *window)
    wrong = set(truth) ^ set(theirs)
    assert wrong
    assert {at.astimezone(zone_of(zone)).date() for at in wrong} == {day}
    case = Case(text=text, zone=zone, after=window[0], until=window[1])
    assert all(cronsim_is_known_wrong(case, at) for at in wrong)
    tally = Tally()
    tally.compare(case)
    assert tally.explained == {CRONSIM_IS_WRONG: len(wrong)}
    assert tally.unexplained == 0


def test_cronsim_takes_a_range_of_one_with_a_step_for_a_range_to_the_end() -> None:
    hours = CronSim("0 3-3/20 * * *", datetime(2026, 1, 1, tzinfo=UTC)).hours
    assert hours == {3, 23}
    window = _around("UTC", date(2026, 1, 1))
    assert len(cronsim_fires("0 3-3/20 * * *", "UTC", *window)) == 3


@pytest.mark.parametrize(
    "zone",
    ["America/New_York", "Europe/Berlin", "Europe/London", "Europe/Dublin", "America/St_Johns"],
)
def test_no_excuse_where_clocks_are_changed_by_an_hour(zone: str) -> None:
    dates = {at.astimezone(zone_of(zone)).date() for at in changes_of(zone)}
    assert len(dates) > 40
    assert not any(has_change_by_part_of_an_hour(zone, day) for day in dates)


@pytest.mark.parametrize(("zone", "text", "day"), WRONG)
def test_no_excuse_for_fixed_times_nor_for_the_days_around(zone: str, text: str, day: date) -> None:
    after, until = _around(zone, day)
    hourly = Case(text=text, zone=zone, after=after, until=until)
    fixed = Case(text="30 3 * * *", zone=zone, after=after, until=until)
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=zone_of(zone))
    assert cronsim_is_known_wrong(hourly, noon)
    assert not cronsim_is_known_wrong(fixed, noon)
    assert not cronsim_is_known_wrong(hourly, noon - 2 * DAY)
    assert not cronsim_is_known_wrong(hourly, noon + 2 * DAY)


# --- the comparison ---

CASE = Case(
    text="15,45 1-3 * * *",
    zone="Europe/Berlin",
    after=datetime(2026, 3, 28, tzinfo=UTC),
    until=datetime(2026, 3, 30, tzinfo=UTC),
)
ODD_CASE = Case(
    text="* * * * *",
    zone="Australia/Lord_Howe",
    after=datetime(2026, 10, 3, 16, tzinfo=UTC),
    until=datetime(2026, 10, 4, tzinfo=UTC),
)


@pytest.mark.parametrize("case", [CASE, ODD_CASE])
@pytest.mark.parametrize(
    "mistake",
    ["lost", "invented", "twice", "out of order", "another policy"],
)
def test_the_comparison_notices_every_kind_of_mistake(
    case: Case, mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = our_fires(case)
    tally = Tally()
    tally.compare(case)
    assert tally.unexplained == 0
    wrong = {
        "lost": right[1:],
        "invented": sorted([*right, right[1] + timedelta(minutes=1, seconds=30)]),
        "twice": sorted([*right, right[1]]),
        "out of order": right[::-1],
        "another policy": [at for at in right if at.hour != right[0].hour],
    }[mistake]
    monkeypatch.setattr(recurrence_comparison, "our_fires", lambda case, at_most=None: wrong)
    tally.compare(case)
    assert tally.unexplained > 0
    assert tally.shown


def test_a_tally_adds_up() -> None:
    one, two = Tally(), Tally()
    one.compare(CASE)
    two.compare(CASE)
    once = one.comparisons
    one.add(two)
    assert one.cases == 2
    assert one.comparisons == 2 * once == 4 * len(our_fires(CASE))
