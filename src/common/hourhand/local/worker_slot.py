"""One worker slot: a worker process that is always there, one invocation at a time.

A slot is an actor: its thread alone touches its state, everything else puts a note into its
inbox. A process that dies is started again, after a bounded wait; its invocation is reported as
crashed, and its messages are left to their visibility timeout.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hourhand.local.child_process import ChildProcess, Spawn
from hourhand.local.entry_points import FUNCTION_SECONDS
from hourhand.local.events import ChildDied, ChildStarted, Listener
from hourhand.local.log_lines import read_line
from hourhand.local.pause import RestartDelay

USEFUL_SECONDS = 10.0
"""A process that lived this long did not die of how it was started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The function returned ``result``."""

    result: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Crashed:
    """The function raised, or its process died: the messages stay in their queue."""

    reason: str
    pid: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """An event for the worker function; ``on_end`` gets the result, from the slot's thread."""

    event: dict[str, Any]
    on_end: Callable[[Answered | Crashed], None]
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(frozen=True, slots=True)
class _Heard:
    child: ChildProcess
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Ended:
    child: ChildProcess
    exit_code: int


@dataclass(frozen=True, slots=True)
class _Refresh:
    pass


@dataclass(frozen=True, slots=True)
class _Stop:
    pass


_Note = Invocation | _Heard | _Ended | _Refresh | _Stop


class WorkerSlot:
    """Puts itself into ``idle`` whenever it is free; its taker may `invoke` it once."""

    def __init__(
        self,
        name: str,
        spawn: Spawn,
        idle: queue.SimpleQueue[WorkerSlot],
        tell: Listener,
    ) -> None:
        """Start the first process."""
        self.name = name
        self._spawn = spawn
        self._idle = idle
        self._tell = tell
        self._inbox: queue.SimpleQueue[_Note] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._delay = RestartDelay()
        self._child = spawn(self)
        self._started_at = time.monotonic()
        self.was_ready = False
        self._is_ready = False
        self._is_listed = False
        self._is_outdated = False
        self._was_useful = False
        self._has_died = False
        self._invocation: Invocation | None = None
        self._is_sent = False
        self._limit_at: float | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    # --- called by others ---

    @property
    def pid(self) -> int:
        """The process id of the present worker process."""
        return self._child.pid

    @property
    def is_busy(self) -> bool:
        """Whether an invocation is under way."""
        return self._invocation is not None

    def invoke(self, invocation: Invocation) -> None:
        """Have the worker function invoked."""
        self._inbox.put(invocation)

    def refresh(self) -> None:
        """Replace the process as soon as it is idle: the handlers have changed."""
        self._inbox.put(_Refresh())

    def stop(self) -> None:
        """End the process, whatever it does; returns when it is gone."""
        self._stopping.set()
        self._inbox.put(_Stop())
        self._thread.join()

    # --- the child's listener ---

    def heard(self, child: ChildProcess, message: dict[str, Any]) -> None:
        """Note a reply."""
        self._inbox.put(_Heard(child, message))

    def logged(self, child: ChildProcess, line: str) -> None:
        """Pass a line on."""
        self._tell(read_line(child.name, line))

    def ended(self, child: ChildProcess, exit_code: int) -> None:
        """Note the child's end."""
        self._inbox.put(_Ended(child, exit_code))

    # --- the actor ---

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                note = self._inbox.get(timeout=self._seconds_left())
            except queue.Empty:
                # The function's own time limit: Lambda ends the environment, and so does the slot.
                self._child.signal(signal.SIGKILL)
                self._limit_at = None
                continue
            self._take(note)
        self._child.end()

    def _seconds_left(self) -> float | None:
        if self._limit_at is None:
            return None
        return max(0.0, self._limit_at - time.monotonic())

    def _take(self, note: _Note) -> None:
        match note:
            case Invocation():
                self._invocation, self._is_listed = note, False
                self._go_on()
            case _Heard(child, message) if child is self._child:
                self._reply(message)
            case _Ended(child, exit_code) if child is self._child:
                self._died(exit_code)
            case _Refresh():
                self._is_outdated = True
                self._go_on()
            case _:
                # A process that was replaced, or the end, which the loop sees.
                pass

    def _reply(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._is_ready = self.was_ready = True
            self._tell(ChildStarted(name=self.name, pid=self.pid, is_restart=self._has_died))
            self._has_died = False
        elif self._invocation is not None:
            self._was_useful = True
            error = message.get("error")
            if error is None:
                self._end(Answered(result=message["result"]))
            else:
                reason = f"{error['errorType']}: {error['errorMessage']}"
                self._end(Crashed(reason=reason, pid=self.pid))
        self._go_on()

    def _go_on(self) -> None:
        """Do what is next: replace an outdated process, send what waits, or be idle."""
        if not self._is_ready or self._is_sent:
            return
        if self._is_outdated:
            old, self._child = self._child, self._begin_process()
            old.end()
        elif self._invocation is not None:
            self._is_sent = True
            self._limit_at = time.monotonic() + FUNCTION_SECONDS
            # If it cannot be written to, it is dying, and its end is on the way.
            self._child.say(
                {"request_id": self._invocation.request_id, "event": self._invocation.event}
            )
        elif not self._is_listed:
            self._is_listed = True
            self._idle.put(self)

    def _died(self, exit_code: int) -> None:
        now, pid = time.monotonic(), self.pid
        was_useful = self._was_useful or now - self._started_at >= USEFUL_SECONDS
        wait = self._delay.after_death(was_useful=was_useful)
        self._tell(
            ChildDied(
                name=self.name, pid=pid, exit_code=exit_code, restart_seconds=wait, at_monotonic=now
            )
        )
        if self._is_sent:
            self._end(Crashed(reason="its process died", pid=pid))
        self._has_died = True
        if not self._stopping.wait(wait):
            self._child = self._begin_process()

    def _begin_process(self) -> ChildProcess:
        self._is_ready = self._is_outdated = self._was_useful = False
        self._started_at = time.monotonic()
        return self._spawn(self)

    def _end(self, how: Answered | Crashed) -> None:
        assert self._invocation is not None
        invocation, self._invocation = self._invocation, None
        self._is_sent, self._limit_at = False, None
        invocation.on_end(how)
