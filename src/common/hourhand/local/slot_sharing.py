"""How worker slots are shared between the priority queues: 60/30/10, and never idle.

Each queue is charged for the slot time that its messages take, divided by its share; the queue
with the least on its account is asked first. A queue that is found empty is passed over and saves
nothing up: its account is increased to that of the queue served instead. So while all have work,
slot time is shared as the shares say, and while any has work no slot waits.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hourhand.domain.jobs.job import Priority

SHARES: Mapping[Priority, int] = {Priority.HIGH: 60, Priority.MEDIUM: 30, Priority.LOW: 10}

ADVANCE_SECONDS = 0.05
"""Charged when a message is handed over, before it is known how long it takes: without it, the
next free slot would ask the same queue again. What was not used of it is given back."""

LEAST_SECONDS = 0.001
"""Charged at least: messages that take no time at all must not keep the others from their turn."""


def _nothing() -> dict[Priority, float]:
    return dict.fromkeys(Priority, 0.0)


@dataclass(frozen=True, slots=True)
class SlotAccounts:
    """Slot seconds that each queue has used, divided by its share."""

    used: Mapping[Priority, float] = field(default_factory=_nothing)

    def order(self) -> tuple[Priority, ...]:
        """Return the queues in the order in which they are to be asked for work."""
        return tuple(sorted(Priority, key=lambda queue: (self.used[queue], -SHARES[queue])))

    def charged(self, queue: Priority, seconds: float) -> SlotAccounts:
        """Return the accounts after ``queue`` used a slot for ``seconds``."""
        return SlotAccounts({**self.used, queue: self.used[queue] + seconds / SHARES[queue]})

    def passed_over(self, empty: Collection[Priority], served: Priority) -> SlotAccounts:
        """Return the accounts after queues were found empty and another was served."""
        raised = {queue: max(self.used[queue], self.used[served]) for queue in empty}
        return SlotAccounts({**self.used, **raised})


@dataclass(slots=True)
class SharedAccounts:
    """The accounts as many workers charge them. Instants are in seconds of one monotonic clock."""

    _accounts: SlotAccounts = field(default_factory=SlotAccounts)
    _running: dict[str, tuple[Priority, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def order(self, now: float) -> tuple[Priority, ...]:
        """Charge what runs up to ``now``; return the queues in the order to ask them."""
        with self._lock:
            for worker, (queue, paid_until) in self._running.items():
                if now > paid_until:
                    self._accounts = self._accounts.charged(queue, now - paid_until)
                    self._running[worker] = (queue, now)
            return self._accounts.order()

    def begin(self, worker: str, served: Priority, empty: Collection[Priority], now: float) -> None:
        """Note that ``worker`` runs for ``served``; those asked before it were ``empty``."""
        with self._lock:
            passed = self._accounts.passed_over(empty, served)
            self._accounts = passed.charged(served, ADVANCE_SECONDS)
            self._running[worker] = (served, now + ADVANCE_SECONDS)

    def end(self, worker: str, now: float) -> None:
        """Note that ``worker`` is free again."""
        with self._lock:
            queue, paid_until = self._running.pop(worker)
            rest = max(now - paid_until, LEAST_SECONDS - ADVANCE_SECONDS)
            self._accounts = self._accounts.charged(queue, rest)
