"""Kills processes of a local cloud at random, and loses the messages of its queues."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hourhand.local.cloud import LocalCloud
from hourhand.local.memory_backend import MemoryBackend

WORKER, SCHEDULER, PURGE = "workers killed", "schedulers killed", "purges of all queues"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """How often a second each fault happens, on average."""

    workers: float
    schedulers: float = 0.0
    purges: float = 0.0

    @property
    def in_all(self) -> float:
        """The faults a second."""
        return self.workers + self.schedulers + self.purges


@dataclass(frozen=True, slots=True)
class Killer:
    """Does one fault after the other until it is stopped. ``done`` counts them.

    Each kind happens once before any happens at random, so that also a short run has all of them.
    """

    cloud: LocalCloud
    rates: Rates
    chance: random.Random
    stop: threading.Event
    done: Counter[str] = field(default_factory=Counter)

    def __call__(self) -> None:
        """Kill and purge until the end."""
        faults: dict[str, tuple[float, Callable[[], bool]]] = {
            WORKER: (self.rates.workers, self._kill_worker),
            SCHEDULER: (self.rates.schedulers, self._kill_scheduler),
            PURGE: (self.rates.purges, self._purge),
        }
        shares = {name: rate for name, (rate, _) in faults.items() if rate > 0}
        while not self.stop.wait(self.chance.expovariate(self.rates.in_all)):
            [name] = self.chance.choices(list(shares), list(shares.values()))
            name = next((one for one in shares if not self.done[one]), name)
            self.done[name] += faults[name][1]()

    def _kill_worker(self) -> bool:
        return _kill(self.chance.choice(self.cloud.workers).pid)

    def _kill_scheduler(self) -> bool:
        return _kill(self.chance.choice(self.cloud.schedulers).child.pid)

    def _purge(self) -> bool:
        backend = self.cloud.backend
        assert isinstance(backend, MemoryBackend), "only its queues are purged here"
        backend.purge()
        return True


@contextmanager
def killing(cloud: LocalCloud, rates: Rates, seed: int) -> Iterator[Counter[str]]:
    """Let faults happen during the block; yield how many of each kind did so far."""
    killer = Killer(cloud, rates, random.Random(seed), threading.Event())
    thread = threading.Thread(target=killer, daemon=True)
    thread.start()
    try:
        yield killer.done
    finally:
        killer.stop.set()
        thread.join()


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        # It is being started again.
        return False
    return True
