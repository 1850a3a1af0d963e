"""What happens in the local cloud, as short lines."""

from __future__ import annotations

import ast
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import hourhand
from hourhand.cli.lines import (
    ATTEMPT_ENDED,
    DECLARED,
    NORMAL,
    OCCURRENCE_CANCELLED,
    QUIET,
    VERBOSE,
    line_of,
)
from hourhand.domain.jobs.job import Priority
from hourhand.local.events import (
    ApiAnswered,
    BatchBegun,
    BatchEnded,
    ChildDied,
    ChildStarted,
    HandlersLoaded,
    Logged,
    Measured,
    News,
    Printed,
    QueueFailed,
    Ticked,
)
from hourhand.services.schedules import declarations

NOW = datetime(2026, 1, 5, 9, 8, 7, 65_000, tzinfo=UTC)
BODIES = ('{"job": "job-1"}',)
JOB = {
    "id": "job-1",
    "handler": "greet",
    "priority": "high",
    "status": "ENQUEUED",
    "created_at": "2026-01-05T09:00:00.000Z",
    "run_at": "2026-01-05T09:01:30.000Z",
}


SCHEDULE = {
    "id": "nightly",
    "expression": "30 2 * * *",
    "timezone": "Europe/Berlin",
    "handler": "greet",
    "status": "active",
    "next_at": "2026-01-06T01:30:00.000Z",
}
OF_NIGHTLY: dict[str, Any] = {"schedule_id": "nightly", "occurrence": "2026-01-05T01:30:00.000Z"}


def shown(news: News, detail: int = NORMAL) -> str | None:
    line = line_of(news, NOW, detail)
    return None if line is None else line.plain


def answer(method: str, path: str, status: int, body: Any) -> ApiAnswered:
    return ApiAnswered(method=method, path=path, status=status, body=json.dumps(body))


def logged(sentence: str, is_warning: bool = False, **fields: Any) -> Logged:
    level = "WARNING" if is_warning else "INFO"
    return Logged(name="worker-1", sentence=sentence, level=level, fields=fields)


def attempt(outcome: str, **fields: Any) -> Logged:
    known = {"job_id": "job-1", "handler": "greet", "attempt": 2, "outcome": outcome}
    return logged(ATTEMPT_ENDED, False, **known, **fields)


def test_a_schedule_that_a_tick_put_is_told() -> None:
    fields = {"schedule_id": "nightly", "expression": "30 2 * * *", "timezone": "Europe/Berlin"}
    line = shown(logged(DECLARED, False, **fields))
    assert line == "09:08:07.065  scheduled   nightly  30 2 * * * (Europe/Berlin), by its handler"
    assert declarations.DECLARED == DECLARED


def test_a_line_has_the_time_a_word_and_the_rest() -> None:
    line = shown(answer("POST", "/v1/jobs", 201, JOB))
    assert line == "09:08:07.065  submitted   job-1  greet  high, due in 1.5 min"


