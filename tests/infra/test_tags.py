"""Tags reach everything that takes tags: in a bill or a policy, what has none is nobody's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.infra.stacks import Deployment, Deployments

OURS = {"hourhand:installation": "hourhand-dev"}
THEIRS = {"team": "billing", "cost centre": "4711"}

TAKE_NONE = {
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::IAM::Policy",
    "AWS::KMS::Alias",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Subscription",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
}
"""Kinds whose reference in CloudFormation has no tags."""

TAKE_TAGS = {
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::Stage",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::DynamoDB::GlobalTable",
    "AWS::Events::Rule",
    "AWS::IAM::Role",
    "AWS::KMS::Key",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
}


@pytest.fixture(scope="module")
def tagged(deployments: Deployments) -> Deployment:
    """Return a deployment with each kind of resource."""
    return deployments.of(
        monitoring="full", customer_key="true", alarm_email="a@example.org", tags=THEIRS
    )


def tags_of(resource: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the tags of a resource, or of each replica of a table."""
    properties = resource.get("Properties", {})
    for part in properties.get("Replicas", [properties]):
        tags = part.get("Tags", [])
        yield tags if isinstance(tags, dict) else {each["Key"]: each["Value"] for each in tags}


def test_every_kind_is_known_to_take_tags_or_none(tagged: Deployment) -> None:
    kinds = {resource["Type"] for resource in tagged.template["Resources"].values()}

    assert TAKE_TAGS <= kinds <= TAKE_TAGS | TAKE_NONE


def test_tags_reach_every_resource_that_takes_them(tagged: Deployment) -> None:
    for name, resource in tagged.template["Resources"].items():
        if resource["Type"] in TAKE_TAGS:
            assert list(tags_of(resource)) == [OURS | THEIRS], name


def test_tables_and_buckets_have_the_installation_s_tag_without_any_setting(
    dev: Deployment,
) -> None:
    for kind in ("AWS::DynamoDB::GlobalTable", "AWS::S3::Bucket", "AWS::SQS::Queue"):
        for resource in dev.of_type(kind).values():
            assert list(tags_of(resource)) == [OURS]


def test_tags_of_an_app_reach_the_tables_of_the_scheduler_in_it(deployments: Deployments) -> None:
    def build(app: Any) -> None:
        from aws_cdk import Stack, Tags

        from hourhand_cdk.scheduler import HourhandScheduler

        stack = Stack(app, "own")
        HourhandScheduler(stack, "Scheduler", packed=deployments.packed)
        Tags.of(stack).add("team", "billing")

    made = deployments.synthesise(build)

    for resource in made.of_type("AWS::DynamoDB::GlobalTable").values():
        assert list(tags_of(resource)) == [OURS | {"team": "billing"}]
