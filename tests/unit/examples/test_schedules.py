"""The report of a schedule is about its interval, whenever it runs, and spares the holidays."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from examples.schedules import main, put_schedule, sales_report
from hourhand import JobContext, NotRetryable
from hourhand.handlers import Occurrence
from hourhand.memory import START
from hourhand.testing import FakeHourhand

HOUR = timedelta(hours=1)


def context(at: datetime | None, since: datetime | None = None) -> JobContext:
    occurrence = None
    if at is not None:
        occurrence = Occurrence(schedule_id="hourly", at=at, interval_start=since)
    deadline = START + timedelta(days=9)
    return JobContext(job_id="j1", run_at=START, deadline=deadline, occurrence=occurrence)


def test_the_report_is_about_its_interval_and_not_about_the_time_it_runs_at() -> None:
    report = sales_report(context(START + HOUR, START), None)
    assert report == {
        "at": (START + HOUR).isoformat(),
        "since": START.isoformat(),
        "until": (START + HOUR).isoformat(),
        "sales": 3,
    }


def test_each_sale_is_in_exactly_one_of_the_reports_that_follow_each_other() -> None:
    ends = [START + timedelta(minutes=minutes) for minutes in (0, 7, 20, 61, 180)]
    parts = [
        sales_report(context(until, since), None)["sales"]
        for since, until in itertools.pairwise(ends)
    ]
    assert sum(int(part) for part in parts) == 9


def test_the_first_report_is_about_a_day() -> None:
    assert sales_report(context(START), None)["sales"] == 72


def test_a_report_that_no_schedule_asks_for_is_refused_for_good() -> None:
    with pytest.raises(NotRetryable, match="put a schedule"):
        sales_report(context(None), None)


class TestItsSchedule:
    @pytest.fixture
    def hourhand_start(self) -> datetime:
        return datetime(2027, 3, 20, tzinfo=UTC)

    def test_it_runs_on_working_days_in_local_time(self, hourhand_jobs: FakeHourhand) -> None:
        put_schedule(hourhand_jobs.client)
        runs = hourhand_jobs.advance(days=12, raise_errors=True)

        # From Good Friday to Easter Monday there is none, and clocks go forward on that Sunday.
        assert [(run.at.day, run.at.hour) for run in runs] == [
            *[(day, 6) for day in (22, 23, 24, 25)],
            *[(day, 5) for day in (30, 31)],
        ]

    def test_no_sale_is_left_out_over_a_holiday(self, hourhand_jobs: FakeHourhand) -> None:
        put_schedule(hourhand_jobs.client)
        runs = hourhand_jobs.advance(days=12, raise_errors=True)

        reports = [hourhand_jobs.get(run.job_id).result for run in runs]
        assert all(a["until"] == b["since"] for a, b in itertools.pairwise(reports))

    def test_the_program_lists_the_next_times(
        self, hourhand_jobs: FakeHourhand, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main()
        main()

        [schedule] = hourhand_jobs.client.schedules.list()
        assert schedule.revision == 1
        assert capsys.readouterr().out.startswith("2027-03-22T06:30:00+00:00\n")
