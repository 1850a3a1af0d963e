"""Telemetry and log lines as events, for what runs in the cloud's own process."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from hourhand.local.events import Listener, Logged, Measured, Printed

_RECORD_ATTRIBUTES = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime"})


class TellingTelemetry:
    """Implements the port `Telemetry`; ``name`` is the component."""

    def __init__(self, name: str, tell: Listener) -> None:
        """Take the receiver of the events."""
        self._name = name
        self._tell = tell

    def info(self, sentence: str, **fields: Any) -> None:
        """Report a log line."""
        self._line(sentence, fields, is_warning=False)

    def warning(self, sentence: str, **fields: Any) -> None:
        """Report a warning."""
        self._line(sentence, fields, is_warning=True)

    def count(self, metric: str, value: float = 1) -> None:
        """Report a count."""
        self._tell(Measured(name=self._name, values={metric: (value,)}))

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:  # noqa: ARG002
        """Report a measurement."""
        self._tell(Measured(name=self._name, values={metric: (value,)}))

    def gauge(self, metric: str, value: float, unit: str) -> None:  # noqa: ARG002
        """Report a gauge, unless it is zero, which no telemetry writes."""
        if value != 0:
            self._tell(Measured(name=self._name, values={metric: (value,)}))

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def _line(self, sentence: str, fields: Mapping[str, Any], *, is_warning: bool) -> None:
        told = Logged(
            name=self._name, sentence=sentence, is_warning=is_warning, fields=dict(fields)
        )
        self._tell(told)


def telling_logger(name: str, tell: Listener) -> logging.Logger:
    """Return a logger for handlers, whose lines are reported as events and written nowhere else."""
    logger = logging.getLogger(f"hourhand.local.{name}")
    logger.handlers[:] = [_TellingHandler(name, tell)]
    logger.propagate = False
    logger.setLevel(logging.INFO)
    return logger


class _TellingHandler(logging.Handler):
    def __init__(self, name: str, tell: Listener) -> None:
        super().__init__()
        self._speaker = name
        self._told = tell

    def emit(self, record: logging.LogRecord) -> None:
        given = vars(record)
        self._told(
            Logged(
                name=self._speaker,
                sentence=record.getMessage(),
                is_warning=record.levelno >= logging.WARNING,
                fields={key: given[key] for key in given.keys() - _RECORD_ATTRIBUTES},
            )
        )


_ENVELOPE = frozenset({"level", "message", "location", "timestamp", "service", "sampling_rate"})
"""What every line of the logger carries beside the fields of its sentence."""


def read_line(name: str, line: str) -> Logged | Measured | Printed:
    """Return a line of the process ``name`` as an event."""
    try:
        found = json.loads(line) if line.startswith("{") else None
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("_aws"), dict):
        return Measured(name=name, values=_values(found))
    if isinstance(found, dict) and {"level", "message", "service"} <= found.keys():
        return Logged(
            name=name,
            sentence=str(found["message"]),
            is_warning=found["level"] in {"WARNING", "ERROR", "CRITICAL"},
            fields={key: value for key, value in found.items() if key not in _ENVELOPE},
        )
    return Printed(name=name, line=line)


def _values(line: dict[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return the values of every metric in a line of the embedded metric format."""
    names = [
        metric["Name"]
        for directive in line["_aws"].get("CloudWatchMetrics", [])
        for metric in directive.get("Metrics", [])
    ]
    values: dict[str, tuple[float, ...]] = {}
    for name in names:
        value = line.get(name, ())
        values[name] = tuple(value) if isinstance(value, list) else (value,)
    return values
