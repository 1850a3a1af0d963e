"""`hourhand doctor`: its flags, their twins in the environment, and its exit codes."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.main import app
from hourhand.cli.session import Session

NO_REGION = {"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": ""}
RUNNER = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1", **NO_REGION})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[DeploymentFlags, bool]]:
    """Note what `doctor` would look at, and whether as JSON; find it ill."""
    asked: list[tuple[DeploymentFlags, bool]] = []

    def run(session: Session, flags: DeploymentFlags) -> int:
        asked.append((flags, session.is_json))
        return 1

    monkeypatch.setattr("hourhand.cli.doctor.run.run_doctor", run)
    return asked


def test_it_looks_at_the_dev_stage_unless_told_otherwise(
    asked: list[tuple[DeploymentFlags, bool]],
) -> None:
    assert RUNNER.invoke(app, ["doctor"]).exit_code == 1
    [(flags, is_json)] = asked
    assert (flags.stack_name, is_json) == ("hourhand-dev", False)


def test_every_flag_has_a_twin(asked: list[tuple[DeploymentFlags, bool]]) -> None:
    flags = ["--stack", "s", "--region", "r", "--profile", "p", "--json"]
    RUNNER.invoke(app, ["doctor", *flags, "--endpoint-url", "http://e"])
    twins = {
        "HOURHAND_STACK": "s",
        "HOURHAND_REGION": "r",
        "HOURHAND_PROFILE": "p",
        "HOURHAND_JSON": "1",
        "AWS_ENDPOINT_URL": "http://e",
    }
    RUNNER.invoke(app, ["doctor"], env=twins)
    expected = DeploymentFlags(stack="s", region="r", profile="p", endpoint_url="http://e")
    assert asked == [(expected, True), (expected, True)]


def test_wrong_usage_exits_with_2(asked: list[tuple[DeploymentFlags, bool]]) -> None:
    assert RUNNER.invoke(app, ["doctor", "--stak", "s"]).exit_code == 2
    assert asked == []


def test_help_helps() -> None:
    output = RUNNER.invoke(app, ["doctor", "--help"]).output
    assert "HOURHAND_STACK" in output
    assert "Exit codes" in output
