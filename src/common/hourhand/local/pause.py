"""Waits that grow up to a bound: of a loop with nothing to do, and before a restart."""

from __future__ import annotations

from dataclasses import dataclass, field

SHORTEST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 0.25
"""Messages are delayed by whole seconds, rounded down: a look this often finds nearly all of them
before their job is due, at a few percent of a processor."""

GROWTH = 1.5


@dataclass(slots=True)
class Pause:
    """The pauses of one loop."""

    shortest_seconds: float = SHORTEST_PAUSE_SECONDS
    longest_seconds: float = LONGEST_PAUSE_SECONDS
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.shortest_seconds

    def next(self) -> float:
        """Return the seconds to wait now."""
        seconds, self._next = self._next, min(self._next * GROWTH, self.longest_seconds)
        return seconds

    def reset(self) -> None:
        """Start from the shortest again: there was something to do."""
        self._next = self.shortest_seconds


@dataclass(slots=True)
class RestartDelay:
    """How long to wait before a child that died is started again: twice as long each time.

    A child that did some work, or lived for a while, starts from nothing again.
    """

    first_seconds: float = 0.1
    most_seconds: float = 10.0
    _deaths: int = field(default=0, init=False)

    def after_death(self, *, was_useful: bool) -> float:
        """Return the seconds to wait now."""
        self._deaths = 1 if was_useful else self._deaths + 1
        doublings = min(self._deaths - 1, 30)
        return min(self.first_seconds * 2.0**doublings, self.most_seconds)
