"""Changes that an eventually consistent index shows later than they were made."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from hourhand.ports.clock import Clock

C = TypeVar("C")


class LateChanges(Generic[C]):
    """Gives out each change ``lag`` after it was made by the ``clock``, and none while frozen."""

    def __init__(self, clock: Clock | None, lag: timedelta) -> None:
        """Without a clock every change is given out at once, unless frozen.

        Raises `ValueError` for a lag without the clock that it is measured by.
        """
        if lag and clock is None:
            raise ValueError("index_lag needs a clock")
        self.is_frozen = False
        self._clock = clock
        self._lag = lag
        self._pending: deque[tuple[datetime | None, C]] = deque()

    def add(self, change: C) -> None:
        """Note what changed just now."""
        now = self._clock.now() if self._clock is not None else None
        self._pending.append((now, change))

    def take(self) -> Iterator[C]:
        """Yield the changes whose time has come, in the order in which they were made."""
        while self._pending and not self.is_frozen:
            made_at, change = self._pending[0]
            if not self._is_ripe(made_at):
                return
            self._pending.popleft()
            yield change

    def _is_ripe(self, made_at: datetime | None) -> bool:
        if made_at is None or self._clock is None:
            return True
        return made_at + self._lag <= self._clock.now()
