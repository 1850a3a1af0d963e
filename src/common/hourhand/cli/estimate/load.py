"""A month's load, in the terms that decide what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hourhand.cli.estimate.counted import ENVELOPE_BYTES, FLOWS, HEARTBEAT_SECONDS
from hourhand.cli.exits import WRONG_USAGE, CommandError
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES
from hourhand.settings import MonitoringLevel

LEAST_MB, MOST_MB = 128, 10_240  # of memory, in Lambda
MAX_BATCH, MAX_CALL_BYTES = 500, 2_500_000  # what one call of the API takes
MAX_JOBS, MAX_SECONDS = 1e12, 840  # the latter is the longest timeout of a job


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """Jobs of one kind in a month. Shares are from 0 to 1.

    ``delayed``: due later than five minutes after submission. ``scheduled``: created by schedules.
    ``retried``: run a second time. ``keyed``: submitted with an idempotency key. ``tenants``: with
    a tenant. ``batch``: jobs in a call of the API. ``economy``: whether dispatch is ``economy``.
    ``delay_rounding`` and ``monitoring``: these settings of the deployment. ``has_ceiling``:
    whether worker_concurrency is a number. ``flows``: how many of `counted.FLOWS` a job has.
    """

    jobs: float
    delayed: float = 0.0
    scheduled: float = 0.0
    retried: float = 0.0
    keyed: float = 0.0
    tenants: float = 0.0
    payload_bytes: float = 256.0
    result_bytes: float = 128.0
    seconds: float = 0.1
    memory_mb: float = 1024.0
    batch: int = 1
    economy: bool = False
    delay_rounding: str = "nearest"
    monitoring: MonitoringLevel = MonitoringLevel.FULL
    has_ceiling: bool = True
    retention_days: float = 7.0
    flows: Mapping[str, float] = field(default_factory=dict)

    def flow(self, unit: str) -> float:
        """Return how much of a unit of `counted.Flow` a job takes for its flows, on average."""
        amounts = self.flows.items()
        return float(sum(amount * getattr(FLOWS[name], unit) for name, amount in amounts))

    @property
    def all_runs(self) -> float:
        """How often the handlers of a job and of its children run, on average."""
        return self.runs + self.flow("jobs")

    @property
    def kept_jobs(self) -> float:
        """The job and its children."""
        return 1 + self.flow("jobs")

    @property
    def immediate(self) -> float:
        """The share of the jobs that are due at once, or within five minutes."""
        return max(0.0, 1 - self.delayed - self.scheduled)

    @property
    def submitted(self) -> float:
        """How often a job is submitted to the API, on average."""
        return 1 - self.scheduled + self.flow("submissions")

    @property
    def runs(self) -> float:
        """How often a job runs, on average."""
        return 1 + self.retried

    @property
    def heartbeats(self) -> int:
        """How many heartbeats the worker writes for a run."""
        return max(0, math.ceil(self.seconds / HEARTBEAT_SECONDS) - 1)

    @property
    def jobs_a_call(self) -> int:
        """How many jobs one call carries: ``batch``, as far as their payloads fit."""
        room = int(MAX_CALL_BYTES // (self.payload_bytes + ENVELOPE_BYTES))
        return max(1, min(self.batch, room))


def check_load(load: Load) -> None:
    """Raise `CommandError` for a load that cannot be, naming the flags."""
    most = f"must be at most {MAX_CONTENT_BYTES:,} bytes, as one job can carry."
    shares = load.delayed + load.scheduled
    checks = {
        f"--jobs-per-month must be at most {MAX_JOBS:,.0f}.": load.jobs <= MAX_JOBS,
        "--delayed and --scheduled must be 100% together, or less.": shares <= 1,
        f"--payload {most}": load.payload_bytes <= MAX_CONTENT_BYTES,
        f"--result {most}": load.result_bytes <= MAX_CONTENT_BYTES,
        f"--duration must be above 0 and at most {MAX_SECONDS}s.": 0 < load.seconds <= MAX_SECONDS,
        "--memory must be from 128MB to 10GB.": LEAST_MB <= load.memory_mb <= MOST_MB,
    }
    problems = [problem for problem, is_fine in checks.items() if not is_fine]
    if problems:
        raise CommandError(" ".join(problems), WRONG_USAGE)
