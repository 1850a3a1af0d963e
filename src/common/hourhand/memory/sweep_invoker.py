"""Further invocations of the scheduler, noted instead of started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepInvocation:
    """What a further invocation was asked to sweep."""

    shards: tuple[int, ...]
    epoch: int
    tick_at: datetime


class MemorySweepInvoker:
    """Implements the port `SweepInvoker`: ``invoked`` holds what was accepted, in order.

    While ``accepts`` is false every invocation is refused, as one beyond the function's limit is.
    """

    def __init__(self, *, accepts: bool = True) -> None:
        """Start with nothing invoked."""
        self.accepts = accepts
        self.invoked: list[SweepInvocation] = []

    def invoke(self, shards: Sequence[int], *, epoch: int, tick_at: datetime) -> bool:
        """Note the invocation; ``False`` where it is refused."""
        if self.accepts:
            invocation = SweepInvocation(shards=tuple(shards), epoch=epoch, tick_at=tick_at)
            self.invoked.append(invocation)
        return self.accepts
