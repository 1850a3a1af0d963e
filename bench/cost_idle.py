"""Counts what a stack costs in a month in which nothing runs, by its level of monitoring.

One tick of the scheduler is counted on the emulator, once its watermark has caught up; its clock is
moved by hand, so that minutes take no time. Alarms and event sources are counted in the template,
where the CDK is installed (`make synth`); else they are what docs/how-to/deploy.md says, and the
result says so. Lambda's documentation gives the number of polls side by side: five of each queue
whose event source has a maximum concurrency, as few as two without (Lambda developer guide,
Configuring scaling behavior for SQS event source mappings). Assumed are the length of a poll, the
time that a call takes, and the bytes of Lambda's own log lines.
"""

from __future__ import annotations

import importlib.util
import io
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cost_lives import MEMORY_GB
from bench.counting import READS, WRITES, Units
from bench.counting_proxy import Calls
from bench.prices import dollars
from bench.write_units import HANDLER
from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.provision import provision
from hourhand.aws.schedule_store import DynamoCalendarStore, DynamoScheduleStore
from hourhand.aws.telemetry import PowertoolsTelemetry
from hourhand.cli.estimate.prices import Usage
from hourhand.domain.ticks.clock_skew import TimeSample
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import (
    Measurement,
    MemoryClock,
    MemoryHandlerDirectory,
    MemorySweepInvoker,
    RecordingTelemetry,
)
from hourhand.ports.queues import Queues
from hourhand.settings import MonitoringLevel
from hourhand.wiring.adapters import aws_adapters
from hourhand.wiring.functions import wire_scheduler

if TYPE_CHECKING:
    from tests.infra.stacks import Deployment

PREFIX = "idle"
HOURS = 730
TICKS = HOURS * 60
SETTLING_TICKS = 20
POLLERS_WITH_CEILING, POLLERS_WITHOUT = 5, 2
"""Side by side, of an idle queue. Documented; without a ceiling two is the least that is said."""

POLLS_A_MINUTE = 3
"""Assumed: a long poll of 20 s, the longest that SQS has. Lambda's documentation gives none."""

CALL_SECONDS = 0.005
LAMBDA_LOG_BYTES = 400
"""Assumed: of a call of a tick, and of Lambda's three lines of each. The emulator measures
neither."""

CONTEXTS: Mapping[MonitoringLevel, Mapping[str, str]] = {
    MonitoringLevel.FULL: {"stage": "prod"},
    MonitoringLevel.BASIC: {"stage": "dev"},
    MonitoringLevel.NONE: {"stage": "dev", "monitoring": "none"},
}
"""The deployments that are counted: the two stages as they are, and the least that there is."""

_NOTHING = {
    "alarms": 0,
    "alarm metrics": 0,
    "dashboards": 0,
    "ceilings": 0,
    "event sources": 3,
    "rules": 1,
}
STATED: Mapping[MonitoringLevel, Mapping[str, int]] = {
    MonitoringLevel.FULL: _NOTHING
    | {"alarms": 22, "alarm metrics": 41, "dashboards": 1, "ceilings": 3},
    MonitoringLevel.BASIC: _NOTHING | {"alarms": 3, "alarm metrics": 3},
    MonitoringLevel.NONE: _NOTHING,
}
"""What docs/how-to/deploy.md says of the templates, for where the CDK is not installed."""


@dataclass(frozen=True, slots=True)
class Tick:
    """What a tick uses that finds nothing to do."""

    writes: float
    reads: float
    calls: Counter[str]
    metrics: frozenset[str]
    metric_bytes: int

    @property
    def seconds(self) -> float:
        """How long it takes, by its calls, one after another."""
        return sum(self.calls.values()) * CALL_SECONDS

    @property
    def log_bytes(self) -> int:
        """What it logs: its metrics, and Lambda's lines.

        To the next ten: a metric's time has a digit more in one run and less in another.
        """
        return round(self.metric_bytes, -1) + LAMBDA_LOG_BYTES

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


@dataclass(frozen=True, slots=True)
class InOwnTime:
    """Queues that are asked for the time, and answer by the clock of the benchmark.

    That is moved ahead of the emulator's, and the audit of a tick would refuse it.
    """

    queues: Queues
    clock: MemoryClock

    def probe_time(self) -> TimeSample:
        """Ask the emulator, so that its calls are counted; return the time of the benchmark."""
        self.queues.probe_time()
        now, later = self.clock.now(), self.clock.now() + timedelta(milliseconds=1)
        return TimeSample(now, later, now, later)

    def __getattr__(self, name: str) -> Any:
        """Ask the emulator anything else."""
        return getattr(self.queues, name)


