"""What the runs of one process share, and how long they wait for what."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.telemetry import Telemetry
from hourhand.worker._heart import Heart
from hourhand.worker._loaded import LoadedHandlers
from hourhand.worker._process import WorkerProcess
from hourhand.worker._watchdog import Watchdog


class HandlerAbandoned(Exception):
    """The job was handed back while its handler runs: there is no outcome to commit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLimits:
    """The waits of the runtime, in seconds.

    ``stop_grace``: after its hard timeout a handler may still stop by itself.
    ``neighbour_grace``: the neighbours of a stuck handler may finish, ``hand_back``: and then
    hand their jobs back. The three together stay below what the execution service reserves of
    the function's time. ``load``: the import of the handlers. ``process_end``: from before the
    commit that lets another attempt at a handler follow that still runs, until the process has
    ended, whatever its last calls do. That attempt is due later by more than two clocks may
    differ: `hourhand.services.jobs.attempt.HAND_BACK_DELAY`.
    """

    stop_grace: float = 2.0
    neighbour_grace: float = 8.0
    hand_back: float = 3.0
    load: float = 60.0
    process_end: float = 8.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunnerTools:
    """What every run in a process shares.

    ``hand_back`` returns a running job to its queue: `ExecutionService.hand_back`.
    """

    handlers: LoadedHandlers
    process: WorkerProcess
    watchdog: Watchdog
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    hand_back: Callable[[str, str], bool]
    logger: logging.Logger
    limits: RunLimits = field(default_factory=RunLimits)

    def lease_end(self, heart: Heart) -> float:
        """Return when a handler must not run any more (monotonic): a margin before its lease."""
        return heart.lease_ends_at - self.timings.clock_margin.total_seconds()
