"""What was submitted, held against what a test expects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest.mock import ANY

import pytest

from hourhand import Retry
from hourhand.memory import START
from hourhand.testing.submissions import ANYTHING, Expectation, SubmissionLog, list_submissions


@dataclass
class Welcome:
    email: str


def snapshot(**overrides: Any) -> dict[str, Any]:
    return {
        "id": "job-1",
        "handler": "greet",
        "payload": {"email": "ada@example.org"},
        "run_at": "2026-01-05T09:01:00.000Z",
        "created_at": "2026-01-05T09:00:00.000Z",
        "priority": "medium",
        "tags": {"team": "blue", "plan": "free"},
        "retry": {"max_attempts": 3, "base_seconds": 1.0},
        "expires_at": None,
        **overrides,
    }


def answer(body: Any, status: int = 201) -> dict[str, Any]:
    return {"statusCode": status, "body": json.dumps(body), "isBase64Encoded": False}


def event(path: str, method: str = "POST") -> dict[str, Any]:
    return {"rawPath": path, "requestContext": {"http": {"method": method}}}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"payload": {"email": "ada@example.org"}},
        {"payload": Welcome("ada@example.org")},
        {"payload": {"email": ANY}},
        {"payload": ANYTHING},
        {"delay": 60},
        {"delay": timedelta(minutes=1)},
        {"run_at": START + timedelta(minutes=1)},
        {"expires_at": None},
        {"priority": "medium"},
        {"tags": {"team": "blue"}},
        {"retry": {"max_attempts": 3}},
    ],
    ids=str,
)
def test_a_submission_is_as_expected_in_what_is_named(fields: dict[str, Any]) -> None:
    assert Expectation("greet", fields).differences(snapshot()) == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"payload": None}, "payload is {'email': 'ada@example.org'}, not None"),
        ({"payload": {"email": "x"}}, "payload['email'] is 'ada@example.org', not 'x'"),
        ({"delay": 0}, "delay is 60 s, not 0 s"),
        ({"priority": "high"}, "priority is 'medium', not 'high'"),
        ({"tags": {"team": "red"}}, "tags['team'] is 'blue', not 'red'"),
        ({"retry": {"max_attempts": 4}}, "retry['max_attempts'] is 3, not 4"),
        ({"expires_at": START}, "expires_at is None, not 2026-01-05T09:00:00+00:00"),
    ],
    ids=str,
)
def test_what_is_not_as_expected_is_told(fields: dict[str, Any], told: str) -> None:
    assert Expectation("greet", fields).differences(snapshot()) == [told]


def test_a_whole_retry_policy_may_be_expected() -> None:
    policy = {
        "max_attempts": 3,
        "backoff": "exponential",
        "base_seconds": 1.0,
        "max_delay_seconds": 3600.0,
        "jitter": "additive",
    }
    found = Expectation("greet", {"retry": Retry(max_attempts=4)}).differences(
        snapshot(retry=policy)
    )
    assert found == ["retry['max_attempts'] is 3, not 4"]


def test_a_field_that_no_submission_has_is_a_mistake_of_the_test() -> None:
    with pytest.raises(TypeError, match="no 'delays'; it has payload, delay"):
        Expectation("greet", {"delays": 1})


def test_what_comes_nearest_is_told_first() -> None:
    expectation = Expectation("greet", {"payload": {"email": "ada@example.org"}, "delay": 5})
    told = list_submissions(
        expectation,
        [
            snapshot(id="other", handler="report", run_at="2026-01-05T09:00:05.000Z"),
            snapshot(id="far", payload=None),
            snapshot(id="near"),
        ],
    )
    assert told.splitlines() == [
        "These jobs were submitted, the most similar first:",
        "  greet (job near): delay is 60 s, not 5 s",
        "  greet (job far): payload is None, not {'email': 'ada@example.org'}; "
        "delay is 60 s, not 5 s",
        "  report (job other): the handler is 'report', not 'greet'",
    ]


def test_of_many_submissions_and_differences_a_few_are_told() -> None:
    payload = {str(number): number for number in range(8)}
    jobs = [snapshot(id=str(number), payload={}) for number in range(12)]
    told = list_submissions(Expectation("greet", {"payload": payload}), jobs).splitlines()
    assert len(told) == 12
    assert told[1].endswith("payload['4'] is missing; and 3 more differences")
    assert told[-1] == "  and 2 more jobs"


def test_nothing_submitted_is_said_so() -> None:
    assert list_submissions(Expectation("greet"), []) == "Nothing was submitted."


def test_a_job_is_noted_once_as_it_was_at_first() -> None:
    log = SubmissionLog()
    log.note(event("/v1/jobs"), answer(snapshot()))
    log.note(event("/v1/jobs"), answer(snapshot(priority="high"), 200))
    results = [{"job": snapshot(id="job-2")}, {"error": {"status": 422}}, {"job": snapshot()}]
    log.note(event("/v1/jobs/batch"), answer({"results": results}, 200))
    assert [(one["id"], one["priority"]) for one in log.all()] == [
        ("job-1", "medium"),
        ("job-2", "medium"),
    ]


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/v1/jobs", "GET", 200), ("/v1/jobs/cancel", "POST", 200), ("/v1/jobs", "POST", 422)],
)
def test_only_submissions_are_noted(path: str, method: str, status: int) -> None:
    log = SubmissionLog()
    log.note(event(path, method), answer(snapshot(), status))
    assert log.all() == []
