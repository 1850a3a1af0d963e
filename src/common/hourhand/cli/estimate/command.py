"""The verb ``estimate``: its flags."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from hourhand.cli.estimate.counted import FLOWS
from hourhand.cli.exits import WRONG_USAGE
from hourhand.cli.quantities import NotAQuantity, Reader, count, share, size_bytes
from hourhand.cli.reading import read_duration
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.settings import DelayRounding, MonitoringLevel


def _flag(metavar: str, reader: Reader, text: str) -> Any:
    """Return a flag that refuses a text that ``reader`` cannot read."""

    def check(value: str) -> str:
        try:
            reader(value)
        except NotAQuantity as error:
            raise typer.BadParameter(str(error)) from error
        return value

    return typer.Option(metavar=metavar, callback=check, help=text)


def _flows(given: list[str] | None) -> dict[str, float]:
    """Return the amounts by their names. Raises `typer.BadParameter`."""
    found: dict[str, float] = {}
    for name, _, amount in (one.partition("=") for one in given or []):
        if name not in FLOWS:
            raise typer.BadParameter(f"must begin with one of {', '.join(FLOWS)}, and =")
        try:
            found[name] = share(amount) if amount.endswith("%") else count(amount)
        except NotAQuantity as error:
            raise typer.BadParameter(f"{name} {error}") from error
    return found


_JOBS = _flag("N", count, "The number of jobs in a month, such as 250000, 10k, 10M or 1.5B.")
_DELAYED = _flag("N%", share, "The share of jobs due later than five minutes after submission.")
_SCHEDULED = _flag("N%", share, "The share of jobs that schedules create.")
_RETRIED = _flag("N%", share, "The share of jobs that run a second time.")
_KEYED = _flag("N%", share, "The share of submitted jobs with an idempotency key.")
_TENANTS = _flag("N%", share, "The share of jobs with a tenant. SQS charges more for them.")
_PAYLOAD = _flag("SIZE", size_bytes, "The size of a payload as JSON, such as 200B, 2KB or 1MB.")
_RESULT = _flag("SIZE", size_bytes, "The size of a result as JSON.")
_DURATION = _flag("TIME", read_duration, "The run time of a handler, such as 100ms, 1.5s or 10m.")
_MEMORY = _flag("SIZE", size_bytes, "The memory of the worker function, such as 512MB or 2GB.")
_RETENTION = _flag("TIME", read_duration, "How long a job is kept after its end, such as 7d.")
_WITH = typer.Option(
    "--with",
    envvar="HOURHAND_ESTIMATE_WITH",
    show_envvar=False,
    metavar="NAME=AMOUNT",
    callback=lambda given: _flows(given) and given,
    help=f"What each job has on average, such as runs=1, steps=10 or slot-waits=20%. Repeatable. "
    f"Names: {', '.join(FLOWS)}.",
)
_BATCH = typer.Option(metavar="N", min=1, max=500, help="The number of jobs in one request.")
_ECONOMY = typer.Option("--economy", help="Use dispatch=economy: fewer writes for delayed jobs.")
_ROUNDING = typer.Option(help="The setting delay_rounding: nearest, down or up.")
_STAGE = typer.Option(help="The stage, prod or dev, with its monitoring and pollers.")
_MONITORING = typer.Option(help="Monitoring: full, basic or none.", show_default="the stage's")
_MONITORING_OF = {"prod": MonitoringLevel.FULL, "dev": MonitoringLevel.BASIC}


@verb(
    example="hourhand estimate --jobs-per-month 10M --delayed 30% --payload 2KB",
    codes={WRONG_USAGE: "wrong usage, or an impossible load"},
    asks_api=False,
    tells_times=False,
)
def estimate(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    jobs_per_month: Annotated[str, _JOBS] = "1M",
    delayed: Annotated[str, _DELAYED] = "0%",
    scheduled: Annotated[str, _SCHEDULED] = "0%",
    retried: Annotated[str, _RETRIED] = "0%",
    keyed: Annotated[str, _KEYED] = "0%",
    tenants: Annotated[str, _TENANTS] = "0%",
    payload: Annotated[str, _PAYLOAD] = "200B",
    result: Annotated[str, _RESULT] = "100B",
    duration: Annotated[str, _DURATION] = "100ms",
    memory: Annotated[str, _MEMORY] = "1GB",
    with_: Annotated[list[str] | None, _WITH] = None,
    batch: Annotated[int, _BATCH] = 1,
    economy: Annotated[bool, _ECONOMY] = False,
    delay_rounding: Annotated[DelayRounding, _ROUNDING] = DelayRounding.NEAREST,
    stage: Annotated[Literal["prod", "dev"], _STAGE] = "prod",
    monitoring: Annotated[MonitoringLevel | None, _MONITORING] = None,
    retention: Annotated[str, _RETENTION] = "7d",
) -> None:
    """Estimate what a month of jobs costs on AWS.

    The estimate lists the cost of each service. It compares the sum with EventBridge Scheduler and
    with Step Functions, and prints when to choose one of them. It uses list prices and counts
    from the benchmarks, and calls no AWS service.
    """
    from hourhand.cli.estimate.load import Load, check_load
    from hourhand.cli.estimate.report import print_estimate

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
        memory_mb=size_bytes(memory) / 1024**2,
        flows=_flows(with_),
        batch=batch,
        economy=economy,
        delay_rounding=delay_rounding.value,
        monitoring=monitoring or _MONITORING_OF[stage],
        has_ceiling=stage == "prod",
        retention_days=read_duration(retention) / 86_400,
    )
    check_load(load)
    print_estimate(session, load)
