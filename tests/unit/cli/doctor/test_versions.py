from __future__ import annotations

import pytest

from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import Finding, NotSeen, Status
from hourhand.cli.doctor.versions import MANY_DEPLOYMENTS, version_looks
from hourhand.cli.versions import read_versions
from tests.unit.cli.doctor.fakes import DEPLOYMENT, STACK_ID, fake_aws, found, statuses
from tests.unit.cli.rollback.lambdas import FUNCTIONS, A, B, FakeLambda


def deployed(*deployments: str) -> FakeLambda:
    cloud = FakeLambda()
    for deployment in deployments:
        cloud.deploy(deployment)
    return cloud


def look(cloud: FakeLambda) -> list[Finding]:
    return found(version_looks(cloud.aws(), Deployment(STACK_ID, cloud.outputs)))


def test_aliases_at_the_newest_deployment_are_well() -> None:
    (finding,) = look(deployed(A, B))
    assert statuses([finding]) == [Status.OK]
    assert finding.seen.endswith(f"{B}: api 2, scheduler 2, worker 2")


@pytest.mark.parametrize(
    ("moved", "told"),
    [
        (dict.fromkeys(FUNCTIONS, "1"), f"at deployment {A}, the newest is {B}"),
        ({"api": "1"}, f"api {A}, scheduler {B}, worker {B}"),
        ({"worker": "9"}, "worker unknown"),
    ],
    ids=["rolled back", "interrupted", "at a version of no deployment"],
)
def test_aliases_that_are_not_at_the_newest_deployment_are_told(
    moved: dict[str, str], told: str
) -> None:
    cloud = deployed(A, B)
    for name, version in moved.items():
        cloud.aliases[name]["FunctionVersion"] = version
    (finding,) = look(cloud)
    assert statuses([finding]) == [Status.WARNING]
    assert told in finding.seen
    assert f"hourhand rollback --to {B}" in finding.fix or len(moved) == 1
    cloud = deployed(A)
    cloud.versions["worker"][1]["Description"] = "by hand"
    assert statuses(look(cloud)) == [Status.FAILED], "versions of no deployment at all"


def test_a_gradual_shift_is_told() -> None:
    cloud = deployed(A, B)
    cloud.aliases["api"]["RoutingConfig"] = {"AdditionalVersionWeights": {"1": 0.5}}
    findings = look(cloud)
    assert statuses(findings) == [Status.OK, Status.WARNING]
    assert "some calls of api" in findings[1].seen


@pytest.mark.parametrize(
    ("count", "expected"),
    [(MANY_DEPLOYMENTS, [Status.OK]), (MANY_DEPLOYMENTS + 1, [Status.OK, Status.WARNING])],
)
def test_more_deployments_than_anyone_goes_back_to_are_told(
    count: int, expected: list[Status]
) -> None:
    findings = look(deployed(*(f"{number:012x}" for number in range(count))))
    assert statuses(findings) == expected
    if len(expected) > 1:
        assert findings[1].seen == "51 deployments are kept, 153 MB of code"
        assert findings[1].fix.endswith("hourhand rollback --prune.")


def test_a_list_that_never_ends_is_not_read_for_ever() -> None:
    asked = 0

    def endless(**_: str) -> dict[str, object]:
        nonlocal asked
        asked += 1
        return {"Versions": [], "NextMarker": "more"}

    aws = fake_aws({"lambda.list_versions_by_function": endless})
    with pytest.raises(NotSeen, match="more versions than 200 pages"):
        list(read_versions(aws, DEPLOYMENT, "api"))
    assert asked == 200
