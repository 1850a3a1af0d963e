"""Side items in memory: the executable model of what every store of them must do."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection
from datetime import datetime

from hourhand.domain.side_items import SideItem, SideItemUpdate, SideKey
from hourhand.memory.storable import require_limit, require_storable_time
from hourhand.ports.side_item_store import SideItemWrite

_BEHIND_ALL = "\U0010ffff"


class MemorySideItemStore:
    """Implements the port `SideItemStore`; safe for threads.

    What is kept until a time that is over stays until `delete_expired`, as with DynamoDB's TTL.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.RLock()
        self._items: dict[SideKey, SideItem] = {}
        self._keep_until: dict[SideKey, datetime] = {}
        self._order: list[tuple[str, str]] = []

    def read_item(self, key: SideKey, *, is_consistent: bool = True) -> SideItem | None:  # noqa: ARG002 (every read is consistent here)
        """Read an item."""
        with self._lock:
            return self._items.get(key)

    def read_items(self, keys: Collection[SideKey]) -> dict[SideKey, SideItem]:
        """Read items of distinct keys; those that do not exist are left out."""
        with self._lock:
            return {key: self._items[key] for key in keys if key in self._items}

    def query_items(
        self, partition: str, *, prefix: str = "", after: str | None = None, limit: int
    ) -> tuple[SideItem, ...]:
        """Read the first items of a partition in the order of their sort keys."""
        require_limit(limit)
        with self._lock:
            begin, end = self._range(partition, prefix)
            if after is not None:
                begin = max(begin, bisect_right(self._order, (partition, after)))
            keys = self._order[begin : min(end, begin + limit)]
            return tuple(self._items[SideKey(*key)] for key in keys)

    def count_items(self, partition: str, *, prefix: str, limit: int) -> int:
        """Count the items whose sort key begins with ``prefix``: exactly up to ``limit``."""
        require_limit(limit)
        with self._lock:
            begin, end = self._range(partition, prefix)
            return min(limit, end - begin)

    def write_item(self, update: SideItemUpdate) -> SideItemWrite:
        """Make one conditional write."""
        if update.keep_until is not None:
            require_storable_time("keep_until", update.keep_until)
        with self._lock:
            current = self._items.get(update.key)
            if not update.is_allowed(current):
                return SideItemWrite(is_applied=False, item=current)
            after = update.apply(current)
            self._store(update, after)
            return SideItemWrite(is_applied=True, item=after)

    def items(self) -> dict[SideKey, SideItem]:
        """Return every item by its key: for a test's last look."""
        with self._lock:
            return dict(self._items)

    def kept_until(self, key: SideKey) -> datetime | None:
        """Return until when an item is kept: for a test's last look."""
        with self._lock:
            return self._keep_until.get(key)

    def delete_expired(self, now: datetime) -> int:
        """Delete every item whose ``keep_until`` is over at ``now``; return how many.

        DynamoDB does this by itself some time later, to days; a test says when.
        """
        with self._lock:
            gone = [key for key, until in self._keep_until.items() if until < now]
            for key in gone:
                self._delete(key)
            return len(gone)

    def _range(self, partition: str, prefix: str) -> tuple[int, int]:
        begin = bisect_left(self._order, (partition, prefix))
        return begin, bisect_left(self._order, (partition, prefix + _BEHIND_ALL))

    def _store(self, update: SideItemUpdate, after: SideItem | None) -> None:
        key = update.key
        if after is None:
            self._delete(key)
            return
        if key not in self._items:
            insort(self._order, (key.partition, key.sort))
        self._items[key] = after
        if update.keep_until is not None:
            self._keep_until[key] = update.keep_until

    def _delete(self, key: SideKey) -> None:
        del self._items[key], self._keep_until[key]
        del self._order[bisect_left(self._order, (key.partition, key.sort))]
