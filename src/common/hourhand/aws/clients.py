"""boto3's clients, with stated timeouts and retries.

They are made by botocore's session, as boto3 makes them, without loading the rest of boto3, which
nothing here calls. That still takes a tenth of a second of CPU (ADR 17), so import this only where
a client is about to be made. An endpoint other than AWS's own comes from ``AWS_ENDPOINT_URL``, as
boto3 reads it.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import botocore.session
from botocore.config import Config
from botocore.httpsession import get_cert_path

from hourhand.aws.bulk import Bulk
from hourhand.aws.lean import lean_or_same
from hourhand.aws.service_data import service_data

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

CONNECT_TIMEOUT_SECONDS = 2
READ_TIMEOUT_SECONDS = 5
"""Every call of ours is answered in milliseconds; a long poll of SQS must be shorter than this."""

MAX_ATTEMPTS = 4
"""The first and three more, in botocore's standard mode: it backs off, and only if it may help."""

MAX_CONNECTIONS = 16
"""For the threads of one process: a batch of messages and their heartbeats."""

C = TypeVar("C")

_making = threading.Lock()
"""Clients of one session are made by one thread at a time only."""


@functools.cache
def _core() -> botocore.session.Session:
    core = botocore.session.get_session()
    core.register_component("data_loader", service_data(core.get_config_variable("data_path")))
    return core


def client_config() -> Config:
    """Return how every client of ours connects, waits and retries."""
    return Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        retries={"mode": "standard", "total_max_attempts": MAX_ATTEMPTS},
        tcp_keepalive=True,
        max_pool_connections=MAX_CONNECTIONS,
    )


def _client(service: str) -> Any:
    with _making:
        return _core().create_client(service, config=client_config())


def dynamodb_client() -> DynamoDBClient:
    """Make a client of DynamoDB."""
    return cast("DynamoDBClient", _client("dynamodb"))


def sqs_client() -> SQSClient:
    """Make a client of SQS."""
    return cast("SQSClient", _client("sqs"))


def s3_client() -> S3Client:
    """Make a client of S3."""
    return cast("S3Client", _client("s3"))


def lambda_client() -> LambdaClient:
    """Make a client of Lambda."""
    return cast("LambdaClient", _client("lambda"))


def cloudwatch_client() -> CloudWatchClient:
    """Make a client of CloudWatch."""
    return cast("CloudWatchClient", _client("cloudwatch"))


def bulk_of(client: C) -> Bulk[C]:
    """Return the way to make by the thousand the calls of ``client``: lean, and side by side."""
    lean = lean_or_same(client, _core().get_credentials, _certificates())
    return Bulk(cast("C", lean))


def _certificates() -> str:
    """Return the file of the authorities that boto3 trusts: what the user names, or its own."""
    named = _core().get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")
    return str(named or get_cert_path(verify=True))


class _LazyClient:
    """Stands for a client that is made when it is first called; safe for threads."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._client: Any = None

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._make()
        return getattr(self._client, name)


def lazy_client(make: Callable[[], C]) -> C:
    """Return a stand-in for the client that ``make`` makes, made when it is first called.

    For clients that most runs of a function never need.
    """
    return cast("C", _LazyClient(make))
