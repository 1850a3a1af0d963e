"""The policy for ``hourhand rollback`` allows each call that it makes, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hourhand.aws.published import version_description
from hourhand.cli.main import app
from tests.docs.test_doctor_policy import ANSWERS, STACK, allowed_by, covers, recorded_aws
from tests.unit.cli.doctor.fakes import ACCOUNT, REGION

PAGE = Path(__file__).parents[2] / "docs" / "iam" / "rollback.json"
FUNCTIONS = ("api", "scheduler", "worker")
RUNS = (["--yes"], ["--list"], ["--prune", "--keep", "2", "--yes"])
DEPLOYED = 4


def version(number: int) -> dict[str, Any]:
    return {
        "Version": str(number),
        "Description": version_description("api", STACK, "0.1.0", f"{number:012x}"),
        "LastModified": f"2025-01-{number:02d}T09:00:00.000+0000",
        "CodeSize": 1,
    }


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Everything that the command asks AWS."""
    aws = recorded_aws(
        {
            **ANSWERS,
            "GetAlias": {"FunctionVersion": str(DEPLOYED), "RevisionId": "r"},
            "ListVersionsByFunction": {"Versions": [version(n + 1) for n in range(DEPLOYED)]},
            "UpdateAlias": {},
            "DeleteFunction": {},
        }
    )
    monkeypatch.setattr("hourhand.cli.doctor.asking.open_aws", lambda *_, **__: aws)
    for run in RUNS:
        result = CliRunner().invoke(app, ["rollback", "--stack", STACK, *run])
        assert result.exit_code == 0, result.output
    return aws.calls


def test_every_call_is_allowed_and_nothing_that_is_not_called(
    calls: set[tuple[str, str]],
) -> None:
    allowed = allowed_by(PAGE)
    assert {action for action, _ in calls} >= {"lambda:UpdateAlias", "lambda:DeleteFunction"}
    assert {call for call in calls if not any(covers(a, call) for a in allowed)} == set()
    assert {a for a in allowed if not any(covers(a, call) for call in calls)} == set()


def test_it_can_delete_versions_and_no_function() -> None:
    delete = "lambda:DeleteFunction"
    deletable = [allowed for allowed in allowed_by(PAGE) if allowed[0] == delete]
    for name in FUNCTIONS:
        function = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{STACK}-{name}"
        assert any(covers(allowed, (delete, f"{function}:7")) for allowed in deletable)
        assert not any(covers(allowed, (delete, function)) for allowed in deletable)


def test_wildcards_are_only_where_a_name_or_number_is_generated() -> None:
    wide = {action for action, resource in allowed_by(PAGE) if "*" in resource}
    assert wide == {"cloudformation:DescribeStacks", "lambda:DeleteFunction"}
