"""Our engine: the real sweep and dispatcher over the real adapters, as the scheduler wires them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

from bench.dispatch.load import JOBS_TABLE, Load
from hourhand.domain.jobs.actions import SweepContext
from hourhand.memory import RecordingTelemetry
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.ticks.dispatch import Dispatcher, InTurn
from hourhand.services.ticks.sweep import Sweep
from hourhand.settings import read_settings
from hourhand.wiring.adapters import aws_adapters


class Engine:
    """Dispatches the jobs of some shards by reading them as a tick does."""

    def __init__(self, load: Load, queue_urls: dict[str, str], mode: str) -> None:
        names = {f"HOURHAND_QUEUE_{name.upper()}": url for name, url in queue_urls.items()}
        environ = {**os.environ, **names, "HOURHAND_JOBS_TABLE": JOBS_TABLE}
        settings = read_settings({**environ, "HOURHAND_DISPATCH": mode}, ())
        adapters = aws_adapters(settings, "bench")
        telemetry = RecordingTelemetry()
        pipeline = adapters.pipeline or InTurn(adapters.jobs, adapters.queues)
        timings = settings.timings
        self._load = load
        self.sweep = Sweep(
            jobs=adapters.jobs,
            queues=adapters.queues,
            dispatcher=Dispatcher(
                pipeline,
                adapters.clock,
                telemetry,
                timings.delay_rounding,
                KnownPauses(adapters.control, adapters.clock, timings),
            ),
            # Nothing here is stuck or parked: what would repair or wake it is never asked.
            recovery=cast("Any", None),
            parking=cast("Any", None),
            rechecks=cast("Any", None),
            telemetry=telemetry,
            judgement=SweepContext(load.now, load.now + timings.look_ahead, timings),
            may_go_on=lambda: True,
        )

    def run(self, shards: Sequence[int]) -> tuple[int, int]:
        """Sweep every bucket of ``shards``; return how many jobs were read, and how many were sent.

        What fails is left, as a tick leaves it to the next one: a page of the index that was not
        answered, too, with all that is behind it in its shard.
        """
        for bucket in self._load.buckets():
            for shard in shards:
                self.sweep.read_shard(bucket, shard)
        self.sweep.settle()
        return self.sweep.counts.entries, self.sweep.counts.dispatched
