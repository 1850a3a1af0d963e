from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hourhand.aws.clients import (
    MAX_ATTEMPTS,
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
