"""How long to wait when there was nothing to do: ever longer, up to a bound."""

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
