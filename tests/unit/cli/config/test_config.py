"""``hourhand config``: the workers at a time, changed without a deployment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from typer.testing import CliRunner

from hourhand.cli.doctor.asking import Aws
from hourhand.cli.main import app
from tests.unit.cli.doctor.fakes import (
    ACCOUNT,
    REGION,
    STACK_ID,
    STACK_OUTPUTS,
    client_error,
    fake_aws,
)

RUNNER = CliRunner(env={"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"})
QUEUES = ("high", "medium", "low")


class FakeSources:
    """The event sources of a deployment, with the limit of each."""

    def __init__(self) -> None:
        self.limits: dict[str, Any] = dict(zip(QUEUES, (90, 80, 30), strict=True))
        self.outputs: dict[str, str] = {**STACK_OUTPUTS, "WorkerConcurrency": "200"}
        self.status = "UPDATE_COMPLETE"
        self.pollers = False
        self.refused: set[str] = set()
        self.changed: list[str] = []

    def aws(self, *_: Any, **__: Any) -> Aws:
        return fake_aws(
            {
                "cloudformation.describe_stacks": self._stacks,
                "lambda.list_event_source_mappings": self._list,
                "lambda.update_event_source_mapping": self._update,
            }
        )

    def _stacks(self, **_: Any) -> Mapping[str, Any]:
        outputs = [{"OutputKey": key, "OutputValue": each} for key, each in self.outputs.items()]
        return {"Stacks": [{"StackId": STACK_ID, "StackStatus": self.status, "Outputs": outputs}]}

    def _list(self, **asked: Any) -> Mapping[str, Any]:
        name = asked["EventSourceArn"].rpartition("-")[2]
        arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:hourhand-dev-worker:live"
        source: dict[str, Any] = {"UUID": f"id-{name}", "FunctionArn": arn}
        if self.pollers:
            source["ProvisionedPollerConfig"] = {"MaximumPollers": self.limits[name] // 10}
        elif self.limits[name] is not None:
            source["ScalingConfig"] = {"MaximumConcurrency": self.limits[name]}
        other = {"UUID": "other", "FunctionArn": f"{arn.rpartition(':function:')[0]}:function:x"}
        return {"EventSourceMappings": [other, source]}

    def _update(self, **asked: Any) -> Mapping[str, Any]:
        name = asked["UUID"].removeprefix("id-")
        if name in self.refused:
            raise client_error("ResourceInUseException")
        self.limits[name] = asked["ScalingConfig"].get("MaximumConcurrency")
        self.changed.append(name)
        return {}


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> FakeSources:
    made = FakeSources()
    monkeypatch.setattr("hourhand.cli.doctor.asking.open_aws", made.aws)
    return made


def test_a_change_is_shared_among_the_queues_and_says_what_a_deployment_does(
    sources: FakeSources,
) -> None:
    ran = RUNNER.invoke(app, ["config", "set", "worker_concurrency=400"])
    assert ran.exit_code == 0, ran.output
    assert sources.limits == {"high": 180, "medium": 160, "low": 60}
    assert ran.stdout.startswith("worker_concurrency of hourhand-dev: 200 -> 400.")
    told = " ".join(ran.stderr.split())
    assert "The next deployment that touches the event sources sets it back to 200" in told
    assert "hourhand deploy -c worker_concurrency=400" in told


def test_the_same_value_again_changes_nothing(sources: FakeSources) -> None:
    ran = RUNNER.invoke(app, ["config", "set", "worker_concurrency=200"])
    assert (ran.exit_code, sources.changed, ran.stderr) == (0, [], "")


def test_no_limit_removes_it(sources: FakeSources) -> None:
    ran = RUNNER.invoke(app, ["config", "set", "worker_concurrency=none", "--json"])
    assert sources.limits == dict.fromkeys(QUEUES)
    assert json.loads(ran.stdout) == {
        "stack": "hourhand-dev",
        "setting": "worker_concurrency",
        "present": "none",
        "deployed": "200",
        "event_sources": dict.fromkeys(QUEUES),
        "provisioned_pollers": False,
        "was": "200",
        "was_event_sources": {"high": 90, "medium": 80, "low": 30},
    }


def test_a_change_that_stopped_halfway_is_completed_by_a_second_run(sources: FakeSources) -> None:
    sources.refused = {"medium"}
    ran = RUNNER.invoke(app, ["config", "set", "worker_concurrency=400"])
    assert ran.exit_code == 1
    assert sources.changed == ["high"]
    sources.refused = set()
    assert RUNNER.invoke(app, ["config", "set", "worker_concurrency=400"]).exit_code == 0
    assert sources.changed == ["high", "medium", "low"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("worker_concurrency", "must be NAME=VALUE such as worker_concurrency=400"),
        ("worker_memory_mb=512", "only worker_concurrency. For another setting, deploy: hourhand"),
        ("worker_concurrency=13", "must be none, or 14 to 2,000"),
        ("worker_concurrency=2001", "must be none, or 14 to 2,000"),
        ("worker_concurrency=-5", "must be none, or 14 to 2,000"),
        ("worker_concurrency=", "must be none, or 14 to 2,000"),
        ("worker_concurrency=many", "not 'many'"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(
    sources: FakeSources, typed: str, said: str
) -> None:
    ran = RUNNER.invoke(app, ["config", "set", typed])
    assert ran.exit_code == 2
    assert said in " ".join(ran.stderr.replace("│", " ").split())
    assert sources.changed == []


def test_nothing_changes_while_a_deployment_runs(sources: FakeSources) -> None:
    sources.status = "UPDATE_IN_PROGRESS"
    ran = RUNNER.invoke(app, ["config", "set", "worker_concurrency=400"])
    assert ran.exit_code == 4
    assert "A deployment of hourhand-dev is running." in ran.stderr
    assert sources.changed == []


def test_provisioned_pollers_are_left_to_a_deployment(sources: FakeSources) -> None:
    sources.pollers = True
    ran = RUNNER.invoke(app, ["config", "set", "worker_concurrency=400"])
    assert ran.exit_code == 4
    assert "hourhand deploy -c worker_concurrency=400" in " ".join(ran.stderr.split())
    [shown] = [json.loads(RUNNER.invoke(app, ["config", "show", "--json"]).stdout)]
    assert (shown["present"], shown["provisioned_pollers"]) == ("200", True)


@pytest.mark.parametrize(
    ("limits", "deployed", "row", "said"),
    [
        ((90, 80, 30), "200", ["200", "200", "90", "80", "30"], ""),
        ((180, 160, 60), "200", ["400", "200", "180", "160", "60"], "back to 200"),
        ((90, 80, 31), "200", ["by", "hand", "200", "90", "80", "31"], "back to 200"),
        ((None, None, None), "none", ["none", "none", "none", "none", "none"], ""),
        ((90, 80, 30), None, ["200", "unknown", "90", "80", "30"], "deploy this version"),
    ],
)
def test_the_present_values_are_shown_beside_the_deployed_one(
    sources: FakeSources,
    limits: tuple[int | None, ...],
    deployed: str | None,
    row: list[str],
    said: str,
) -> None:
    sources.limits = dict(zip(QUEUES, limits, strict=True))
    del sources.outputs["WorkerConcurrency"]
    if deployed is not None:
        sources.outputs["WorkerConcurrency"] = deployed
    ran = RUNNER.invoke(app, ["config", "show"])
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[1].split() == ["worker_concurrency", *row]
    assert said in " ".join(ran.stderr.split())


def test_an_event_source_that_is_missing_is_an_error(sources: FakeSources) -> None:
    sources.outputs["WorkerFunction"] = "another"
    ran = RUNNER.invoke(app, ["config", "show"])
    assert ran.exit_code == 1
    assert "no event source delivers the messages of high to another" in ran.stderr
