"""Makes moto's queues fit to hold more than a handful of messages.

moto looks at every message of a queue when it receives, deletes, hides or counts, and it counts
three times for each one that is sent. Here a queue finds its messages by time and by receipt
handle (`hourhand.local.moto_messages`). What is done with one stays moto's own code; it is only
shown that one, in the place of all.
"""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

from moto.sqs.models import Message, Queue, SQSBackend

from hourhand.local.moto_messages import Messages, note_change
from hourhand.local.moto_parts import Part, replace_parts

_MOTOS = "_messages"
_OURS = "_hourhand_messages"

_change_visibility = Message.change_visibility
_mark_received = Message.mark_received
_delete_message = Queue.delete_message
_change_message_visibility = SQSBackend.change_message_visibility


def keep_queues_in_order() -> bool:
    """Let moto's queues find their messages; return whether this moto can be told to."""
    if not replace_parts(_parts()):
        return False
    queue: Any = Queue
    queue._messages = property(_get_messages, _set_messages)
    # moto remembers each message that ever was, copies for answers too, for a page of its own.
    Message.instances_tracked = deque(maxlen=0)  # type: ignore[attr-defined]
    return True


def _parts() -> list[Part]:
    backend: Any = SQSBackend
    return [
        Part(Message, "change_visibility", _noting_visibility, "self visibility_timeout"),
        Part(Message, "mark_received", _noting_receipt, "self visibility_timeout"),
        Part(Queue, "messages", _WAITING),
        Part(Queue, "approximate_number_of_messages", _WAITING_COUNT),
        Part(Queue, "approximate_number_of_messages_delayed", _DELAYED_COUNT),
        Part(Queue, "approximate_number_of_messages_not_visible", _HIDDEN_COUNT),
        Part(Queue, "delete_message", _delete_the_one, "self receipt_handle"),
        Part(
            backend,
            "change_message_visibility",
            _change_the_one,
            "self queue_name receipt_handle visibility_timeout",
        ),
    ]


def _noting_visibility(message: Any, visibility_timeout: int) -> None:
    _change_visibility(message, visibility_timeout)
    note_change(message)


def _noting_receipt(message: Any, visibility_timeout: int | None = None) -> None:
    _mark_received(message, visibility_timeout)
    note_change(message)


def _get_messages(queue: Any) -> Messages:
    if _OURS not in queue.__dict__:
        # The queue was made before this module was asked to look after it.
        _set_messages(queue, queue.__dict__.pop(_MOTOS, ()))
    messages: Messages = queue.__dict__[_OURS]
    return messages


def _set_messages(queue: Any, messages: Any) -> None:
    queue.__dict__[_OURS] = Messages(messages)


_WAITING = property(lambda queue: _get_messages(queue).waiting)
_WAITING_COUNT = property(lambda queue: _get_messages(queue).count_waiting())
_DELAYED_COUNT = property(lambda queue: _get_messages(queue).count_delayed())
_HIDDEN_COUNT = property(lambda queue: _get_messages(queue).count_hidden())


def _delete_the_one(queue: Any, receipt_handle: str) -> None:
    messages = _get_messages(queue)
    meant = messages.with_handle(receipt_handle)
    shown: Any = SimpleNamespace(
        _messages=meant,
        pending_messages=queue.pending_messages,
        deleted_messages=queue.deleted_messages,
    )
    _delete_message(shown, receipt_handle)
    for message in meant:
        if message not in shown._messages:
            messages.remove(message)


def _change_the_one(
    backend: Any, queue_name: str, receipt_handle: str, visibility_timeout: int
) -> None:
    queue = backend.get_queue(queue_name)
    shown = SimpleNamespace(
        _messages=_get_messages(queue).with_handle(receipt_handle),
        pending_messages=queue.pending_messages,
    )
    meant: Any = SimpleNamespace(get_queue=lambda _: shown)
    _change_message_visibility(meant, queue_name, receipt_handle, visibility_timeout)
