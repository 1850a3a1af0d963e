"""Reading what the functions write: structured logs, CloudWatch's metrics, what users print."""

from __future__ import annotations

import json
from typing import Any

from hourhand.local.events import Logged, Measured, Printed

_ENVELOPE = frozenset({"level", "message", "location", "timestamp", "service", "sampling_rate"})
"""What every line of the logger carries beside the fields of its sentence."""


def read_line(name: str, line: str) -> Logged | Measured | Printed:
    """Return what a line of the process ``name`` tells."""
    try:
        # Python writes NaN, which no other reader of JSON takes.
        found = json.loads(line, parse_constant=str) if line.startswith("{") else None
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("_aws"), dict):
        return Measured(name=name, values=_values(found))
    if isinstance(found, dict) and {"level", "message", "service"} <= found.keys():
        return Logged(
            name=name,
            sentence=str(found["message"]),
            level=str(found["level"]),
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
