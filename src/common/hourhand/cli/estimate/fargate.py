"""Always-on workers in containers: how many tasks, of which size."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hourhand.cli.estimate.counted import HOURS
from hourhand.cli.estimate.load import Load
from hourhand.cli.estimate.prices import Usage

SIZES = {
    0.25: (0.5, 1, 2),
    0.5: (1, 2, 3, 4),
    1: (2, 3, 4, 5, 6, 7, 8),
    2: (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
}
"""GB of memory that a task may have by its vCPUs (ECS developer guide, Fargate task sizes)."""

LEAST_TASKS = 2
"""One of them for when the other fails."""

BUSY = 0.6
"""The share of their time that workers are kept busy: nobody's load is quite steady."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """``tasks`` that are always on, each of ``vcpu`` and ``memory_gb``; one handler at a time."""

    tasks: int
    vcpu: float
    memory_gb: float

    @property
    def month(self) -> Usage:
        """What it uses in a month, busy or not."""
        hours = self.tasks * HOURS
        return {
            "fargate vCPU-hour": hours * self.vcpu,
            "fargate GB-hour": hours * self.memory_gb,
        }


def fleet_for(load: Load) -> Fleet:
    """Return the smallest fleet that works off ``load`` with the memory that it asks for."""
    vcpu, memory_gb = min(
        (vcpu, memory_gb)
        for vcpu, sizes in SIZES.items()
        for memory_gb in sizes
        if memory_gb >= load.memory_gb
    )
    busy = load.jobs * load.runs * load.seconds / (HOURS * 3600)
    return Fleet(max(LEAST_TASKS, math.ceil(busy / BUSY)), vcpu, memory_gb)
