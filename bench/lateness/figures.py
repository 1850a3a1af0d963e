"""Figures of a distribution: percentiles, the share within a bound, the points of a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence

PLOTTED = (
    *(number / 50 for number in range(1, 45)),
    *(0.88 + number / 200 for number in range(1, 20)),
    *(0.975 + number / 1000 for number in range(1, 25)),
    0.9995,
    1.0,
)
"""Shares of the jobs at which a plot has a point: more where it matters, at the end."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that ``share`` of the ``values`` do not exceed."""
    ordered = sorted(values)
    return ordered[_place(share, len(ordered)) - 1]


def share_within(values: Sequence[float], bound: float) -> float:
    """Return the share of the ``values`` that are below ``bound``."""
    return sum(value < bound for value in values) / len(values)


def steps(values: Sequence[float], least: float = 0.0) -> list[list[float]]:
    """Return points of the distribution: up to a value, that share of all.

    What is below ``least`` counts as ``least``, where an axis of powers of ten begins.
    """
    ordered = sorted(max(least, value) for value in values)
    points = [[least, 0.0]]
    for share in PLOTTED:
        place = _place(share, len(ordered))
        points.append([round(ordered[place - 1], 4), round(place / len(ordered), 4)])
    return points


def _place(share: float, count: int) -> int:
    """Return the place, from 1, up to which ``share`` of so many values lie."""
    return max(1, math.ceil(round(share * count, 6)))
