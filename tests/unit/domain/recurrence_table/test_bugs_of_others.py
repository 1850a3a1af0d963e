"""The mistakes that other schedulers make where clocks are changed, and that ours must not.

What a library of Python does is shown with it; of the others it is told.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from croniter import croniter
from cronsim import CronSim

from hourhand.domain.schedules.recurrence import Rule, compile_rule, zone_named

BERLIN = "Europe/Berlin"
HOUR = timedelta(hours=1)


def _ours(text: str, zone: str, after: str, until: str) -> list[datetime]:
    recurrence = compile_rule(Rule(expressions=(text,), timezone=zone))
    window = datetime.fromisoformat(after), datetime.fromisoformat(until)
    return [fire.at for fire in recurrence.fires(*window)]


@pytest.mark.parametrize("day", ["2026-10-24", "2026-10-25", "2026-10-26"])
def test_a_daily_job_in_the_repeated_hour_fires_once_a_day(day: str) -> None:
    fires = _ours("30 2 * * *", BERLIN, "2026-10-24T00:00+02:00", "2026-10-27T00:00+01:00")
    dates = [at.astimezone(zone_named(BERLIN)).date().isoformat() for at in fires]
    assert dates.count(day) == 1


def test_croniter_fires_a_daily_job_twice_in_the_repeated_hour() -> None:
    start = datetime(2026, 10, 24, 12, tzinfo=zone_named(BERLIN))
    days = croniter("30 2 * * *", start)
    fires = [days.get_next(datetime) for _ in range(3)]
    assert [at.day for at in fires] == [25, 25, 26]


@pytest.mark.parametrize("text", ["0 * * * *", "@hourly", "0 */1 * * *", "cron(0 * * * ? *)"])
@pytest.mark.parametrize(
    ("after", "until"),
    [
        ("2026-03-28T23:00+01:00", "2026-03-29T23:00+02:00"),
        ("2026-10-24T23:00+02:00", "2026-10-25T23:00+01:00"),
    ],
)
def test_an_hourly_job_fires_every_hour_of_both_days(text: str, after: str, until: str) -> None:
    # Quartz loses one on the day of 25 hours.
    fires = _ours(text, BERLIN, after, until)
    start, end = datetime.fromisoformat(after), datetime.fromisoformat(until)
    assert fires == [start + n * HOUR for n in range(1, (end - start) // HOUR + 1)]


@pytest.mark.parametrize("zone", ["Pacific/Chatham", "Australia/Lord_Howe", "America/Santiago"])
def test_every_15_minutes_is_every_15_minutes_through_two_years(zone: str) -> None:
    fires = _ours("*/15 * * * *", zone, "2026-01-01T00:00+00:00", "2028-01-01T00:00+00:00")
    assert len(fires) == 730 * 96
    assert {later - earlier for earlier, later in pairwise(fires)} == {HOUR / 4}


def test_cronsim_loses_half_an_hour_after_a_change_of_half_an_hour() -> None:
    zone, text = "Australia/Lord_Howe", "* 10 * * *"
    start = datetime(2026, 10, 3, 12, tzinfo=zone_named(zone))
    assert next(CronSim(text, start)).isoformat() == "2026-10-04T10:30:00+11:00"
    ours = _ours(text, zone, "2026-10-04T03:00+11:00", "2026-10-04T23:00+11:00")
    assert ours[0] == datetime.fromisoformat("2026-10-04T10:00+11:00")
    assert len(ours) == 60
