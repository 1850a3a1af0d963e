"""Logs and metrics."""

from __future__ import annotations

from typing import Any, Protocol


class Telemetry(Protocol):
    """Logs of a fixed sentence with fields, and metrics. Never payloads, results, tracebacks."""

    def info(self, sentence: str, **fields: Any) -> None:
        """Log what happened as expected."""

    def warning(self, sentence: str, **fields: Any) -> None:
        """Log what an operator should look at."""

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a counter."""

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:
        """Record a measurement."""

    def gauge(self, metric: str, value: float, unit: str) -> None:
        """Record how much there is of something now. Nothing is written for zero."""

    def flush(self) -> None:
        """Write out what is held; called at the end of an invocation."""
