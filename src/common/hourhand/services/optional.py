"""Requests that the work can do without: whatever one raises is counted and logged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hourhand.domain.jobs.history import shorten
from hourhand.ports.telemetry import Telemetry

REASON_BYTES = 300
"""How much of an error a log line holds."""

T = TypeVar("T")


def ask_optionally(telemetry: Telemetry, sentence: str, ask: Callable[[], T]) -> T | None:
    """Make a request that the work can do without; ``None`` where it raises anything.

    ``sentence`` is logged then. `Unavailable` alone is not enough: a missing permission, an
    account's policy or an answer that cannot be read would end the work at the same place in every
    tick.
    """
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - the work goes on, whatever it was
        telemetry.count("optional_requests_failed")
        telemetry.warning(sentence, reason=reason_of(error))
        return None


def reason_of(error: Exception) -> str:
    """Return ``error`` as a log line shows it: its class and as much of its text as fits."""
    return shorten(f"{type(error).__name__}: {error}", REASON_BYTES)
