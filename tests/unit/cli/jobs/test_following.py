"""The last line of a job that is followed on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from hourhand.cli.jobs.following import _now
from hourhand.cli.output.times import Times
from hourhand.client import Job
from hourhand.client._values import read
from hourhand.domain.times import rfc3339
from hourhand.memory import START


def job(**fields: Any) -> Job:
    told: dict[str, Any] = {
        "id": "mine",
        "handler": "greet",
        "status": "RUNNING",
        "run_at": rfc3339(START),
        "created_at": rfc3339(START),
        "priority": "medium",
        "attempt": 1,
        "timeout_seconds": 300,
        "retention_seconds": 1,
        "on_lost": "retry",
        "pool": "default",
        "retry": {
            "max_attempts": 6,
            "backoff": "fixed",
            "base_seconds": 1,
            "max_delay_seconds": 1,
            "jitter": "none",
        },
        "tags": {},
        "attempts": [],
        **fields,
    }
    return read(Job, told)


def shown(**fields: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=80, markup=False).print(_now(job(**fields), Times(START)))
    return stream.getvalue().strip()


@pytest.mark.parametrize(
    ("progress", "told"),
    [
        (None, "RUNNING"),
        ({"done": 3, "total": None, "message": "rows"}, "3 done rows"),
        ({"done": 3, "total": 0, "message": None}, "3 done"),
        ({"done": 1, "total": 4, "message": None}, "25% 1 of 4"),
        ({"done": 9, "total": 4, "message": "more than all"}, "100% 9 of 4 more than all"),
        ({"done": 1, "total": 2, "message": "\x1b[2J[red]x"}, "\\x1b[2J[red]x"),
    ],
)
def test_a_running_job_shows_how_far_its_handler_says_it_is(progress: Any, told: str) -> None:
    text = shown(progress=progress)
    assert text.startswith("RUNNING")
    assert told in text
    assert "\x1b" not in text


def test_it_shows_for_how_long_it_runs_and_when_it_is_due() -> None:
    began_at = "2026-01-05T08:58:00.000Z"
    assert "RUNNING for 2 min" in shown(started_at=began_at)
    assert shown(status="RETRYING", due_at="2026-01-05T09:00:30.000Z").startswith(
        "RETRYING, due in 30 s"
    )
