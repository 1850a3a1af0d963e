"""The logs of jobs in memory are bounded: the newest lines stay, of the jobs that logged last."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.log import Span
from hourhand.memory import START, MemoryJobLogs, job_logs

ALWAYS = Span(START - timedelta(days=1), START + timedelta(days=1))


def messages(logs: MemoryJobLogs, job_id: str) -> list[str]:
    return [line.message for line in logs.read(job_id, ALWAYS).lines]


def test_of_a_job_that_logs_much_the_newest_lines_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_logs, "MAX_LINES_A_JOB", 3)
    logs = MemoryJobLogs()
    for number in range(5):
        logs.add({"job_id": "one", "message": str(number)}, START)
    assert messages(logs, "one") == ["2", "3", "4"]


def test_of_many_jobs_those_stay_that_logged_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_logs, "MAX_LINES", 3)
    logs = MemoryJobLogs()
    for job_id in ("one", "two", "one", "three"):
        logs.add({"job_id": job_id, "message": job_id}, START)
    assert messages(logs, "two") == []
    assert messages(logs, "one") == ["one", "one"]
    assert messages(logs, "three") == ["three"]
    logs.add({"job_id": "four", "message": "four"}, START)
    assert [messages(logs, job_id) for job_id in ("one", "three", "four")] == [
        [],
        ["three"],
        ["four"],
    ]


def test_a_line_of_no_job_is_not_kept_and_times_are_whole_milliseconds() -> None:
    logs = MemoryJobLogs()
    logs.add({"message": "of no job"}, START)
    logs.add({"job_id": "one", "message": "m"}, START + timedelta(microseconds=1999))
    (line,) = logs.read("one", ALWAYS).lines
    assert line.at == START + timedelta(milliseconds=1)
