"""A type checker accepts what the public API takes, and finds a value that is not one of a few."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_time

ROOT = Path(__file__).parents[3]
HEAD = """\
from datetime import UTC, datetime

from hourhand import AsyncClient, Client, JobContext, Retry, job
from hourhand.client import Submission

START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
client, later = Client(), AsyncClient()


@job("send", priority="high", on_lost="dead", retry=Retry(backoff="fixed", jitter="none"))
def send(ctx: JobContext, payload: dict[str, str]) -> str:
    return payload["to"]


"""
RIGHT = """\
send.submit({"to": "a"}, priority="low", on_lost="retry")
client.submit("send", priority="medium")
client.reschedule("id", priority="high")
client.submit_many([Submission(handler="send", priority="low", on_lost="dead")])
for found in client.list(status="DEAD"):
    print(found.id)
client.cancel_many(status="PENDING")
client.schedules.put(
    "s", handler="send", misfire="latest", overlap="skip", dst_gap="shift", dst_fold="both"
)
client.schedules.backfill(
    "s", START, END, overlap="allow", order="newest", reprocess="failed", max_active=1
)
"""
WRONG = (
    'job("x", priority="urgent")',
    'job("x", on_lost="drop")',
    'Retry(backoff="exponental")',
    'Retry(jitter="some")',
    'send.submit({"to": "a"}, priority="urgent")',
    'client.submit("send", on_lost="drop")',
    'client.reschedule("id", priority="urgent")',
    'client.list(status="DONE")',
    'client.cancel_many(status="dead")',
    'client.schedules.put("s", misfire="newest")',
    'client.schedules.put("s", overlap="queue")',
    'client.schedules.put("s", dst_gap="later")',
    'client.schedules.put("s", dst_fold="last")',
    'client.schedules.put("s", priority="urgent")',
    'client.schedules.backfill("s", START, END, overlap="queue")',
    'client.schedules.backfill("s", START, END, order="random")',
    'client.schedules.backfill("s", START, END, reprocess="some")',
    'later.list(status="DONE")',
    'Submission(handler="send", priority="urgent")',
)


def test_a_value_that_is_not_one_of_the_choices_is_found(tmp_path: Path) -> None:
    wrong = "".join(f"{line}\n" for line in WRONG)
    file = tmp_path / "usage.py"
    file.write_text(HEAD + RIGHT + wrong)
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
            *("--config-file", "", "--cache-dir", str(tmp_path / "cache"), str(file)),
        ],
        cwd=ROOT / "src" / "common",
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    found = {
        int(number): text
        for number, text in re.findall(r"usage\.py:(\d+): error: (.*)", ran.stdout)
    }
    first = len((HEAD + RIGHT).splitlines()) + 1
    assert found.keys() == set(range(first, first + len(WRONG))), ran.stdout + ran.stderr
    # The message lists what is allowed.
    assert all("Literal[" in text or "Priority" in text for text in found.values())
