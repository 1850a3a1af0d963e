"""How the workers' concurrency is shared among the queues, and its least value.

Why these shares: ADR 11.
"""

from __future__ import annotations

import math

CONCURRENCY_SHARES = {"high": 0.45, "medium": 0.40, "low": 0.15}

MINIMUM_CONCURRENCY = 2
"""The least MaximumConcurrency that an SQS event source takes (Lambda API, ScalingConfig)."""

MINIMUM_POLLERS = 2
"""The least that Lambda accepts for SQS (Lambda API, ProvisionedPollerConfig)."""

CALLS_PER_POLLER = 10
"""Invocations side by side by one provisioned poller (Lambda developer guide, SQS scaling)."""

_SMALLEST_SHARE = min(CONCURRENCY_SHARES.values())

MOST_WORKER_CONCURRENCY = 2000
"""Well above the usual quota of an account, 1,000 (Lambda quotas)."""

LEAST_WORKER_CONCURRENCY = math.ceil(MINIMUM_CONCURRENCY / _SMALLEST_SHARE)
"""Below it, the share of ``low`` would be less than Lambda accepts."""

LEAST_POLLED_CONCURRENCY = math.ceil(MINIMUM_POLLERS * CALLS_PER_POLLER / _SMALLEST_SHARE)
"""Below it, the least pollers that Lambda accepts would be more than the share of ``low``."""


def shared_out(concurrency: int) -> dict[str, int]:
    """Share ``concurrency`` out among the priorities; what rounding leaves over goes to high."""
    shares = {name: int(concurrency * share) for name, share in CONCURRENCY_SHARES.items()}
    shares["high"] += concurrency - sum(shares.values())
    return shares


def pollers_of(concurrency: int) -> dict[str, int]:
    """Return the most pollers of each priority that call no more workers than its share."""
    return {name: share // CALLS_PER_POLLER for name, share in shared_out(concurrency).items()}
