"""Handlers whose jobs end, or do not end, in each way that the console shows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from hourhand import Concurrency, Graph, JobContext, NotRetryable, Rate, Retry, RunContext, job

LOOK_SECONDS = 0.02


class CardDeclined(NotRetryable):
    """An error of a handler's own."""


@job("greet")
def greet(ctx: JobContext, payload: Any) -> Any:
    """Succeed, with the payload as the result."""
    ctx.progress(1, total=1, message="greeted")
    return {"greeted": payload}


@job("charge-card")
def charge_card(ctx: JobContext, payload: Any) -> None:
    """Fail for good, with the payload's words."""
    raise CardDeclined(_words(payload, "The card was declined."))


@job("import-file")
def import_file(ctx: JobContext, payload: Any) -> None:
    """Fail for good, with an error of Python's below a call."""
    _open(_words(payload, "missing.csv"))


@job("sync-stock", retry=Retry(backoff="fixed", base_seconds=3600))
def sync_stock(ctx: JobContext, payload: Any) -> None:
    """Fail, to be tried again in an hour."""
    raise TimeoutError(_words(payload, "The warehouse did not answer."))


@job("settle-invoice", retry=Retry(max_attempts=3, backoff="fixed", base_seconds=1))
def settle_invoice(ctx: JobContext, payload: Any) -> str:
    """Take a moment, and fail as often as the payload says."""
    time.sleep(0.4)
    if ctx.attempt <= payload["fails"]:
        raise ConnectionError("The bank did not answer.")
    return "settled"


@job("write-log", timeout=600)
def write_log(ctx: JobContext, payload: Any) -> None:
    """Log as many lines as the payload says, with so many seconds between them."""
    for number in range(payload["lines"]):
        level = "warning" if number == payload["lines"] - 1 else "info"
        getattr(ctx.logger, level)(f"line {number}", number=number)
        time.sleep(payload.get("seconds", 0))
        if ctx.cancelled:
            return


@job("build-report", timeout=600)
def build_report(ctx: JobContext, payload: Any) -> str:
    """Run until it is cancelled, or so many seconds, and tell how far it came."""
    return _run(ctx, payload)


@job("export-data", timeout=600, limits=[Concurrency(1, name="exports")])
def export_data(ctx: JobContext, payload: Any) -> str:
    """Run as a report does, one at a time."""
    return _run(ctx, payload)


@job("sync-account", timeout=600, limits=[Concurrency(1, key="payload.account")])
def sync_account(ctx: JobContext, payload: Any) -> str:
    """Run as a report does, one at a time of each account."""
    return _run(ctx, payload)


@job("import-nightly", retry=Retry(max_attempts=1), limits=[Concurrency(1, holds="success")])
def import_nightly(ctx: JobContext, payload: Any) -> None:
    """Fail if the payload says so, and keep the slot then."""
    if payload == "fails":
        raise NotRetryable("The file is broken.")


@job("call-bank", limits=[Rate(1, per=3600, burst=1, name="bank")])
def call_bank(ctx: JobContext, payload: Any) -> None:
    """Succeed, once an hour."""


@job("approve-order", durable=True)
def approve_order(ctx: RunContext, payload: Any) -> Any:
    """Charge, wait for an approval, ship."""
    ctx.step("charge", dict, charged=payload["cents"])
    ctx.step("card", str, "4111", private=True)
    approval = ctx.wait_for("approved", timeout=3600, default=None)
    ctx.step("ship", _ship, payload, retry=Retry(max_attempts=1))
    return approval


@job("import-rows", durable=True)
def import_rows(ctx: RunContext, payload: Any) -> None:
    """Take a step for each row."""
    for row in range(payload):
        ctx.step(f"row-{row}", int, row)


def _ship(payload: Any) -> str:
    if payload.get("breaks"):
        raise ConnectionError("There is no courier.")
    return "shipped"


@job("load-table")
def load_table(ctx: JobContext, payload: Any) -> str:
    """Fail for good until the file exists that the payload names, if it names one."""
    needed = payload.get("needs") if isinstance(payload, Mapping) else None
    if needed is not None and not Path(needed).exists():
        raise NotRetryable(f"There is no {Path(needed).name}.")
    return "loaded"


@job("resize-image")
def resize_image(ctx: JobContext, payload: Any) -> Any:
    """Fail for good if the payload says so."""
    if payload == "broken":
        raise NotRetryable("The header of the image is broken.")
    return payload


@job("resize-all", durable=True)
def resize_all(ctx: RunContext, payload: Any) -> int:
    """Read the album as a child, and resize each image as another one."""
    ctx.submit_and_wait(load_table, name="album")
    return len(ctx.map("images", payload["images"], resize_image, tolerate=payload["tolerate"]))


@job("load-any", durable=True)
def load_any(ctx: RunContext) -> str:
    """Load two tables, and return as soon as one is loaded."""
    first, second = ctx.submit(load_table, name="first"), ctx.submit(load_table, name="second")
    return str(ctx.gather(first, second, mode="any"))


nightly_tables = Graph("nightly-tables")
nightly_tables.job("extract", "load-table")
nightly_tables.job("clean", "charge-card", after="extract")
nightly_tables.job("load", "load-table", after="clean")


def _run(ctx: JobContext, payload: Any) -> str:
    seconds = payload.get("seconds", 300) if isinstance(payload, dict) else 300
    began = time.monotonic()
    while (done := time.monotonic() - began) < seconds and not ctx.cancelled:
        ctx.progress(int(done), total=seconds, message=f"page {int(done)}")
        time.sleep(LOOK_SECONDS)
    return "written"


@dataclass
class Line:
    """A line of an invoice."""

    text: str


@dataclass
class Invoice:
    """What a customer owes."""

    customer: str
    cents: int
    currency: Literal["EUR", "USD"] = "EUR"
    send: bool = True
    reference: str | None = None
    lines: list[Line] = field(default_factory=list)


@job("send-invoice", timeout=60, priority="high", retry=Retry(max_attempts=2))
def send_invoice(ctx: JobContext, payload: Invoice) -> dict[str, Any]:
    """Send an invoice to a customer."""
    return asdict(payload)


def _words(payload: Any, otherwise: str) -> str:
    return payload.get("error", otherwise) if isinstance(payload, dict) else otherwise


def _open(name: str) -> None:
    try:
        raise FileNotFoundError(f"No such file: {name}")
    except FileNotFoundError as error:
        raise NotRetryable(f"Cannot import {name}") from error
