"""The jobs of this project, run in memory on a clock that the test moves."""

import json
from pathlib import Path

from hourhand.testing import FakeHourhand
from jobs.reports import Report, send_report

SCHEDULES = Path(__file__).parents[1] / "schedules"


def test_a_report_is_sent_after_its_delay(hourhand_jobs: FakeHourhand) -> None:
    job = send_report.submit(Report(to="ada@example.org", days=7), delay=3600)
    hourhand_jobs.advance(hours=1)
    ended = hourhand_jobs.get(job)
    assert (ended.status, ended.result) == ("SUCCEEDED", {"sent_to": "ada@example.org", "days": 7})


def test_each_schedule_has_a_payload_that_its_handler_takes(hourhand_jobs: FakeHourhand) -> None:
    for file in SCHEDULES.glob("*.json"):
        schedule = json.loads(file.read_text(encoding="utf-8"))
        job = hourhand_jobs.client.submit(schedule["handler"], schedule["payload"])
        assert hourhand_jobs.run(job).status == "SUCCEEDED", file.name
