from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import NoRegionError

from hourhand.aws import clients
from hourhand.aws.clients import (
    MAX_ATTEMPTS,
    bulk_of,
    client_config,
    cloudwatch_client,
    dynamodb_client,
    lambda_client,
    lazy_client,
    logs_client,
    s3_client,
    sqs_client,
    take_fallbacks,
)
from hourhand.aws.failures import UnreadableAnswer
from hourhand.aws.lean import LeanClient
from hourhand.aws.service_data import QuickFiles

MAKERS: list[Callable[[], Any]] = [
    dynamodb_client,
    sqs_client,
    s3_client,
    lambda_client,
    cloudwatch_client,
    logs_client,
]


@pytest.mark.parametrize("make", MAKERS)
def test_every_client_states_how_long_it_waits_and_how_often_it_tries(
    make: Callable[[], Any],
) -> None:
    config = make().meta.config
    # What a sweep asks of CloudWatch it can do without: it must not wait for it.
    read_timeout, attempts = (2, 1) if make is cloudwatch_client else (5, MAX_ATTEMPTS)
    assert (config.connect_timeout, config.read_timeout) == (2, read_timeout)
    assert config.retries == {"mode": "standard", "total_max_attempts": attempts}
    assert config.tcp_keepalive is True


@pytest.mark.parametrize("make", MAKERS)
def test_a_client_is_the_one_that_boto3_makes(make: Callable[[], Any]) -> None:
    ours = make()
    theirs: Any = boto3.client(ours.meta.service_model.service_name, config=client_config())
    assert ours.meta.region_name == theirs.meta.region_name
    assert ours.meta.endpoint_url == theirs.meta.endpoint_url
    assert ours.meta.config.signature_version == theirs.meta.config.signature_version
    assert ours.meta.service_model.operation_names == theirs.meta.service_model.operation_names
    assert ours.meta.method_to_api_mapping == theirs.meta.method_to_api_mapping


@pytest.mark.parametrize(
    ("checksum", "is_damaged"),
    [("1", True), (str(zlib.crc32(b'{"Item": ')), False), (None, False)],
)
def test_a_damaged_answer_of_dynamodb_is_never_taken_for_an_empty_one(
    checksum: str | None, is_damaged: bool
) -> None:
    client = dynamodb_client()

    def answer(request: AWSPreparedRequest, **_: Any) -> Any:
        headers: Any = {} if checksum is None else {"x-amz-crc32": checksum}
        return AWSResponse(
            request.url, 200, headers, SimpleNamespace(stream=lambda: [b'{"Item": '])
        )

    client.meta.events.register("before-send.dynamodb", answer)
    # No try is left, nor a second of waiting for one.
    client.meta.events.register("needs-retry.dynamodb", lambda **_: None)
    asked: Any = {"TableName": "jobs", "Key": {"p": {"S": "a"}}}
    if is_damaged:
        with pytest.raises(UnreadableAnswer, match="GetItem"):
            client.get_item(**asked)
    else:
        assert "Item" not in client.get_item(**asked)


def test_an_endpoint_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:5000")
    assert dynamodb_client().meta.endpoint_url == "http://127.0.0.1:5000"


def test_a_lazy_client_is_made_once_and_only_when_it_is_needed() -> None:
    made: list[Any] = []

    def make() -> Any:
        made.append(dynamodb_client())
        return made[-1]

    client = lazy_client(make)
    assert made == []
    assert client.meta.service_model.service_name == "dynamodb"
    assert client.put_item.__self__ is made[0]
    assert len(made) == 1


# --- another botocore than the one that Hourhand was tested with ---


@pytest.fixture
def fresh() -> Iterator[None]:
    """Let clients be made as in a new process; before and after the test."""

    def forget() -> None:
        clients._core.cache_clear()
        clients._quick_core.cache_clear()
        clients.take_fallbacks()

    forget()
    yield
    forget()


def described(**metadata: Any) -> Any:
    """A client whose botocore describes its service by ``metadata``."""
    client = sqs_client()
    model = SimpleNamespace(metadata=metadata, service_name="sqs", signing_name="sqs")
    return SimpleNamespace(
        meta=SimpleNamespace(
            endpoint_url=client.meta.endpoint_url,
            region_name=client.meta.region_name,
            config=client.meta.config,
            service_model=model,
        )
    )


JSON = {"protocol": "json", "targetPrefix": "AmazonSQS", "jsonVersion": "1.0"}


@pytest.mark.parametrize(
    "metadata", [JSON, {**JSON, "protocol": "smithy-rpc-v2-cbor", "protocols": ["json"]}]
)
def test_a_service_that_is_described_in_json_has_a_lean_client(
    fresh: None, metadata: dict[str, Any]
) -> None:
    assert isinstance(bulk_of(described(**metadata)).client, LeanClient)
    assert take_fallbacks() == ()


@pytest.mark.parametrize(
    ("metadata", "fallback"),
    [
        ({"protocol": "query"}, "lean client: NotLean: botocore describes sqs as query"),
        ({}, "lean client: NotLean: botocore describes sqs as None"),
        ({**JSON, "protocol": "query"}, "lean client: NotLean: botocore describes sqs as query"),
        ({"protocol": "json", "jsonVersion": "1.0"}, "lean client: KeyError: 'targetPrefix'"),
        ({"protocol": "json", "targetPrefix": "x"}, "lean client: KeyError: 'jsonVersion'"),
    ],
)
def test_without_what_a_lean_client_needs_boto3s_own_stays(
    fresh: None, metadata: dict[str, Any], fallback: str
) -> None:
    client = described(**metadata)
    assert bulk_of(client).client is client
    assert take_fallbacks() == (fallback,)
    # Once is enough.
    assert take_fallbacks() == ()


def test_a_client_of_an_unknown_kind_stays_what_it_is(fresh: None) -> None:
    client = object()
    assert bulk_of(client).client is client
    assert take_fallbacks() == (
        "lean client: AttributeError: 'object' object has no attribute 'meta'",
    )


def test_descriptions_that_our_loader_does_not_find_are_read_by_botocores(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuickFiles, "load_file", lambda *_: None)
    assert "PutItem" in dynamodb_client().meta.service_model.operation_names
    (fallback,) = take_fallbacks()
    assert fallback.startswith("loader of service descriptions: ")
    # Later clients are made by it at once.
    assert "SendMessage" in sqs_client().meta.service_model.operation_names
    assert take_fallbacks() == ()


@pytest.mark.parametrize("service", ["dynamodb", "sqs"])
def test_descriptions_that_our_loader_reads_otherwise_are_read_by_botocores(
    fresh: None, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    monkeypatch.setattr(QuickFiles, "load_file", lambda *_: ["in another form"])
    assert clients._client(service).meta.service_model.service_name == service
    assert len(take_fallbacks()) == 1


def test_without_the_classes_of_our_loader_botocores_is_used(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hourhand.aws.service_data", None)
    assert "PutItem" in dynamodb_client().meta.service_model.operation_names
    (fallback,) = take_fallbacks()
    assert "service_data" in fallback


def test_an_error_that_is_not_the_loaders_is_raised_as_botocore_raises_it(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(NoRegionError):
        dynamodb_client()
    assert take_fallbacks() == ()
