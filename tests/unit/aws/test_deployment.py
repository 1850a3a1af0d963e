"""Which version of a function is live."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hourhand.aws.deployment import LambdaDeployment
from hourhand.memory import RecordingTelemetry
from tests.unit.aws.conftest import Stubbed

Stub = Callable[[str], Stubbed]
FUNCTION = "arn:aws:lambda:eu-central-1:123456789012:function:hourhand-scheduler"


@pytest.mark.parametrize(("named", "is_live"), [("7", True), ("8", False)])
def test_the_version_that_the_alias_names_is_live(stubbed: Stub, named: str, is_live: bool) -> None:
    stub = stubbed("lambda")
    weights = {"AdditionalVersionWeights": {"7": 0.1}}
    stub.script.add_response(
        "get_alias",
        {"FunctionVersion": named, "RoutingConfig": weights},
        {"FunctionName": FUNCTION, "Name": "live"},
    )
    deployment = LambdaDeployment(stub.client, RecordingTelemetry())
    deployment.called_as(f"{FUNCTION}:live", "7")
    assert (deployment.id, deployment.is_live()) == ("7", is_live)


def test_a_function_that_was_not_published_is_live(stubbed: Stub) -> None:
    deployment = LambdaDeployment(stubbed("lambda").client, RecordingTelemetry())
    deployment.called_as(FUNCTION, "$LATEST")
    assert deployment.is_live()


def test_of_an_alias_that_cannot_be_read_no_version_is_known_to_be_live(stubbed: Stub) -> None:
    stub = stubbed("lambda")
    stub.script.add_client_error("get_alias", "AccessDeniedException")
    telemetry = RecordingTelemetry()
    deployment = LambdaDeployment(stub.client, telemetry)
    deployment.called_as(f"{FUNCTION}:live", "7")
    assert deployment.is_live() is None
    assert "AccessDeniedException" in telemetry.warnings[0].fields["reason"]
