"""The local cloud over its own memory, also on a fast clock: a day of jobs in a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hourhand.domain.ticks.timings import Timings
from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.events import ChildDied, Logged, News
from hourhand.local.handler_watch import HandlersBroken
from tests.acceptance.http_api import local_api

WAIT_SECONDS = 30.0
HOURS = 3600.0

JOBS = """
import os
import time
from hourhand import JobContext, Retry, job

@job("hourly-note")
def note(ctx: JobContext, payload):
    ctx.logger.info("Noted.")
    return payload

@job("fails-once", retry=Retry(max_attempts=2))
def fails_once(ctx: JobContext, payload):
    if ctx.attempt == 1:
        raise ConnectionError("once")

@job("pay", durable=True)
def pay(ctx):
    paid = ctx.callback("paid")
    ctx.step("ask", str, paid.url)
    return paid.result()

@job("asks-for-a-note")
def asks(ctx: JobContext, payload):
    return note.submit(payload).id

@job("exits", retry=Retry(max_attempts=1))
def exits(ctx: JobContext, payload):
    os._exit(9)

@job("deaf", timeout=1, retry=Retry(max_attempts=1))
def deaf(ctx: JobContext, payload):
    time.sleep(6)
"""


DECLARED = """
@job("tidy", schedule="{rule}", timezone="Europe/Berlin")
def tidy(ctx: JobContext):
    return "tidied"
"""


class Running:
    def __init__(self, cloud: LocalCloud, heard: list[News]) -> None:
        self.cloud, self.heard = cloud, heard
        self.client = local_api(cloud.url)

    def submit(self, **body: Any) -> str:
        answer = self.client.post("/v1/jobs", body)
        assert answer.status == 201, answer
        return str(answer.body["id"])

    def final(self, job_id: str) -> dict[str, Any]:
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            job = self.client.get(f"/v1/jobs/{job_id}").body
            if job["finished_at"] is not None:
                return job
            time.sleep(0.02)
        raise AssertionError(f"{job_id} did not end: {job}")

    def step_result(self, job_id: str, path: str) -> Any:
        """Wait until a step of a run succeeded; return its result."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            steps = self.client.get(f"/v1/jobs/{job_id}/steps").body["steps"]
            for step in steps:
                if (step["path"], step["status"]) == (path, "succeeded"):
                    return step["result"]
            time.sleep(0.02)
        raise AssertionError(f"{job_id} did not run {path}: {steps}")

    def log_with(self, job_id: str, message: str) -> list[dict[str, Any]]:
        """Wait until a job's log has a line: it comes by another way than the job's end."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            lines = self.client.get(f"/v1/jobs/{job_id}/logs").body["lines"]
            if message in [line["message"] for line in lines]:
                return list(lines)
            time.sleep(0.02)
        raise AssertionError(f"{job_id} did not log {message!r}: {lines}")

    def ended_occurrences(self, schedule_id: str, count: int) -> list[dict[str, Any]]:
        """Wait until so many occurrences succeeded; return them, the newest first."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            rows = self.client.get(f"/v1/schedules/{schedule_id}/occurrences").body["occurrences"]
            jobs = [row["job"] for row in rows]
            if len([job for job in jobs if job and job["status"] == "SUCCEEDED"]) >= count:
                return list(rows)
            time.sleep(0.02)
        raise AssertionError(f"{schedule_id} did not come {count} times: {rows}")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    (tmp_path / "memory_cloud_jobs.py").write_text(JOBS)
    running: list[Running] = []

    def start(speed: float, timings: Timings = Timings()) -> Running:  # noqa: B008 - frozen
        heard: list[News] = []
        options = CloudOptions(
            handlers="memory_cloud_jobs",
            port=0,
            speed=speed,
            workers=2,
            timings=timings,
            path=str(tmp_path),
        )
        cloud = LocalCloud(options, heard.append)
        cloud.start()
        running.append(Running(cloud, heard))
        return running[-1]

    yield start
    for one in running:
        one.cloud.stop()


def test_a_day_passes_in_moments(run: Callable[[float], Running]) -> None:
    running = run(36_000.0)
    jobs = [
        running.submit(handler="hourly-note", payload=hour, delay_seconds=hour * HOURS)
        for hour in range(1, 25)
    ]
    ended = [running.final(job_id) for job_id in jobs]
    assert [job["status"] for job in ended] == ["SUCCEEDED"] * 24
    assert [job["result"] for job in ended] == list(range(1, 25))
    assert all(job["lateness_ms"] >= 0 for job in ended)


def test_the_url_of_a_callback_leads_to_the_cloud(run: Callable[[float], Running]) -> None:
    running = run(1.0)
    job_id = running.submit(handler="pay")
    url = running.step_result(job_id, "ask")
    assert url.startswith(f"{running.cloud.url}/v1/callbacks/cb_")
    answer = running.client.post(f"{url.removeprefix(running.cloud.url)}/succeed", {"result": 7})
    assert answer.status == 200, answer
    assert running.final(job_id)["result"] == 7


