"""What the slots of workers and of schedulers have alike: a process that is always there.

A process that dies is started again, after a bounded wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hourhand.local.child_process import ChildListener, ChildProcess, Spawn
from hourhand.local.events import ChildDied, ChildStarted, Listener
from hourhand.local.log_lines import read_line

USEFUL_SECONDS = 10.0
"""A process that lived this long did not die of how it was started."""


@dataclass(slots=True)
class RestartDelay:
    """How long to wait before a child that died is started again: twice as long each time.

    A child that did some work, or lived for a while, starts from nothing again.
    """

    first_seconds: float = 0.1
    most_seconds: float = 10.0
    _deaths: int = field(default=0, init=False)

    def after_death(self, *, was_useful: bool) -> float:
        """Return the seconds to wait now."""
        self._deaths = 1 if was_useful else self._deaths + 1
        doublings = min(self._deaths - 1, 30)
        return min(self.first_seconds * 2.0**doublings, self.most_seconds)


class ProcessSlot(ChildListener):
    """Keeps the present process, and tells of each start and death."""

    def __init__(self, spawn: Spawn, tell: Listener) -> None:
        """Start the first process."""
        self._spawn = spawn
        self._tell = tell
        self._delay = RestartDelay()
        self._stopping = threading.Event()
        self._has_died = False
        self._child = self._begin_process()

    def logged(self, child: ChildProcess, line: str) -> None:
        """Pass a line on."""
        self._tell(read_line(child.name, line))

    def _begin_process(self) -> ChildProcess:
        self._was_useful = False
        self._started_at = time.monotonic()
        return self._spawn(self)

    def _note_ready(self, child: ChildProcess) -> None:
        self._tell(ChildStarted(name=child.name, pid=child.pid, is_restart=self._has_died))
        self._has_died = False

    def _note_death(self, child: ChildProcess, exit_code: int) -> float:
        """Tell of it; return the seconds to wait before the next process is started."""
        now = time.monotonic()
        was_useful = self._was_useful or now - self._started_at >= USEFUL_SECONDS
        wait = self._delay.after_death(was_useful=was_useful)
        self._has_died = True
        self._tell(
            ChildDied(
                name=child.name,
                pid=child.pid,
                exit_code=exit_code,
                restart_seconds=wait,
                at_monotonic=now,
            )
        )
        return wait


def error_reason(reply: Mapping[str, Any]) -> str | None:
    """Return the error of the function that a process replied with, if any, as one sentence."""
    error = reply.get("error")
    return None if error is None else f"{error['errorType']}: {error['errorMessage']}"