@pytest.mark.parametrize(
    ("news", "text"),
    [
        (answer("POST", "/v1/jobs", 200, JOB), "known       job-1  greet"),
        (
            answer("POST", "/v1/jobs", 201, {**JOB, "run_at": JOB["created_at"]}),
            "high, due now",
        ),
        (
            answer("POST", "/v1/jobs/batch", 200, {"results": [{"job": JOB}, {"error": {}}]}),
            "1 jobs in a batch, 1 refused",
        ),
        (
            answer("POST", "/v1/jobs/job-1/cancel", 200, {**JOB, "cancel_requested_at": "now"}),
            "cancelled   job-1  greet  is ENQUEUED, asked to stop",
        ),
        (answer("POST", "/v1/jobs/job-1/run-now", 200, JOB), "run now     job-1"),
        (answer("PATCH", "/v1/jobs/job-1", 200, JOB), "changed     job-1"),
        (
            answer("POST", "/v1/jobs/redrive", 200, {"matched": 3, "changed": 2}),
            "redriven    3 jobs match, 2 changed",
        ),
        (
            answer(
                "POST", "/v1/jobs", 422, {"errors": [{"field": "handler", "message": "is wrong"}]}
            ),
            "refused     POST /v1/jobs 422: handler is wrong",
        ),
        (answer("GET", "/v1/jobs/x", 404, {"detail": "No such job."}), "404: No such job."),
        (attempt("SUCCEEDED", took_ms=1234), "succeeded   job-1  greet  attempt 2, took 1.23 s"),
        (
            attempt("FAILED", took_ms=5, error="ConnectionError", will_retry=True),
            "failed      job-1  greet  attempt 2, took 5 ms, ConnectionError, will be retried",
        ),
        (
            attempt("TIMED_OUT", took_ms=5, error="TimedOut", will_retry=False),
            "TimedOut, no further attempt",
        ),
        (
            logged("Sent.", job_id="job-1", handler="greet", recipients=3, trace_id="t"),
            "log         job-1  greet  Sent. recipients=3",
        ),
        (
            answer("PUT", "/v1/schedules/nightly", 201, SCHEDULE),
            "scheduled   nightly  greet  30 2 * * * (Europe/Berlin), next at 2026-01-06T01:30",
        ),
        (
            answer(
                "PUT",
                "/v1/schedules/nightly",
                200,
                {**SCHEDULE, "expression": ["@daily", "@hourly"], "status": "ended"},
            ),
            "changed     nightly  greet  @daily | @hourly (Europe/Berlin), ended",
        ),
        (
            answer("POST", "/v1/schedules/nightly/pause", 200, {**SCHEDULE, "status": "paused"}),
            "paused      nightly  greet  30 2 * * * (Europe/Berlin), paused",
        ),
        (
            answer("POST", "/v1/schedules/nightly/resume", 200, SCHEDULE),
            "resumed     nightly  greet  30 2 * * * (Europe/Berlin), next at",
        ),
        (
            answer("POST", "/v1/handlers/greet/pause", 200, {"name": "greet"}),
            "paused      handler greet",
        ),
        (
            answer("POST", "/v1/schedules/nightly/trigger", 201, JOB),
            "triggered   job-1  greet  of nightly",
        ),
        (
            answer(
                "POST",
                "/v1/schedules/nightly/backfill",
                200,
                {"total": 3, "first": "A", "last": "B", "dry_run": False},
            ),
            "backfill    nightly  3 scheduled times, A to B",
        ),
        (
            ApiAnswered(method="DELETE", path="/v1/schedules/nightly", status=204, body=""),
            "deleted     schedule nightly",
        ),
        (
            answer("PUT", "/v1/calendars/holidays", 200, {"exclude": ["x", "y"], "revision": 4}),
            "calendar    holidays  2 exclusions, revision 4",
        ),
        (
            ApiAnswered(method="DELETE", path="/v1/calendars/holidays", status=204, body=""),
            "deleted     calendar holidays",
        ),
        (
            attempt("SUCCEEDED", took_ms=5, **OF_NIGHTLY),
            "attempt 2, took 5 ms, nightly at 2026-01-05T01:30:00.000Z",
        ),
        (
            logged(
                OCCURRENCE_CANCELLED, job_id="o.1", handler="greet", reason="overlap", **OF_NIGHTLY
            ),
            "skipped     o.1  greet  overlap, nightly at 2026-01-05T01:30:00.000Z",
        ),
        (HandlersLoaded(names=("a", "b")), "handlers    loaded: a, b"),
        (ChildStarted(name="worker-1", pid=7, is_restart=True), "worker-1 (pid 7) is ready again"),
    ],
)
def test_what_is_told_normally(news: News, text: str) -> None:
    line = shown(news)
    assert line is not None
    assert text in line
    assert shown(news, QUIET) is None