def test_a_handler_submits_to_its_own_cloud_whatever_the_shell_names(
    run: Callable[[float], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOURHAND_ENDPOINT", "http://127.0.0.1:9")
    running = run(1.0)
    asked = running.final(running.submit(handler="asks-for-a-note", payload="hello"))
    assert running.final(asked["result"])["result"] == "hello"


def test_each_nominal_time_of_a_schedule_comes_once(run: Callable[[float], Running]) -> None:
    running = run(18_000.0)
    body = {"handler": "hourly-note", "expression": "0 * * * *", "misfire": {"policy": "all"}}
    put = running.client.put("/v1/schedules/hourly", {**body, "max_occurrences": 8})
    assert put.status == 201, put
    rows = running.ended_occurrences("hourly", 8)
    # An hour passes in a fifth of a second: `next_at` may be a later one by the time it is told.
    created_at = datetime.fromisoformat(put.body["created_at"])
    first = created_at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    times = [datetime.fromisoformat(row["at"]) for row in rows[::-1]]
    assert times == [first + timedelta(hours=number) for number in range(8)]
    assert running.client.get("/v1/schedules/hourly").body["status"] == "ended"


def test_a_declared_schedule_follows_the_file_of_its_handler(
    run: Callable[[float], Running], tmp_path: Path
) -> None:
    file = tmp_path / "memory_cloud_jobs.py"
    file.write_text(JOBS + DECLARED.format(rule="30 2 * * *"))
    running = run(1.0)

    def wait_for(**fields: Any) -> dict[str, Any]:
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            found = running.client.get("/v1/schedules/tidy").body
            if {name: found.get(name) for name in fields} == fields:
                return found
            time.sleep(0.02)
        raise AssertionError(f"the schedule did not become {fields}: {found}")

    told = wait_for(expression="30 2 * * *", status="active")
    assert (told["managed_by"], told["timezone"]) == ("code", "Europe/Berlin")
    file.write_text(JOBS + DECLARED.format(rule="45 2 * * *"))
    wait_for(expression="45 2 * * *", status="active")
    file.write_text(JOBS)
    assert "declares it no more" in wait_for(status="paused")["note"]
    file.write_text(JOBS + DECLARED.format(rule="45 2 * * *"))
    assert wait_for(status="active")["note"] is None


def test_a_retry_and_a_handlers_line_work_as_everywhere(run: Callable[[float], Running]) -> None:
    running = run(10.0)
    job = running.final(running.submit(handler="fails-once"))
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["FAILED", "SUCCEEDED"]
    running.final(running.submit(handler="hourly-note"))
    said = [one for one in running.heard if isinstance(one, Logged) and one.sentence == "Noted."]
    assert [one.fields["handler"] for one in said] == ["hourly-note"]


@pytest.mark.parametrize("speed", [1.0, 3600.0])
def test_the_lines_of_a_handler_are_the_log_of_its_job(
    run: Callable[[float], Running], speed: float
) -> None:
    running = run(speed)
    job_id = running.submit(handler="hourly-note")
    running.final(job_id)
    lines = running.log_with(job_id, "Noted.")
    (noted,) = [line for line in lines if line["message"] == "Noted."]
    assert (noted["level"], noted["attempt"]) == ("INFO", 1)
    newest = running.client.get(f"/v1/jobs/{job_id}/logs?order=newest").body["lines"]
    assert [line["at"] for line in newest] == sorted((line["at"] for line in newest), reverse=True)


def test_a_handler_that_ends_its_process_leaves_the_server(run: Callable[..., Running]) -> None:
    running = run(1.0, Timings().scaled(0.1))
    job = running.final(running.submit(handler="exits", on_lost="dead"))
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["LOST"]
    assert job["error"]["message"].startswith("its worker died or lost contact (lease ended at 2")
    assert job["error"]["message"].endswith("Z): exit code 9")
    assert [one.exit_code for one in running.heard if isinstance(one, ChildDied)] == [9]
    assert running.final(running.submit(handler="hourly-note"))["status"] == "SUCCEEDED"


def test_a_handler_that_ignores_its_limit_costs_its_process_alone(
    run: Callable[[float], Running],
) -> None:
    running = run(1.0)
    job = running.final(running.submit(handler="deaf"))
    assert job["status"] == "DEAD"
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["TIMED_OUT"]
    # Each of the two workers still works, the one whose process ended too.
    ended = [running.final(running.submit(handler="hourly-note")) for _ in range(4)]
    assert [job["status"] for job in ended] == ["SUCCEEDED"] * 4


def test_handlers_that_cannot_be_loaded_leave_nothing_running() -> None:
    cloud = LocalCloud(CloudOptions(handlers="no_such_module_here", port=0), lambda _: None)
    with pytest.raises(HandlersBroken):
        cloud.start()
