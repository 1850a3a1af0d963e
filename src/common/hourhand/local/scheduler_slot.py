"""One scheduler process that is always there."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Any

from hourhand.local.child_process import ChildProcess, Spawn
from hourhand.local.events import ChildDied, ChildStarted, Listener, Ticked
from hourhand.local.log_lines import read_line
from hourhand.local.pause import RestartDelay

USEFUL_SECONDS = 10.0
"""A process that lived this long did not die of how it was started."""


class SchedulerSlot:
    """Keeps one scheduler process alive; it ticks by itself."""

    def __init__(self, spawn: Spawn, tell: Listener) -> None:
        """Start the first process."""
        self._spawn = spawn
        self._tell = tell
        self._delay = RestartDelay()
        self._stopping = threading.Event()
        self._has_died = False
        self._has_ticked = False
        # Held while a process is started, so that `stop` never misses one.
        self._lock = threading.Lock()
        self._started_at = time.monotonic()
        self._child = spawn(self)

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

    # --- the child's listener ---

    def heard(self, child: ChildProcess, message: dict[str, Any]) -> None:
        """Pass on that it is ready, or what a tick did."""
        if "ready" in message:
            self._tell(ChildStarted(name=child.name, pid=child.pid, is_restart=self._has_died))
            return
        self._has_ticked = True
        error = message.get("error")
        self._tell(
            Ticked(
                name=child.name,
                at=datetime.now(UTC),
                request_id=message["request_id"],
                took_seconds=message["took_seconds"],
                report=message.get("result"),
                error=f"{error['errorType']}: {error['errorMessage']}" if error else None,
            )
        )

    def logged(self, child: ChildProcess, line: str) -> None:
        """Pass a line on."""
        self._tell(read_line(child.name, line))

    def ended(self, child: ChildProcess, exit_code: int) -> None:
        """Start the next one, after a bounded wait. Called from the dead child's own thread."""
        if self._stopping.is_set():
            return
        now = time.monotonic()
        was_useful = self._has_ticked or now - self._started_at >= USEFUL_SECONDS
        wait = self._delay.after_death(was_useful=was_useful)
        self._tell(
            ChildDied(
                name=child.name,
                pid=child.pid,
                exit_code=exit_code,
                restart_seconds=wait,
                at_monotonic=now,
            )
        )
        self._stopping.wait(wait)
        with self._lock:
            if self._stopping.is_set():
                return
            self._has_died, self._has_ticked = True, False
            self._started_at = time.monotonic()
            self._child = self._spawn(self)
