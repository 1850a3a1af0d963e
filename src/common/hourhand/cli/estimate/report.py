"""What ``hourhand estimate`` prints: a bill, its alternatives, and what would reduce it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hourhand.cli.estimate import prices
from hourhand.cli.estimate.bills import ALTERNATIVES, Alternative, Bill, hourhand_bill, total
from hourhand.cli.estimate.load import MAX_BATCH, Load
from hourhand.cli.session import Session
from hourhand.settings import MonitoringLevel

EXACT = 100  # a smaller amount has three digits, a larger one is in whole units
LEAST_SAVING = 0.02  # a smaller share of the bill is not worth a sentence

NOTES = (
    f"List prices of {prices.REGION} in dollars, read on {prices.READ_ON}.",
    *prices.LEFT_OUT,
    "Units and requests are counted on an emulator. Run times of Hourhand's functions and sizes of "
    "logs are assumptions (docs/how-to/deploy.md). They have not been compared with a bill of AWS.",
    "Tax, data transfer and reads of jobs through the API are left out. Hourhand's bill includes "
    "an HTTP API, metrics, alarms and a dashboard, and what --with adds; the alternatives do not.",
)


def print_estimate(session: Session, load: Load) -> None:
    """Print what ``load`` costs."""
    bill, others = hourhand_bill(load), [alternative(load) for alternative in ALTERNATIVES]
    if not session.is_json:
        session.print(*_lines(load, bill, others))
        return
    alternatives: list[dict[str, Any]] = [
        {"name": other.name, **_json(other.bill), "choice": other.choice} for other in others
    ]
    answer: dict[str, Any] = {"load": asdict(load), **_json(bill), "alternatives": alternatives}
    session.print_json({**answer, "advice": list(advice(load, bill)), "notes": NOTES})


def _json(bill: Bill) -> dict[str, Any]:
    services = [
        {"service": name, "dollars": round(prices.dollars(usage), 4), "uses": usage}
        for name, usage in bill.items()
    ]
    return {"dollars": round(total(bill), 4), "services": services}


def _lines(load: Load, bill: Bill, others: list[Alternative]) -> Iterator[RenderableType]:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Hourhand")
    table.add_column("$ a month", justify="right")
    table.add_column("Uses", style="dim")
    for name, usage in bill.items():
        if round(prices.dollars(usage), 2):
            table.add_row(name, f"{prices.dollars(usage):,.2f}", _uses(usage))
    table.add_row("Total", f"{total(bill):,.2f}", style="bold")
    title = Text(f"A month of {_load_text(load)}\n", "bold")
    yield from (title, table, Text("\nAlternatives", "bold"))
    for other in others:
        share = total(other.bill) / total(bill)
        cost = f"${total(other.bill):,.2f} a month, {share:.0%} of Hourhand's bill"
        yield Text(f"\n{other.name}: {cost}. {other.choice}")
    yield Text("\n".join(["", *advice(load, bill)]))
    yield Text("\n".join(["", *NOTES]), "dim")


def _load_text(load: Load) -> str:
    shares = {
        "delayed": load.delayed,
        "from schedules": load.scheduled,
        "retried": load.retried,
        "with a key": load.keyed,
        "with a tenant": load.tenants,
    }
    parts = [f"{load.jobs:,.0f} jobs"]
    parts += [f"{100 * share:.4g}% {word}" for word, share in shares.items() if share]
    parts += [f"{amount:g} {name} each" for name, amount in load.flows.items()]
    parts.append(f"payload {load.payload_bytes:,.0f} bytes")
    parts.append(f"{load.seconds:g} s at {load.memory_mb:g} MB each")
    return ", ".join([*parts, f"{load.batch} in a call"] if load.batch > 1 else parts)


def _uses(usage: prices.Usage) -> str:
    parts: list[str] = []
    for name, amount in usage.items():
        number = f"{amount:,.0f}" if amount >= EXACT else f"{amount:,.3g}"
        plural = "" if amount == 1 or name.endswith(("GB", "GB-s")) else "s"
        parts += [f"{number} {name}{plural}"] if amount else []
    return ", ".join(parts)


def advice(load: Load, bill: Bill) -> Iterator[str]:
    """Yield sentences on what would reduce Hourhand's bill."""
    for what, changed in (
        (f"{MAX_BATCH} jobs in a call of the API", replace(load, batch=MAX_BATCH)),
        ("The setting dispatch=economy", replace(load, economy=True)),
    ):
        saved = total(bill) - total(hourhand_bill(changed))
        if saved > LEAST_SAVING * total(bill):
            yield f"{what} would save ${saved:,.2f} a month of Hourhand's bill."
    idle = replace(load, jobs=0)
    least = replace(idle, monitoring=MonitoringLevel.BASIC, has_ceiling=False)
    idle_dollars, least_dollars = total(hourhand_bill(idle)), total(hourhand_bill(least))
    if idle_dollars > total(bill) / 2:
        yield f"An idle Hourhand costs ${idle_dollars:,.2f} a month with these settings."
    if idle_dollars > max(total(bill) / 2, least_dollars):
        yield f"The stage dev has fewer metrics and alarms: idle it costs ${least_dollars:,.2f}."
