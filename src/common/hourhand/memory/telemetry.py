"""Logs and metrics, kept in lists for a test to look at."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """One line of the log. ``level`` is ``info`` or ``warning``."""

    level: str
    sentence: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One value of a metric. ``unit`` is ``Count`` for counters."""

    metric: str
    value: float
    unit: str


class RecordingTelemetry:
    """Implements the port `Telemetry`: ``logs`` and ``metrics`` in the order they came."""

    def __init__(self) -> None:
        """Start with nothing recorded."""
        self.logs: list[LogLine] = []
        self.metrics: list[Measurement] = []
        self.flushes = 0
        self._lock = threading.Lock()

    def info(self, sentence: str, **fields: Any) -> None:
        """Record a log line."""
        self._log("info", sentence, fields)

    def warning(self, sentence: str, **fields: Any) -> None:
        """Record a log line that somebody should look at."""
        self._log("warning", sentence, fields)

    def count(self, metric: str, value: float = 1) -> None:
        """Record an addition to a counter."""
        self._measure(metric, value, "Count")

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:
        """Record a measurement."""
        self._measure(metric, value, unit)

    def gauge(self, metric: str, value: float, unit: str) -> None:
        """Record how much there is of something. Zero is not recorded, as it is not written."""
        if value != 0:
            self._measure(metric, value, unit)

    def flush(self) -> None:
        """Count that it was asked to write out: nothing is held back here."""
        self.flushes += 1

    @property
    def sentences(self) -> list[str]:
        """The sentences that were logged, in order."""
        return [line.sentence for line in self.logs]

    @property
    def warnings(self) -> list[LogLine]:
        """The lines that somebody should look at, in order."""
        return [line for line in self.logs if line.level == "warning"]

    def total(self, metric: str) -> float:
        """Return the sum of everything recorded under ``metric``."""
        return sum(self.values(metric))

    def values(self, metric: str) -> list[float]:
        """Return every value recorded under ``metric``, in order."""
        return [m.value for m in self.metrics if m.metric == metric]

    def _log(self, level: str, sentence: str, fields: Mapping[str, Any]) -> None:
        with self._lock:
            self.logs.append(LogLine(level=level, sentence=sentence, fields=dict(fields)))

    def _measure(self, metric: str, value: float, unit: str) -> None:
        with self._lock:
            self.metrics.append(Measurement(metric=metric, value=value, unit=unit))
