"""One scheduler process that is always there."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

from hourhand.local.child_process import ChildProcess, Spawn
from hourhand.local.events import Listener, Ticked
from hourhand.local.process_slot import ProcessSlot, error_reason


class SchedulerSlot(ProcessSlot):
    """Keeps one scheduler process alive; it ticks by itself."""

    def __init__(self, spawn: Spawn, tell: Listener) -> None:
        """Start the first process."""
        # Held while a process is started, so that `stop` never misses one.
        self._lock = threading.Lock()
        super().__init__(spawn, tell)

    @property
    def child(self) -> ChildProcess:
        """The present process."""
        return self._child

    def refresh(self) -> None:
        """Let the process load the function again: the handlers have changed.

        A process that is being replaced loads it in any case.
        """
        self._child.say({"refresh": True})

    def stop(self) -> None:
        """End the process; returns when it is gone."""
        with self._lock:
            self._stopping.set()
        self._child.end()

    def heard(self, child: ChildProcess, message: dict[str, Any]) -> None:
        """Pass on that it is ready, or what a tick did."""
        if "ready" in message:
            self._note_ready(child)
            return
        self._was_useful = True
        self._tell(
            Ticked(
                name=child.name,
                at=datetime.now(UTC),
                request_id=message["request_id"],
                took_seconds=message["took_seconds"],
                report=message.get("result"),
                error=error_reason(message),
            )
        )

    def ended(self, child: ChildProcess, exit_code: int) -> None:
        """Start the next one, after a bounded wait. Called from the dead child's own thread."""
        if self._stopping.is_set():
            return
        self._stopping.wait(self._note_death(child, exit_code))
        with self._lock:
            if not self._stopping.is_set():
                self._child = self._begin_process()
