"""The way in: who is let in, how fast, and what is written down of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hourhand.api.http_request import PUBLIC_ROUTE_KEY
from tests.infra.evaluation import ACCOUNT, REGION
from tests.infra.stacks import Deployment, Deployments

JWT: dict[str, Any] = {
    "api_authorization": "jwt",
    "jwt_issuer": "https://issuer.example.org/",
    "jwt_audience": "jobs,operators",
}


def test_every_call_is_signed_by_a_caller_that_iam_lets_in(dev: Deployment) -> None:
    route = dev.only("AWS::ApiGatewayV2::Route")
    assert (route["AuthorizationType"], route["RouteKey"]) == ("AWS_IAM", "ANY /v1/{proxy+}")
    assert dev.of_type("AWS::ApiGatewayV2::Authorizer") == {}


def test_tokens_of_ones_own_issuer_may_be_asked_for_instead(deployments: Deployments) -> None:
    deployment = deployments.of(**JWT)
    route = deployment.only("AWS::ApiGatewayV2::Route")
    assert route["AuthorizationType"] == "JWT"
    ((authorizer_id, _),) = deployment.of_type("AWS::ApiGatewayV2::Authorizer").items()
    assert route["AuthorizerId"] == authorizer_id
    authorizer = deployment.only("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["JwtConfiguration"] == {
        "Issuer": "https://issuer.example.org/",
        "Audience": ["jobs", "operators"],
    }
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]


def test_the_api_is_told_how_to_read_the_claims_of_tokens(deployments: Deployments) -> None:
    claims = {"jwt_scope_prefix": "jobs:", "jwt_tenant_claim": "custom:org"}
    deployment = deployments.of(**JWT, **claims)
    functions = deployment.named("AWS::Lambda::Function", "FunctionName")
    told = {
        name: {k: v for k, v in made["Environment"]["Variables"].items() if "_JWT_" in k}
        for name, made in functions.items()
    }

    assert told["api"] == {
        "HOURHAND_JWT_SCOPE_PREFIX": "jobs:",
        "HOURHAND_JWT_TENANT_CLAIM": "custom:org",
    }
    assert not any(found for name, found in told.items() if name != "api")


@pytest.mark.parametrize(("stage", "rate", "burst"), [("dev", 100, 200), ("prod", 500, 1000)])
def test_the_api_is_throttled(deployments: Deployments, stage: str, rate: int, burst: int) -> None:
    made = deployments.of(stage=stage).only("AWS::ApiGatewayV2::Stage")
    assert made["DefaultRouteSettings"] == {
        "ThrottlingRateLimit": rate,
        "ThrottlingBurstLimit": burst,
    }
    assert (made["StageName"], made["AutoDeploy"]) == ("$default", True)


def test_a_callback_is_completed_without_authorisation_where_that_was_chosen(
    deployments: Deployments,
) -> None:
    deployment = deployments.of(public_callbacks=True, public_callbacks_per_second=5)
    routes = deployment.of_type("AWS::ApiGatewayV2::Route")
    made = {one["Properties"]["RouteKey"]: one["Properties"] for one in routes.values()}
    assert {key: one["AuthorizationType"] for key, one in made.items()} == {
        "ANY /v1/{proxy+}": "AWS_IAM",
        PUBLIC_ROUTE_KEY: "NONE",
    }
    stage = deployment.only("AWS::ApiGatewayV2::Stage")
    assert stage["RouteSettings"] == {
        PUBLIC_ROUTE_KEY: {"ThrottlingRateLimit": 5, "ThrottlingBurstLimit": 40}
    }
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == 100


def test_every_call_is_logged_without_what_it_carried(dev: Deployment) -> None:
    settings = dev.only("AWS::ApiGatewayV2::Stage")["AccessLogSettings"]
    groups = dev.named("AWS::Logs::LogGroup", "LogGroupName")
    # Without `:*`: API Gateway keeps the ARN so, and a drift detection compares the two.
    assert settings["DestinationArn"] == (
        f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws/vendedlogs/hourhand-dev-api"
    )
    assert groups
    logged = json.loads(settings["Format"])
    assert {"caller", "method", "route", "status", "error"} <= set(logged)
    # The path of a callback holds its token, and so may the URI of its integration.
    secret = re.compile(r"body|path|uri|query|protocol|authorization", re.IGNORECASE)
    assert not [value for value in logged.values() if secret.search(value)]


def test_no_page_of_a_browser_may_call_it(dev: Deployment) -> None:
    assert "CorsConfiguration" not in dev.only("AWS::ApiGatewayV2::Api")


def test_a_caller_is_granted_routes(deployments: Deployments) -> None:
    def build(app: Any) -> None:
        from aws_cdk import CfnOutput, Stack

        from hourhand_cdk.scheduler import HourhandScheduler

        stack = Stack(app, "hourhand-own")
        scheduler = HourhandScheduler(stack, "Scheduler", packed=deployments.packed)
        CfnOutput(stack, "Submit", value=scheduler.api.arn_of("POST", "/v1/jobs"))

    deployment = deployments.synthesise(build)
    value = deployment.evaluation.value(deployment.template["Outputs"]["Submit"]["Value"])
    ((api_id, _),) = deployment.of_type("AWS::ApiGatewayV2::Api").items()
    assert value == f"arn:aws:execute-api:eu-central-1:111122223333:{api_id}/$default/POST/v1/jobs"
