"""Randomness and new ids, from the operating system's source of randomness."""

from __future__ import annotations

import secrets
from datetime import datetime

from hourhand.domain.ids import SECRET_BYTES, random_job_id

NONCE_LENGTH = 10
_ID_BITS = 60
_FRACTION_BITS = 53
_NONCE_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


class SystemRandomness:
    """Implements the port `Randomness`."""

    def job_id(self, now: datetime) -> str:
        """Return a new job id that sorts by time."""
        return random_job_id(now, secrets.randbits(_ID_BITS))

    def nonce(self) -> str:
        """Return 10 unique characters: 51 random bits."""
        # One number for all of them: each draw is a call of the system.
        rest = secrets.randbelow(len(_NONCE_CHARACTERS) ** NONCE_LENGTH)
        drawn = []
        for _ in range(NONCE_LENGTH):
            rest, position = divmod(rest, len(_NONCE_CHARACTERS))
            drawn.append(_NONCE_CHARACTERS[position])
        return "".join(drawn)

    def fraction(self) -> float:
        """Return a random number in [0, 1)."""
        return secrets.randbits(_FRACTION_BITS) / (1 << _FRACTION_BITS)

    def secret(self) -> bytes:
        """Return 32 bytes that cannot be guessed."""
        return secrets.token_bytes(SECRET_BYTES)
