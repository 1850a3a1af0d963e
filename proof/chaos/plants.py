"""Faults planted in the product on purpose, to see that the chaos finds them: ``--plant NAME``.

Each is applied in the child processes alone, before they are wired.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hourhand.aws.clock import SystemClock
from hourhand.domain.conditions import OneOf
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.transitions import _attempt
from hourhand.services.jobs.aspects import DONE
from hourhand.services.jobs.attempt import RunningAttempt
from hourhand.services.jobs.dead_letters import DeadLetters
from hourhand.services.limits.slot_admission import LimitsRule

PLANT_VARIABLE = "CHAOS_PLANT"
AHEAD = timedelta(seconds=1)


def _replace(owner: object, name: str, by: Callable[..., Any]) -> None:
    """Raises AttributeError if there is nothing to replace: a plant that does nothing is none."""
    getattr(owner, name)
    setattr(owner, name, by)


def _no_fence() -> None:
    """Whoever once owned a job may commit as long as anybody runs it."""
    running = {"status": OneOf("status", frozenset({JobStatus.RUNNING}))}
    _replace(_attempt, "owned", lambda _: running)


def _no_heartbeat() -> None:
    """A worker believes that its lease is renewed, and it is not: its timer does not end it."""

    def beat(attempt: RunningAttempt, _: object) -> str:
        lease = attempt.tools.timings.job_lease.total_seconds()
        attempt.lease_ends_at = attempt.tools.clock.monotonic() + lease
        return "alive"

    _replace(RunningAttempt, "beat", beat)


def _fast_clock() -> None:
    """All clocks are a second ahead, which nobody is told."""
    right = SystemClock.now
    _replace(SystemClock, "now", lambda clock: right(clock) + AHEAD)


def _no_letter() -> None:
    """The entry of a dead job is cleared without its letter."""
    _replace(DeadLetters, "settle", lambda *_: DONE)


def _no_slots() -> None:
    """Every job starts, whether it has a slot or not."""
    _replace(LimitsRule, "admit", lambda *_: None)


PLANTS: dict[str, Callable[[], Any]] = {
    "no-fence": _no_fence,
    "no-heartbeat": _no_heartbeat,
    "fast-clock": _fast_clock,
    "no-letter": _no_letter,
    "no-slots": _no_slots,
}
