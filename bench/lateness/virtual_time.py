"""Virtual time for many actors: each is plain code that sleeps, and only one runs at a time.

An actor has a thread of its own, since the services are called and not awaited. Whoever sleeps
takes the next event from the heap and passes the turn on, so that the order of things depends on
their times alone and is the same in every run.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from heapq import heappop, heappush

Work = Callable[[], object]
_SECOND = 1_000_000
_MILLISECOND = 1_000


class _Turn:
    """A thread's right to run: given by whoever runs, and taken by it."""

    __slots__ = ("_lock", "work")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.work: Work | None = None

    def give(self) -> None:
        self._lock.release()

    def take(self) -> None:
        self._lock.acquire()


class WaitingClock:
    """Implements the port `CorrectableClock` for workers, and adds up what they sleep.

    That is the wait for the fraction of a second which a message's delay was rounded down by.
    """

    def __init__(self, time: VirtualTime) -> None:
        """Show ``time``."""
        self.slept_seconds = 0.0
        self._time = time

    def now(self) -> datetime:
        """Return the time in whole milliseconds."""
        return self._time.now()

    def monotonic(self) -> float:
        """Return the seconds since the start."""
        return self._time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let others act for so long, and count it."""
        self.slept_seconds += seconds
        self._time.sleep(seconds)

    def correct(self, offset: timedelta) -> None:
        """Do as the time that it shows does."""
        self._time.correct(offset)


class VirtualTime:
    """Implements the port `CorrectableClock`: right, and only as quick as what happens.

    What is done `at` a time runs in whichever thread comes by and must not sleep; what is
    started by `start` may. Inside, time is counted in microseconds.
    """

    def __init__(self, start: datetime) -> None:
        """Begin at ``start``, an aware datetime of whole milliseconds."""
        self._start = start
        self._elapsed = 0
        self._shown_ms, self._shown = 0, start
        self._events: list[tuple[int, int, Work | _Turn]] = []
        self._numbers = itertools.count()
        self._idle: list[_Turn] = []
        self._main = _Turn()
        self._holder = self._main
        self._failure: BaseException | None = None

    # --- the port ---

    def now(self) -> datetime:
        """Return the time in whole milliseconds."""
        shown_ms = self._elapsed // _MILLISECOND
        if shown_ms != self._shown_ms:
            self._shown_ms = shown_ms
            self._shown = self._start + timedelta(milliseconds=shown_ms)
        return self._shown

    def monotonic(self) -> float:
        """Return the seconds since the start."""
        return self._elapsed / _SECOND

    def sleep(self, seconds: float) -> None:
        """Let others act for so long."""
        me = self._holder
        self._push(seconds, me)
        self._drive(me)

    def correct(self, offset: timedelta) -> None:
        """Do nothing: these clocks are right. Raise `ValueError` where one is told otherwise."""
        if offset:
            raise ValueError(f"a clock that is right was to be corrected by {offset}")

    # --- the actors ---

    def seconds_of(self, instant: datetime) -> float:
        """Return what `monotonic` shows at ``instant``."""
        return (instant - self._start).total_seconds()

    def instant_of(self, seconds: float) -> datetime:
        """Return when `monotonic` shows ``seconds``, in whole milliseconds."""
        return self._start + timedelta(milliseconds=int(seconds * 1000))

    def at(self, seconds: float, act: Work) -> None:
        """Do something when `monotonic` shows ``seconds``, or at once if that is over."""
        self._push(seconds - self.monotonic(), act)

    def start(self, seconds: float, work: Work) -> None:
        """Begin an actor's work at a time."""
        self.at(seconds, lambda: self._begin(work))

    def run_until(self, seconds: float) -> None:
        """Let time pass. Raises what an actor or an act did not catch."""
        self._push(seconds - self.monotonic(), self._main)
        self._drive(self._main)
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the threads that have nothing to do."""
        for turn in self._idle:
            turn.work = None
            turn.give()
        self._idle.clear()

    # --- whose turn it is ---

    def _push(self, seconds: float, act: Work | _Turn) -> None:
        # Up: a sleep must never end before the millisecond that it waits for.
        wait = max(0, -int(-seconds * _SECOND // 1))
        heappush(self._events, (self._elapsed + wait, next(self._numbers), act))

    def _drive(self, me: _Turn) -> None:
        """Let happen what is next, until it is my turn again."""
        following = self._next_turn(me)
        if following is not me:
            following.give()
            me.take()

    def _next_turn(self, me: _Turn) -> _Turn:
        """Do what needs no thread of its own; return whose turn is next."""
        while True:
            self._elapsed, _, act = heappop(self._events)
            if isinstance(act, _Turn):
                self._holder = act
                return act
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - it is no failure of who sleeps here
                self._fail(error, me)

    def _begin(self, work: Work) -> None:
        if self._idle:
            turn = self._idle.pop()
        else:
            turn = _Turn()
            threading.Thread(target=self._live, args=(turn,), daemon=True).start()
        turn.work = work
        self._push(0.0, turn)

    def _live(self, turn: _Turn) -> None:
        """Do one piece of work after the other."""
        while True:
            turn.take()
            if turn.work is None:
                return
            try:
                turn.work()
            except BaseException as error:  # noqa: BLE001 - told to who runs the simulation
                self._fail(error, turn)
            self._idle.append(turn)
            self._next_turn(turn).give()

    def _fail(self, error: BaseException, me: _Turn) -> None:
        """End the run with ``error``; nothing goes on in this thread."""
        if me is self._main:
            raise error
        self._failure = error
        self._main.give()
        me.take()
