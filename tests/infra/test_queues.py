"""The queues: those of the local cloud, and what only a deployment has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hourhand.aws.table_schema import CLOCK, LONGEST_RETENTION_SECONDS, PRIORITY_QUEUES, QUEUES
from tests.contract.aws_services import moto_services
from tests.infra.stacks import Deployment, Deployments

QUEUE = "AWS::SQS::Queue"
TICK_FAILURES = "tick-failures"


def queues_of(deployment: Deployment) -> dict[str, dict[str, Any]]:
    return deployment.named(QUEUE, "QueueName")


def test_queues_are_those_of_the_local_cloud_and_one_for_failed_ticks(dev: Deployment) -> None:
    deployed = queues_of(dev)
    assert set(deployed) == {queue.name for queue in QUEUES} | {TICK_FAILURES}
    with moto_services() as local:
        for queue in QUEUES:
            url = local.sqs.get_queue_url(QueueName=f"hourhand-{queue.name}")["QueueUrl"]
            answer = local.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
            theirs, ours = answer["Attributes"], deployed[queue.name]
            assert ours["VisibilityTimeout"] == int(theirs["VisibilityTimeout"])
            assert ours["MessageRetentionPeriod"] == int(theirs["MessageRetentionPeriod"])
            assert redrive_of(ours) == redrive_of(theirs)


def redrive_of(attributes: dict[str, Any]) -> tuple[str, int] | None:
    policy = attributes.get("RedrivePolicy")
    if policy is None:
        return None
    read = json.loads(policy) if isinstance(policy, str) else policy
    return read["deadLetterTargetArn"].rpartition("-")[2], int(read["maxReceiveCount"])


def test_what_is_received_too_often_ends_in_the_backstop_and_nowhere_else(dev: Deployment) -> None:
    redrives = {name: redrive_of(queue) for name, queue in queues_of(dev).items()}
    priorities = {queue.name for queue in PRIORITY_QUEUES.values()}
    assert {name for name, redrive in redrives.items() if redrive} == priorities
    assert {redrives[name] for name in priorities} == {("backstop", 1000)}


def test_messages_are_kept_as_long_as_sqs_keeps_any_but_for_probes_of_the_time(
    dev: Deployment,
) -> None:
    kept = {name: queue["MessageRetentionPeriod"] for name, queue in queues_of(dev).items()}
    assert kept.pop(CLOCK.name) == 60
    assert set(kept.values()) == {LONGEST_RETENTION_SECONDS}


def test_every_queue_refuses_calls_without_tls(dev: Deployment) -> None:
    refusing = set()
    for policy in dev.properties("AWS::SQS::QueuePolicy"):
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Effect"] == "Deny":
                assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
                assert (statement["Action"], statement["Principal"]) == ("sqs:*", {"AWS": "*"})
                refusing.add(statement["Resource"].rpartition("hourhand-dev-")[2])
    assert refusing == set(queues_of(dev))


def test_an_emulator_without_tls_gets_no_such_policies(deployments: Deployments) -> None:
    deployment = deployments.of(enforce_tls=False)
    policies = [
        *deployment.properties("AWS::SQS::QueuePolicy"),
        *deployment.properties("AWS::S3::BucketPolicy"),
    ]
    statements = [s for policy in policies for s in policy["PolicyDocument"]["Statement"]]
    assert all(statement["Effect"] == "Allow" for statement in statements)


def test_every_queue_is_encrypted_by_sqs_or_by_a_key_of_ones_own(
    dev: Deployment, deployments: Deployments
) -> None:
    assert all(queue["SqsManagedSseEnabled"] is True for queue in queues_of(dev).values())
    own = deployments.of(customer_key=True)
    (key_id,) = own.of_type("AWS::KMS::Key")
    arn = own.evaluation.value({"Fn::GetAtt": [key_id, "Arn"]})
    for name, queue in queues_of(own).items():
        if name in {CLOCK.name, TICK_FAILURES}:
            assert queue["SqsManagedSseEnabled"] is True, "it holds nothing of the user's"
        else:
            assert queue["KmsMasterKeyId"] == arn


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_no_queue_is_a_fifo_queue(deployments: Deployments, stage: str) -> None:
    assert not [q for q in queues_of(deployments.of(stage=stage)).values() if "FifoQueue" in q]
