"""Many requests at once by one thread: a line that is free sends the next, who answers is read.

Threads do the same at a third more CPU: they spend it on waking one another.
"""

from __future__ import annotations

import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from botocore.exceptions import BotoCoreError, ConnectTimeoutError, EndpointConnectionError

from hourhand.aws.lean._lines import Answer, Endpoint, Line

MOST_LINES = 16
"""As many as a boto3 client of ours has connections."""

Request = tuple[dict[str, str], bytes]
Told = Answer | BotoCoreError
"""What became of a request: its answer, or why there is none."""

_UNREACHED = (ConnectTimeoutError, EndpointConnectionError)


class Lines:
    """The lines to one endpoint that are kept open; safe for threads, each has its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Connect to nothing yet."""
        self._endpoint = endpoint
        # Both its ends are safe for threads.
        self._free: deque[Line] = deque()

    def post_many(self, count: int, request: Callable[[int], Request]) -> list[Told]:
        """Send ``request(0)`` up to ``count``, each made as a line is free for it.

        The rest is not begun once as many in a row as there are lines had no answer, or no line
        can be made: it is told what the last of them was. A line that cannot be made is waited
        for once: those that are open go on without.
        """
        with self._taken(min(count, MOST_LINES)) as lines:
            return _Round(lines, count, request, self._endpoint.read_timeout).run()

    def close(self) -> None:
        """Hang up all that nobody uses."""
        while self._free:
            self._free.pop().close()

    @contextmanager
    def _taken(self, count: int) -> Iterator[list[Line]]:
        lines = [self._free_or_new() for _ in range(count)]
        try:
            yield lines
        finally:
            for line in lines:
                if line.is_free:
                    self._free.append(line)
                else:
                    line.close()

    def _free_or_new(self) -> Line:
        try:
            return self._free.pop()
        except IndexError:
            return Line(self._endpoint)


class _Round:
    """One turn of many requests over some lines."""

    def __init__(
        self, lines: list[Line], count: int, request: Callable[[int], Request], timeout: float
    ) -> None:
        self._idle = list(lines)
        self._most_silent = len(lines)
        self._request = request
        self._timeout = timeout
        self._told: list[Told | None] = [None] * count
        self._next = 0
        # In the order in which they were sent, which is that of their deadlines.
        self._sent: dict[Line, tuple[int, float]] = {}
        self._silent: list[BotoCoreError] = []

    def run(self) -> list[Told]:
        with closing(selectors.DefaultSelector()) as selector:
            self._send(selector)
            while self._sent:
                self._hear(selector)
                self._send(selector)
        for index in range(self._next, len(self._told)):
            self._told[index] = self._silent[-1]
        return [told for told in self._told if told is not None]

    def _send(self, selector: selectors.BaseSelector) -> None:
        while self._idle and self._next < len(self._told):
            if len(self._silent) >= self._most_silent:
                return
            index, line = self._next, self._idle.pop()
            self._next += 1
            try:
                line.send(*self._request(index))
            except BotoCoreError as error:
                self._note(index, line, error)
                if isinstance(error, _UNREACHED):
                    # One thread would wait for each of them in turn.
                    self._idle = [each for each in self._idle if each.is_free]
                continue
            selector.register(line, selectors.EVENT_READ)
            self._sent[line] = index, time.monotonic() + self._timeout

    def _hear(self, selector: selectors.BaseSelector) -> None:
        """Wait for an answer, or for the first deadline; take what is there, end what is late."""
        _, first = next(iter(self._sent.values()))
        ready = selector.select(max(0.0, first - time.monotonic()))
        for key, _ in ready:
            self._take(key.fileobj, selector)  # type: ignore[arg-type]
        self._give_up(selector)

    def _take(self, line: Line, selector: selectors.BaseSelector) -> None:
        number = line.fileno()
        told: Told | None
        try:
            told = line.take()
        except BotoCoreError as error:
            told = error
        if told is not None:
            selector.unregister(number)
            index, _ = self._sent.pop(line)
            self._note(index, line, told)

    def _give_up(self, selector: selectors.BaseSelector) -> None:
        now = time.monotonic()
        while self._sent:
            line, (index, deadline) = next(iter(self._sent.items()))
            if deadline > now:
                return
            selector.unregister(line)
            del self._sent[line]
            self._note(index, line, line.give_up())

    def _note(self, index: int, line: Line, told: Told) -> None:
        self._idle.append(line)
        self._told[index] = told
        if isinstance(told, Answer):
            self._silent.clear()
        else:
            self._silent.append(told)
