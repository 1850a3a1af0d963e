from __future__ import annotations

import json

import pytest

from hourhand.cli.doctor.api import api_looks, judge_handlers, judge_health
from hourhand.cli.doctor.asking import ApiAnswer
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import Status
from tests.unit.cli.doctor.fakes import STACK_ID, fake_aws, found, statuses

URL = "https://api"


def handlers(*names: str) -> ApiAnswer:
    return ApiAnswer(200, json.dumps({"handlers": [{"name": name} for name in names]}))


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        (403, Status.FAILED, "your identity lacks execute-api:Invoke"),
        (401, Status.SKIPPED, "wants a JWT"),
        (500, Status.FAILED, "was answered 500: oops"),
    ],
)
def test_an_api_that_refuses_is_told_by_why(code: int, status: Status, told: str) -> None:
    answer = ApiAnswer(code, " oops\n" + 500 * " ")
    for finding in (judge_health(URL, answer), judge_handlers(URL, answer)):
        assert statuses([finding]) == [status]
        assert told in finding.seen
        assert finding.check in {"API", "handlers"}


def test_an_api_that_answers_is_well_and_takes_jobs_for_the_handlers_that_it_names() -> None:
    assert statuses([judge_health(URL, ApiAnswer(200, '{"status": "ok"}'))]) == [Status.OK]
    assert statuses([judge_handlers(URL, handlers())]) == [Status.WARNING]
    assert judge_handlers(URL, handlers("a", "b")).seen == "a, b"
    assert judge_handlers(URL, handlers(*"abcdefg")).seen == "a, b, c, d, e and 2 more"


def test_an_api_that_cannot_be_reached_is_told_for_each_of_its_looks() -> None:
    deployment = Deployment(STACK_ID, {"ApiUrl": "http://127.0.0.1:1"})
    findings = found(api_looks(fake_aws({}), deployment))
    assert [finding.check for finding in findings] == ["API", "handlers"]
    assert statuses(findings) == [Status.FAILED, Status.FAILED]
