"""What AWS would show of an installation that is made from its definitions, by moto."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.cloudformation.exceptions import CloudFormationError
from moto.cloudformation.responses import CloudFormationResponse

from hourhand.aws.clients import client_config
from hourhand.aws.provision import provision
from hourhand.cli.doctor import run
from hourhand.settings import Settings

PREFIX = "hourhand-dev"


@dataclass(frozen=True, slots=True)
class Made:
    """Clients of moto, and the names of what was made there."""

    dynamodb: Any
    sqs: Any
    s3: Any
    stacks: Any
    settings: Settings


@contextmanager
def installation() -> Iterator[Made]:
    """Make the installation `PREFIX` in a moto of its own."""
    make: Any = boto3.client
    with mock_aws():
        services = ("dynamodb", "sqs", "s3", "cloudformation")
        dynamodb, sqs, s3, stacks = (make(name, config=client_config()) for name in services)
        yield Made(dynamodb, sqs, s3, stacks, provision(dynamodb, sqs, s3, prefix=PREFIX))


class UnknownAction(CloudFormationError):
    code = "InvalidAction"


def _refuse_drift(_: object) -> str:
    raise UnknownAction("Unknown action: DetectStackDrift")


@pytest.fixture(scope="module")
def made() -> Iterator[Made]:
    with pytest.MonkeyPatch.context() as patch:
        # moto raises in the caller where an endpoint answers.
        refuse: Any = _refuse_drift
        patch.setattr(CloudFormationResponse, "detect_stack_drift", refuse, raising=False)
        # moto in process is not made for several threads at once.
        patch.setattr(run, "LOOKS_AT_ONCE", 1)
        with installation() as made:
            yield made
