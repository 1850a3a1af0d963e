"""The whole of it as a user runs it: ``hourhand dev``, curl, an editor, ``kill -9`` and Ctrl-C.

Real processes and real time. What a deployment does, too, is in ``test_acceptance.py``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.e2e.dev_process import WAIT_SECONDS, Dev

JOBS = """
import os
import time
from hourhand import JobContext, job

@job("greet")
def greet(ctx: JobContext, payload):
    print("printed by greet")
    return {"hello": payload, "sees": os.environ["OF_THE_COMMAND"], "pid": os.getpid()}

@job("take-long")
def take_long(ctx: JobContext, payload):
    until = time.monotonic() + payload
    while time.monotonic() < until and not ctx.cancelled:
        time.sleep(0.05)
    if ctx.cancelled:
        raise RuntimeError("told to stop")
    return {"pid": os.getpid(), "attempt": ctx.attempt}
"""
ADDED = """

@job("wave")
def wave(ctx: JobContext, payload):
    return "waved"
"""


def start_dev(folder: Path) -> Dev:
    handlers = folder / "e2e_jobs.py"
    handlers.write_text(JOBS)
    return Dev(handlers, {"OF_THE_COMMAND": "yes"})


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    dev = start_dev(tmp_path_factory.mktemp("dev"))
    yield dev
    if dev.process.poll() is None:
        dev.end(signal.SIGTERM)


def test_a_job_goes_all_the_way_and_sees_the_commands_environment(dev: Dev) -> None:
    job = dev.reach(dev.submit(handler="greet", payload="you")["id"], "SUCCEEDED")
    assert job["result"]["hello"] == "you"
    assert job["result"]["sees"] == "yes"
    assert job["result"]["pid"] in dev.pids()
    assert job["lateness_ms"] < 5000
    dev.wait(lambda: dev.match(r"(worker-\d +printed by greet)"))
    dev.wait(lambda: dev.match(rf"(succeeded +{job['id']})"))


def test_the_console_is_where_the_command_says(dev: Dev) -> None:
    address = dev.match(r"console +(http://\S+)")
    assert address == f"http://127.0.0.1:{dev.port}/console/"
    with urlopen(address) as page:  # noqa: S310 - of loopback
        assert page.headers["content-type"].startswith("text/html")


def test_a_large_payload_is_accepted_and_told(dev: Dev) -> None:
    job = dev.submit(handler="greet", payload="x" * 1_200_000)
    assert len(job["payload"]) == 1_200_000
    dev.wait(lambda: dev.match(rf"(submitted +{job['id']})"))
    dev.reach(job["id"], "SUCCEEDED")


def test_hundreds_of_jobs_are_accepted_and_each_is_listed_once(dev: Dev) -> None:
    accepted = set()
    for _ in range(3):
        jobs = [{"handler": "greet", "delay_seconds": 86_400, "tenant": "many"}] * 100
        results = dev.client.post("/v1/jobs/batch", {"jobs": jobs}).body["results"]
        accepted |= {each["job"]["id"] for each in results}
    assert len(accepted) == 300
    listed: list[str] = []
    path: str | None = "/v1/jobs?tenant=many&limit=100"
    while path is not None:
        page = dev.client.get(path).body
        listed += [job["id"] for job in page["jobs"]]
        cursor = page["next_cursor"]
        path = f"/v1/jobs?tenant=many&limit=100&cursor={cursor}" if cursor else None
    assert len(listed) == 300
    assert set(listed) == accepted


def test_killing_the_worker_in_mid_job_gets_the_job_finished_by_another(dev: Dev) -> None:
    job_id = dev.submit(handler="take-long", payload=3)["id"]
    dev.reach(job_id, "RUNNING")
    name = dev.wait(lambda: dev.match(rf"received +{job_id} by (worker-\d)"))
    pid = int(dev.wait(lambda: dev.match(rf"started +{name} \(pid (\d+)\)$")))
    os.kill(pid, signal.SIGKILL)
    job = dev.reach(job_id, "SUCCEEDED", "DEAD")
    assert [attempt["outcome"] for attempt in job["attempts"]] == ["LOST", "SUCCEEDED"]
    assert job["result"]["pid"] != pid
    assert dev.match(rf"(died +{name} \(pid {pid}\): killed by signal 9)")
    dev.wait(lambda: dev.match(rf"(started +{name} \(pid \d+\) is ready again)"))


def test_handlers_are_read_again_when_their_file_changes_and_a_broken_one_is_not(
    dev: Dev,
) -> None:
    dev.handlers.write_text(JOBS + ADDED)
    dev.wait(lambda: dev.match(r"(handlers +loaded: .*wave)"))
    job = dev.reach(dev.submit(handler="wave")["id"], "SUCCEEDED")
    assert job["result"] == "waved"
    dev.handlers.write_text(JOBS + ADDED + "\nthis is no Python\n")
    dev.wait(lambda: dev.match(r"(handlers +not loaded, the previous ones stay)"))
    job = dev.reach(dev.submit(handler="wave")["id"], "SUCCEEDED")
    assert job["result"] == "waved"
    dev.handlers.write_text(JOBS + ADDED)


def test_a_schedule_fires_at_its_times_until_it_is_deleted(dev: Dev) -> None:
    body = {"handler": "greet", "expression": "rate(2 seconds)", "overlap": "allow"}
    path = "/v1/schedules/often"
    put = dev.client.put(path, body)
    assert put.status == 201, put
    first = datetime.fromisoformat(put.body["next_at"])
    dev.wait(lambda: True if len(came(dev, "often")) >= 3 and first in came(dev, "often") else None)
    triggered = dev.client.post(f"{path}/trigger", {})
    assert dev.reach(triggered.body["id"], "SUCCEEDED")["schedule_id"] == "often"
    assert dev.client.delete(path).status == 204
    times = came(dev, "often", withdrawn="deleted")
    # On a busy machine the first ones passed before the schedule's creation was answered.
    assert first in times
    assert times == [times[0] + timedelta(seconds=2 * number) for number in range(len(times))]
    for job in dev.client.get("/v1/jobs?schedule_id=often&limit=200").body["jobs"]:
        # What it had made ahead is withdrawn; what had come, and what was triggered, runs.
        ran = (
            job["id"] == triggered.body["id"] or datetime.fromisoformat(job["occurrence"]) in times
        )
        dev.reach(job["id"], "SUCCEEDED" if ran else "CANCELLED")
    assert dev.match(r"(scheduled +often  greet  rate\(2 seconds\))")
    dev.wait(lambda: dev.match(r"(succeeded +o\.\S+  greet  .*, often at \d{4}-)"))
    assert dev.match(r"(deleted +schedule often)")


def came(dev: Dev, schedule_id: str, withdrawn: str | None = None) -> list[datetime]:
    """Return the nominal times that came, the oldest first.

    With ``withdrawn``, the newest of those that passed may carry this reason
    instead of a job: they were made ahead, and are left out.
    """
    rows = dev.client.get(f"/v1/schedules/{schedule_id}/occurrences?limit=200").body["occurrences"]
    own = [row for row in rows if row["kind"] == "schedule"]
    while withdrawn and own and own[0]["reason"] == withdrawn:
        own.pop(0)
    assert [row["reason"] for row in own] == [None] * len(own)
    return [datetime.fromisoformat(row["at"]) for row in own][::-1]


def test_what_is_refused_is_a_problem_that_names_the_field(dev: Dev) -> None:
    answer = dev.client.post("/v1/jobs", {"handler": "unheard-of"})
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == ["handler"]
    dev.wait(lambda: dev.match(r"(refused +POST /v1/jobs 422: handler is not)"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_everything_that_was_started_and_exits_with_0(
    tmp_path: Path, number: signal.Signals
) -> None:
    dev = start_dev(tmp_path)
    dev.submit(handler="take-long", payload=60)
    pids = dev.wait(lambda: dev.pids() if len(dev.pids()) == 3 else None)
    assert dev.end(number) == 0
    assert dev.lines[-1] == "Stopped. Nothing is left running."
    assert not any(is_alive(pid) for pid in pids)


def test_the_cloud_killed_outright_takes_its_children_along(tmp_path: Path) -> None:
    dev = start_dev(tmp_path)
    pids = dev.wait(lambda: dev.pids() if len(dev.pids()) == 3 else None)
    assert dev.end(signal.SIGKILL) == -signal.SIGKILL
    dev.wait(lambda: True if not any(is_alive(pid) for pid in pids) else None)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        # No such folder on this system, or the process is gone by now.
        return not Path("/proc").exists()
    # One that only waits for somebody to take note of its end is dead.
    return state != "Z"


def test_an_unknown_timing_is_refused_before_anything_starts() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "hourhand.cli.main", "dev", "--handlers", "x", "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOURHAND_TIMINGS": json.dumps({"tack": 1})},
        timeout=WAIT_SECONDS,
    )
    assert ran.returncode == 1
    assert "has unknown timings: tack" in ran.stderr
