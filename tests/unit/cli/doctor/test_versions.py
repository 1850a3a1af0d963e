from __future__ import annotations

import pytest

from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import Finding, NotSeen, Status
from hourhand.cli.doctor.versions import MANY_DEPLOYMENTS, version_looks
from hourhand.cli.versions import read_versions
from tests.unit.cli.doctor.fakes import DEPLOYMENT, STACK_ID, fake_aws, found, statuses
from tests.unit.cli.rollback.lambdas import FUNCTIONS, A, B, C, FakeLambda


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


def test_a_deployment_that_was_rolled_back_is_told() -> None:
    cloud = deployed(A, B)
    for name in FUNCTIONS:
        cloud.aliases[name]["FunctionVersion"] = "1"
    (finding,) = look(cloud)
    assert statuses([finding]) == [Status.WARNING]
    assert f"at deployment {A}, the newest is {B}" in finding.seen
    assert f"hourhand rollback --to {B}" in finding.fix


def test_a_rollback_that_was_interrupted_is_told() -> None:
    cloud = deployed(A, B)
    cloud.aliases["api"]["FunctionVersion"] = "1"
    (finding,) = look(cloud)
    assert statuses([finding]) == [Status.WARNING]
    assert f"api {A}, scheduler {B}, worker {B}" in finding.seen


def test_an_alias_at_a_version_of_no_deployment_is_told() -> None:
    cloud = deployed(A, B, C)
    cloud.aliases["worker"]["FunctionVersion"] = "9"
    (finding,) = look(cloud)
    assert "worker unknown" in finding.seen
    assert statuses([finding]) == [Status.WARNING]


def test_versions_of_no_deployment_at_all_have_failed() -> None:
    cloud = deployed(A)
    cloud.versions["worker"][1]["Description"] = "by hand"
    (finding,) = look(cloud)
    assert statuses([finding]) == [Status.FAILED]


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
