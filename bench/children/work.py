"""The fan-outs that every contestant runs. The peers' Python runs this, so it needs no package."""

from __future__ import annotations

FAN_OUTS = 20
CHILDREN = 50
CHILD_SECONDS = 0.05
CALLBACK = "callback"


def child_name(fan_out: str, number: int) -> str:
    """Return under which name the record has a child."""
    return f"{fan_out}.{number}"


def callback_name(fan_out: str) -> str:
    """Return under which name the record has the callback."""
    return f"{fan_out}.{CALLBACK}"
