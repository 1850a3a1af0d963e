"""Many requests at once by one thread: a free line sends the next one; answers are read in turn.

Threads do the same at a third more CPU: they spend it on waking one another.
"""

from __future__ import annotations

import heapq
import itertools
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial

from botocore.exceptions import BotoCoreError, ConnectTimeoutError, EndpointConnectionError

from hourhand.aws.lean._lines import Answer, Connection, Endpoint

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
        self._free: deque[Connection] = deque()

    @property
    def read_timeout(self) -> float:
        """How long an answer may take, in seconds."""
        return self._endpoint.read_timeout

    def post_many(self, count: int, request: Callable[[int], Request]) -> list[Told]:
        """Send ``request(0)`` up to ``count``, each made as a line is free for it.

        The rest is not begun once as many in a row as there are lines had no answer, or no line
        can be made: its outcome is the last of these errors. A line that cannot be made is waited
        for once: those that are open go on without.
        """
        outcomes: list[Told | None] = [None] * count
        with closing(Flight()) as flight:
            for index in range(count):
                flight.begin(self, partial(request, index), partial(outcomes.__setitem__, index))
            flight.finish()
        return [each for each in outcomes if each is not None]

    def take(self) -> Connection:
        """Take a line that is open and free, or else a new one."""
        return self.take_open() or Connection(self._endpoint)

    def take_open(self) -> Connection | None:
        """Take a line that is open and free, if there is one."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    def give_back(self, line: Connection) -> None:
        """Keep a line for the next request; hang up one on which an answer may still arrive."""
        if line.is_free:
            self._free.append(line)
        else:
            line.close()

    def close(self) -> None:
        """Close all lines that are not in use."""
        while self._free:
            self._free.pop().close()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A request, and what is called with its answer."""

    request: Callable[[], Request]
    on_outcome: Callable[[Told], None]


class Flight:
    """Requests under way, over the lines of any number of endpoints, for one thread.

    A callback may begin further requests. One that begins after a wait holds no line meanwhile.
    """

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Begin nothing yet. ``sleep``: waits where nothing else is under way."""
        self._sleep = sleep
        self._selector = selectors.DefaultSelector()
        self._time = _Time()
        self._sides: dict[Lines, _Side] = {}
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    @property
    def is_over(self) -> bool:
        """Whether nothing is under way."""
        return self.is_quiet and not self._later

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way but what waits for its time."""
        return not any(side.is_busy for side in self._sides.values())

    def begin(
        self,
        lines: Lines,
        request: Callable[[], Request],
        on_outcome: Callable[[Told], None],
        wait_seconds: float = 0.0,
    ) -> None:
        """Send a request after a while, as soon as a line is free for it."""
        wanted = _Wanted(request, on_outcome)
        if wait_seconds > 0:
            self.wait(wait_seconds, lambda: self._side(lines).want(wanted))
        else:
            self._side(lines).want(wanted)

    def wait(self, wait_seconds: float, ended: Callable[[], None]) -> None:
        """Call ``ended`` after a while; nothing that is under way waits for it."""
        due_at = self._time.now() + wait_seconds
        heapq.heappush(self._later, (due_at, next(self._numbers), ended))

    def finish(self) -> None:
        """Go on until nothing is under way."""
        while not self.is_over:
            self.step()

    def step(self) -> None:
        """Wait for the next answer, or the end of the next wait, and pass it on."""
        if self.is_quiet and self._later:
            self._sleep(max(0.0, self._later[0][0] - self._time.now()))
            self._end_first_wait()
        while self._later and self._later[0][0] <= self._time.now():
            self._end_first_wait()
        self.send()
        self._hear()
        for side in list(self._sides.values()):
            side.give_up()

    def send(self) -> None:
        """Send what there are lines for, without waiting for any answer."""
        for side in list(self._sides.values()):
            side.send()

    def close(self) -> None:
        """Give all lines back; no callback runs for requests still under way."""
        for side in self._sides.values():
            side.close()
        self._selector.close()

    def _end_first_wait(self) -> None:
        _, _, ended = heapq.heappop(self._later)
        with self._time.standing():
            ended()

    def _hear(self) -> None:
        deadlines = [side.deadline for side in self._sides.values() if side.deadline is not None]
        if not deadlines:
            return
        if self._later:
            deadlines.append(self._later[0][0])
        for key, _ in self._selector.select(max(0.0, min(deadlines) - self._time.now())):
            key.data.take(key.fileobj)

    def _side(self, lines: Lines) -> _Side:
        side = self._sides.get(lines)
        if side is None:
            side = self._sides[lines] = _Side(lines, self._selector, self._time)
        return side


