"""The functions of the local cloud over its memory adapters, which another process holds."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hourhand.aws.clock import SystemClock
from hourhand.aws.handler_manifest import ManifestHandlerDirectory
from hourhand.aws.layout.messages import read_delivery
from hourhand.aws.randomness import SystemRandomness
from hourhand.aws.telemetry import PowertoolsTelemetry
from hourhand.domain.jobs.job import Priority
from hourhand.local.entry_points import Handler, load_entry_point
from hourhand.local.remote_ports import RemotePorts
from hourhand.local.scaled_clock import ScaledClock, stretched
from hourhand.memory import MemoryDeployment, MemorySweepInvoker
from hourhand.ports.clock import CorrectableClock
from hourhand.settings import Settings, read_settings
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import (
    SchedulerServices,
    WorkerServices,
    wire_api,
    wire_scheduler,
    wire_worker,
)
from hourhand.worker import FaultTimer

if TYPE_CHECKING:
    from hourhand.api.app import App
    from hourhand.ports.telemetry import Telemetry

QUEUES = {f"hourhand-{priority}": priority for priority in Priority}


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """What a process needs to use the memory. ``began_at`` is of the monotonic clock."""

    address: str
    key: str
    began: str
    began_at: float
    speed: float

    def clock(self) -> CorrectableClock:
        """Return the cloud's clock."""
        if self.speed == 1:
            # The machine's own, which goes on while a laptop sleeps.
            return SystemClock()
        passed = timedelta(seconds=(time.monotonic() - self.began_at) * self.speed)
        return ScaledClock(datetime.fromisoformat(self.began) + passed, self.speed)


def load_memory_function(function: str, access: str) -> Handler:
    """Load a function for this process, over the memory of the one that started it."""
    reached = Access(**json.loads(access))
    ports = RemotePorts(reached.address, bytes.fromhex(reached.key))
    wire = {"scheduler": _scheduler, "worker": _worker}[function]
    return load_entry_point(function, lambda: wire(ports, reached))


def _adapters(ports: Any, clock: CorrectableClock, function: str, settings: Settings) -> Adapters:
    return Adapters(
        jobs=ports.jobs,
        control=ports.control,
        schedules=ports.schedules,
        calendars=ports.calendars,
        side_items=ports.side_items,
        objects=ports.objects,
        queues=ports.queues,
        idempotency=ports.idempotency,
        clock=clock,
        randomness=SystemRandomness(),
        telemetry=PowertoolsTelemetry(
            function, installation=settings.installation, writes_metrics=settings.writes_metrics
        ),
        invoker=MemorySweepInvoker(accepts=False),
        deployment=MemoryDeployment(),
        handlers=ManifestHandlerDirectory(settings.manifest),
        read_delivery=lambda record: read_delivery(record, None, QUEUES),
    )


def _services_settings(speed: float) -> Settings:
    settings = read_settings(os.environ, ())
    return replace(settings, timings=stretched(settings.timings, speed))


def wire_memory_api(
    ports: Mapping[str, Any], clock: CorrectableClock, speed: float
) -> tuple[App, Telemetry]:
    """Wire the API function in the process that holds the memory."""
    from hourhand.api.app import create_app

    settings = _services_settings(speed)
    adapters = _adapters(SimpleNamespace(**ports), clock, "api", settings)
    adapters = replace(adapters, logs=ports["logs"])
    return create_app(wire_api(settings, adapters)), adapters.telemetry


def _scheduler(ports: Any, reached: Access) -> SchedulerServices:
    settings = _services_settings(reached.speed)
    return wire_scheduler(settings, _adapters(ports, reached.clock(), "scheduler", settings))


def _worker(ports: Any, reached: Access) -> WorkerServices:
    settings = _services_settings(reached.speed)
    wired = wire_worker(settings, _adapters(ports, reached.clock(), "worker", settings))
    # What a handler takes is real time, and so are its limit and its heartbeats.
    runtime = replace(
        wired.runtime,
        clock=SystemClock(),
        timings=read_settings(os.environ, ()).timings,
        # It compares the job's lease, of the cloud's clock, with the machine's.
        timer=FaultTimer() if reached.speed == 1 else None,
    )
    return replace(wired, runtime=runtime)
