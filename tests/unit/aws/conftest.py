"""An installation on moto, and stubbed clients that answer as a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from hourhand.aws.clients import client_config
from tests.contract.aws_services import AwsServices, empty_moto, moto_services

Installation = AwsServices


@pytest.fixture(scope="module")
def shared_installation() -> Iterator[Installation]:
    with moto_services() as made:
        yield made


@pytest.fixture
def installation(shared_installation: Installation) -> Installation:
    """Return an installation that holds nothing."""
    empty_moto()
    return shared_installation


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
