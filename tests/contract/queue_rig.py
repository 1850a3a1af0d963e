"""What a contract test needs of a queue service beside the port: what an event source does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import pytest

from hourhand.aws.queues import SqsQueues
from hourhand.domain.jobs.job import Priority
from hourhand.memory import MemoryClock, MemoryQueues, RecordingTelemetry
from hourhand.ports.queues import Delivery, Queues
from tests.contract.aws_services import AwsServices

MAX_RECEIVES = 100
"""Receive calls until a queue shows nothing more: more than any test here needs."""


class QueueRig(Protocol):
    """The queues under test, and the other end of them."""

    queues: Queues

    def receive(self, queue: Priority) -> list[Delivery]:
        """Receive everything that is visible, and hide it for the queue's visibility."""

    def groups(self, queue: Priority) -> dict[str, str | None]:
        """Receive everything that is visible; return the message group of each job id."""

    def delete(self, delivery: Delivery) -> None:
        """Delete a received message."""

    def dead_letters(self) -> list[str]:
        """Receive every dead letter; return the bodies."""

    def dead_letter_groups(self) -> list[str | None]:
        """Receive every dead letter; return the message groups, `None` for a message of none."""


class MemoryQueueRig:
    """The queues in memory; ``remote`` returns them as another process uses them."""

    def __init__(self, remote: Callable[[Any], Any]) -> None:
        self._memory = MemoryQueues(MemoryClock())
        self.queues: Queues = remote(self._memory)

    def receive(self, queue: Priority) -> list[Delivery]:
        received: list[Delivery] = []
        for _ in range(MAX_RECEIVES):
            batch = self._memory.receive(queue)
            if not batch:
                return received
            received.extend(batch)
        raise AssertionError("the queue was never empty")

    def groups(self, queue: Priority) -> dict[str, str | None]:
        return {held.message.job_id: held.group for held in self._memory.messages(queue)}

    def delete(self, delivery: Delivery) -> None:
        self._memory.delete(delivery)

    def dead_letters(self) -> list[str]:
        return [letter.body for letter in self._memory.dead_letters]

    def dead_letter_groups(self) -> list[str | None]:
        return [letter.group for letter in self._memory.dead_letters]


class SqsQueueRig:
    """Queues behind the protocol of SQS."""

    def __init__(self, aws: AwsServices, *, is_emulator: bool) -> None:
        self._is_emulator = is_emulator
        self._client = aws.sqs
        self._settings = aws.settings
        self._sqs = SqsQueues(
            aws.sqs,
            aws.settings.queues,
            dead_letter_url=aws.settings.dead_letter_queue,
            clock_url=aws.settings.clock_queue,
            telemetry=RecordingTelemetry(),
        )
        self.queues: Queues = self._sqs

    def receive(self, queue: Priority) -> list[Delivery]:
        received = self._receive(self._settings.queues[queue])
        return [self._sqs.parse_delivery(message, queue) for message in received]

    def groups(self, queue: Priority) -> dict[str, str | None]:
        received = self._receive(self._settings.queues[queue])
        return {
            self._sqs.parse_delivery(one, queue).message.job_id: self._group_of(one)
            for one in received
        }

    def delete(self, delivery: Delivery) -> None:
        url = self._settings.queues[delivery.queue]
        self._client.delete_message(QueueUrl=url, ReceiptHandle=delivery.receipt)

    def dead_letters(self) -> list[str]:
        return [one["Body"] for one in self._receive(self._settings.dead_letter_queue)]

    def dead_letter_groups(self) -> list[str | None]:
        return [self._group_of(one) for one in self._receive(self._settings.dead_letter_queue)]

    def _receive(self, url: str) -> list[dict[str, Any]]:
        received: list[dict[str, Any]] = []
        for _ in range(MAX_RECEIVES):
            answer = self._client.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
            )
            if not answer.get("Messages"):
                return received
            received.extend(answer["Messages"])
        raise AssertionError("the queue was never empty")

    def _group_of(self, message: dict[str, Any]) -> str | None:
        group: str | None = message["Attributes"].get("MessageGroupId")
        if group is None and self._is_emulator:
            pytest.skip("this emulator does not say which group a message is of")
        return group
