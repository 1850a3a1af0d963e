"""Random numbers and new ids."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Randomness(Protocol):
    """Random numbers and new ids."""

    def job_id(self, now: datetime) -> str:
        """Return a new job id that sorts by time."""

    def nonce(self) -> str:
        """Return 10 unique characters, for claims and invocations."""

    def fraction(self) -> float:
        """Return a random number in [0, 1)."""

    def secret(self) -> bytes:
        """Return 32 bytes that cannot be guessed."""
