"""boto3's clients, with stated timeouts and retries.

They are made by botocore's session, as boto3 makes them, without loading the rest of boto3, which
nothing here calls. That still takes a tenth of a second of CPU (ADR 17), so import this only where
a client is about to be made. An endpoint other than AWS's own comes from ``AWS_ENDPOINT_URL``, as
boto3 reads it.

A function may find another botocore than the one that Hourhand was tested with: Lambda's own, a
layer's, or one that a user packed. Where our loader or the lean client does not work with it,
botocore's own take its place: slower, and nothing else changes.
"""

from __future__ import annotations

import functools
import os
import re
import threading
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import botocore.session
from botocore.config import Config

from hourhand.aws.batches import Bulk
from hourhand.aws.failures import CHECKSUM, UnreadableAnswer
from hourhand.aws.lean import lean_or_same

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

    from hourhand.aws.job_logs import LogsClient

CONNECT_TIMEOUT_SECONDS = 2
READ_TIMEOUT_SECONDS = 5
"""Every call of ours is answered in milliseconds; a long poll of SQS must be shorter than this."""

MAX_ATTEMPTS = 4
"""The first and three more, in botocore's standard mode: it backs off, and only if it may help."""

OPTIONAL_READ_TIMEOUT_SECONDS = 2
OPTIONAL_ATTEMPTS = 1
"""Of a request that the work can do without: it must not take the time that the work needs."""

MAX_CONNECTIONS = 16
"""For the threads of one process: a batch of messages and their heartbeats."""

OLDEST = (1, 40)
OLDEST_TEXT = ".".join(map(str, OLDEST))
"""The oldest boto3 and botocore that Hourhand is tested with, whose first two numbers are the same.

With an older one the functions still work, as far as that one has the calls that they make: what of
ours it cannot carry is replaced. Packing refuses it, and ``hourhand doctor`` warns of it.
"""

_RELEASE = re.compile(r"(\d+)\.(\d+)")

C = TypeVar("C")

_making = threading.Lock()
"""Clients of one session are made by one thread at a time only."""

_fallbacks: list[str] = []


@functools.cache
def _core() -> botocore.session.Session:
    return botocore.session.get_session()


@functools.cache
def _quick_core() -> botocore.session.Session:
    """Return the same session with our loader, or with botocore's own where ours cannot be used."""
    core = _core()
    try:
        # Only here: another botocore may lack the classes that our loader is derived from.
        from hourhand.aws.service_data import service_data  # noqa: PLC0415

        core.register_component("data_loader", service_data(core.get_config_variable("data_path")))
    except Exception as error:  # noqa: BLE001 - whatever it is, botocore's own loader is there
        _use_botocores_loader(error)
    return core


def _use_botocores_loader(error: Exception) -> None:
    path = _core().get_config_variable("data_path")
    _core().register_component("data_loader", botocore.loaders.create_loader(path))
    _note_fallback("loader of service descriptions", error)


def _note_fallback(part: str, error: Exception) -> None:
    _fallbacks.append(f"{part}: {type(error).__name__}: {error}")


def take_fallbacks() -> tuple[str, ...]:
    """Return, once, which parts of ours botocore's own replaced in this process, each with why."""
    found = tuple(_fallbacks)
    del _fallbacks[: len(found)]
    return found


def client_config() -> Config:
    """Return how every client of ours connects, waits and retries."""
    return _config(READ_TIMEOUT_SECONDS, MAX_ATTEMPTS)


def optional_client_config() -> Config:
    """Return how a client does whose every request is one that the work can do without."""
    read_timeout = min(READ_TIMEOUT_SECONDS, OPTIONAL_READ_TIMEOUT_SECONDS)
    return _config(read_timeout, OPTIONAL_ATTEMPTS)


def _config(read_timeout: float, attempts: int) -> Config:
    return Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=read_timeout,
        retries={"mode": "standard", "total_max_attempts": attempts},
        tcp_keepalive=True,
        max_pool_connections=MAX_CONNECTIONS,
    )


def _client(service: str, make_config: Callable[[], Config] = client_config) -> Any:
    with _making:
        core = _quick_core()
        try:
            return core.create_client(service, config=make_config())
        except Exception as error:  # noqa: BLE001 - raised again below, if the loader is innocent
            noted = len(_fallbacks)
            _use_botocores_loader(error)
            try:
                return core.create_client(service, config=make_config())
            except Exception:
                # The loader was not the reason: no Region is set, for instance.
                del _fallbacks[noted:]
                raise


def dynamodb_client() -> DynamoDBClient:
    """Make a client of DynamoDB, which raises `UnreadableAnswer` for a damaged answer."""
    client = _client("dynamodb")
    client.meta.events.register("after-call.dynamodb", _raise_if_damaged)
    return cast("DynamoDBClient", client)


def _raise_if_damaged(http_response: Any, model: Any, **_: Any) -> None:
    # botocore repeats such a call, until its tries or its quota of retries are used up. Then it
    # returns what it could read of the answer, which may be nothing: as if there were no item.
    checksum = http_response.headers.get(CHECKSUM)
    if checksum is not None and checksum != str(zlib.crc32(http_response.content)):
        raise UnreadableAnswer(operation=model.name, reason="its checksum is another")


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
    """Make a client of CloudWatch, which is asked for ages that a sweep can do without."""
    return cast("CloudWatchClient", _client("cloudwatch", optional_client_config))


def logs_client() -> LogsClient:
    """Make a client of CloudWatch Logs."""
    return cast("LogsClient", _client("logs"))


def bulk_of(client: C) -> Bulk[C]:
    """Return the way to make by the thousand the calls of ``client``: lean, and side by side.

    Where no lean client can be made of ``client``, for whatever reason, it is ``client`` itself.
    """
    try:
        lean = lean_or_same(client, _core().get_credentials, _certificates())
    except Exception as error:  # noqa: BLE001 - no part of botocore's is worth a function
        _note_fallback("lean client", error)
        return Bulk(client)
    return Bulk(cast("C", lean))


def _certificates() -> str:
    """Return the file of the authorities that boto3 trusts: what the user names, or its own."""
    from botocore.httpsession import get_cert_path  # noqa: PLC0415 - only for a lean client

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


def is_too_old(version: str) -> bool:
    """Whether a version of boto3 or botocore, such as ``1.40.3``, is below the oldest.

    One that is not written in that way is not judged.
    """
    found = _RELEASE.match(version)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST
