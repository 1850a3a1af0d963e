"""The telemetry of one function: it measures what the dashboard expects of it, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hourhand.aws.telemetry import MEASURED_BY
from hourhand.ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class FunctionTelemetry:
    """Passes everything on to ``telemetry``, but no metric that ``function`` is not to have."""

    function: str
    telemetry: Telemetry

    def info(self, sentence: str, **fields: Any) -> None:
        self.telemetry.info(sentence, **fields)

    def warning(self, sentence: str, **fields: Any) -> None:
        self.telemetry.warning(sentence, **fields)

    def count(self, metric: str, value: float = 1) -> None:
        self._check(metric)
        self.telemetry.count(metric, value)

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:
        self._check(metric)
        self.telemetry.observe(metric, value, unit)

    def gauge(self, metric: str, value: float, unit: str) -> None:
        self._check(metric)
        self.telemetry.gauge(metric, value, unit)

    def flush(self) -> None:
        self.telemetry.flush()

    def _check(self, metric: str) -> None:
        assert metric in MEASURED_BY[self.function], f"{self.function} measures {metric}"
