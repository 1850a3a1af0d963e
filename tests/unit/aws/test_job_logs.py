"""The lines of a job in CloudWatch Logs: what is asked for, and with how many calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws.job_logs import MAX_CALLS_A_READ, CloudWatchJobLogs
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.log import Span
from hourhand.domain.times import to_ms
from hourhand.memory import START
from hourhand.ports.job_logs import ReadLines
from tests.unit.aws.conftest import Stubbed

Stub = Callable[[str], Stubbed]
GROUP = "/aws/lambda/hourhand-dev-worker"
SPAN = Span(START, START + timedelta(seconds=1))
ASKED = {
    "logGroupName": GROUP,
    "filterPattern": '{ $.job_id = "one" }',
    "startTime": to_ms(START),
    "endTime": to_ms(START) + 999,
}


def event(number: int, **line: Any) -> dict[str, Any]:
    text = json.dumps({"job_id": "one", "message": str(number), **line})
    return {"eventId": f"e{number}", "timestamp": to_ms(START) + number, "message": text}


def test_pages_are_read_to_their_end_and_an_empty_one_is_not_it(stubbed: Stub) -> None:
    stub = stubbed("logs")
    stub.script.add_response("filter_log_events", {"events": [], "nextToken": "t1"}, ASKED)
    stub.script.add_response(
        "filter_log_events", {"events": [event(1), event(2)]}, {**ASKED, "nextToken": "t1"}
    )
    found = CloudWatchJobLogs(stub.client, GROUP).read("one", SPAN)
    assert found.is_whole
    assert [(line.id, line.message) for line in found.lines] == [("e1", "1"), ("e2", "2")]
    assert found.lines[0].at == START + timedelta(milliseconds=1)


def test_calls_are_bounded_and_what_is_left_is_said(stubbed: Stub) -> None:
    stub = stubbed("logs")
    for number in range(MAX_CALLS_A_READ):
        stub.script.add_response("filter_log_events", {"events": [event(number)], "nextToken": "t"})
    found = CloudWatchJobLogs(stub.client, GROUP).read("one", SPAN)
    assert not found.is_whole
    assert len(found.lines) == MAX_CALLS_A_READ


def test_lines_of_other_jobs_and_other_texts_are_left_out(stubbed: Stub) -> None:
    stub = stubbed("logs")
    others = [event(1, job_id="two"), {"timestamp": 1, "message": "one"}, {"eventId": "x"}]
    stub.script.add_response("filter_log_events", {"events": others})
    assert CloudWatchJobLogs(stub.client, GROUP).read("one", SPAN) == ReadLines((), True)


def test_a_log_group_that_is_not_there_has_no_lines(stubbed: Stub) -> None:
    stub = stubbed("logs")
    stub.script.add_client_error("filter_log_events", "ResourceNotFoundException")
    assert CloudWatchJobLogs(stub.client, GROUP).read("one", SPAN) == ReadLines((), True)


@pytest.mark.parametrize("code", ["ThrottlingException", "ServiceUnavailableException"])
def test_cloudwatch_without_an_answer_is_unavailable(stubbed: Stub, code: str) -> None:
    stub = stubbed("logs")
    stub.script.add_client_error("filter_log_events", code, http_status_code=503)
    with pytest.raises(Unavailable, match="FilterLogEvents on log group /aws/lambda"):
        CloudWatchJobLogs(stub.client, GROUP).read("one", SPAN)
