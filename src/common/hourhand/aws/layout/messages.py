"""What travels in our queues: the body of a message, and what a worker receives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from hourhand.domain.errors import HourhandError, WrittenByNewer
from hourhand.domain.ids import content_hash, trace_id_for
from hourhand.domain.jobs.job import JobMessage, Priority
from hourhand.domain.jobs.parents import ParentToFind
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.queues import Delivery

VERSION = 1
"""See `hourhand.aws.layout.versions`: a new field that may be ignored does not increase it."""

_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True)

HASH_CHARACTERS = 12
"""How much of its hash names a message that is not ours; its text may be a payload's."""


class ForeignMessage(HourhandError):
    """The message is not one that Hourhand sent."""

    code: ClassVar[str] = "foreign_message"
    status: ClassVar[int] = 400


def message_body(message: JobMessage) -> str:
    """Return the JSON text that carries ``message``; times in ms."""
    fields: dict[str, Any] = {
        "v": VERSION,
        "job": message.job_id,
        "handler": message.handler,
        "generation": message.generation,
        "attempt": message.attempt,
        "token": message.token,
        "due_ms": to_ms(message.due_at),
        "run_ms": to_ms(message.run_at),
        "timeout": message.timeout_seconds,
    }
    if message.tenant is not None:
        fields["tenant"] = message.tenant
    if message.trace_id is not None:
        own = message.trace_id == trace_id_for(message.job_id)
        fields["trace"] = "" if own else message.trace_id
    if message.needs_admission:
        fields["judged"] = True
    if message.has_limits:
        fields["limits"] = True
    if message.is_debounced:
        fields["debounced"] = True
    if message.pauses_revision:
        fields["pauses"] = message.pauses_revision
    if message.slot_shard:
        fields["slot_shard"] = message.slot_shard
    if message.parent is not None:
        parent = message.parent
        fields["parent"] = [parent.run_id, parent.segment, to_ms(parent.child_created_at)]
    # All ASCII, so that nothing in it is unfit for SQS.
    return _ENCODER.encode(fields)


def read_message(body: str) -> JobMessage:
    """Read what `message_body` wrote.

    Raises `WrittenByNewer` for a message of a newer version, and `ForeignMessage` for anything
    that is none of ours.
    """
    try:
        fields = json.loads(body)
        version = fields["v"]
    except (ValueError, TypeError, KeyError) as error:
        raise ForeignMessage(f"This message is not a job's: {_named(body)}") from error
    if type(version) is not int or version < VERSION:
        raise ForeignMessage(f"This message has an unknown version: {_named(body)}")
    if version > VERSION:
        raise WrittenByNewer(
            f"This message is of version {version}, and this worker reads {VERSION}: {_named(body)}"
        )
    try:
        return _message_of(fields)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ForeignMessage(
            f"This message lacks a field of a job's message ({type(error).__name__}): "
            f"{_named(body)}"
        ) from error


def _message_of(fields: Mapping[str, Any]) -> JobMessage:
    job_id, handler = fields["job"], fields["handler"]
    if not isinstance(job_id, str) or not isinstance(handler, str):
        raise TypeError("job and handler must be text")
    trace = fields.get("trace")
    return JobMessage(
        job_id=job_id,
        handler=handler,
        generation=int(fields["generation"]),
        attempt=int(fields["attempt"]),
        token=int(fields["token"]),
        due_at=from_ms(int(fields["due_ms"])),
        run_at=from_ms(int(fields["run_ms"])),
        timeout_seconds=int(fields["timeout"]),
        tenant=fields.get("tenant"),
        trace_id=trace_id_for(job_id) if trace == "" else trace,
        needs_admission=bool(fields.get("judged", False)),
        has_limits=bool(fields.get("limits", False)),
        is_debounced=bool(fields.get("debounced", False)),
        pauses_revision=int(fields.get("pauses", 0)),
        slot_shard=int(fields.get("slot_shard", 0)),
        parent=_parent_of(fields),
    )


def _parent_of(fields: Mapping[str, Any]) -> ParentToFind | None:
    if "parent" not in fields:
        return None
    run_id, segment, created_ms = fields["parent"]
    return ParentToFind(str(run_id), int(segment), from_ms(int(created_ms)))


def _named(body: str) -> str:
    return f"{len(body)} characters with the hash {content_hash(body)[:HASH_CHARACTERS]}."


def read_delivery(
    record: Mapping[str, Any], queue: Priority | None, queues_by_name: Mapping[str, Priority]
) -> Delivery:
    """Read a record of a Lambda event, or a message as ReceiveMessage returns it.

    ``queue``: where it was received; needed for the latter, since only the former says.
    Raises as `read_message`, and `ForeignMessage` for a queue that is not ours.
    """
    attributes = record.get("attributes", record.get("Attributes", {}))
    sent_ms = attributes.get("SentTimestamp")
    return Delivery(
        message=read_message(_first(record, "body", "Body")),
        message_id=_first(record, "messageId", "MessageId"),
        receipt=_first(record, "receiptHandle", "ReceiptHandle"),
        queue=queue or _queue_of(record, queues_by_name),
        sent_at=from_ms(int(sent_ms)) if sent_ms is not None else None,
        receive_count=int(attributes.get("ApproximateReceiveCount", 1)),
    )


def read_receipt(
    record: Mapping[str, Any], queue: Priority | None, queues_by_name: Mapping[str, Priority]
) -> tuple[Priority, str]:
    """Return what is needed to hide a message, whatever is in it. Raises `ForeignMessage`."""
    receipt = _first(record, "receiptHandle", "ReceiptHandle")
    return queue or _queue_of(record, queues_by_name), receipt


def _first(record: Mapping[str, Any], *names: str) -> str:
    found = next((record[name] for name in names if name in record), None)
    if not isinstance(found, str):
        raise ForeignMessage(f"This is not a message of SQS: it has no {names[0]}.")
    return found


def _queue_of(record: Mapping[str, Any], queues_by_name: Mapping[str, Priority]) -> Priority:
    name = str(record.get("eventSourceARN", "")).rpartition(":")[2]
    priority = queues_by_name.get(name)
    if priority is None:
        known = ", ".join(sorted(queues_by_name))
        raise ForeignMessage(f"The queue {name!r} is not one of this pool: {known}.")
    return priority
