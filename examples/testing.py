"""Testing: a job, the code that submits it, and their tests, without AWS and without waiting.

In the checkout:

    $ .venv/bin/python -m pytest -p hourhand.testing.fixtures examples/testing.py

The fixture `hourhand_jobs` stands in for a whole installation, on a clock that the test moves. In
your own project, name the plugin in `conftest.py`, and put the tests into a file of their own.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hourhand import JobContext, NotRetryable, Retry, job
from hourhand.testing import FakeHourhand, make_context

OUTBOX: list[str] = []


@job("remind-of-trial", retry=Retry(max_attempts=3, base_seconds=60))
def remind_of_trial(ctx: JobContext, payload: dict[str, str]) -> None:
    if "@" not in payload["email"]:
        raise NotRetryable("This is not an email address.")
    OUTBOX.append(payload["email"])


def start_trial(email: str) -> str:
    return remind_of_trial.submit({"email": email}, delay=timedelta(days=12)).id


def test_a_wrong_address_is_not_retried() -> None:
    with pytest.raises(NotRetryable):
        remind_of_trial(make_context(attempt=1), {"email": "ada"})


def test_the_reminder_is_sent_after_twelve_days(hourhand_jobs: FakeHourhand) -> None:
    job_id = start_trial("ada@example.org")

    hourhand_jobs.assert_submitted("remind-of-trial", delay=timedelta(days=12), count=1)
    assert hourhand_jobs.advance(days=11) == []
    hourhand_jobs.advance(days=1)
    assert hourhand_jobs.get(job_id).status == "SUCCEEDED"


def test_a_failure_is_retried_after_a_minute(hourhand_jobs: FakeHourhand) -> None:
    hourhand_jobs.stub("remind-of-trial", fail_once)
    start_trial("ada@example.org")

    runs = hourhand_jobs.advance(days=12, minutes=1)
    assert [run.outcome for run in runs] == ["FAILED", "SUCCEEDED"]


def test_a_schedule_runs_on_its_days(hourhand_jobs: FakeHourhand) -> None:
    hourhand_jobs.client.schedules.put(
        "monthly", expression="0 9 1 * *", handler="remind-of-trial", payload={"email": "a@b.org"}
    )

    [run] = hourhand_jobs.advance_to(first_of_next_month(hourhand_jobs.now) + timedelta(days=1))
    assert (run.at.day, run.at.hour) == (1, 9)


def fail_once(ctx: JobContext, payload: Any) -> None:
    if ctx.attempt == 1:
        raise ConnectionError("The mail server is down.")


def first_of_next_month(now: datetime) -> datetime:
    return (now.replace(day=1) + timedelta(days=32)).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC
    )
