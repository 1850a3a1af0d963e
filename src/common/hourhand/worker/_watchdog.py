"""The end of a process that its own threads cannot end: one timer, which needs no GIL.

A handler that holds the interpreter's lock, in one catastrophic regular expression say, stops
every other thread: heartbeat, time limit and watch. Its lease runs out, and another worker takes
the job over. The timer is a C thread that does not ask for the lock.
"""

from __future__ import annotations

import faulthandler
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

LEAST_SECONDS = 0.001
"""`faulthandler` takes no shorter time. A lease that is over ends the process at once."""

STDERR = 2


class ProcessTimer(Protocol):
    """Ends the process after a while, whatever its threads do."""

    def arm(self, seconds: float) -> None:
        """End the process in ``seconds``, not when the timer was to end it before.

        Raises `RuntimeError` where the process can have no more threads; then no timer runs.
        """

    def disarm(self) -> None:
        """End it no more."""


class FaultTimer:
    """Implements `ProcessTimer` by `faulthandler`, whose timer there is once in a process.

    At its end it writes to standard error where each thread is (files, lines and names of
    functions, no values), and ends the process with exit code 1.
    """

    def __init__(self) -> None:
        """Open what is written to, before user code can close it."""
        self._log = _log_descriptor()
        self._pid = os.getpid()

    def arm(self, seconds: float) -> None:
        """See `ProcessTimer.arm`."""
        if self._is_ours():
            faulthandler.dump_traceback_later(
                max(seconds, LEAST_SECONDS), exit=True, file=self._log
            )

    def disarm(self) -> None:
        """See `ProcessTimer.disarm`."""
        if self._is_ours():
            faulthandler.cancel_dump_traceback_later()

    def _is_ours(self) -> bool:
        # A fork has no timer's thread, and would wait for its end for ever.
        return os.getpid() == self._pid


def _log_descriptor() -> int:
    """Return a descriptor of standard error that never blocks where the system can give one.

    A full pipe that is not read must not keep the process alive.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK
    with suppress(OSError):
        return os.open(f"/dev/fd/{STDERR}", flags)
    with suppress(OSError):
        return os.dup(STDERR)
    return os.open(os.devnull, os.O_WRONLY)


class Watchdog:
    """Ends the process by the earliest moment at which one of its handlers must not run any more.

    Each handler is watched from before its start until its thread has left it. Where none runs
    the timer is disarmed: Lambda freezes a process between invocations, and a timer that went on
    would end the next one. All moments are monotonic times. Thread-safe.

    ``timer``: none where the process is not ours to end, such as a user's test.
    ``on_failure`` is called where the timer cannot be set for handlers that run already.
    """

    def __init__(
        self,
        timer: ProcessTimer | None,
        monotonic: Callable[[], float],
        on_failure: Callable[[], object],
    ) -> None:
        """Watch nothing yet."""
        self._timer = timer
        self._monotonic = monotonic
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._ends: dict[object, float] = {}
        self._armed_for: float | None = None

    def would_end_at_once(self, end_at: float) -> bool:
        """Whether watching a handler until ``end_at`` would end the process before it starts."""
        return self._timer is not None and self._monotonic() >= end_at

    def watch(self, handler: object, end_at: float) -> None:
        """Watch a handler that is about to start. Raises `RuntimeError` as `ProcessTimer.arm`."""
        with self._lock:
            self._ends[handler] = end_at
            try:
                self._set_timer()
            except RuntimeError:
                del self._ends[handler]
                raise

    def extend(self, handler: object, end_at: float) -> None:
        """Give a handler until ``end_at``, unless it ended meanwhile."""
        with self._lock:
            if handler in self._ends:
                self._ends[handler] = end_at
                self._set_timer_again()

    def end_by(self, handler: object, end_at: float) -> None:
        """End the process by ``end_at`` if the handler runs until then: never later than before."""
        with self._lock:
            if handler in self._ends:
                self._ends[handler] = min(self._ends[handler], end_at)
                self._set_timer_again()

    def forget(self, handler: object) -> None:
        """Watch a handler no longer: nothing of it runs any more."""
        with self._lock:
            if self._ends.pop(handler, None) is not None:
                self._set_timer_again()

    def _set_timer_again(self) -> None:
        try:
            self._set_timer()
        except RuntimeError:
            self._on_failure()

    def _set_timer(self) -> None:
        end_at = min(self._ends.values(), default=None)
        if self._timer is None or end_at == self._armed_for:
            return
        self._armed_for = None
        if end_at is None:
            self._timer.disarm()
            return
        self._timer.arm(end_at - self._monotonic())
        self._armed_for = end_at