@pytest.mark.parametrize(
    ("news", "text"),
    [
        (Printed(name="worker-1", line="Hello"), "worker-1    Hello"),
        (
            ChildDied(name="worker-1", pid=7, exit_code=-9, restart_seconds=0.1, at_monotonic=1.0),
            "worker-1 (pid 7): killed by signal 9 (Killed); restarts in 0.1 s",
        ),
        (QueueFailed(operation="receive", reason="gone"), "receive failed: gone"),
        (HandlersLoaded(error="SyntaxError"), "the previous ones stay: SyntaxError"),
        (
            Ticked(name="s", at=NOW, request_id="r", took_seconds=1, error="Unavailable: no"),
            "failed, the next tick tries again: Unavailable: no",
        ),
        (
            BatchEnded(
                worker="worker-1", pid=7, queue=Priority.LOW, bodies=BODIES, crash="it died"
            ),
            "job-1 in worker-1: it died",
        ),
        (logged("A heartbeat failed.", is_warning=True, job_id="j"), "failed. job_id=j"),
    ],
)
def test_what_must_not_be_missed_is_told_to_the_quiet_too(news: News, text: str) -> None:
    line = shown(news, QUIET)
    assert line is not None
    assert text in line


@pytest.mark.parametrize(
    ("news", "text"),
    [
        (answer("GET", "/v1/jobs", 200, {}), "GET /v1/jobs 200"),
        (
            answer("POST", "/v1/schedules/nightly/backfill", 200, {"dry_run": True}),
            "POST /v1/schedules/nightly/backfill 200",
        ),
        (answer("POST", "/v1/schedules/preview", 200, {}), "POST /v1/schedules/preview 200"),
        (ChildStarted(name="worker-1", pid=7), "worker-1 (pid 7)"),
        (
            Ticked(
                name="scheduler-1",
                at=NOW,
                request_id="r",
                took_seconds=0.25,
                report={"led": True, "holder": "r", "entries": 3},
            ),
            "scheduler-1 250 ms led=True entries=3",
        ),
        (BatchBegun(worker="w", pid=7, queue=Priority.LOW, bodies=BODIES), "job-1 by w from low"),
        (BatchEnded(worker="w", pid=7, queue=Priority.LOW, bodies=BODIES), "job-1 by w"),
        (Measured(name="worker-1", values={"ticks": (1.0, 2.0)}), "worker-1: ticks=3.0"),
        (logged("Something internal.", lease="leader"), "worker-1: Something internal."),
    ],
)
def test_the_rest_is_for_those_who_want_all(news: News, text: str) -> None:
    assert shown(news) is None
    line = shown(news, VERBOSE)
    assert line is not None
    assert text in line


def _logged_by_the_source() -> list[tuple[str, frozenset[str]]]:
    """Return each sentence that the source logs, with the names of its fields."""
    source = Path(hourhand.__file__).parent
    calls = [
        node
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"debug", "info", "warning", "error", "exception"}
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]
    return sorted(
        {
            (str(call.args[0].value), frozenset(word.arg for word in call.keywords if word.arg))
            for call in calls
            if isinstance(call.args[0], ast.Constant)
        },
        key=str,
    )


def test_every_sentence_that_the_source_logs_has_a_line() -> None:
    logged = _logged_by_the_source()
    assert ("A handler was paused.", frozenset({"handler", "until", "note"})) in logged
    assert len(logged) > 60
    for sentence, names in logged:
        fields = {name: 1 if name.endswith("_ms") else "x" for name in names}
        for level in ("INFO", "WARNING"):
            news = Logged(name="api", sentence=sentence, level=level, fields=fields)
            assert shown(news, VERBOSE) is not None
            shown(news, NORMAL)
            shown(news, QUIET)


def test_an_answer_that_is_no_json_is_told_all_the_same() -> None:
    broken = ApiAnswered(method="GET", path="/x", status=500, body="<html>")
    assert shown(broken) == "09:08:07.065  refused     GET /x 500: "


def test_an_accepted_submission_whose_answer_is_no_job_is_not_told() -> None:
    news = ApiAnswered(method="POST", path="/v1/jobs", status=201, body="")
    assert shown(news) is None


def test_square_brackets_in_what_users_print_stay_as_they_are() -> None:
    assert shown(Printed(name="w", line="[red]not markup[/]")) is not None
    line = line_of(Printed(name="w", line="[red]not markup[/]"), NOW)
    assert line is not None
    assert line.plain.endswith("[red]not markup[/]")


def test_the_plan_of_a_redrive_changes_nothing_and_has_no_line() -> None:
    plan = answer("POST", "/v1/jobs/j-1/redrive", 200, {"reset": ["a"], "kept": []})
    assert line_of(plan, NOW) is None
