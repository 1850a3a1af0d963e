"""AWS stand-ins for the contract suite: moto in this process, and emulators given by endpoint."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from moto import mock_aws
from moto.backends import get_backend

from hourhand.aws.clients import client_config
from hourhand.aws.provision import destroy, provision
from hourhand.settings import Settings

ENDPOINTS = {
    "dynamodb": "HOURHAND_TEST_DYNAMODB_ENDPOINT",
    "sqs": "HOURHAND_TEST_SQS_ENDPOINT",
    "s3": "HOURHAND_TEST_S3_ENDPOINT",
}
"""The environment variable that names the emulator of each service."""

DISPATCH = "HOURHAND_TEST_DISPATCH"
"""Set to "batch" where the DynamoDB emulator judges every condition of a PartiQL batch."""

_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class AwsServices:
    """Clients, and one installation's names on them."""

    dynamodb: Any
    sqs: Any
    s3: Any
    settings: Settings


@functools.cache
def _client(service: str, endpoint: str | None) -> Any:
    return boto3.client(service, endpoint_url=endpoint, config=client_config())  # type: ignore[call-overload]


@contextmanager
def moto_services() -> Iterator[AwsServices]:
    """Make an installation that is alone in a moto of its own."""
    with mock_aws():
        dynamodb, sqs, s3 = (_client(service, None) for service in ENDPOINTS)
        yield AwsServices(dynamodb, sqs, s3, provision(dynamodb, sqs, s3))


def empty_moto() -> None:
    """Delete the items, messages and objects that moto holds; tables, queues and bucket stay.

    To make an installation takes many times as long as what most tests do with it.
    """
    for dynamodb in get_backend("dynamodb").values():
        for tables in dynamodb.values():
            for table in tables.tables.values():
                table.items.clear()
    for sqs in get_backend("sqs").values():
        for queues in sqs.values():
            for queue in queues.queues.values():
                # Its own purge may be asked for once a minute.
                queue._messages.clear()
                queue._pending_messages.clear()
    for s3 in get_backend("s3").values():
        for buckets in s3.values():
            for bucket in buckets.buckets.values():
                bucket.keys.clear()


@contextmanager
def endpoint_services() -> Iterator[AwsServices]:
    """Make an installation on the emulators that are given, and on moto for the others."""
    with mock_aws():
        dynamodb, sqs, s3 = (_client(s, os.environ.get(name)) for s, name in ENDPOINTS.items())
        # Whatever else runs on the emulator, and whatever an earlier run left there.
        prefix = f"contract-{os.getpid()}-{next(_NUMBERS)}"
        try:
            yield AwsServices(dynamodb, sqs, s3, provision(dynamodb, sqs, s3, prefix=prefix))
        finally:
            destroy(dynamodb, sqs, s3, prefix=prefix)
