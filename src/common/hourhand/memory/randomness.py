"""Ids, nonces and fractions that are the same in every run of a test."""

from __future__ import annotations

import base64
import hashlib
import itertools
import threading
from datetime import datetime

from hourhand.domain.ids import length_prefixed, random_job_id

_NONCE_LENGTH = 10

FAKE_SECRET = b"not a secret, but 32 bytes long."
"""The secret of every installation in memory: derived ids are the same in every test."""


class MemoryRandomness:
    """Implements the port `Randomness` without any chance in it.

    The same ``seed`` gives the same ids and nonces in the same order; different seeds give
    different ones, so that each actor of a test can have its own. ``drawn`` is the number that
    `fraction` returns; a test may change it.
    """

    def __init__(self, seed: int = 0, *, drawn: float = 0.5) -> None:
        """Take the fraction in [0, 1); raise `ValueError` for any other number."""
        if not 0 <= drawn < 1:
            raise ValueError("drawn must be at least 0 and below 1")
        self.seed = seed
        self.drawn = drawn
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def job_id(self, now: datetime) -> str:
        """Return a new job id that sorts by time."""
        return random_job_id(now, int.from_bytes(self._next("id"), "big"))

    def nonce(self) -> str:
        """Return 10 characters that no other call returns."""
        return base64.b32encode(self._next("nonce")).decode().lower()[:_NONCE_LENGTH]

    def fraction(self) -> float:
        """Return ``drawn``."""
        return self.drawn

    def secret(self) -> bytes:
        """Return `FAKE_SECRET`."""
        return FAKE_SECRET

    def _next(self, purpose: str) -> bytes:
        with self._lock:
            number = next(self._numbers)
        return hashlib.sha256(length_prefixed(purpose, str(self.seed), str(number))).digest()
