"""The slots of groups, kept in the jobs table."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from hourhand.domain.groups.overlap import Slots


class SlotStore(Protocol):
    """The slots of groups, kept in the jobs table: workers write them."""

    def read_slots(self, group: str) -> Slots:
        """Read a group, strongly consistent; an empty one (sequence 0) where there is none."""

    def write_slots(self, slots: Slots, *, keep_until: datetime) -> bool:
        """Store ``slots`` if the record has the sequence before its own; whether it stands so.

        It does, too, where the record that stands has this very ``write_id``. TTL deletes it
        after ``keep_until``: a group that is idle for so long holds nothing.
        """
