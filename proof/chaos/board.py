"""A file in shared memory by which the driver and the processes of one run know of each other.

Each place in the cloud has a slot: how far its clock is off, which the driver sets while it runs,
and since when it is in the midst of a tick, which it says itself, so that the driver can strike
just then.
"""

from __future__ import annotations

import mmap
from pathlib import Path

SLOTS = 64
MOST_SCHEDULERS = 8
CLOCK, TICK = 0, 1
NUMBERS_A_SLOT = 2
BYTES = SLOTS * NUMBERS_A_SLOT * 8


class Board:
    """The board in a file, which `create` makes and any process may open."""

    def __init__(self, path: Path) -> None:
        """Open it."""
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), BYTES)
        # Of native doubles: each is written at once, never half.
        self._numbers = memoryview(self._map).cast("d")

    @classmethod
    def create(cls, path: Path) -> Board:
        """Make one on which every clock is right and nobody ticks."""
        path.write_bytes(bytes(BYTES))
        return cls(path)

    def clock_offset(self, place: str) -> float:
        """Return by how many seconds the clock of a process is ahead."""
        return self._numbers[_first_number(place) + CLOCK]

    def set_clock(self, place: str, seconds: float) -> None:
        """Step the clock of a process, from its next look on."""
        self._numbers[_first_number(place) + CLOCK] = seconds

    def ticking_since(self, place: str) -> float:
        """Return when the tick under way began, by the machine's clock; 0: there is none."""
        return self._numbers[_first_number(place) + TICK]

    def set_ticking(self, place: str, since: float) -> None:
        """Say that a tick began, or by 0 that it ended."""
        self._numbers[_first_number(place) + TICK] = since


def _first_number(place: str) -> int:
    """Return where the numbers of a place begin: those of the schedulers come first."""
    kind, _, number = place.rpartition("-")
    slot = int(number) + (MOST_SCHEDULERS if kind == "worker" else 0)
    return slot * NUMBERS_A_SLOT
