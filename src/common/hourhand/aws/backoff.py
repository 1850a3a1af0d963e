"""How long to wait before a part of a batch is tried again that AWS put off."""

from __future__ import annotations

import random

FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 1.0


def wait_seconds(tries: int) -> float:
    """Return the wait after so many tries (from 1): doubling, a random half of it.

    Randomness keeps writers apart that were put off at the same moment.
    """
    longest = min(FIRST_WAIT_SECONDS * 2.0 ** (tries - 1), LONGEST_WAIT_SECONDS)
    return longest * (0.5 + random.random() / 2)  # noqa: S311 (it guards nothing)
