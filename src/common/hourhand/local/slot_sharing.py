"""How worker slots are shared between the priority queues: 60/30/10, and never idle.

Each queue is charged for the slot time that its messages take, divided by its share; the queue
with the least on its account is asked first. A queue that is found empty is passed over and saves
nothing up: its account is raised to that of the queue served instead. So while all have work,
slot time is shared as the shares say, and while any has work no slot waits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hourhand.domain.model import Priority

SHARES: Mapping[Priority, int] = {Priority.HIGH: 60, Priority.MEDIUM: 30, Priority.LOW: 10}

START_COST_SECONDS = 0.05
"""Charged when a message is handed over, before it is known how long it takes: without it, the
next free slot would ask the same queue again."""


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
