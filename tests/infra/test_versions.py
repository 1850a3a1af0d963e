"""Each deployment publishes a version of every function, and everything calls the alias."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hourhand.aws.published import ALIAS, MAX_DESCRIPTION, read_description
from tests.infra.stacks import FUNCTIONS, Deployment, Deployments

VERSION, FUNCTION = "AWS::Lambda::Version", "AWS::Lambda::Function"
ARN = "arn:aws:lambda:eu-central-1:111122223333:function:hourhand-dev-{}:live"
VARIANTS: list[dict[str, Any]] = [{}, {"snap_start": True}, {"provisioned_concurrency": 3}]

CONFIGURED: list[dict[str, Any]] = [
    {"dispatch": "single"},
    {"worker_memory_mb": 2048},
    {"handlers_environment": '{"ORDERS": "orders-table"}'},
    {"python": "3.13"},
    {"tracing": "xray"},
    {"log_retention_days": 30, "leader": "standby"},
]


def versions_of(deployment: Deployment) -> dict[str, str]:
    """Return the logical id of the version of each function."""
    return {
        deployment.evaluation.value(version["Properties"]["FunctionName"]): name
        for name, version in deployment.of_type(VERSION).items()
    }


def deployment_of(deployment: Deployment) -> str:
    """Return the id that all three versions share."""
    read = [read_description(v["Description"]) for v in deployment.properties(VERSION)]
    (found,) = {each[1] for each in read if each is not None}
    assert None not in read
    return found


@pytest.mark.parametrize("context", VARIANTS)
def test_what_calls_a_function_calls_its_alias(
    deployments: Deployments, context: dict[str, Any]
) -> None:
    deployment = deployments.of(**context)
    (target,) = deployment.only("AWS::Events::Rule")["Targets"]
    assert target["Arn"] == ARN.format("scheduler")
    sources = deployment.properties("AWS::Lambda::EventSourceMapping")
    assert {source["FunctionName"] for source in sources} == {"hourhand-dev-worker:live"}
    uri = deployment.only("AWS::ApiGatewayV2::Integration")["IntegrationUri"]
    assert uri == ARN.format("api")
    asynchronous = deployment.only("AWS::Lambda::EventInvokeConfig")
    assert asynchronous["Qualifier"] == ALIAS
    permissions = deployment.properties("AWS::Lambda::Permission")
    assert {p["FunctionName"] for p in permissions} == {ARN.format("api"), ARN.format("scheduler")}


@pytest.mark.parametrize("context", VARIANTS)
def test_the_scheduler_may_start_its_alias_and_read_where_it_stands(
    deployments: Deployments, context: dict[str, Any]
) -> None:
    allowed = deployments.of(**context).allowed("scheduler")
    alias = ARN.format("scheduler")
    assert {(action, r) for action, r in allowed if action.startswith("lambda:")} == {
        ("lambda:InvokeFunction", alias),
        ("lambda:GetAlias", alias.removesuffix(":live")),
    }


@pytest.mark.parametrize("context", VARIANTS)
def test_each_alias_is_at_the_version_of_its_deployment(
    deployments: Deployments, context: dict[str, Any]
) -> None:
    deployment = deployments.of(**context)
    versions = versions_of(deployment)
    assert set(versions) == {f"hourhand-dev-{name}" for name in FUNCTIONS}
    aliases = deployment.properties("AWS::Lambda::Alias")
    assert {(a["Name"], a["FunctionName"], a["FunctionVersion"]) for a in aliases} == {
        (ALIAS, function, f"<{version}.Version>") for function, version in versions.items()
    }


def test_an_old_version_stays_but_not_one_of_a_deployment_that_failed(dev: Deployment) -> None:
    for version in dev.of_type(VERSION).values():
        assert version["DeletionPolicy"] == "RetainExceptOnCreate"
        assert version["UpdateReplacePolicy"] == "Retain"


def test_function_version_and_alias_say_release_and_deployment(dev: Deployment) -> None:
    for kind in (FUNCTION, VERSION, "AWS::Lambda::Alias"):
        described = [each["Description"] for each in dev.properties(kind)]
        assert len(described) == len(FUNCTIONS)
        assert {read_description(text) for text in described} == {
            read_description(described[0])
        } - {None}
    release, deployment = read_description(dev.function("worker")["Description"]) or ("", "")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", release)
    assert deployment == deployment_of(dev)


def test_a_description_fits_for_the_longest_installation(deployments: Deployments) -> None:
    deployment = deployments.of(installation="a" * 30)
    assert all(len(v["Description"]) <= MAX_DESCRIPTION for v in deployment.properties(VERSION))


def test_the_same_again_is_the_same_deployment(deployments: Deployments, dev: Deployment) -> None:
    again = deployments.synthesise(lambda app: add_stack(deployments, app, {}))
    assert versions_of(again) == versions_of(dev)
    assert deployment_of(again) == deployment_of(dev)


@pytest.mark.parametrize("context", CONFIGURED)
def test_a_change_of_configuration_publishes_all_three(
    deployments: Deployments, dev: Deployment, context: dict[str, Any]
) -> None:
    changed = deployments.of(**context)
    assert deployment_of(changed) != deployment_of(dev)
    assert not set(versions_of(changed).values()) & set(versions_of(dev).values())


def test_a_setting_that_no_function_sees_publishes_nothing(
    deployments: Deployments, dev: Deployment
) -> None:
    changed = deployments.of(lateness_alarm_ms=9_000, worker_concurrency=30)
    assert versions_of(changed) == versions_of(dev)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_change_of_code_publishes_all_three(
    deployments: Deployments, dev: Deployment, name: str
) -> None:
    main = getattr(deployments.packed, name) / "main.py"
    text = main.read_text(encoding="utf-8")
    main.write_text(f"{text}# and more\n", encoding="utf-8")
    try:
        changed = deployments.synthesise(lambda app: add_stack(deployments, app, {}))
    finally:
        main.write_text(text, encoding="utf-8")
    assert deployment_of(changed) != deployment_of(dev)
    assert not set(versions_of(changed).values()) & set(versions_of(dev).values())


def test_what_a_users_app_changes_later_is_part_of_the_deployment(
    deployments: Deployments, tmp_path: Any
) -> None:
    def deployed(order: str, font: str) -> Deployment:
        def build(app: Any) -> None:
            from aws_cdk import Stack
            from aws_cdk import aws_lambda as lambda_

            from hourhand_cdk.plans import WorkerOptions
            from hourhand_cdk.scheduler import HourhandScheduler

            stack = Stack(app, "own")
            # As in the cdk.json of every new app.
            stack.node.set_context("@aws-cdk/aws-lambda:recognizeLayerVersion", True)
            folder = tmp_path / font
            folder.mkdir(exist_ok=True)
            (folder / "font").write_text(font)
            layer = lambda_.LayerVersion(stack, "Fonts", code=lambda_.Code.from_asset(str(folder)))
            scheduler = HourhandScheduler(
                stack,
                "Scheduler",
                packed=deployments.packed,
                worker_options=WorkerOptions(layers=[layer]),
            )
            scheduler.worker.add_environment("ORDERS", order)

        return deployments.synthesise(build)

    first = deployment_of(deployed("1", "serif"))
    assert deployment_of(deployed("1", "serif")) == first
    others = [deployment_of(deployed("2", "serif")), deployment_of(deployed("1", "sans"))]
    assert len({first, *others}) == 3


def test_metrics_and_logs_are_of_all_versions_of_a_function(dev: Deployment) -> None:
    # Lambda's dimension FunctionName aggregates over versions and aliases (Lambda guide, metrics).
    text = repr(dev.properties("AWS::CloudWatch::Alarm")) + repr(
        dev.properties("AWS::CloudWatch::Dashboard")
    )
    assert "FunctionName" in text
    assert "ExecutedVersion" not in text
    assert ":live" not in text


def test_reserved_concurrency_is_the_schedulers_and_only_if_asked_for(
    deployments: Deployments, dev: Deployment
) -> None:
    reserved = deployments.of(scheduler_reserved_concurrency=5)
    key = "ReservedConcurrentExecutions"
    assert {name: reserved.function(name).get(key) for name in FUNCTIONS} == {
        "api": None,
        "scheduler": 5,
        "worker": None,
    }
    assert not any(key in dev.function(name) for name in FUNCTIONS)
    # It is of the function, not of a version: switching it needs none (Lambda guide, versions).
    assert versions_of(reserved) == versions_of(dev)


def add_stack(deployments: Deployments, app: Any, context: dict[str, Any]) -> None:
    from hourhand_cdk.app import make_stack
    from hourhand_cdk.config import read_config

    make_stack(app, read_config(context), deployments.packed)
