"""Resweeps: an operator asks the sweep to read buckets again that it had closed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.errors import Unavailable
from hourhand.domain.ticks.resweep import ResweepProgress, next_request, progress_of, require_since
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.randomness import Randomness

MAX_LOST_RACES = 5
"""Operators that ask at the same time; each of them is then served by the earliest time."""


@dataclass(frozen=True, slots=True)
class ResweepService:
    """Requests resweeps, and says how far the last one is. The leader's next tick takes one up."""

    control: ControlStore
    clock: Clock
    randomness: Randomness

    def request(self, since: datetime) -> ResweepProgress:
        """Ask for every bucket from that of ``since`` to be read again.

        A request that the last one covers changes nothing. Raises `InvalidInput` for a time that
        is in the future or more than `MAX_RESWEEP` ago, `Unavailable` where others ask all the
        time.
        """
        require_since(since, self.clock.now())
        request_id = self.randomness.nonce()
        for _ in range(MAX_LOST_RACES):
            now = self.clock.now()
            current = self.control.read_resweep()
            state = self.control.read_watermark()
            wanted = next_request(current, state, since=since, now=now, request_id=request_id)
            if wanted is current or self.control.write_resweep(wanted, previous=current):
                return progress_of(wanted, state)
        raise Unavailable("Other resweeps are requested at the same time; try again.")

    def progress(self) -> ResweepProgress:
        """Return how far the last requested resweep is."""
        return progress_of(self.control.read_resweep(), self.control.read_watermark())