class _Time:
    """The time that passes while answers are awaited, without the time of callbacks.

    A callback may take long, and an answer that arrived meanwhile is not late.
    """

    def __init__(self) -> None:
        self._away = 0.0

    def now(self) -> float:
        return time.monotonic() - self._away

    @contextmanager
    def standing(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._away += time.monotonic() - began


class _Side:
    """The requests to one endpoint."""

    def __init__(self, lines: Lines, selector: selectors.BaseSelector, clock: _Time) -> None:
        self._lines = lines
        self._selector = selector
        self._time = clock
        self._waiting: deque[_Wanted] = deque()
        # In the order in which they were sent, which is that of their deadlines.
        self._sent: dict[Connection, tuple[_Wanted, float]] = {}
        self._silent: list[BotoCoreError] = []
        self._is_unreached = False

    @property
    def is_busy(self) -> bool:
        return bool(self._sent or self._waiting)

    @property
    def deadline(self) -> float | None:
        """When the first answer must be there."""
        return next(iter(self._sent.values()))[1] if self._sent else None

    def want(self, wanted: _Wanted) -> None:
        self._waiting.append(wanted)

    def send(self) -> None:
        """Send what waits, as far as there are lines; end the rest if nothing answers."""
        while self._waiting and len(self._silent) < MOST_LINES:
            line = self._line()
            if line is None:
                break
            wanted = self._waiting.popleft()
            try:
                line.send(*wanted.request())
            except BotoCoreError as error:
                # One thread would wait for each of them in turn.
                self._is_unreached = self._is_unreached or isinstance(error, _UNREACHED)
                self._note(wanted, line, error)
                continue
            except BaseException:
                self._lines.give_back(line)
                raise
            self._selector.register(line, selectors.EVENT_READ, self)
            self._sent[line] = wanted, self._time.now() + self._lines.read_timeout
        if not self._sent and self._silent:
            self._end_rest(self._silent[-1])

    def take(self, line: Connection) -> None:
        """Take what is there of an answer; pass it on once it is whole."""
        number = line.fileno()
        outcome: Told | None
        try:
            outcome = line.take()
        except BotoCoreError as error:
            outcome = error
        if outcome is not None:
            self._selector.unregister(number)
            wanted, _ = self._sent.pop(line)
            self._note(wanted, line, outcome)

    def give_up(self) -> None:
        """End the lines whose answers are late."""
        now = self._time.now()
        while self._sent:
            line, (wanted, deadline) = next(iter(self._sent.items()))
            if deadline > now:
                return
            self._selector.unregister(line)
            del self._sent[line]
            self._note(wanted, line, line.give_up())

    def close(self) -> None:
        for line in self._sent:
            self._lines.give_back(line)
        self._sent.clear()

    def _line(self) -> Connection | None:
        """Return a line for the next request; none while all are busy, or none can be made."""
        if len(self._sent) >= MOST_LINES:
            return None
        if not self._is_unreached:
            return self._lines.take()
        line = self._lines.take_open()
        if line is None and not self._sent and not self._silent:
            # The last open line was answered, and closed: only a new one can end what waits.
            self._is_unreached = False
            line = self._lines.take()
        return line

    def _end_rest(self, error: BotoCoreError) -> None:
        """End the requests that were not begun with an error; later ones are tried again."""
        rest, self._waiting = self._waiting, deque()
        self._silent.clear()
        self._is_unreached = False
        for wanted in rest:
            self._deliver(wanted, error)

    def _note(self, wanted: _Wanted, line: Connection, outcome: Told) -> None:
        self._lines.give_back(line)
        if isinstance(outcome, Answer):
            self._silent.clear()
        else:
            self._silent.append(outcome)
        self._deliver(wanted, outcome)

    def _deliver(self, wanted: _Wanted, outcome: Told) -> None:
        with self._time.standing():
            wanted.on_outcome(outcome)
