"""CloudFormation generates the roles' names, and may shorten them: no policy goes by these."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.infra.evaluation import ACCOUNT
from tests.infra.stacks import FUNCTIONS, Deployment, Deployments

FOLDER = Path(__file__).parents[2] / "docs" / "iam"
LONGEST_ROLE_NAME = 64
"""Characters (IAM quotas). A stack's name has up to 128."""

SUFFIX = "-1A2B3C4D5E6F"
LONGEST_INSTALLATION = "a-very-long-installation-name1"


def generated_names(stack: str, logical_id: str) -> Iterator[str]:
    """Yield each name that CloudFormation may make: of both parts it keeps what has room.

    How much of which is not documented: at least one character of each.
    """
    room = LONGEST_ROLE_NAME - len(SUFFIX) - 1
    if len(stack) + len(logical_id) <= room:
        yield f"{stack}-{logical_id}{SUFFIX}"
        return
    for kept in range(1, min(room - 1, len(stack)) + 1):
        yield f"{stack[:kept]}-{logical_id[: room - kept]}{SUFFIX}"


def roles_of(deployment: Deployment) -> dict[str, str]:
    """Return the path of each function's role by the role's logical id."""
    return {
        name: role["Properties"]["Path"]
        for name, role in deployment.of_type("AWS::IAM::Role").items()
    }


def patterns(installation: str) -> Iterator[str]:
    """Yield every pattern of a role in our example policies."""
    for page in sorted(FOLDER.glob("*.json")):
        for statement in json.loads(page.read_text())["Statement"]:
            resources = statement["Resource"]
            for resource in resources if isinstance(resources, list) else [resources]:
                if ":role/" in resource:
                    named = resource.replace("ACCOUNT", ACCOUNT)
                    yield named.replace("INSTALLATION", installation)


@pytest.mark.parametrize("installation", ["hourhand-dev", "hourhand-prod", LONGEST_INSTALLATION])
@pytest.mark.parametrize("stack", [None, "s" * 128])
def test_a_policy_matches_a_role_however_its_name_was_shortened(
    deployments: Deployments, installation: str, stack: str | None
) -> None:
    roles = roles_of(deployments.of(installation=installation))
    assert len(roles) == len(FUNCTIONS)
    found = list(patterns(installation))
    assert found
    for logical_id, path in roles.items():
        for name in generated_names(stack or installation, logical_id):
            assert len(name) <= LONGEST_ROLE_NAME
            arn = f"arn:aws:iam::{ACCOUNT}:role{path}{name}"
            assert all(fnmatchcase(arn, pattern) for pattern in found), arn


def test_a_policy_matches_no_role_of_another_installation(deployments: Deployments) -> None:
    other = f"arn:aws:iam::{ACCOUNT}:role/hourhand-dev-2/hourhand-dev-Api-1A2B"
    assert not any(fnmatchcase(other, pattern) for pattern in patterns("hourhand-dev"))


def test_the_names_are_shortened_in_practice(dev: Deployment) -> None:
    # With the shortest stage the scheduler's role has no room any more.
    names = [list(generated_names("hourhand-dev", logical_id)) for logical_id in roles_of(dev)]
    assert any(len(each) > 1 for each in names)
