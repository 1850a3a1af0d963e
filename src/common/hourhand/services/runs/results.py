"""Results of calls, in their records, in items beside them or in the bucket, and reads ahead."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hourhand.domain.errors import FieldError, TooLarge
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES
from hourhand.domain.runs.names import branch_of
from hourhand.domain.runs.records import (
    IN_ITEM,
    INLINE_BYTES,
    VALUE_BYTES,
    Journal,
    Record,
    value_key,
)
from hourhand.domain.runs.writes import Scope, put_value
from hourhand.domain.side_items import SideItem, SideKey, Stored
from hourhand.ports.clock import Clock
from hourhand.ports.durable_run import ReversedRun
from hourhand.ports.job_store import JobStore
from hourhand.ports.object_store import ObjectStore
from hourhand.ports.randomness import Randomness
from hourhand.ports.side_item_store import SideItemStore
from hourhand.ports.telemetry import Telemetry

if TYPE_CHECKING:
    from hourhand.services.runs.children import Children

MAX_VALUES = 100
"""The most values of one read, the one that is asked for included."""

MAX_HELD_BYTES = 8_000_000
"""The most bytes of values that a replay holds before their calls come."""


class OpensReversed(Protocol):
    """Opens the runs that compensations reverse."""

    def open(self, payload_text: str) -> ReversedRun | None:
        """Mark a run as compensated and open its journal; ``None``: it was redriven.

        Raises `Unavailable`, and `RunEnds` if the run is gone.
        """


@dataclass(frozen=True, slots=True)
class RunPorts:
    """The ports that durable runs work with. Those of a worker retry their calls.

    ``api_url``: where callbacks are completed, if that is known.
    """

    jobs: JobStore
    side_items: SideItemStore
    objects: ObjectStore
    clock: Clock
    randomness: Randomness
    telemetry: Telemetry
    compensations: OpensReversed
    children: Children
    api_url: str = ""


@dataclass(frozen=True, slots=True)
class Values:
    """Keeps results of a run, and finds them again.

    A large one is written before the record that names it, under a key that names its writer. So
    a record never names a result that is missing, and no other worker replaces it.
    """

    ports: RunPorts
    scope: Scope

    def keep(self, path: str, text: str, writer: str = "") -> dict[str, Stored | None]:
        """Keep a text; return the attributes of the record that say where it is.

        ``writer``: who writes it, if that is not the owner of the run.
        """
        size = len(text.encode())
        if size <= INLINE_BYTES:
            return {"text": text}
        scope = self.scope
        writer = writer or str(scope.token)
        if size <= VALUE_BYTES:
            self.ports.side_items.write_item(put_value(scope, path, writer, text))
            return {"place": f"{IN_ITEM}{writer}", "size": size}
        name = content_hash(str(scope.segment), path, writer, text)
        key = f"journal/{scope.run_id}/{name}"
        self.ports.objects.put(key, text)
        self.ports.objects.mark_finished(key, scope.keep_until)
        return {"place": key, "size": size}

    def text_of(self, record: Record) -> str | None:
        """Return the text of a record; ``None`` if it is gone."""
        if record.place is None:
            return record.text
        if not record.is_in_item:
            return self.ports.objects.get(record.place)
        return _text_in(self.ports.side_items.read_item(self._key_of(record)))

    def texts_of(self, records: Sequence[Record]) -> list[str | None]:
        """Return the texts of records, each as `text_of`. Those in items are read together."""
        keys = [self._key_of(one) for one in records if one.is_in_item]
        items = self.ports.side_items.read_items(keys) if keys else {}
        return [
            _text_in(items.get(self._key_of(one))) if one.is_in_item else self.text_of(one)
            for one in records
        ]

    def _key_of(self, record: Record) -> SideKey:
        writer = (record.place or "").removeprefix(IN_ITEM)
        return value_key(self.scope.run_id, self.scope.segment, record.path, writer)


def _text_in(item: SideItem | None) -> str | None:
    return None if item is None else item.text("text")


def require_size(field: str, text: str) -> None:
    """Refuse what is larger than any payload or result. Raises `TooLarge`."""
    size = len(text.encode())
    if size > MAX_CONTENT_BYTES:
        message = f"is {size:,} bytes of JSON; at most {MAX_CONTENT_BYTES:,} are allowed"
        raise TooLarge(f"The {field} is too large.", errors=(FieldError(field, message),))


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
