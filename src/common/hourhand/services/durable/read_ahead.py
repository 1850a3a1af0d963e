"""Reads the larger results of a replay in batches: the one that is asked for, and the next ones."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from hourhand.domain.durable.names import branch_of
from hourhand.domain.durable.records import Journal, Record
from hourhand.services.durable.values import Values

MAX_VALUES = 100
"""The most values of one read, the one that is asked for included."""

MAX_HELD_BYTES = 8_000_000
"""The most bytes of values that a replay holds before their calls come."""


@dataclass(slots=True)
class ReadAhead:
    """The values of one invocation. The calls of a branch mostly come in the order of its records.

    It reads ahead what is in items: the bucket has no read of several objects, and its objects
    are large. A result with ``lazy`` is read only where it is asked for.
    """

    values: Values
    journal: Journal
    _held: dict[str, dict[str, str]] = field(default_factory=dict, init=False)
    _order: dict[str, list[Record]] | None = field(default=None, init=False)

    def text_of(self, record: Record) -> str | None:
        """Return the text of a record; ``None`` if it is gone."""
        if not _is_read_ahead(record):
            return self.values.text_of(record)
        branch, place = branch_of(record.path), _place_of(record)
        if place in self._held.get(branch, ()):
            return self._held[branch].pop(place)
        # What is still held of the branch is of calls that the code does not make any more.
        self._held.pop(branch, None)
        records = [record, *self._following(record, branch)]
        texts = self.values.texts_of(records)
        self._held[branch] = {
            _place_of(one): text for one, text in zip(records, texts, strict=True) if text
        }
        return self._held[branch].pop(place, None)

    def _following(self, record: Record, branch: str) -> list[Record]:
        """Return the next records of the branch whose calls have not come yet."""
        order = self._ordered().get(branch, [])
        at = bisect_right(order, record.order, key=lambda one: one.order)
        held = (text for texts in self._held.values() for text in texts.values())
        room = MAX_HELD_BYTES - sum(map(len, held))
        following = []
        for one in order[at : at + MAX_VALUES - 1]:
            if self.journal.was_visited(one):
                continue
            room -= one.size
            if room < 0:
                break
            following.append(one)
        return following

    def _ordered(self) -> dict[str, list[Record]]:
        """Return the records that are read ahead, as they stood at the first read, by branch."""
        if self._order is None:
            self._order = defaultdict(list)
            for record in filter(_is_read_ahead, self.journal.records()):
                self._order[branch_of(record.path)].append(record)
        return self._order


def _is_read_ahead(record: Record) -> bool:
    return record.is_in_item and not record.is_lazy


def _place_of(record: Record) -> str:
    """Return what tells a value from those of other calls, and of other writers of this one."""
    return f"{record.path}{record.place}"
