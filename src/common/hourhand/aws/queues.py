"""The queues in SQS: standard queues, fair among tenants by their message groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from hourhand.aws.batches import Bulk, wait_seconds
from hourhand.aws.clock import SystemClock
from hourhand.aws.failures import (
    Call,
    Expected,
    NotDone,
    ask,
    ask_expecting,
    ask_or_reason,
    is_throttle,
    not_done,
    required,
)
from hourhand.aws.layout.messages import message_body, read_delivery, read_receipt
from hourhand.aws.lean import Failure
from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.ids import message_group
from hourhand.domain.jobs.actions import QueueView
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.clock_skew import TimeSample
from hourhand.domain.ticks.timings import SQS_MAX_DELAY, SQS_MAX_VISIBILITY
from hourhand.domain.times import from_ms
from hourhand.ports.clock import Clock
from hourhand.ports.queues import Delivery, Outgoing
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import ask_optionally

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MESSAGES_PER_BATCH = 10
"""The most that SendMessageBatch takes (SQS API reference)."""

BYTES_PER_BATCH = 256 * 1024
"""The bodies of one batch together, by the limit that every Region and emulator keeps."""

SINGLE_TRIES = 2
"""Sends of a message alone whose entry in a batch failed."""

PROBE_RECEIVES = 3
PROBE_WAIT_SECONDS = 1
"""How often, and how long each time, the probe of the time is waited for."""

NEWER_HIDE_SECONDS = 15
"""Short, since a job may wait for it; the thousand receives that a queue allows last four hours."""

_INVALID_RECEIPT = frozenset(
    {
        "AWS.SimpleQueueService.MessageNotInflight",
        "InvalidParameterValue",
        "MessageNotInflight",
        "ReceiptHandleIsInvalid",
    },
)
_VISIBLE: Final = "ApproximateNumberOfMessages"
_IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"
_DELAYED: Final = "ApproximateNumberOfMessagesDelayed"
_MILLISECOND = timedelta(milliseconds=1)

OldestSent = Callable[[], Mapping[Priority, datetime]]
"""When the oldest message of each queue was sent, as far as that is known."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message to send: its place in the answer and what SQS is given."""

    index: int
    body: str
    group: str | None
    delay_seconds: int

    def arguments(self) -> dict[str, Any]:
        """Return what SQS is given, but for the place in a batch."""
        return {
            "MessageBody": self.body,
            "DelaySeconds": self.delay_seconds,
            **_of_group(self.group),
        }


def _of_group(group: str | None) -> dict[str, str]:
    """Return the argument that names a message's group; none for a message without."""
    return {} if group is None else {"MessageGroupId": group}


