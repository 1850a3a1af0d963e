"""Counts what a stack costs in a month in which nothing runs.

One tick of the scheduler is counted on the emulator, once its watermark has caught up; its clock is
moved by hand, so that minutes take no time. Alarms and queues are counted in the template, where
the CDK is installed (`make synth`); else they are what docs/deploy.md says, and the result tells.
The rest is by AWS's documentation: Lambda keeps five long polls of 20 s open on each queue whose
event source has a maximum concurrency.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.cost_lives import MEMORY_GB
from bench.counting import READS, WRITES, Units
from bench.counting_proxy import Calls
from bench.write_units import HANDLER
from hourhand.aws.calendar_store import DynamoCalendarStore
from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.provision import provision
from hourhand.aws.schedule_store import DynamoScheduleStore
from hourhand.bootstrap import aws_adapters, wire_scheduler
from hourhand.cli.estimate.prices import Usage, dollars
from hourhand.domain.timings import Timings
from hourhand.testing import (
    FakeClock,
    MemoryHandlerDirectory,
    MemorySweepInvoker,
    RecordingTelemetry,
)

PREFIX = "idle"
HOURS = 730
TICKS = HOURS * 60
SETTLING_TICKS = 20
POLLERS = 5
POLLS_A_MINUTE = 3
TICK_SECONDS = 0.2
LOG_BYTES_A_TICK = 1_100
"""Inputs, as in docs/deploy.md: the emulator measures neither."""

STATED = {"alarms": 19, "alarm metrics": 38, "dashboards": 1, "event sources": 3, "rules": 1}
"""What docs/deploy.md says of the template, for where the CDK is not installed."""


@dataclass(frozen=True, slots=True)
class Tick:
    """What a tick uses that finds nothing to do."""

    writes: float
    reads: float
    calls: Counter[str]
    metrics: frozenset[str]

    @property
    def queue_requests(self) -> int:
        """Requests to SQS, which are all for the time."""
        return sum(n for name, n in self.calls.items() if name.endswith("Message"))


@dataclass(frozen=True, slots=True)
class Line:
    """A part of the month: how much of what."""

    what: str
    usage: Usage

    @property
    def row(self) -> list[str | float]:
        """Its cells in a table."""
        arithmetic = " + ".join(f"{amount:,.8g} {name}" for name, amount in self.usage.items())
        return [self.what, arithmetic, round(dollars(self.usage), 2)]


def count_tick(asked: Calls) -> Tick:
    """Count a tick of an installation of its own: its watermark ends up ahead of the time."""
    settings = provision(dynamodb_client(), sqs_client(), s3_client(), prefix=PREFIX)
    writes, reads = Units(WRITES), Units(READS)
    watched = dynamodb_client()
    writes.watch(watched)
    reads.watch(watched)
    # Now, since the probe of the time compares the machine's own clock with the emulator's.
    clock, telemetry = FakeClock(datetime.now(UTC)), RecordingTelemetry()
    timings = replace(Timings(), first_look_back=timedelta(minutes=5))
    settings = replace(settings, timings=timings)
    adapters = replace(
        aws_adapters(settings, "bench"),
        jobs=DynamoJobStore(watched, settings.jobs_table),
        control=DynamoControlStore(watched, settings.control_table),
        schedules=DynamoScheduleStore(watched, settings.schedules_table),
        calendars=DynamoCalendarStore(watched, settings.schedules_table),
        clock=clock,
        telemetry=telemetry,
        handlers=MemoryHandlerDirectory(HANDLER),
        invoker=MemorySweepInvoker(),
    )
    scheduling = wire_scheduler(settings, adapters).scheduling
    for number in range(SETTLING_TICKS):
        clock.advance(timings.tick)
        telemetry.metrics.clear()
        writes.take()
        reads.take()
        asked.take()
        report = scheduling.tick(f"idle-{number}", lambda: 55.0)
        if not report.led:
            raise RuntimeError("an idle tick did not lead")
    return Tick(
        sum(writes.take().values()),
        sum(reads.take().values()),
        asked.take(),
        frozenset(measured.metric for measured in telemetry.metrics),
    )


def count_parts() -> tuple[dict[str, int], bool]:
    """Return the parts of the template, and whether they were counted."""
    if shutil.which("node") is None or importlib.util.find_spec("aws_cdk") is None:
        return STATED, False
    # These start the CDK, which few who run a benchmark have.
    from tests.infra.measured import alarms, measured_by_alarm  # noqa: PLC0415
    from tests.infra.stacks import Deployments  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        made = Deployments(Path(folder)).of()
        found = alarms(made).values()
        return {
            "alarms": len(found),
            "alarm metrics": sum(len(set(measured_by_alarm(alarm))) for alarm in found),
            "dashboards": len(made.of_type("AWS::CloudWatch::Dashboard")),
            "event sources": len(made.of_type("AWS::Lambda::EventSourceMapping")),
            "rules": len(made.of_type("AWS::Events::Rule")),
        }, True


def month(tick: Tick, parts: dict[str, int]) -> list[Line]:
    """Return what a month of ticks and polls uses."""
    polls = parts["event sources"] * POLLERS * POLLS_A_MINUTE * HOURS * 60
    log_gb = TICKS * LOG_BYTES_A_TICK / 1e9
    return [
        Line("the minute's rule", {"rule event": parts["rules"] * TICKS}),
        Line("the scheduler's calls", {"lambda call": TICKS}),
        Line("its time", {"lambda GB-s": TICKS * TICK_SECONDS * MEMORY_GB}),
        Line("its units", {"write unit": tick.writes * TICKS, "read unit": tick.reads * TICKS}),
        Line("its probes of the time", {"sqs request": tick.queue_requests * TICKS}),
        Line("Lambda's polls of the queues", {"sqs request": polls}),
        Line("metrics", {"metric-month": len(tick.metrics)}),
        Line("alarms", {"alarm metric-month": parts["alarm metrics"]}),
        Line("dashboard", {"dashboard-month": parts["dashboards"]}),
        Line("logs", {"log GB": log_gb, "log GB-month": log_gb}),
    ]


WATCHING = ("metrics", "alarms", "dashboard")


def idle_month(asked: Calls) -> dict[str, Any]:
    """Count a tick and the template; return the month for a result file."""
    tick = count_tick(asked)
    parts, were_counted = count_parts()
    lines = month(tick, parts)
    total = sum(dollars(line.usage) for line in lines)
    watching = sum(dollars(line.usage) for line in lines if line.what in WATCHING)
    return {
        "columns": ["a month in which nothing runs", "uses", "$"],
        "rows": [line.row for line in lines],
        "dollars": round(total, 2),
        "dollars_of_watching": round(watching, 2),
        "tick": {
            "write units": tick.writes,
            "read units": tick.reads,
            "requests to SQS": tick.queue_requests,
            "metrics": sorted(tick.metrics),
        },
        "template": parts,
        "template_was_counted": were_counted,
    }
