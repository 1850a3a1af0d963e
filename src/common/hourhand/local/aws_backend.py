"""A backend that speaks AWS's own protocols: moto in this process, or an emulator's endpoint."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from hourhand.aws.clock import SystemClock
from hourhand.domain.jobs.job import Priority
from hourhand.local.backend import MOTO, Message, QueueError
from hourhand.local.entry_points import Handler, load_entry_point
from hourhand.local.environment import cloud_environment
from hourhand.local.moto_server import MotoServer
from hourhand.ports.control_store import ControlStore
from hourhand.ports.job_logs import JobLogs
from hourhand.ports.job_store import JobStore
from hourhand.settings import API_NEEDS, DispatchMode, Settings, read_settings

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from hourhand.api.app import App
    from hourhand.ports.telemetry import Telemetry

HIDDEN_SECONDS = 3600
LETTERS = 10


class AwsBackend:
    """Implements `Backend` at ``place``: ``moto``, or the URL of an endpoint."""

    def __init__(self, place: str) -> None:
        """Start nothing yet."""
        self.clock = SystemClock()
        self.speed = 1.0
        self.endpoint = place
        # moto answers a PartiQL statement as done where its condition fails, and an endpoint may,
        # too. Set it to BATCH for one that does not.
        self.dispatch = DispatchMode.SINGLE
        self.settings = Settings()
        self._is_moto = place == MOTO
        self._moto: MotoServer | None = None
        self._sqs: SQSClient | None = None
        self._arns: dict[Priority, str] = {}

    @property
    def sqs(self) -> SQSClient:
        """A client of the cloud's own queues."""
        assert self._sqs is not None
        return self._sqs

    def start(self, on_send: Callable[[], None]) -> None:
        """Start moto. An endpoint runs already, and nothing says when a message is sent there."""
        if self._is_moto:
            self._moto = MotoServer(on_send)
            self._moto.start()
            self.endpoint = self._moto.endpoint

    def stop(self) -> None:
        """End moto."""
        if self._moto is not None:
            self._moto.stop()

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return ``own`` with AWS replaced by the endpoint."""
        return cloud_environment(own, self.endpoint, keeps_credentials=not self._is_moto)

    def provision(self, settings: Settings, manifest: Path) -> Settings:
        """Create the tables, the queues and the bucket that are missing."""
        from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
        from hourhand.aws.provision import provision

        sqs = sqs_client()
        made = replace(
            provision(dynamodb_client(), sqs, s3_client()),
            dispatch=self.dispatch,
            timings=settings.timings,
            handlers=settings.handlers,
            manifest=str(manifest),
            api_url=settings.api_url,
        )
        self.use(sqs, made)
        return made

    def use(self, sqs: SQSClient, settings: Settings) -> None:
        """Work with these queues from now on."""
        self._sqs, self.settings, self._arns = sqs, settings, {}

    def load_api(self, logs: JobLogs) -> Handler:
        """Load the entry point as Lambda does, but for the logs: nothing ships them to AWS."""
        return load_entry_point("api", lambda: _wire_api(logs))

    def job_store(self) -> JobStore:
        """Return a store in the jobs table."""
        from hourhand.aws.clients import dynamodb_client
        from hourhand.aws.job_store import DynamoJobStore

        return DynamoJobStore(dynamodb_client(), self.settings.jobs_table)

    def control_store(self) -> ControlStore:
        """Return a store in the control table."""
        from hourhand.aws.clients import dynamodb_client
        from hourhand.aws.control_store import DynamoControlStore

        return DynamoControlStore(dynamodb_client(), self.settings.control_table)

    def read_dead_letters(self) -> list[str]:
        """Receive the dead letters, and hide them for an hour."""
        found: list[str] = []
        while messages := self.sqs.receive_message(
            QueueUrl=self.settings.dead_letter_queue,
            MaxNumberOfMessages=LETTERS,
            VisibilityTimeout=HIDDEN_SECONDS,
        ).get("Messages"):
            found += [message["Body"] for message in messages]
        return found

    def arn(self, queue: Priority) -> str:
        """Return the ARN of the queue."""
        if queue not in self._arns:
            answer = self.sqs.get_queue_attributes(
                QueueUrl=self._urls[queue], AttributeNames=["QueueArn"]
            )
            self._arns[queue] = answer["Attributes"]["QueueArn"]
        return self._arns[queue]

    def receive(self, queue: Priority, count: int) -> Sequence[Message]:
        """Receive without a long poll, since moto answers one request at a time."""
        try:
            answer = self.sqs.receive_message(
                QueueUrl=self._urls[queue],
                MaxNumberOfMessages=count,
                WaitTimeSeconds=0,
                MessageSystemAttributeNames=["All"],
            )
        except (BotoCoreError, ClientError) as error:
            raise QueueError(str(error)) from error
        return answer.get("Messages", [])

    def delete(self, queue: Priority, messages: Sequence[Message]) -> list[str]:
        """Delete them in one call."""
        try:
            answer = self.sqs.delete_message_batch(
                QueueUrl=self._urls[queue],
                Entries=[
                    {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                    for index, message in enumerate(messages)
                ],
            )
        except (BotoCoreError, ClientError) as error:
            raise QueueError(str(error)) from error
        return [failed["Code"] for failed in answer.get("Failed", [])]

    @property
    def _urls(self) -> Mapping[Priority, str]:
        return self.settings.queues


def _wire_api(logs: JobLogs) -> tuple[App, Telemetry]:
    from hourhand.api.app import create_app
    from hourhand.wiring.adapters import aws_api_adapters
    from hourhand.wiring.functions import wire_api

    settings = read_settings(os.environ, API_NEEDS)
    adapters = replace(aws_api_adapters(settings), logs=logs)
    return create_app(wire_api(settings, adapters)), adapters.telemetry
