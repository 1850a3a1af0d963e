"""The verb ``estimate``: its flags, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from hourhand.cli.exits import WRONG_USAGE
from hourhand.cli.quantities import NotAQuantity, Reader, count, share, size_bytes
from hourhand.cli.reading import read_duration
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.settings import DelayRounding, MonitoringLevel

MB = 1024**2
DAY_SECONDS = 86_400


class Stage(StrEnum):
    """Which defaults the deployment has: `hourhand_cdk.config.STAGES`."""

    PROD = "prod"
    DEV = "dev"


MONITORING_OF = {Stage.PROD: MonitoringLevel.FULL, Stage.DEV: MonitoringLevel.BASIC}


def _written(reader: Reader) -> Callable[[str], str]:
    """Return what refuses a text that is no quantity, and leaves others as they are."""

    def check(value: str) -> str:
        try:
            reader(value)
        except NotAQuantity as error:
            raise typer.BadParameter(str(error)) from error
        return value

    return check


JobsPerMonthOption = Annotated[
    str,
    typer.Option(
        metavar="N",
        callback=_written(count),
        help="How many jobs, such as 250000, 10k, 10M or 1.5B.",
    ),
]
DelayedOption = Annotated[
    str,
    typer.Option(
        metavar="N%",
        callback=_written(share),
        help="How many of them are due later than five minutes after they were submitted.",
    ),
]
ScheduledOption = Annotated[
    str,
    typer.Option(
        metavar="N%",
        callback=_written(share),
        help="How many of them are made by schedules, and need not be submitted.",
    ),
]
RetriedOption = Annotated[
    str,
    typer.Option(
        metavar="N%",
        callback=_written(share),
        help="How many of them run a second time.",
    ),
]
KeyedOption = Annotated[
    str,
    typer.Option(
        metavar="N%",
        callback=_written(share),
        help="How many of those submitted carry an idempotency key.",
    ),
]
TenantsOption = Annotated[
    str,
    typer.Option(
        metavar="N%",
        callback=_written(share),
        help="How many of them have a tenant: SQS charges more for messages with a group.",
    ),
]
PayloadOption = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        callback=_written(size_bytes),
        help="A payload as JSON, such as 200B, 2KB or 1MB.",
    ),
]
ResultOption = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        callback=_written(size_bytes),
        help="A result as JSON.",
    ),
]
DurationOption = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        callback=_written(read_duration),
        help="How long the handler takes, such as 100ms, 1.5s or 10m.",
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        callback=_written(size_bytes),
        help="The memory of the handlers' function, such as 512MB or 2GB.",
    ),
]
BatchOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        max=500,
        help="How many jobs are submitted by one call of the API.",
    ),
]
EconomyOption = Annotated[
    bool,
    typer.Option(
        "--economy",
        help="Deployed with dispatch=economy, which saves a write for most delayed jobs.",
    ),
]
RoundingOption = Annotated[
    DelayRounding,
    typer.Option(
        help="How the deployment rounds messages' delays to seconds: nearest, down (precise, and "
        "workers wait longer inside a billed call) or up.",
    ),
]
StageOption = Annotated[
    Stage,
    typer.Option(
        help="The stage of the deployment: prod has monitoring=full and a number as "
        "worker_concurrency, dev has monitoring=basic and worker_concurrency=none.",
    ),
]
MonitoringOption = Annotated[
    MonitoringLevel | None,
    typer.Option(
        help="The setting monitoring, where it is not the stage's own: full, basic or none.",
        show_default="the stage's",
    ),
]
RetentionOption = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        callback=_written(read_duration),
        help="How long a job is kept after its end, such as 7d.",
    ),
]


@verb(
    example="hourhand estimate --jobs-per-month 10M --delayed 30% --payload 2KB",
    codes={WRONG_USAGE: "wrong usage, or a load that cannot be"},
    asks_api=False,
)
def estimate(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    jobs_per_month: JobsPerMonthOption = "1M",
    delayed: DelayedOption = "0%",
    scheduled: ScheduledOption = "0%",
    retried: RetriedOption = "0%",
    keyed: KeyedOption = "0%",
    tenants: TenantsOption = "0%",
    payload: PayloadOption = "200B",
    result: ResultOption = "100B",
    duration: DurationOption = "100ms",
    memory: MemoryOption = "1GB",
    batch: BatchOption = 1,
    economy: EconomyOption = False,
    delay_rounding: RoundingOption = DelayRounding.NEAREST,
    stage: StageOption = Stage.PROD,
    monitoring: MonitoringOption = None,
    retention: RetentionOption = "7d",
) -> None:
    """Tell what a month of jobs costs on AWS, by service, and what else would run them.

    Beside Hourhand's bill stand EventBridge Scheduler with SQS, Step Functions, workers that are
    always on, and a bare queue, each with what it lacks, and when it is the better choice. Nothing
    is asked of AWS: the prices are of the day that is told with them. What a job uses is counted
    by the benchmarks.
    """
    from hourhand.cli.estimate.load import Load
    from hourhand.cli.estimate.run import run_estimate

    load = Load(
        jobs=count(jobs_per_month),
        delayed=share(delayed),
        scheduled=share(scheduled),
        retried=share(retried),
        keyed=share(keyed),
        tenants=share(tenants),
        payload_bytes=size_bytes(payload),
        result_bytes=size_bytes(result),
        seconds=read_duration(duration),
        memory_mb=size_bytes(memory) / MB,
        batch=batch,
        economy=economy,
        delay_rounding=delay_rounding.value,
        monitoring=monitoring or MONITORING_OF[stage],
        has_ceiling=stage is Stage.PROD,
        retention_days=read_duration(retention) / DAY_SECONDS,
    )
    run_estimate(session, load)
