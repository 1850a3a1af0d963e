"""Makes and removes the tables, queues and bucket of an installation, as `table_schema` has them.

For the local cloud and for tests; a deployment makes the same from the same data by its stack.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hourhand.aws.failures import Call, Expected, ask, ask_expecting
from hourhand.aws.table_schema import (
    BUCKET,
    CLOCK,
    CONTROL,
    DAYS_TAG,
    DEAD_LETTERS,
    FINISHED,
    IDEMPOTENCY,
    JOBS,
    PRIORITY_QUEUES,
    QUEUES,
    SCHEDULES,
    STATE_TAG,
    TABLES,
    Index,
    Key,
    Queue,
    Table,
    resource_name,
)
from hourhand.domain.jobs.job import Priority
from hourhand.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

DEFAULT_PREFIX = "hourhand"
TABLE_WAIT_SECONDS = 1
TABLE_WAITS = 60
"""How long a table may take to be there or gone, looked at once a second."""

MAX_EMPTYING_PAGES = 1000
"""Pages of a thousand objects that are deleted from a bucket before it."""

_EXISTS = frozenset({"ResourceInUseException"})
_OWNED = frozenset({"BucketAlreadyOwnedByYou"})
_TABLE_GONE = frozenset({"ResourceNotFoundException"})
_QUEUE_GONE = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
_BUCKET_GONE = frozenset({"NoSuchBucket"})
_QUEUE_DIFFERS = frozenset({"QueueAlreadyExists", "QueueNameExists"})
_NO_TTL = frozenset({"UnknownOperationException"})
"""What an emulator answers that never deletes or expires anything."""

_TTL_ON = frozenset({"ENABLED", "ENABLING"})
_DEFAULT_REGION = "us-east-1"


def provision(
    dynamodb: DynamoDBClient,
    sqs: SQSClient,
    s3: S3Client,
    *,
    prefix: str = DEFAULT_PREFIX,
) -> Settings:
    """Make whatever is missing of the installation ``prefix``; return its names and URLs.

    May be called again at any time. Raises `Unavailable` where AWS does not answer.
    """
    for table in TABLES:
        _make_table(dynamodb, table, resource_name(prefix, table.name))
    urls: dict[str, str] = {}
    for queue in QUEUES:
        urls[queue.name] = _make_queue(sqs, queue, resource_name(prefix, queue.name), urls)
    bucket = resource_name(prefix, BUCKET.name)
    _make_bucket(s3, bucket)
    return Settings(
        installation=prefix,
        jobs_table=resource_name(prefix, JOBS.name),
        control_table=resource_name(prefix, CONTROL.name),
        idempotency_table=resource_name(prefix, IDEMPOTENCY.name),
        schedules_table=resource_name(prefix, SCHEDULES.name),
        bucket=bucket,
        queue_high=urls[PRIORITY_QUEUES[Priority.HIGH].name],
        queue_medium=urls[PRIORITY_QUEUES[Priority.MEDIUM].name],
        queue_low=urls[PRIORITY_QUEUES[Priority.LOW].name],
        dead_letter_queue=urls[DEAD_LETTERS.name],
        clock_queue=urls[CLOCK.name],
    )


def destroy(
    dynamodb: DynamoDBClient,
    sqs: SQSClient,
    s3: S3Client,
    *,
    prefix: str = DEFAULT_PREFIX,
) -> None:
    """Remove everything of the installation ``prefix``, its jobs included."""
    for table in TABLES:
        _remove_table(dynamodb, resource_name(prefix, table.name))
    for queue in QUEUES:
        _remove_queue(sqs, resource_name(prefix, queue.name))
    _remove_bucket(s3, resource_name(prefix, BUCKET.name))


# --- tables -------------------------------------------------------------------------------------


def _make_table(client: DynamoDBClient, table: Table, name: str) -> None:
    arguments: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": key.attribute, "AttributeType": key.type} for key in table.keys
        ],
        "KeySchema": _key_schema(table.partition, table.sort),
    }
    if table.indexes:
        arguments["GlobalSecondaryIndexes"] = [_index(index) for index in table.indexes]
    call = Call("CreateTable", f"table {name}")
    ask_expecting(_EXISTS, call, client.create_table, **arguments)
    _wait(client, "table_exists", name)
    if table.expiry is not None:
        _expire_by(client, name, table.expiry)


def _expire_by(client: DynamoDBClient, name: str, attribute: str) -> None:
    resource = f"table {name}"
    call = Call("DescribeTimeToLive", resource)
    described = ask(call, client.describe_time_to_live, TableName=name)
    # DynamoDB refuses to switch on what is on.
    if described["TimeToLiveDescription"].get("TimeToLiveStatus") not in _TTL_ON:
        # Nothing but the size of a table depends on it, and some emulators have none.
        ask_expecting(
            _NO_TTL,
            Call("UpdateTimeToLive", resource),
            client.update_time_to_live,
            TableName=name,
            TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute},
        )


def _index(index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.partition, index.sort),
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }


def _key_schema(partition: Key, sort: Key | None) -> list[dict[str, str]]:
    keys = [{"AttributeName": partition.attribute, "KeyType": "HASH"}]
    if sort is not None:
        keys.append({"AttributeName": sort.attribute, "KeyType": "RANGE"})
    return keys


def _remove_table(client: DynamoDBClient, name: str) -> None:
    call = Call("DeleteTable", f"table {name}")
    answer = ask_expecting(_TABLE_GONE, call, client.delete_table, TableName=name)
    if not isinstance(answer, Expected):
        _wait(client, "table_not_exists", name)


def _wait(client: DynamoDBClient, state: Any, name: str) -> None:
    ask(
        Call("DescribeTable", f"table {name}"),
        client.get_waiter(state).wait,
        TableName=name,
        WaiterConfig={"Delay": TABLE_WAIT_SECONDS, "MaxAttempts": TABLE_WAITS},
    )


# --- queues -------------------------------------------------------------------------------------


def _make_queue(client: SQSClient, queue: Queue, name: str, urls: dict[str, str]) -> str:
    attributes = {
        "VisibilityTimeout": str(queue.visibility_seconds),
        "MessageRetentionPeriod": str(queue.retention_seconds),
    }
    if queue.backstop is not None:
        policy = {
            "deadLetterTargetArn": _queue_arn(client, urls[queue.backstop]),
            "maxReceiveCount": queue.max_receives,
        }
        attributes["RedrivePolicy"] = json.dumps(policy)
    resource = f"queue {name}"
    answer = ask_expecting(
        _QUEUE_DIFFERS,
        Call("CreateQueue", resource),
        client.create_queue,
        QueueName=name,
        Attributes=attributes,
    )
    if not isinstance(answer, Expected):
        return answer["QueueUrl"]
    url = ask(Call("GetQueueUrl", resource), client.get_queue_url, QueueName=name)["QueueUrl"]
    ask(
        Call("SetQueueAttributes", resource),
        client.set_queue_attributes,
        QueueUrl=url,
        Attributes=attributes,
    )
    return url


def _queue_arn(client: SQSClient, url: str) -> str:
    answer = ask(
        Call("GetQueueAttributes", f"queue {url}"),
        client.get_queue_attributes,
        QueueUrl=url,
        AttributeNames=["QueueArn"],
    )
    return answer["Attributes"]["QueueArn"]


def _remove_queue(client: SQSClient, name: str) -> None:
    resource = f"queue {name}"
    found = ask_expecting(
        _QUEUE_GONE, Call("GetQueueUrl", resource), client.get_queue_url, QueueName=name
    )
    if not isinstance(found, Expected):
        call = Call("DeleteQueue", resource)
        ask(call, client.delete_queue, QueueUrl=found["QueueUrl"])


# --- bucket -------------------------------------------------------------------------------------


def _make_bucket(client: S3Client, name: str) -> None:
    region = client.meta.region_name
    arguments: dict[str, Any] = {"Bucket": name}
    if region != _DEFAULT_REGION:
        arguments["CreateBucketConfiguration"] = {"LocationConstraint": region}
    resource = f"bucket {name}"
    ask_expecting(_OWNED, Call("CreateBucket", resource), client.create_bucket, **arguments)
    ask(
        Call("PutBucketLifecycleConfiguration", resource),
        client.put_bucket_lifecycle_configuration,
        Bucket=name,
        LifecycleConfiguration={"Rules": [_expiry_rule(days) for days in BUCKET.expiry_days]},
    )


def _expiry_rule(days: int) -> dict[str, Any]:
    tags = [{"Key": STATE_TAG, "Value": FINISHED}, {"Key": DAYS_TAG, "Value": str(days)}]
    return {
        "ID": f"finished-{days}",
        "Status": "Enabled",
        "Filter": {"And": {"Tags": tags}},
        "Expiration": {"Days": days},
    }


def _remove_bucket(client: S3Client, name: str) -> None:
    resource = f"bucket {name}"
    for _ in range(MAX_EMPTYING_PAGES):
        page = ask_expecting(
            _BUCKET_GONE, Call("ListObjectsV2", resource), client.list_objects_v2, Bucket=name
        )
        if isinstance(page, Expected):
            return
        keys = [{"Key": found["Key"]} for found in page.get("Contents", [])]
        if not keys:
            break
        ask(
            Call("DeleteObjects", resource),
            client.delete_objects,
            Bucket=name,
            Delete={"Objects": keys},
        )
    ask(Call("DeleteBucket", resource), client.delete_bucket, Bucket=name)
