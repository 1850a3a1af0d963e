"""``hourhand shards``: what it shows, and what it asks the scheduler for."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hourhand.aws.layout.values import text
from hourhand.cli.main import app
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.json_dataclasses import record_text
from hourhand.memory import MemoryClock
from tests.unit.cli.doctor.fakes import STACK_ID, STACK_OUTPUTS, Answer, client_error, fake_aws

RUNNER = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
MAP = ShardMap((ShardMapVersion(0, 1), ShardMapVersion(29_000_000, 4)))
LINES = [{"from": "1970-01-01T00:00:00+00:00", "shards": 1}, {"shards": 4}]


def run(monkeypatch: pytest.MonkeyPatch, script: dict[str, Answer], *arguments: str) -> Result:
    outputs = [{"OutputKey": k, "OutputValue": v} for k, v in STACK_OUTPUTS.items()]
    stack = {"StackId": STACK_ID, "StackStatus": "UPDATE_COMPLETE", "Outputs": outputs}
    stacks: dict[str, Answer] = {"cloudformation.describe_stacks": {"Stacks": [stack]}}
    aws = fake_aws(stacks | script, MemoryClock())
    monkeypatch.setattr("hourhand.cli.doctor.asking.open_aws", lambda *_, **__: aws)
    return RUNNER.invoke(app, ["shards", *arguments])


def shown(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_it_shows_since_when_jobs_are_filed_in_how_many_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    item = {"shard_map": text(record_text(ShardMap, MAP))}
    script: dict[str, Answer] = {"dynamodb.get_item": {"Item": item}}
    lines = shown(run(monkeypatch, script, "show", "--json"))
    assert lines[0] == LINES[0]
    assert lines[1]["shards"] == 4
    table = run(monkeypatch, script, "show")
    assert table.stdout.split()[-1] == "4"


def test_it_asks_the_live_scheduler_for_another_number(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def invoke(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments)
        versions = [{"from_bucket": 0, "count": 1}, {"from_bucket": 29_000_000, "count": 4}]
        return {"Payload": io.BytesIO(json.dumps({"versions": versions}).encode())}

    result = run(monkeypatch, {"lambda.invoke": invoke}, "set", "4", "--json")
    assert [line["shards"] for line in shown(result)] == [1, 4]
    (call,) = asked
    assert call["FunctionName"] == "hourhand-dev-scheduler:live"
    assert json.loads(call["Payload"]) == {"hourhand_resize": {"shards": 4}}


def test_it_says_why_the_scheduler_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"errorMessage": "The shard map cannot be changed like this."}).encode()

    def invoke(**_: Any) -> dict[str, Any]:
        return {"FunctionError": "Unhandled", "Payload": io.BytesIO(body)}

    result = run(monkeypatch, {"lambda.invoke": invoke}, "set", "4")
    assert result.exit_code == 1
    assert "cannot be changed" in result.output


@pytest.mark.parametrize("number", ["0", "1025", "many"])
def test_it_refuses_a_number_out_of_range(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    assert run(monkeypatch, {}, "set", number).exit_code == 2


def test_it_says_what_the_caller_may_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    script: dict[str, Answer] = {"lambda.invoke": client_error("AccessDeniedException")}
    result = run(monkeypatch, script, "set", "2")
    assert result.exit_code != 0
    assert "lambda:Invoke" in result.output
