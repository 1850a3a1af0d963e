"""Handlers that take virtual time: each runs in a thread of its own, of which one moves at a time.

The simulation hands the baton to a run and gets it back when the run sleeps or ends. So workers
overlap as they do in life, and every run of the simulation is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hourhand.domain.jobs.job import Job, Outcome
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Finished, Pulse
from tests.world.runs import HandlerKilled

BEAT = timedelta(seconds=40)
"""Just within a lease, so that long runs cost few heartbeats."""


class _Hand:
    """A thread that works off runs, one after the other: to start one costs more than to wait."""

    def __init__(self) -> None:
        self.work: Callable[[], None] = lambda: None
        self.go = threading.Semaphore(0)
        self.back = threading.Semaphore(0)
        threading.Thread(target=self._live, daemon=True).start()

    def _live(self) -> None:
        while True:
            self.go.acquire()
            self.work()
            self.back.release()

    def move(self) -> None:
        """Let it go on until it gives the baton back."""
        self.go.release()
        self.back.acquire()


_idle: list[_Hand] = []


@dataclass(eq=False)
class SlowRun:
    """One delivery that is worked off in a thread. ``wake_at``: when it wants to go on."""

    work: Callable[[], object]
    wake_at: datetime
    is_over: bool = False
    _ends_at: datetime | None = None
    _beat: Callable[[], bool] | None = None
    _stopped_by: BaseException | None = None
    _is_alive: bool = True
    _error: BaseException | None = None
    _hand: _Hand = field(default_factory=lambda: _idle.pop() if _idle else _Hand())

    def __post_init__(self) -> None:
        self._hand.work = self._run

    def resume(self) -> None:
        """Let it go on until it sleeps or ends. Raises what it was ended by."""
        beat, ends_at = self._beat, self._ends_at
        if beat and ends_at and self.wake_at < ends_at and self._beats(beat):
            self.wake_at = min(ends_at, self.wake_at + BEAT)
            return
        self._move()

    def kill(self) -> None:
        """Let its process die."""
        self._stopped_by = HandlerKilled()
        self._move()

    def sleep(self, until: datetime, now: datetime, beat: Callable[[], bool]) -> bool:
        """Called by the run itself: sleep, with heartbeats; whether it may go on after it."""
        self._ends_at, self._beat, self.wake_at = until, beat, min(until, now + BEAT)
        self._hand.back.release()
        self._hand.go.acquire()
        if self._stopped_by is not None:
            raise self._stopped_by
        return self._is_alive

    def _beats(self, beat: Callable[[], bool]) -> bool:
        """A heartbeat needs no thread; what it is ended by ends the run."""
        try:
            self._is_alive = beat()
        except BaseException as error:  # noqa: BLE001 - raised again where the handler sleeps
            self._stopped_by = error
        return self._is_alive and self._stopped_by is None

    def _move(self) -> None:
        self._hand.move()
        if self.is_over:
            _idle.append(self._hand)
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self.work()
        except HandlerKilled:
            pass
        except BaseException as error:  # noqa: BLE001 - handed to the simulation's own thread
            self._error = error
        self.is_over = True


def sleep_with_beats(
    run: SlowRun, job: Job, pulse: Pulse, clock: Clock, lasts: timedelta
) -> Finished | None:
    """Sleep for that long with heartbeats; ``None``: to its end, else how it was stopped."""
    now = clock.now()
    if run.sleep(now + lasts, now, lambda: pulse.beat(None) == "alive"):
        return None
    return Finished(outcome=Outcome.CANCELLED)
