"""The schedule beside its handler is declared, and those of the file are what the API takes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from examples.schedules_as_code import REPORTS, nightly_cleanup, tenant_report
from hourhand import NotRetryable
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.cli.schedules.files import FileSchedule, read_schedules
from hourhand.handlers import default_registry
from hourhand.local.entry_points import examples_path
from hourhand.ports.handler_directory import DeclaredSchedule
from hourhand.testing import FakeHourhand, make_context

FILE = examples_path() / "examples" / "schedules_as_code.yaml"


@pytest.fixture
def schedules() -> list[FileSchedule]:
    return read_schedules([str(FILE)])


def test_the_nightly_job_declares_when_it_runs() -> None:
    handler = default_registry.get("nightly-cleanup")
    handler.check()
    assert handler.schedule == DeclaredSchedule(expression="30 2 * * *", timezone="Europe/Berlin")


def test_each_schedule_of_the_file_is_one_that_the_api_takes(
    schedules: list[FileSchedule],
) -> None:
    parsed = {one.id: ScheduleInput.parse(dict(one.fields)) for one in schedules}
    assert {name: one.handler for name, one in parsed.items()} == {
        "report-acme": "tenant-report",
        "report-globex": "tenant-report",
    }


def test_each_payload_of_the_file_is_one_that_the_handler_takes(
    schedules: list[FileSchedule], hourhand_jobs: FakeHourhand
) -> None:
    submitted = [tenant_report.submit(one.fields["payload"]) for one in schedules]
    assert [hourhand_jobs.run(job).result for job in submitted] == [*REPORTS.values()]


def test_an_unknown_tenant_is_refused_for_good() -> None:
    with pytest.raises(NotRetryable, match="no tenant nobody"):
        tenant_report(make_context(), {"tenant": "nobody"})


def test_the_cleanup_names_the_time_of_its_run() -> None:
    run_at = datetime(2027, 1, 1, tzinfo=UTC)
    assert nightly_cleanup(make_context(run_at=run_at)) == "clean since 2027-01-01T00:00:00+00:00"
