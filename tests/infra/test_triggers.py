"""What calls the functions: the minute's rule and the event sources of the queues."""

from __future__ import annotations

from typing import Any

import pytest

from tests.infra.stacks import Deployment, Deployments

SOURCE = "AWS::Lambda::EventSourceMapping"
FAILURES = "arn:aws:sqs:eu-central-1:111122223333:hourhand-dev-tick-failures"


def of(deployments: Deployments, stage: str, provisioned: bool) -> Deployment:
    """Return a deployment that is large enough for either way to poll."""
    return deployments.of(stage=stage, provisioned_pollers=provisioned, worker_concurrency=200)


def sources_of(deployment: Deployment) -> dict[str, dict[str, Any]]:
    found = deployment.properties(SOURCE)
    return {source["EventSourceArn"].rpartition("-")[2]: source for source in found}


def test_the_scheduler_is_called_once_a_minute(dev: Deployment) -> None:
    rule = dev.only("AWS::Events::Rule")
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
    (target,) = rule["Targets"]
    assert target["Arn"].endswith(":function:hourhand-dev-scheduler:live")
    permissions = dev.properties("AWS::Lambda::Permission")
    (by_events,) = [p for p in permissions if p["Principal"] == "events.amazonaws.com"]
    assert by_events["SourceArn"].endswith("rule/hourhand-dev-tick")


def test_a_tick_is_tried_again_until_the_next_one_is_due_and_then_kept(dev: Deployment) -> None:
    (target,) = dev.only("AWS::Events::Rule")["Targets"]
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 2}
    assert target["DeadLetterConfig"] == {"Arn": FAILURES}
    senders = [
        statement
        for policy in dev.properties("AWS::SQS::QueuePolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    (sender,) = senders
    assert sender["Principal"] == {"Service": "events.amazonaws.com"}
    assert (sender["Action"], sender["Resource"]) == ("sqs:SendMessage", FAILURES)


def test_a_failed_tick_is_not_repeated_by_lambda_but_kept(dev: Deployment) -> None:
    config = dev.only("AWS::Lambda::EventInvokeConfig")
    assert config["FunctionName"] == "hourhand-dev-scheduler"
    assert (config["MaximumRetryAttempts"], config["MaximumEventAgeInSeconds"]) == (0, 60)
    assert config["DestinationConfig"] == {"OnFailure": {"Destination": FAILURES}}
    assert ("sqs:SendMessage", FAILURES) in dev.allowed("scheduler")


@pytest.mark.parametrize("stage", ["dev", "prod"])
@pytest.mark.parametrize("provisioned", [False, True])
def test_each_message_is_a_batch_of_its_own_and_kept_alone(
    deployments: Deployments, stage: str, provisioned: bool
) -> None:
    sources = sources_of(of(deployments, stage, provisioned))
    assert set(sources) == {"high", "medium", "low"}
    for source in sources.values():
        assert source["BatchSize"] == 1
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert source["FunctionName"].endswith("-worker:live")


@pytest.mark.parametrize(
    ("context", "shares"),
    [
        ({"worker_concurrency": 20}, {"high": 9, "medium": 8, "low": 3}),
        ({"stage": "prod"}, {"high": 90, "medium": 80, "low": 30}),
        ({"worker_concurrency": 14}, {"high": 7, "medium": 5, "low": 2}),
    ],
)
def test_the_workers_are_shared_out_among_the_priorities(
    deployments: Deployments, context: dict[str, Any], shares: dict[str, int]
) -> None:
    sources = sources_of(deployments.of(**context))
    found = {name: source["ScalingConfig"] for name, source in sources.items()}
    assert found == {name: {"MaximumConcurrency": share} for name, share in shares.items()}


@pytest.mark.parametrize("context", [{}, {"stage": "prod", "worker_concurrency": "none"}])
def test_without_a_ceiling_lambda_may_keep_two_polls_of_an_idle_queue(
    deployments: Deployments, context: dict[str, Any]
) -> None:
    for source in sources_of(deployments.of(**context)).values():
        assert "ScalingConfig" not in source
        assert "ProvisionedPollerConfig" not in source


@pytest.mark.parametrize("stage", ["dev", "prod"])
@pytest.mark.parametrize("provisioned", [False, True])
def test_concurrency_is_never_limited_together_with_provisioned_pollers(
    deployments: Deployments, stage: str, provisioned: bool
) -> None:
    for source in sources_of(of(deployments, stage, provisioned)).values():
        assert ("ProvisionedPollerConfig" in source) is provisioned
        assert ("ScalingConfig" in source) is not provisioned


def test_provisioned_pollers_are_as_many_as_the_shares_ask_for(deployments: Deployments) -> None:
    sources = sources_of(deployments.of(stage="prod", provisioned_pollers=True))
    pollers = {name: source["ProvisionedPollerConfig"] for name, source in sources.items()}
    assert pollers == {
        "high": {"MinimumPollers": 2, "MaximumPollers": 9},
        "medium": {"MinimumPollers": 2, "MaximumPollers": 8},
        "low": {"MinimumPollers": 2, "MaximumPollers": 3},
    }


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_no_message_reappears_while_its_function_may_run(
    deployments: Deployments, stage: str
) -> None:
    deployment = deployments.of(stage=stage)
    queues = deployment.named("AWS::SQS::Queue", "QueueName")
    for name in sources_of(deployment):
        # Lambda refuses the event source otherwise (Lambda developer guide, Amazon SQS).
        assert queues[name]["VisibilityTimeout"] >= deployment.function("worker")["Timeout"]


def test_nothing_but_the_rule_and_the_api_may_call_a_function(dev: Deployment) -> None:
    found = dev.properties("AWS::Lambda::Permission")
    principals = sorted(permission["Principal"] for permission in found)
    assert principals == ["apigateway.amazonaws.com", "events.amazonaws.com"]
    assert all("SourceArn" in permission for permission in found)
