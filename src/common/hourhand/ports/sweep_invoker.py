"""Further invocations of the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol


class SweepInvoker(Protocol):
    """Starts further invocations of the scheduler for shards that do not fit into one."""

    def invoke(self, shards: Sequence[int], *, epoch: int, tick_at: datetime) -> bool:
        """Hand ``shards`` over; ``False``: it was refused, and the caller keeps them."""