def count_tick(asked: Calls, level: MonitoringLevel) -> Tick:
    """Count a tick of an installation of its own: its watermark ends up ahead of the time."""
    prefix = f"{PREFIX}-{level}"
    settings = provision(dynamodb_client(), sqs_client(), s3_client(), prefix=prefix)
    writes, reads = Units(WRITES), Units(READS)
    watched = dynamodb_client()
    writes.watch(watched)
    reads.watch(watched)
    clock, telemetry = MemoryClock(datetime.now(UTC)), RecordingTelemetry()
    timings = replace(Timings(), first_look_back=timedelta(minutes=5))
    settings = replace(settings, timings=timings, monitoring=level)
    plain = aws_adapters(settings, "bench")
    queues: Any = InOwnTime(plain.queues, clock)
    adapters = replace(
        plain,
        queues=queues,
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
    measured = telemetry.metrics if settings.writes_metrics else []
    return Tick(
        sum(writes.take().values()),
        sum(reads.take().values()),
        asked.take(),
        frozenset(each.metric for each in measured),
        _logged_bytes(measured),
    )


def _logged_bytes(measured: Sequence[Measurement]) -> int:
    """Return how much of the log these metrics are, as the deployed scheduler writes them."""
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("scheduler", installation="hourhand-prod", stream=stream)
    for each in measured:
        telemetry.observe(each.metric, each.value, each.unit)
    telemetry.flush()
    return len(stream.getvalue().encode())


def count_parts() -> tuple[Mapping[MonitoringLevel, Mapping[str, int]], bool]:
    """Return the parts of the template of each level, and whether they were counted."""
    if shutil.which("node") is None or importlib.util.find_spec("aws_cdk") is None:
        return STATED, False
    # These start the CDK, which few who run a benchmark have.
    from tests.infra.stacks import Deployments  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        deployments = Deployments(Path(folder))
        return {
            level: _parts_of(deployments.of(**context)) for level, context in CONTEXTS.items()
        }, True


def _parts_of(made: Deployment) -> dict[str, int]:
    from tests.infra.measured import alarms, measured_by_alarm  # noqa: PLC0415

    found = alarms(made).values()
    sources = made.properties("AWS::Lambda::EventSourceMapping")
    return {
        "alarms": len(found),
        "alarm metrics": sum(len(set(measured_by_alarm(alarm))) for alarm in found),
        "dashboards": len(made.of_type("AWS::CloudWatch::Dashboard")),
        "ceilings": sum("ScalingConfig" in source for source in sources),
        "event sources": len(sources),
        "rules": len(made.of_type("AWS::Events::Rule")),
    }


def polls_a_month(pollers: int) -> int:
    """Return the receives of so many pollers that find nothing."""
    return pollers * POLLS_A_MINUTE * HOURS * 60


def month(tick: Tick, parts: Mapping[str, int]) -> list[Line]:
    """Return what a month of ticks and polls uses."""
    polls = parts["ceilings"] * polls_a_month(POLLERS_WITH_CEILING)
    polls += (parts["event sources"] - parts["ceilings"]) * polls_a_month(POLLERS_WITHOUT)
    log_gb = TICKS * tick.log_bytes / 1e9
    return [
        Line("the minute's rule", {"rule event": parts["rules"] * TICKS}),
        Line("the scheduler's calls", {"lambda call": TICKS}),
        Line("its time", {"lambda GB-s": TICKS * tick.seconds * MEMORY_GB}),
        Line("its units", {"write unit": tick.writes * TICKS, "read unit": tick.reads * TICKS}),
        Line("its probes of the time", {"sqs request": tick.queue_requests * TICKS}),
        Line("Lambda's polls of the queues", {"sqs request": polls}),
        Line("metrics", {"metric-month": len(tick.metrics)}),
        Line("alarms", {"alarm metric-month": parts["alarm metrics"]}),
        Line("dashboard", {"dashboard-month": parts["dashboards"]}),
        Line("logs", {"log GB": log_gb, "log GB-month": log_gb}),
    ]


WATCHING = ("metrics", "alarms", "dashboard")


def idle_months(asked: Calls) -> dict[str, dict[str, Any]]:
    """Count a tick and the template of each level; return the months for a result file."""
    parts, were_counted = count_parts()
    return {
        level.value: {
            "context": CONTEXTS[level],
            **_idle_month(count_tick(asked, level), parts[level]),
            "template_was_counted": were_counted,
        }
        for level in MonitoringLevel
    }


def _idle_month(tick: Tick, parts: Mapping[str, int]) -> dict[str, Any]:
    lines = month(tick, parts)
    total = sum(dollars(line.usage) for line in lines)
    watching = sum(dollars(line.usage) for line in lines if line.what in WATCHING)
    five = (parts["event sources"] - parts["ceilings"]) * (
        polls_a_month(POLLERS_WITH_CEILING) - polls_a_month(POLLERS_WITHOUT)
    )
    return {
        "columns": ["a month in which nothing runs", "uses", "$"],
        "rows": [line.row for line in lines],
        "dollars": round(total, 2),
        "dollars_of_watching": round(watching, 2),
        "dollars_with_five_polls_of_each_queue": round(total + dollars({"sqs request": five}), 2),
        "tick": {
            "write units": tick.writes,
            "read units": tick.reads,
            "requests to SQS": tick.queue_requests,
            "calls": sum(tick.calls.values()),
            "log bytes": tick.log_bytes,
            "metrics": sorted(tick.metrics),
        },
        "template": dict(parts),
    }
