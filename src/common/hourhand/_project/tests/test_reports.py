"""The jobs of this project, run in memory on a clock that the test moves."""

import json
from pathlib import Path

import pytest
from hourhand.testing import FakeHourhand

from jobs import reports
from jobs.reports import Report, send_report

SCHEDULES = Path(__file__).parents[1] / "schedules"


def test_a_report_is_sent_after_an_hour(hourhand_jobs: FakeHourhand) -> None:
    job = send_report.submit(Report(to="ada@example.org"), delay=3600)
    hourhand_jobs.advance(hours=1)
    assert hourhand_jobs.get(job).status == "SUCCEEDED"


def test_a_report_that_fails_once_is_sent_by_the_retry(
    hourhand_jobs: FakeHourhand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(report: Report) -> None:
        raise ConnectionError("The mail server does not answer.")

    job = send_report.submit(Report(to="ada@example.org"))
    with monkeypatch.context() as patched:
        patched.setattr(reports, "deliver", fail)
        hourhand_jobs.run_due()
    failed = hourhand_jobs.get(job)
    assert failed.status == "RETRYING"
    assert failed.error is not None
    assert failed.error.type == "ConnectionError"

    hourhand_jobs.advance(minutes=1)
    sent = hourhand_jobs.get(job)
    assert (sent.status, sent.attempt) == ("SUCCEEDED", 2)


def test_each_schedule_has_a_payload_that_its_handler_takes(hourhand_jobs: FakeHourhand) -> None:
    for file in SCHEDULES.glob("*.json"):
        schedule = json.loads(file.read_text(encoding="utf-8"))
        job = hourhand_jobs.client.submit(schedule["handler"], schedule["payload"])
        assert hourhand_jobs.run(job).status == "SUCCEEDED", file.name
