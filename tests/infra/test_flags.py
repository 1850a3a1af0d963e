"""A flag is changed by a deployment that touches no code: it updates configuration alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.stacks import Deployment, Deployments

HASH_LENGTH = 32
"""Of the hash at the end of a version's logical id (the CDK's)."""

FLAGS = {
    "leader": "standby",
    "look_ahead_seconds": "600",
    "fan_out_entries": "0",
    "dispatch": "single",
    "delay_rounding": "down",
}


def _environments(deployment: Deployment) -> dict[str, dict[str, Any]]:
    functions = deployment.named("AWS::Lambda::Function", "FunctionName")
    return {
        name: function["Environment"]["Variables"]
        for name, function in functions.items()
        if "Environment" in function
    }


def _without_what_a_flag_may_change(deployment: Deployment) -> dict[str, Any]:
    """Leave out the environment, the versions that it publishes, and whether an alarm notifies."""
    text = json.dumps(deployment.template)
    for version in deployment.of_type("AWS::Lambda::Version"):
        # It ends with a hash.
        text = text.replace(version, version[:-HASH_LENGTH])
    template: dict[str, Any] = json.loads(text)
    for resource in template["Resources"].values():
        for name in ("Environment", "ActionsEnabled", "AlarmActions", "OKActions"):
            resource.get("Properties", {}).pop(name, None)
        if resource["Type"].startswith("AWS::Lambda::"):
            resource["Properties"].pop("Description", None)
    return template


@pytest.mark.parametrize(("flag", "value"), FLAGS.items())
def test_a_flag_changes_the_functions_environment_and_none_of_their_code(
    deployments: Deployments, dev: Deployment, flag: str, value: str
) -> None:
    changed = deployments.of(**{flag: value})

    variable = f"HOURHAND_{flag.upper()}"
    before, after = _environments(dev), _environments(changed)
    assert any(
        before[name].get(variable) != environment[variable] == value
        for name, environment in after.items()
        if variable in environment
    )
    assert _without_what_a_flag_may_change(changed) == _without_what_a_flag_may_change(dev)
