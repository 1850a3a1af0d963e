"""The leaders of the local cloud: one that is left alone, then one for each tick, each killed."""

from __future__ import annotations

import itertools
import os
import random
import signal
import statistics
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from bench.lateness.watched_scheduler import SWEEP_BEGINS
from hourhand.local.child_process import ChildCommand, ChildProcess

READY_SECONDS = 20.0


@dataclass(slots=True)
class Watch:
    """Implements `hourhand.local.child_process.ChildListener`: notes when sweeps begin and end.

    ``sweeps`` has how long each whole one took, in seconds.
    """

    sweeps: list[float] = field(default_factory=list)
    sweep_begins: threading.Event = field(default_factory=threading.Event)
    is_over: threading.Event = field(default_factory=threading.Event)
    ticks: int = 0
    warnings: list[str] = field(default_factory=list)
    _began: float = 0.0

    def heard(self, _: ChildProcess, message: dict[str, Any]) -> None:
        """Note that a tick ended that led; one that finds another leader does nothing."""
        if (message.get("result") or {}).get("led"):
            self.ticks += 1
            self.sweeps.append(time.monotonic() - self._began)

    def logged(self, _: ChildProcess, line: str) -> None:
        """Note that a sweep began, and what went wrong."""
        if line == SWEEP_BEGINS:
            self._began = time.monotonic()
            self.sweep_begins.set()
        elif "WARNING" in line or "Traceback" in line:
            self.warnings.append(line[:300])

    def ended(self, _: ChildProcess, __: int) -> None:
        """Note that the process is gone."""
        self.is_over.set()


class Leaders:
    """Starts schedulers and kills them. ``killed`` counts those that died in mid-sweep."""

    def __init__(self, tick_seconds: float, chance: random.Random) -> None:
        """Start none yet."""
        self.killed = 0
        self.too_late = 0
        self.healthy = Watch()
        self._tick_seconds = tick_seconds
        self._chance = chance
        self._numbers = itertools.count(1)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, alone_seconds: float) -> None:
        """Leave one leader alone for so long; then each tick has one of its own, to be killed."""
        self._thread = threading.Thread(target=self._run, args=(alone_seconds,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Start and kill no more, and leave no process behind."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def sweep_seconds(self) -> float:
        """Return how long a whole sweep takes: the median of those of the healthy leader."""
        return statistics.median(self.healthy.sweeps)

    def _run(self, alone_seconds: float) -> None:
        healthy = self._spawn(self.healthy)
        self._stopping.wait(alone_seconds)
        healthy.end()
        next_tick = time.monotonic()
        while not self._stopping.wait(max(0.0, next_tick - time.monotonic())):
            self._kill_one()
            # As the rule does: what comes too late for one tick is there for the next.
            while next_tick <= time.monotonic():
                next_tick += self._tick_seconds

    def _spawn(self, watch: Watch) -> ChildProcess:
        name = f"leader-{next(self._numbers)}"
        command = ChildCommand(
            name=name,
            module="bench.lateness.watched_scheduler",
            arguments=("--tick-seconds", f"{self._tick_seconds:g}", "--name", name),
            # The local cloud has put into it all that its functions need.
            environment=dict(os.environ),
        )
        return ChildProcess(command, watch)

    def _kill_one(self) -> None:
        """Start a leader, and kill it at a random moment of its sweep."""
        watch = Watch()
        leader = self._spawn(watch)
        watch.sweep_begins.wait(READY_SECONDS)
        time.sleep(self._chance.random() * self.sweep_seconds())
        was_over = watch.ticks > 0
        leader.signal(signal.SIGKILL)
        watch.is_over.wait(READY_SECONDS)
        if was_over or not watch.sweep_begins.is_set():
            self.too_late += 1
        else:
            self.killed += 1
