from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.object_store import S3ObjectStore
from hourhand.aws.provision import destroy, provision
from hourhand.aws.table_schema import (
    BACKSTOP,
    JOBS,
    MAX_RECEIVES,
    PRIORITY_QUEUES,
    QUEUES,
    TABLES,
    Table,
    resource_name,
)
from hourhand.domain.jobs.job import Priority
from hourhand.settings import API_NEEDS, SCHEDULER_NEEDS, WORKER_NEEDS
from tests.contract.aws_services import moto_services
from tests.unit.aws.conftest import Installation
from tests.world.factories import make_job


@pytest.fixture
def installation() -> Iterator[Installation]:
    """Return one of its own: tests change and remove what it is made of."""
    with moto_services() as made:
        yield made


def test_the_settings_name_everything_that_is_made(installation: Installation) -> None:
    made = set(API_NEEDS) | set(SCHEDULER_NEEDS) | set(WORKER_NEEDS)
    for name in made - {"handlers", "manifest"}:
        assert getattr(installation.settings, name), name


def test_making_it_again_changes_nothing_and_loses_nothing(installation: Installation) -> None:
    store = DynamoJobStore(installation.dynamodb, installation.settings.jobs_table)
    store.put(make_job())
    again = provision(installation.dynamodb, installation.sqs, installation.s3)
    assert again == installation.settings
    assert store.get("job-1") is not None


def test_a_queue_of_an_earlier_layout_takes_the_present_one(installation: Installation) -> None:
    url = installation.settings.queue_high
    installation.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "7"})
    provision(installation.dynamodb, installation.sqs, installation.s3)
    answer = installation.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    expected = PRIORITY_QUEUES[Priority.HIGH].visibility_seconds
    assert answer["Attributes"]["VisibilityTimeout"] == str(expected)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_is_as_the_schema_has_it(installation: Installation, table: Table) -> None:
    name = resource_name("hourhand", table.name)
    made = installation.dynamodb.describe_table(TableName=name)["Table"]
    assert made["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    keys = {k["AttributeName"]: k["AttributeType"] for k in made["AttributeDefinitions"]}
    assert keys == {key.attribute: key.type for key in table.keys}
    indexes = {index["IndexName"]: index for index in made.get("GlobalSecondaryIndexes", [])}
    assert set(indexes) == {index.name for index in table.indexes}
    assert all(i["Projection"] == {"ProjectionType": "KEYS_ONLY"} for i in indexes.values())
    expiry = installation.dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert expiry.get("AttributeName") == table.expiry


@pytest.mark.parametrize("priority", Priority)
def test_the_backstop_takes_what_was_received_too_often(
    installation: Installation, priority: Priority
) -> None:
    url = installation.settings.queues[priority]
    answer = installation.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    policy = json.loads(answer["Attributes"]["RedrivePolicy"])
    backstop = resource_name("hourhand", BACKSTOP.name)
    assert policy["deadLetterTargetArn"].endswith(f":{backstop}")
    assert int(policy["maxReceiveCount"]) == MAX_RECEIVES


def test_nothing_is_left_after_its_removal(installation: Installation) -> None:
    dynamodb, sqs, s3 = installation.dynamodb, installation.sqs, installation.s3
    objects = S3ObjectStore(s3, installation.settings.bucket)
    for number in range(3):
        objects.put(f"payload/{number}", "{}")
    destroy(dynamodb, sqs, s3)
    assert dynamodb.list_tables()["TableNames"] == []
    assert sqs.list_queues().get("QueueUrls", []) == []
    assert s3.list_buckets()["Buckets"] == []
    destroy(dynamodb, sqs, s3)


def test_installations_of_two_prefixes_are_apart(installation: Installation) -> None:
    dynamodb, sqs, s3 = installation.dynamodb, installation.sqs, installation.s3
    other = provision(dynamodb, sqs, s3, prefix="other")
    destroy(dynamodb, sqs, s3)
    assert set(dynamodb.list_tables()["TableNames"]) == {
        resource_name("other", table.name) for table in TABLES
    }
    assert len(sqs.list_queues()["QueueUrls"]) == len(QUEUES)
    assert other.jobs_table == resource_name("other", JOBS.name)
