from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest

from hourhand.aws.clients import (
    MAX_ATTEMPTS,
    client_config,
    cloudwatch_client,
    dynamodb_client,
    lambda_client,
    lazy_client,
    s3_client,
    sqs_client,
)

MAKERS: list[Callable[[], Any]] = [
    dynamodb_client,
    sqs_client,
    s3_client,
    lambda_client,
    cloudwatch_client,
]


@pytest.mark.parametrize("make", MAKERS)
def test_every_client_states_how_long_it_waits_and_how_often_it_tries(
    make: Callable[[], Any],
) -> None:
    config = make().meta.config
    assert (config.connect_timeout, config.read_timeout) == (2, 5)
    assert config.retries == {"mode": "standard", "total_max_attempts": MAX_ATTEMPTS}
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
