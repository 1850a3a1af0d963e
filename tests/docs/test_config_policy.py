"""The policy for ``hourhand config`` allows each call that it makes, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hourhand.cli.main import app
from tests.docs.test_doctor_policy import (
    ANSWERS,
    STACK,
    allowed_by,
    covers,
    recorded_aws,
    statements_of,
)
from tests.unit.cli.doctor.fakes import ACCOUNT, REGION

PAGE = Path(__file__).parents[2] / "docs" / "iam" / "config.json"
WORKER = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{STACK}-worker"
SOURCE: dict[str, Any] = {
    "UUID": "14e0db71-5d35-4eb5-b481-8945cf9d10c2",
    "FunctionArn": f"{WORKER}:live",
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Everything that the command asks AWS."""
    answers = {"EventSourceMappings": [SOURCE]}
    aws = recorded_aws(
        {**ANSWERS, "ListEventSourceMappings": answers, "UpdateEventSourceMapping": {}}
    )
    monkeypatch.setattr("hourhand.cli.doctor.asking.open_aws", lambda *_, **__: aws)
    for run in (["show"], ["set", "worker_concurrency=400"]):
        result = CliRunner().invoke(app, ["config", *run, "--stack", STACK])
        assert result.exit_code == 0, result.output
    return aws.calls


def test_every_call_is_allowed_and_nothing_that_is_not_called(
    calls: set[tuple[str, str]],
) -> None:
    allowed = allowed_by(PAGE)
    assert "lambda:UpdateEventSourceMapping" in {action for action, _ in calls}
    assert {call for call in calls if not any(covers(a, call) for a in allowed)} == set()
    assert {a for a in allowed if not any(covers(a, call) for call in calls)} == set()


def test_only_the_event_sources_of_the_worker_can_be_changed() -> None:
    [change] = [s for s in statements_of(PAGE) if "Condition" in s]
    assert change["Action"] == ["lambda:UpdateEventSourceMapping"]
    # By its alias, too.
    assert change["Condition"] == {"ArnLike": {"lambda:FunctionArn": f"{WORKER}*"}}
