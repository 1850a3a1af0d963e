"""The messages of one of moto's queues: in the order sent, by receipt handle, and by time."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

from moto.core.utils import unix_time_millis
from moto.sqs.models import Message

_HOME: Final = "_hourhand_home"


class Messages:
    """Stands for the list that moto keeps.

    A message is delayed until its first time, then waits to be received, then is hidden for a
    while, until it is deleted or waits again. Which of these it is follows from its own times;
    `note` must be told when they changed.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """Take ``messages`` in their order."""
        self._numbers = itertools.count()
        self._messages: dict[int, Message] = {}
        self._by_handle: dict[str, Message] = {}
        self._delayed: set[int] = set()
        self._hidden: set[int] = set()
        self._waiting: set[int] = set()
        # Heaps. They keep what no longer holds until its turn comes; the sets are the truth.
        self._in_order: list[int] = []
        self._by_time: list[tuple[float, int]] = []
        for message in messages:
            self.append(message)

    def __deepcopy__(self, memo: dict[int, Any]) -> Messages:
        """Return itself: moto copies the message that it answers with, and means no more."""
        return self

    def __len__(self) -> int:
        """Return how many there are, whether delayed, waiting or hidden."""
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        """Yield all of them, in the order sent."""
        return iter(list(self._messages.values()))

    def append(self, message: Message) -> None:
        """Take one more, behind all others."""
        number = next(self._numbers)
        self._messages[number] = message
        message.__dict__[_HOME] = self, number
        self._file(number, unix_time_millis())
        if message.receipt_handle is not None:
            self._by_handle[message.receipt_handle] = message

    def remove(self, message: Message) -> None:
        """Let one go. Raises `ValueError` where it is not here."""
        number = self._number_of(message)
        if number is None:
            raise ValueError("This message is not in the queue.")
        del self._messages[number]
        for kept in (self._delayed, self._hidden, self._waiting):
            kept.discard(number)
        for handle in message.all_receipt_handles:
            if handle is not None:
                self._by_handle.pop(handle, None)

    def note(self, message: Message) -> None:
        """Look at the times and the receipt handle of a message again."""
        number = self._number_of(message)
        if number is None:
            return
        self._file(number, unix_time_millis())
        if message.receipt_handle is not None:
            self._by_handle[message.receipt_handle] = message

    def with_handle(self, handle: str) -> list[Message]:
        """Return the one message that ever had this receipt handle, if there is one."""
        message = self._by_handle.get(handle)
        return [] if message is None else [message]

    @property
    def waiting(self) -> Waiting:
        """Those that can be received now."""
        return Waiting(self)

    def count_waiting(self) -> int:
        """Count those that can be received now."""
        self._let_time_pass()
        return len(self._waiting)

    def count_delayed(self) -> int:
        """Count those that were sent with a delay which is not over."""
        self._let_time_pass()
        return len(self._delayed)

    def count_hidden(self) -> int:
        """Count those that were received and may come again."""
        self._let_time_pass()
        return len(self._hidden)

    def each_waiting(self) -> Iterator[Message]:
        """Yield those that can be received now, in the order sent."""
        self._let_time_pass()
        seen: list[int] = []
        try:
            while self._in_order:
                number = heapq.heappop(self._in_order)
                if number in self._waiting and seen[-1:] != [number]:
                    seen.append(number)
                    yield self._messages[number]
        finally:
            for number in seen:
                if number in self._waiting:
                    heapq.heappush(self._in_order, number)

    def _let_time_pass(self) -> None:
        now = unix_time_millis()
        while self._by_time and self._by_time[0][0] <= now:
            _, number = heapq.heappop(self._by_time)
            # Its time may have changed since, or it may be gone.
            message = None if number in self._waiting else self._messages.get(number)
            if message is not None and _comes_at(message) <= now:
                self._file(number, now)

    def _file(self, number: int, now: float) -> None:
        message = self._messages[number]
        comes_at = _comes_at(message)
        self._delayed.discard(number)
        self._hidden.discard(number)
        if comes_at > now:
            self._waiting.discard(number)
            (self._delayed if now < message.delayed_until else self._hidden).add(number)
            heapq.heappush(self._by_time, (comes_at, number))
        elif number not in self._waiting:
            self._waiting.add(number)
            heapq.heappush(self._in_order, number)

    def _number_of(self, message: Message) -> int | None:
        home, number = message.__dict__.get(_HOME, (None, -1))
        # A copy has the same home and number as the message that lies there.
        return number if home is self and self._messages.get(number) is message else None


def _comes_at(message: Message) -> float:
    """Return from when on it can be received: the delay is over at its time, hiding just after."""
    return max(message.delayed_until, math.nextafter(message.visible_at, math.inf))


class Waiting:
    """Those of a queue that can be received now; found one after the other, as they are asked."""

    def __init__(self, messages: Messages) -> None:
        """Look at nothing yet."""
        self._messages = messages

    def __iter__(self) -> Iterator[Message]:
        """Yield them in the order sent."""
        return self._messages.each_waiting()

    def __len__(self) -> int:
        """Count them."""
        return self._messages.count_waiting()


def note_change(message: Message) -> None:
    """Tell the queue that holds ``message``, if one does, that its times or handle changed."""
    home, _ = message.__dict__.get(_HOME, (None, -1))
    if isinstance(home, Messages):
        home.note(message)
