"""A month's load, in the terms that decide what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hourhand.cli.estimate.counted import ENVELOPE_BYTES, HEARTBEAT_SECONDS
from hourhand.cli.exits import WRONG_USAGE, CommandError
from hourhand.domain.model import MAX_CONTENT_BYTES
from hourhand.settings import MonitoringLevel

MAX_JOBS = 1e12
MAX_BATCH = 500
MAX_CALL_BYTES = 2_500_000
"""What one call of the API takes."""

MAX_SECONDS = 840.0
"""The longest time-out that a job may have."""

LEAST_MEMORY_MB, MOST_MEMORY_MB = 128.0, 10_240.0
"""What Lambda offers."""

MB = 1024.0**2


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """Jobs of one kind in a month. Shares are from 0 to 1.

    ``delayed``: due later than five minutes after submission. ``scheduled``: made by schedules,
    which nobody submits. ``retried``: run a second time. ``keyed``: submitted with an idempotency
    key. ``tenants``: that have a tenant. ``batch``: jobs in a call of the API. ``economy``: the
    dispatch that saves most marks. ``delay_rounding``: how the deployment rounds the delays of
    messages. ``monitoring``: the level that is deployed. ``has_ceiling``: whether
    worker_concurrency is a number.
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

    @property
    def immediate(self) -> float:
        """The share of the jobs that are due at once, or within five minutes."""
        return max(0.0, 1 - self.delayed - self.scheduled)

    @property
    def waits(self) -> float:
        """How often a worker waits for a job's fraction of a second, on average."""
        return self.delayed + self.scheduled + self.retried

    @property
    def submitted(self) -> float:
        """The share of the jobs that come in by the API."""
        return 1 - self.scheduled

    @property
    def runs(self) -> float:
        """How often a job runs, on average."""
        return 1 + self.retried

    @property
    def memory_gb(self) -> float:
        """What the handlers' function has."""
        return self.memory_mb / 1024

    @property
    def is_measured(self) -> bool:
        """Whether the functions write metrics of their own."""
        return self.monitoring is MonitoringLevel.FULL

    @property
    def heartbeats(self) -> int:
        """How often the worker tells that a run is alive."""
        return max(0, math.ceil(self.seconds / HEARTBEAT_SECONDS) - 1)

    @property
    def jobs_a_call(self) -> int:
        """How many jobs go into one call: ``batch``, as far as their payloads let them."""
        room = int(MAX_CALL_BYTES // (self.payload_bytes + ENVELOPE_BYTES))
        return max(1, min(self.batch, room))


def check_load(load: Load) -> None:
    """Raise `CommandError` for what cannot be, naming the flags."""
    problems = list(_problems(load))
    if problems:
        raise CommandError(" ".join(problems), WRONG_USAGE)


def _problems(load: Load) -> Iterator[str]:
    most_content = f"must be at most {MAX_CONTENT_BYTES:,} bytes, as one job can carry"
    if not 0 <= load.jobs <= MAX_JOBS:
        yield f"--jobs-per-month must be at most {MAX_JOBS:,.0f}."
    if load.delayed + load.scheduled > 1:
        yield "--delayed and --scheduled must be 100% together, or less."
    if load.payload_bytes > MAX_CONTENT_BYTES:
        yield f"--payload {most_content}."
    if load.result_bytes > MAX_CONTENT_BYTES:
        yield f"--result {most_content}."
    if not 0 < load.seconds <= MAX_SECONDS:
        yield f"--duration must be above 0 and at most {MAX_SECONDS:.0f}s."
    if not LEAST_MEMORY_MB <= load.memory_mb <= MOST_MEMORY_MB:
        yield "--memory must be from 128MB to 10GB, as Lambda has it."
