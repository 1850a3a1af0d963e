"""``hourhand estimate``: tells the bill of a load, beside those of other ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hourhand.cli.estimate import prices
from hourhand.cli.estimate.bill import Bill
from hourhand.cli.estimate.comparison import Comparison, advice, compare
from hourhand.cli.estimate.load import Load, check_load
from hourhand.cli.estimate.prices import Usage
from hourhand.cli.session import Session

CENT = 0.005
EXACT = 100
"""Below it an amount is told with three digits, above in whole units."""

ASSUMED = (
    "Units and requests are counted on an emulator; times of our functions and bytes of logs are "
    "assumed, as docs/deploy.md says. No bill of AWS has been looked at yet.",
    "Tax and data transfer are left out, and so is whoever looks a job up: a read unit and a "
    "request to the API each. The others have no HTTP API of their own, no metrics, no alarms and "
    "no dashboard; Hourhand's bill has all of them.",
)


def run_estimate(session: Session, load: Load) -> None:
    """Tell what ``load`` costs. Raises `CommandError` for what cannot be."""
    check_load(load)
    comparison = compare(load)
    if session.is_json:
        session.print_json(json_of(comparison))
    else:
        session.print(*told(comparison))


def json_of(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison for programs. Dollars are not rounded to cents."""
    return {
        "load": asdict(comparison.load),
        "dollars": _dollars(comparison.ours),
        "services": _services(comparison.ours),
        "others": [
            {
                "name": beside.way.name,
                "dollars": beside.way.bill and _dollars(beside.way.bill),
                "services": [] if beside.way.bill is None else _services(beside.way.bill),
                "lacks": beside.way.lacks,
                "cheaper_from_jobs_per_month": beside.cheaper_from,
            }
            for beside in comparison.others
        ],
        "advice": list(advice(comparison)),
        "prices": {
            "region": prices.REGION,
            "read_on": prices.READ_ON,
            "currency": "USD",
            "notes": [*prices.LEFT_OUT, *ASSUMED],
            "table": prices.table(),
        },
    }


def _services(bill: Bill) -> list[dict[str, Any]]:
    return [
        {"service": name, "dollars": round(dollars, 4), "uses": dict(bill.usage_of(name))}
        for name, dollars in bill.by_service.items()
    ]


def _dollars(bill: Bill) -> float:
    return round(bill.dollars, 4)


def told(comparison: Comparison) -> Iterator[RenderableType]:
    """Yield what to print: tables, advice and what the figures rest on."""
    yield Text(f"A month of {_load_text(comparison.load)}\n", "bold")
    yield _bill_table(comparison.ours)
    yield Text()
    yield _others_table(comparison)
    yield Text()
    for sentence in advice(comparison):
        yield _indented(Text(sentence))
    yield Text()
    origin = f"List prices of {prices.REGION} in dollars, looked up on {prices.READ_ON}."
    for sentence in (origin, *prices.LEFT_OUT, *ASSUMED):
        yield _indented(Text(sentence, "dim"))


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _load_text(load: Load) -> str:
    parts = [f"{load.jobs:,.0f} jobs"]
    parts += [
        f"{part:.4g}% {word}"
        for part, word in (
            (100 * load.delayed, "delayed"),
            (100 * load.scheduled, "of schedules"),
            (100 * load.retried, "retried"),
            (100 * load.keyed, "with a key"),
            (100 * load.tenants, "with a tenant"),
        )
        if part
    ]
    parts.append(f"payload {load.payload_bytes:,.0f} bytes")
    parts.append(f"{load.seconds:g} s at {load.memory_mb:g} MB each")
    if load.batch > 1:
        parts.append(f"{load.batch} a call")
    return ", ".join(parts)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column.startswith("$") else "left")
    return table


def _bill_table(bill: Bill) -> Table:
    table = _table("Hourhand", "$ a month", "uses")
    for name, dollars in bill.by_service.items():
        if dollars >= CENT:
            table.add_row(name, _money(dollars), Text(_uses(bill.usage_of(name)), "dim"))
    table.add_row(Text("in all", "bold"), Text(_money(bill.dollars), "bold"), "")
    return table


def _others_table(comparison: Comparison) -> Table:
    table = _table("the same elsewhere", "$ a month", "")
    ours = comparison.ours.dollars
    for beside in comparison.others:
        bill = beside.way.bill
        if bill is None:
            money = Text("-")
        else:
            money = Text(_money(bill.dollars), "green" if bill.dollars < ours else "")
        table.add_row(beside.way.name, money, Text(beside.way.lacks, "dim"))
    return table


def _uses(usage: Usage) -> str:
    return ", ".join(
        f"{_amount(amount)} {name}{_plural(name, amount)}"
        for name, amount in usage.items()
        if amount
    )


def _plural(name: str, amount: float) -> str:
    return "" if amount == 1 or name.endswith(("GB", "GB-s")) else "s"


def _amount(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= EXACT else f"{amount:,.3g}"


def _money(dollars: float) -> str:
    return f"{dollars:,.2f}"
