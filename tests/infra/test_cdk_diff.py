"""The CDK's own command line, which knows CloudFormation's rules, sees no replacement either.

Offline: it compares a template in a file with an assembly in a folder.
"""

from __future__ import annotations

import json
import os
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.infra.stacks import Deployment, Deployments, skip_without
from tests.infra.stateful import VARIANTS, read_snapshot

CLI = Path(__file__).parents[2] / "infra" / "node_modules" / "aws-cdk" / "bin" / "cdk"
SECONDS = 90
LOSSES = ("requires replacement", "may be replaced", "destroy", " replace\n", "orphan")


@pytest.fixture
def command() -> list[str]:
    skip_without(None if CLI.is_file() else "The CDK's command line is not in infra/node_modules")
    return ["node", str(CLI), "diff"]


def diff(command: list[str], before: dict[str, Any], after: Deployment, folder: Path) -> str:
    """Return what the command line says of an upgrade from the resources ``before``."""
    old = folder / "before.json"
    old.write_text(json.dumps({"Resources": before}), encoding="utf-8")
    options = ["--app", str(after.assembly), "--template", str(old), "--no-color"]
    environment = {**os.environ, "CDK_HOME": str(folder), "CI": "true"}
    ended = subprocess.run(
        [*command, *options],
        cwd=folder,
        env={**environment, "CDK_DISABLE_CLI_TELEMETRY": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_upgrade_replaces_or_removes_what_holds_something(
    deployments: Deployments, command: list[str], variant: str, tmp_path: Path
) -> None:
    after = deployments.of(**VARIANTS[variant])
    said = diff(command, read_snapshot()[variant], after, tmp_path)
    assert "AWS::DynamoDB::GlobalTable" in said
    assert [loss for loss in LOSSES if loss in said] == []


def test_a_queue_of_another_name_is_seen_to_be_replaced(
    dev: Deployment, command: list[str], tmp_path: Path
) -> None:
    before = deepcopy(read_snapshot()["dev"])
    (queue,) = [name for name in before if "HighQueue" in name]
    before[queue]["Properties"]["QueueName"] = "other"
    assert "QueueName (requires replacement)" in diff(command, before, dev, tmp_path)


def test_a_table_that_goes_is_seen_to_be_destroyed(
    dev: Deployment, command: list[str], tmp_path: Path
) -> None:
    before = deepcopy(read_snapshot()["dev"])
    before["OldTable"] = {
        "Type": "AWS::DynamoDB::GlobalTable",
        "Properties": {"TableName": "hourhand-dev-old"},
    }
    assert "OldTable destroy" in diff(command, before, dev, tmp_path)
