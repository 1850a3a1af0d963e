"""The scheduler: EventBridge's tick, shards that a leader handed over, or an operator's resize.

A tick that finds another leader ends. An error is raised; the next tick retries the work.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from hourhand.aws.lambda_init import LambdaInit
from hourhand.aws.sweep_invoker import read_resize_event, read_sweep_event
from hourhand.settings import SCHEDULER_NEEDS, read_settings
from hourhand.wiring.functions import SchedulerServices, wire_scheduler


def wire() -> SchedulerServices:
    return wire_scheduler(read_settings(os.environ, SCHEDULER_NEEDS))


services = LambdaInit(wire, os.environ)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    def remaining_seconds() -> float:
        milliseconds: int = context.get_remaining_time_in_millis()
        return milliseconds / 1000

    wired = services()
    wired.called_as(context.invoked_function_arn, context.function_version)
    shards = read_resize_event(event)
    if shards is not None:
        return asdict(wired.sharding.resize(shards))
    asked = read_sweep_event(event)
    try:
        if asked is None:
            report = wired.scheduling.tick(context.aws_request_id, remaining_seconds)
        else:
            report = wired.scheduling.sweep_shards(
                asked.shards,
                asked.epoch,
                asked.tick_at,
                context.aws_request_id,
                remaining_seconds,
            )
        return asdict(report)
    finally:
        wired.telemetry.flush()
