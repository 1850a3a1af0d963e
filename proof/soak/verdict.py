"""Whether what a process holds grows: one rule for memory, threads, files and sockets.

After a warm-up, every two samples say how quickly it grew between them (Theil and Sen's pairs).
It leaks if **three quarters of all pairs say more than the bound, and it grew in each quarter of
the time**. Neither a warm-up, nor noise, nor a step or two (a client that is made when it is first
needed) comes to that; what grows again and again does: a count that rose four times or more, memory
that grows beyond its bound.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proof.soak.probe import Sample

WARM_UP = 0.3
"""The share of the samples that is left out at the beginning: imports, caches, pools."""

LEAST_SAMPLES = 6
"""After the warm-up. Fewer prove nothing."""

BOUNDS: Mapping[str, float] = {
    "allocated_kib": 192.0,
    "blocks": 300.0,
    "memory_kib": 2048.0,
    "threads": 0.0,
    "files": 0.0,
    "sockets": 0.0,
}
"""By how much each may grow with a thousand jobs.

192 KiB allocated: with a job a second, which keeps a worker busy, half a MB an hour; Lambda
replaces its environments after hours. 300 blocks: an object for every third job, all processes'
jobs counted. Resident memory holds these two and gaps, which grew by 0.8 MB in twelve minutes
while both stayed the same: its bound is for what neither of them counts.
"""

FLOORS: Mapping[str, int] = {
    "allocated_kib": 512,
    "blocks": 500,
    "memory_kib": 4096,
    "threads": 0,
    "files": 0,
    "sockets": 0,
}
"""What may come in all, however few the jobs were: caches that fill up, rare paths of the code."""

QUARTERS = 4
LEAST_SHARE = 0.1
"""Of the whole growth, what each quarter adds to the one before; of a steady one, a third."""

UNITS = {"allocated_kib": " KiB", "memory_kib": " KiB"}
MOST_TYPES_TOLD = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A sample, taken when ``jobs`` jobs had ended."""

    jobs: int
    sample: Sample


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """How one count of one process developed, the warm-up left out.

    ``low``: the lower quartile of what the pairs say, for 1,000 jobs.
    """

    kind: str
    first: int
    last: int
    low: float
    is_steady: bool

    @property
    def is_leak(self) -> bool:
        """Whether it grows beyond its bound for sure."""
        grew = self.last - self.first
        return self.is_steady and grew > FLOORS[self.kind] and self.low > BOUNDS[self.kind]


def after_warm_up(points: Sequence[Point]) -> Sequence[Point]:
    """Return what is judged. Raises `ValueError` where that is too little to judge."""
    judged = points[int(len(points) * WARM_UP) :]
    if len(judged) < LEAST_SAMPLES:
        raise ValueError(f"{len(judged)} samples after the warm-up prove nothing; run it longer.")
    return judged


def growth_of(kind: str, points: Sequence[Point]) -> Growth:
    """Judge one count of a process by its ``points``, in the order in which they were taken."""
    judged = after_warm_up(points)
    slopes = [
        1000 * (later.sample.value(kind) - before.sample.value(kind)) / (later.jobs - before.jobs)
        for before, later in itertools.combinations(judged, 2)
        if later.jobs > before.jobs
    ]
    if len(slopes) < LEAST_SAMPLES:
        raise ValueError("Hardly any job ended between the samples.")
    low, *_ = statistics.quantiles(slopes, n=4, method="inclusive")
    return Growth(
        kind=kind,
        first=judged[0].sample.value(kind),
        last=judged[-1].sample.value(kind),
        low=low,
        is_steady=_is_steady([point.sample.value(kind) for point in judged]),
    )


def _is_steady(values: Sequence[int]) -> bool:
    """Whether it rose from each quarter to the next by about as much."""
    size = len(values) / QUARTERS
    parts = [values[round(n * size) : round((n + 1) * size)] for n in range(QUARTERS)]
    middles = [statistics.fmean(part) for part in parts]
    rises = [after - before for before, after in itertools.pairwise(middles)]
    return sum(rises) > 0 and min(rises) >= LEAST_SHARE * sum(rises)


def growths_of(points: Sequence[Point]) -> list[Growth]:
    """Judge everything that is counted of one process."""
    return [growth_of(kind, points) for kind in BOUNDS]


def leaks_in(process: str, points: Sequence[Point]) -> list[str]:
    """Return a sentence for each count of ``process`` that leaks."""
    return [
        f"{process}: {growth.kind} grew from {growth.first:,} to {growth.last:,}; three quarters "
        f"of all pairs of samples say by more than {growth.low:,.1f}{UNITS.get(growth.kind, '')} "
        f"for 1,000 jobs (bound {BOUNDS[growth.kind]:g}). {_grown_types(points)}"
        for growth in growths_of(points)
        if growth.is_leak
    ]


def _grown_types(points: Sequence[Point]) -> str:
    """Return which objects became more since the warm-up: where to look first."""
    judged = after_warm_up(points)
    before, after = judged[0].sample.types, judged[-1].sample.types
    grown = {name: after[name] - before.get(name, 0) for name in after}
    most = sorted(grown.items(), key=lambda one: -one[1])[:MOST_TYPES_TOLD]
    told = ", ".join(f"{name} +{count:,}" for name, count in most if count > 0)
    return f"More objects: {told or 'none that the garbage collector knows'}."
