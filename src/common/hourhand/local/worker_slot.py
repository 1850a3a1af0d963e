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
from functools import partial
from typing import Any

from hourhand.local.child_process import ChildProcess, Spawn
from hourhand.local.entry_points import FUNCTION_SECONDS
from hourhand.local.events import Listener
from hourhand.local.process_slot import ProcessSlot, error_reason


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


class WorkerSlot(ProcessSlot):
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
        self._idle = idle
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        super().__init__(spawn, tell)
        self.was_ready = False
        self._is_listed = False
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
        self._inbox.put(partial(self._accept, invocation))

    def refresh(self) -> None:
        """Replace the process as soon as it is idle: the handlers have changed."""
        self._inbox.put(self._outdate)

    def stop(self) -> None:
        """End the process, whatever it does; returns when it is gone."""
        self._stopping.set()
        # For the loop to see it.
        self._inbox.put(lambda: None)
        self._thread.join()

    def heard(self, child: ChildProcess, message: dict[str, Any]) -> None:
        """Note a reply."""
        self._inbox.put(partial(self._reply, child, message))

    def ended(self, child: ChildProcess, exit_code: int) -> None:
        """Note the child's end."""
        self._inbox.put(partial(self._died, child, exit_code))

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
            note()
        self._child.end()

    def _seconds_left(self) -> float | None:
        if self._limit_at is None:
            return None
        return max(0.0, self._limit_at - time.monotonic())

    def _accept(self, invocation: Invocation) -> None:
        self._invocation, self._is_listed = invocation, False
        self._go_on()

    def _outdate(self) -> None:
        self._is_outdated = True
        self._go_on()

    def _reply(self, child: ChildProcess, message: dict[str, Any]) -> None:
        if child is not self._child:
            # It was replaced.
            return
        if "ready" in message:
            self._is_ready = self.was_ready = True
            self._note_ready(child)
        elif self._invocation is not None:
            self._was_useful = True
            reason = error_reason(message)
            if reason is None:
                self._end(Answered(result=message["result"]))
            else:
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

    def _died(self, child: ChildProcess, exit_code: int) -> None:
        if child is not self._child:
            # It was replaced.
            return
        wait = self._note_death(child, exit_code)
        if self._is_sent:
            self._end(Crashed(reason="its process died", pid=self.pid))
        if not self._stopping.wait(wait):
            self._child = self._begin_process()

    def _begin_process(self) -> ChildProcess:
        self._is_ready = self._is_outdated = False
        return super()._begin_process()

    def _end(self, how: Answered | Crashed) -> None:
        assert self._invocation is not None
        invocation, self._invocation = self._invocation, None
        self._is_sent, self._limit_at = False, None
        invocation.on_end(how)
