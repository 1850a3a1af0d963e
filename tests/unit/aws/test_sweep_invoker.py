from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.parsers import ResponseParserError
from botocore.stub import ANY

from hourhand.aws.sweep_invoker import (
    LambdaSweepInvoker,
    SweepRequest,
    read_sweep_event,
    sweep_event,
)
from hourhand.memory import START, RecordingTelemetry
from hourhand.settings import SELF
from tests.unit.aws.conftest import Stubbed

Stub = Callable[[str], Stubbed]
REQUEST = SweepRequest(shards=(3, 5), epoch=7, tick_at=START)


def test_an_invocation_is_asynchronous_and_carries_what_to_sweep(stubbed: Stub) -> None:
    stub = stubbed("lambda")
    stub.script.add_response(
        "invoke",
        {"StatusCode": 202},
        {
            "FunctionName": "scheduler",
            "InvocationType": "Event",
            "Payload": json.dumps(sweep_event(REQUEST)).encode(),
        },
    )
    invoker = LambdaSweepInvoker(stub.client, "scheduler", RecordingTelemetry())
    assert invoker.invoke([3, 5], epoch=7, tick_at=START) is True


@pytest.mark.parametrize("code", ["TooManyRequestsException", "AccessDeniedException"])
def test_a_refused_invocation_leaves_the_shards_with_the_caller(stubbed: Stub, code: str) -> None:
    stub = stubbed("lambda")
    stub.script.add_client_error("invoke", code)
    telemetry = RecordingTelemetry()
    invoker = LambdaSweepInvoker(stub.client, "scheduler", telemetry)
    assert invoker.invoke([3], epoch=7, tick_at=START) is False
    assert telemetry.total("optional_requests_failed") == 1
    assert code in telemetry.warnings[0].fields["reason"]


class Garbled:
    """A client whose answers cannot be read."""

    def invoke(self, **_: Any) -> Any:
        raise ResponseParserError("Unable to parse response.")


def test_an_invocation_whose_answer_cannot_be_read_leaves_the_shards_with_the_caller() -> None:
    telemetry = RecordingTelemetry()
    client: Any = Garbled()
    invoker = LambdaSweepInvoker(client, "scheduler", telemetry)
    assert invoker.invoke([3], epoch=7, tick_at=START) is False
    assert telemetry.total("optional_requests_failed") == 1


def test_without_a_function_nothing_is_called(stubbed: Stub) -> None:
    invoker = LambdaSweepInvoker(stubbed("lambda").client, "", RecordingTelemetry())
    assert invoker.invoke([3], epoch=7, tick_at=START) is False


ALIAS = "arn:aws:lambda:eu-central-1:123456789012:function:hourhand-scheduler:live"


def test_a_function_that_starts_itself_does_so_by_the_alias_that_it_was_called_by(
    stubbed: Stub,
) -> None:
    stub = stubbed("lambda")
    expected = {"FunctionName": ALIAS, "InvocationType": "Event", "Payload": ANY}
    stub.script.add_response("invoke", {"StatusCode": 202}, expected)
    invoker = LambdaSweepInvoker(stub.client, SELF, RecordingTelemetry())
    invoker.called_as(ALIAS)
    assert invoker.invoke([3], epoch=7, tick_at=START) is True


def test_a_function_that_starts_itself_cannot_before_it_knows_who_it_is(stubbed: Stub) -> None:
    invoker = LambdaSweepInvoker(stubbed("lambda").client, SELF, RecordingTelemetry())
    assert invoker.invoke([3], epoch=7, tick_at=START) is False


def test_a_function_that_was_named_stays_the_one_that_is_started(stubbed: Stub) -> None:
    stub = stubbed("lambda")
    expected = {"FunctionName": "scheduler", "InvocationType": "Event", "Payload": ANY}
    stub.script.add_response("invoke", {"StatusCode": 202}, expected)
    invoker = LambdaSweepInvoker(stub.client, "scheduler", RecordingTelemetry())
    invoker.called_as(ALIAS)
    assert invoker.invoke([3], epoch=7, tick_at=START) is True


def test_the_event_of_an_invocation_is_read_as_it_was_written() -> None:
    assert read_sweep_event(json.loads(json.dumps(sweep_event(REQUEST)))) == REQUEST


def test_the_event_of_a_tick_asks_for_no_shards() -> None:
    assert read_sweep_event({"source": "aws.events", "detail": {}}) is None
