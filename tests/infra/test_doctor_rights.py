"""``hourhand doctor`` tries of each role what it was granted, and finds a healthy one healthy."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import pytest

from hourhand.cli.doctor.deployment import OUTPUTS
from hourhand.cli.doctor.deployment import Deployment as Examined
from hourhand.cli.doctor.findings import Status
from hourhand.cli.doctor.rights import RIGHTS, Right
from hourhand.cli.doctor.roles import judge_excess, judge_rights
from tests.infra.evaluation import ACCOUNT, REGION
from tests.infra.stacks import FUNCTIONS, Deployment, Deployments

STACK_ID = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/hourhand-dev/1"
NOT_TRIED = ("logs:", "xray:")
"""What Lambda itself does with the role; without it a job is done all the same."""


def examined(deployment: Deployment) -> Examined:
    """Return the deployment as the doctor learns of it: by the stack's outputs."""
    outputs = deployment.template["Outputs"]
    told = {name: deployment.evaluation.value(outputs[name]["Value"]) for name in OUTPUTS}
    return Examined(STACK_ID, told)


def rights(deployment: Deployment, name: str) -> list[Right]:
    return list(RIGHTS[name](examined(deployment)))


def pairs(rights: Iterable[Right]) -> set[tuple[str, str]]:
    return {pair for right in rights for pair in itertools.product(right.actions, right.resources)}


def simulated(deployment: Deployment, name: str, rights: Iterable[Right]) -> list[dict[str, Any]]:
    """Return what IAM's simulation would answer of the role's policies."""
    allowed = deployment.allowed(name)
    return [
        {
            "EvalActionName": action,
            "EvalResourceName": resource,
            "EvalDecision": "allowed"
            if any(action == a and fnmatchcase(resource, r) for a, r in allowed)
            else "implicitDeny",
        }
        for action, resource in sorted(pairs(rights))
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("context", [{}, {"snap_start": "true"}])
def test_a_role_as_it_is_deployed_is_well(
    deployments: Deployments, context: dict[str, str], name: str
) -> None:
    deployment = deployments.of(**context)
    tried = rights(deployment, name)
    wanted = simulated(deployment, name, (r for r in tried if r.is_wanted))
    refused = simulated(deployment, name, (r for r in tried if not r.is_wanted))
    finding = judge_rights(name, wanted)
    assert finding.status is Status.OK, finding
    assert list(judge_excess(name, refused)) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_everything_that_a_role_was_granted_is_tried(dev: Deployment, name: str) -> None:
    granted = {pair for pair in dev.allowed(name) if not pair[0].startswith(NOT_TRIED)}
    assert pairs(right for right in rights(dev, name) if right.is_wanted) == granted


def test_the_worker_is_kept_from_every_write_to_what_steers_the_scheduler(dev: Deployment) -> None:
    kept = pairs(right for right in rights(dev, "worker") if not right.is_wanted)
    assert {(action, arn.rpartition("-")[2]) for action, arn in kept} == {
        (f"dynamodb:{action}", table)
        for action in ("PutItem", "UpdateItem", "DeleteItem")
        for table in ("control", "schedules")
    }
