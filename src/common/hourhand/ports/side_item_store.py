"""The side items of the jobs table: slots, waiters, rates, unique keys, debounced payloads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from hourhand.domain.side_items import SideItem, SideItemUpdate, SideKey


@dataclass(frozen=True, slots=True)
class SideItemWrite:
    """Whether a write was applied, and ``item``: as it is after the write, else as it stands.

    ``None``: there is no item. A call whose answer was lost is made again: then a write whose
    clauses hold no longer after itself is shown as refused, with the item that it wrote.
    """

    is_applied: bool
    item: SideItem | None


class SideItemStore(Protocol):
    """Side items, each changed by one conditional write. They are in no index."""

    def read_item(self, key: SideKey, *, is_consistent: bool = True) -> SideItem | None:
        """Read an item, strongly consistent unless the caller can bear an older state."""

    def read_items(self, keys: Collection[SideKey]) -> Mapping[SideKey, SideItem]:
        """Read items of distinct keys, strongly consistent; those that do not exist are left out.

        Raises `Unavailable` where the store puts them off again and again.
        """

    def query_items(
        self, partition: str, *, prefix: str = "", after: str | None = None, limit: int
    ) -> tuple[SideItem, ...]:
        """Read the first items of a partition in the order of their sort keys.

        The read is strongly consistent. ``prefix``: only items whose sort key begins so.
        ``after``: only items behind this sort key, which begins with ``prefix``.
        """

    def count_items(self, partition: str, *, prefix: str, limit: int) -> int:
        """Count the items whose sort key begins with ``prefix``: exactly up to ``limit``."""

    def write_item(self, update: SideItemUpdate) -> SideItemWrite:
        """Make one conditional write."""
