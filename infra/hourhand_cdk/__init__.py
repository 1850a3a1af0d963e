"""Hourhand as infrastructure: `HourhandScheduler` for a CDK app of your own, and its parts."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hourhand_cdk.config import Config, InvalidConfig, Stage, read_config
    from hourhand_cdk.packing import HandlerSource, Packed, PackingError, Target, pack
    from hourhand_cdk.plans import WorkerOptions
    from hourhand_cdk.scheduler import HourhandScheduler
    from hourhand_cdk.stack import HourhandStack

_PLACES = {
    "Config": "config",
    "HandlerSource": "packing",
    "HourhandScheduler": "scheduler",
    "HourhandStack": "stack",
    "InvalidConfig": "config",
    "Packed": "packing",
    "PackingError": "packing",
    "Stage": "config",
    "Target": "packing",
    "WorkerOptions": "plans",
    "pack": "packing",
    "read_config": "config",
}

__all__ = [
    "Config",
    "HandlerSource",
    "HourhandScheduler",
    "HourhandStack",
    "InvalidConfig",
    "Packed",
    "PackingError",
    "Stage",
    "Target",
    "WorkerOptions",
    "pack",
    "read_config",
]


def __getattr__(name: str) -> Any:
    # Late, so that packing alone does not load the CDK, which starts a process of Node.js.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