class SqsQueues:
    """Implements the port `Queues`.

    ``urls``: of the priority queues. ``clock_url``: of the queue for probes of the time; without
    it `probe_time` has no answer. ``telemetry``: where it is logged what `view` does without.
    ``clock``: what a probe compares SQS's time with; it must be the one that is corrected by it.
    ``oldest_sent``: asked by `view`, if there is one. ``bulk``: how batches of messages are sent.
    """

    def __init__(  # noqa: PLR0913 - each is named by the caller
        self,
        client: SQSClient,
        urls: Mapping[Priority, str],
        *,
        dead_letter_url: str,
        clock_url: str,
        telemetry: Telemetry,
        clock: Clock | None = None,
        oldest_sent: OldestSent | None = None,
        bulk: Bulk[SQSClient] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Call nothing yet. ``sleep`` waits between tries, in seconds."""
        self._client = client
        self.bulk: Bulk[Any] = bulk or Bulk(client)
        self._urls = dict(urls)
        self._dead_letter_url = dead_letter_url
        self._clock_url = clock_url
        self._telemetry = telemetry
        self._clock = clock or SystemClock()
        self._oldest_sent = oldest_sent
        self._sleep = sleep

    # --- sending ---

    def send(self, outgoing: Sequence[Outgoing]) -> list[str | None]:
        """Send messages, ten to a call; per message ``None`` or why it was not accepted.

        Never raises: what is known of one message is worth keeping whatever befalls the next.
        Once nobody answers, what was not yet begun is not tried.
        """
        failures: list[str | None] = [None] * len(outgoing)
        by_queue: dict[Priority, list[Entry]] = {}
        for index, one in enumerate(outgoing):
            entry = entry_of(index, one)
            if isinstance(entry, Entry):
                by_queue.setdefault(one.queue, []).append(entry)
            else:
                failures[index] = entry
        batches = [
            (queue, batch) for queue, entries in by_queue.items() for batch in batches_of(entries)
        ]
        asked = [self.batch_arguments(queue, batch) for queue, batch in batches]
        answers = self.bulk.each("SendMessageBatch", asked)
        for (queue, batch), answer in zip(batches, answers, strict=True):
            for entry, reason in zip(batch, self.reasons(queue, batch, answer), strict=True):
                failures[entry.index] = reason
        return failures

    def batch_arguments(self, queue: Priority, batch: Sequence[Entry]) -> dict[str, Any]:
        """Return what SendMessageBatch is asked for ``batch``."""
        entries = [{"Id": str(entry.index), **entry.arguments()} for entry in batch]
        return {"QueueUrl": self._urls[queue], "Entries": entries}

    def reasons(
        self, queue: Priority, batch: Sequence[Entry], answer: Any | Failure
    ) -> list[str | None]:
        """Say of each entry why it was not accepted; send once more what alone was not."""
        url = self._urls[queue]
        if isinstance(answer, Failure):
            call = Call("SendMessageBatch", f"queue {queue_name(url)}")
            return [not_done(call, answer).reason] * len(batch)
        accepted = {sent["Id"] for sent in answer.get("Successful", [])}
        return [
            None if str(entry.index) in accepted else self._send_alone(url, entry)
            for entry in batch
        ]

    def _send_alone(self, url: str, entry: Entry) -> str | None:
        """Send a message that failed in its batch; return why it was not accepted again."""
        call = Call("SendMessage", f"queue {queue_name(url)}")
        reason = ""
        for tries in range(1, SINGLE_TRIES + 1):
            answer = ask_or_reason(
                call, self._client.send_message, QueueUrl=url, **entry.arguments()
            )
            if not isinstance(answer, NotDone):
                return None
            reason = answer.reason
            if tries < SINGLE_TRIES:
                self._sleep(wait_seconds(tries))
        return reason

    def send_dead_letter(self, body: str, *, tenant: str | None) -> None:
        """Send a rich dead letter; returns only when SQS acknowledged it."""
        ask(
            Call("SendMessage", f"queue {queue_name(self._dead_letter_url)}"),
            self._client.send_message,
            QueueUrl=self._dead_letter_url,
            MessageBody=body,
            **_of_group(message_group(tenant)),
        )

    # --- receiving ---

    def parse_delivery(self, record: Mapping[str, Any], queue: Priority | None = None) -> Delivery:
        """Read a record of a Lambda event, or a message of ReceiveMessage from ``queue``.

        Raises `hourhand.aws.layout.messages.ForeignMessage` for a message that is not ours, and
        `WrittenByNewer` for one of a newer version, which is hidden for `NEWER_HIDE_SECONDS`: a
        worker of that version may well run already.
        """
        names = {queue_name(url): priority for priority, url in self._urls.items()}
        try:
            return read_delivery(record, queue, names)
        except WrittenByNewer:
            self._hide(*read_receipt(record, queue, names), NEWER_HIDE_SECONDS)
            raise

    def hide(self, delivery: Delivery, seconds: int) -> bool:
        """Set how long the message stays hidden from now. ``False``: its receipt is not valid.

        Raises `ValueError` for more seconds than SQS takes.
        """
        if not 0 <= seconds <= SQS_MAX_VISIBILITY.total_seconds():
            raise ValueError(f"seconds must be 0 to 12 hours, not {seconds}")
        return self._hide(delivery.queue, delivery.receipt, seconds)

    def _hide(self, queue: Priority, receipt: str, seconds: int) -> bool:
        url = self._urls[queue]
        answer = ask_expecting(
            _INVALID_RECEIPT,
            Call("ChangeMessageVisibility", f"queue {queue_name(url)}"),
            self._client.change_message_visibility,
            QueueUrl=url,
            ReceiptHandle=receipt,
            VisibilityTimeout=seconds,
        )
        return not isinstance(answer, Expected)

    # --- looking ---

    def view(self) -> dict[Priority, QueueView]:
        """Return how full each queue is and, where known, how old its oldest message."""
        counts = self.counts()
        oldest = self._oldest()
        return {p: QueueView(counts[p][0], oldest.get(p)) for p in counts}

    def counts(self) -> dict[Priority, tuple[int, int, int]]:
        """Return per queue the messages visible, in flight and delayed (approximate)."""
        return {priority: self._count(url) for priority, url in self._urls.items()}

    def _count(self, url: str) -> tuple[int, int, int]:
        call = Call("GetQueueAttributes", f"queue {queue_name(url)}")
        answer = ask(
            call,
            self._client.get_queue_attributes,
            QueueUrl=url,
            AttributeNames=[_VISIBLE, _IN_FLIGHT, _DELAYED],
        )
        counts = required(call, answer, "Attributes")
        return int(counts[_VISIBLE]), int(counts[_IN_FLIGHT]), int(counts[_DELAYED])

    def _oldest(self) -> Mapping[Priority, datetime]:
        if self._oldest_sent is None:
            return {}
        # The sweep can do without: it then sends again a little later than it might.
        sentence = "The ages of the queues could not be read. The sweep continues without them."
        return ask_optionally(self._telemetry, sentence, self._oldest_sent) or {}

    def probe_time(self) -> TimeSample | None:
        """Ask SQS for the time, by the ``SentTimestamp`` of a message of our own."""
        if not self._clock_url:
            return None
        call = Call("SendMessage", f"queue {queue_name(self._clock_url)}")
        sent_at = self._clock.now()
        sent = ask(call, self._client.send_message, QueueUrl=self._clock_url, MessageBody="time")
        # SQS stamped it before it answered; our clock shows whole milliseconds, rounded down.
        received_at = self._clock.now() + _MILLISECOND
        stamped_at = self._find_probe(required(call, sent, "MessageId"))
        if stamped_at is None:
            return None
        return TimeSample(
            sent_at=sent_at,
            received_at=received_at,
            server_earliest=stamped_at,
            server_latest=stamped_at + _MILLISECOND,
        )

    def _find_probe(self, message_id: str) -> datetime | None:
        for _ in range(PROBE_RECEIVES):
            answer = ask(
                Call("ReceiveMessage", f"queue {queue_name(self._clock_url)}"),
                self._client.receive_message,
                QueueUrl=self._clock_url,
                MaxNumberOfMessages=MESSAGES_PER_BATCH,
                WaitTimeSeconds=PROBE_WAIT_SECONDS,
                # Another scheduler's probe must stay visible to it.
                VisibilityTimeout=0,
                # Older releases of botocore do not know MessageSystemAttributeNames, the newer name
                # of the same. SQS takes both.
                AttributeNames=["SentTimestamp"],
            )
            for message in answer.get("Messages", []):
                if message["MessageId"] == message_id:
                    self._forget(message["ReceiptHandle"])
                    return from_ms(int(message["Attributes"]["SentTimestamp"]))
        return None

    def _forget(self, receipt: str) -> None:
        # Another scheduler may have received it since, and only the newest receipt is sure to
        # count. What stays is gone by its retention of a minute.
        ask_expecting(
            _INVALID_RECEIPT,
            Call("DeleteMessage", f"queue {queue_name(self._clock_url)}"),
            self._client.delete_message,
            QueueUrl=self._clock_url,
            ReceiptHandle=receipt,
        )


def queue_name(url: str) -> str:
    """Return the name at the end of a queue's URL."""
    return url.rstrip("/").rpartition("/")[2]


def entry_of(index: int, one: Outgoing) -> Entry | str:
    """Return a message as a batch has it, or why SQS would not take it."""
    if not 0 <= one.delay_seconds <= SQS_MAX_DELAY.total_seconds():
        return f"DelaySeconds must be 0 to 900, not {one.delay_seconds}"
    return Entry(
        index=index,
        body=message_body(one.message),
        group=message_group(one.message.tenant),
        delay_seconds=one.delay_seconds,
    )


def put_off(answer: Any | Failure) -> frozenset[str]:
    """Return the ``Id`` of each entry of a batch that may be accepted soon: no fault of ours."""
    if isinstance(answer, Failure):
        return frozenset()
    return frozenset(
        failed["Id"]
        for failed in answer.get("Failed", [])
        if not failed.get("SenderFault") or is_throttle(failed.get("Code", ""))
    )


def batches_of(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Yield ``entries`` in order, as many at a time as SQS takes in one call."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        entry_size = len(entry.body.encode())
        if batch and (len(batch) == MESSAGES_PER_BATCH or size + entry_size > BYTES_PER_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry_size
    if batch:
        yield batch
