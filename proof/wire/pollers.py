"""The end of a batch as the local cloud does it, where Lambda's own event sources do it in AWS.

Without its thread: a world's messages are handed over in the world's time.
"""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from typing import Any

from hourhand.aws import clients
from hourhand.domain.jobs.job import Priority
from hourhand.local.aws_backend import AwsBackend
from hourhand.local.backend import MOTO
from hourhand.local.event_source import Batch, EventSource
from hourhand.local.events import News, QueueFailed
from hourhand.local.lambda_events import done_messages
from hourhand.settings import Settings
from proof.wire.wire import Wire

FUNCTION = "pollers"
"""Under which name their calls stand in the table."""

MOST_MESSAGES = 10


class Pollers:
    """Delete what was worked off. ``failed``: how many calls or messages that did not succeed for.

    Made where an installation's clients are watched.
    """

    def __init__(self, wire: Wire, settings: Settings) -> None:
        self.failed = 0
        self._wire = wire
        backend = AwsBackend(MOTO)
        backend.use(clients.sqs_client(), settings)
        self._source = EventSource(
            backend, queue.SimpleQueue(), self._hear, batch_size=MOST_MESSAGES
        )

    def finish(
        self, priority: Priority, messages: Sequence[Mapping[str, Any]], answer: Mapping[str, Any]
    ) -> None:
        """Delete the messages of a batch that ``answer`` does not report as failed."""
        self._wire.function = FUNCTION
        batch = Batch(queue=priority, messages=tuple(messages), worker=FUNCTION, pid=0)
        self._source._delete(batch, done_messages(messages, answer))

    def _hear(self, news: News) -> None:
        self.failed += isinstance(news, QueueFailed)
