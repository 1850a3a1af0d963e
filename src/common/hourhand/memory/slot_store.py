"""The slots of groups in memory: which jobs run and which wait."""

from __future__ import annotations

import threading
from datetime import datetime

from hourhand.domain.groups.overlap import Slots
from hourhand.memory.storable import require_storable_time


class MemorySlotStore:
    """Implements the port `SlotStore`; safe for threads.

    What is kept until a time that is over stays until `delete_expired`, as with DynamoDB's TTL.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.RLock()
        self._slots: dict[str, Slots] = {}
        self._keep_until: dict[str, datetime] = {}

    def read_slots(self, group: str) -> Slots:
        """Read a group; an empty one (sequence 0) where there is none."""
        with self._lock:
            return self._slots.get(group, Slots(group=group))

    def write_slots(self, slots: Slots, *, keep_until: datetime) -> bool:
        """Store ``slots`` if the record has the sequence before its own; whether it stands so."""
        require_storable_time("keep_until", keep_until)
        if slots.sequence < 1:
            raise ValueError(f"sequence must count this write, not {slots.sequence}")
        with self._lock:
            current = self.read_slots(slots.group)
            if current.sequence != slots.sequence - 1:
                return current.write_id == slots.write_id
            self._slots[slots.group] = slots
            self._keep_until[slots.group] = keep_until
            return True

    def kept_until(self, group: str) -> datetime | None:
        """Return until when a group is kept: for a test's last look."""
        with self._lock:
            return self._keep_until.get(group)

    def delete_expired(self, now: datetime) -> int:
        """Delete every group whose ``keep_until`` is over at ``now``; return how many.

        DynamoDB does this by itself some time later, to days; a test says when.
        """
        with self._lock:
            gone = [group for group, until in self._keep_until.items() if until < now]
            for group in gone:
                del self._slots[group], self._keep_until[group]
            return len(gone)
