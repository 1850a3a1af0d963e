"""An installation on moto, and stubbed clients that answer as a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from hourhand.aws.clients import client_config
from hourhand.aws.provision import provision
from hourhand.settings import Settings


@dataclass(frozen=True, slots=True)
class Installation:
    """Clients of moto, and the names of what was made there."""

    dynamodb: Any
    sqs: Any
    s3: Any
    settings: Settings


@pytest.fixture
def installation() -> Iterator[Installation]:
    with mock_aws():
        dynamodb = boto3.client("dynamodb", config=client_config())
        sqs = boto3.client("sqs", config=client_config())
        s3 = boto3.client("s3", config=client_config())
        yield Installation(dynamodb, sqs, s3, provision(dynamodb, sqs, s3))


@dataclass(frozen=True, slots=True)
class Stubbed:
    """A client without a network, and the script of its answers."""

    client: Any
    script: Stubber


@pytest.fixture
def stubbed() -> Iterator[Callable[[str], Stubbed]]:
    """Return a function that makes a stubbed client; every scripted answer must be asked for."""
    made: list[Stubber] = []

    def make(service: str) -> Stubbed:
        client = boto3.client(service, config=client_config())  # type: ignore[call-overload]
        script = Stubber(client)
        script.activate()
        made.append(script)
        return Stubbed(client, script)

    yield make
    for script in made:
        script.assert_no_pending_responses()
