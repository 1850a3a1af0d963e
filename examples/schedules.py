"""A report that a schedule asks for: about an interval, whenever it runs.

Put it under any expression, such as every night at half past two:

    {"expression": "30 2 * * *", "timezone": "Europe/Berlin", "handler": "sales-report"}
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from hourhand import JobContext, NotRetryable, job

SALE_EVERY = timedelta(minutes=20)
FIRST_INTERVAL = timedelta(days=1)


@job("sales-report", timeout=60)
def sales_report(ctx: JobContext, payload: None) -> dict[str, str | int]:
    fire = ctx.occurrence
    if fire is None:
        raise NotRetryable("A report is about the time between two fires: put a schedule for it.")
    # The interval, not the clock: late, again or backfilled, it is the same report, and each sale
    # is in exactly one of them, also on the days of 23 and 25 hours.
    until = fire.interval_end
    since = fire.interval_start or until - FIRST_INTERVAL
    return {
        "at": fire.at.isoformat(),
        "since": since.isoformat(),
        "until": until.isoformat(),
        "sales": sum(1 for _ in sales(since, until)),
    }


def sales(since: datetime, until: datetime) -> Iterator[datetime]:
    """Yield when something was sold, ``until`` not included: a shop that never closes."""
    epoch = datetime.fromtimestamp(0, UTC)
    at = epoch + -((epoch - since) // SALE_EVERY) * SALE_EVERY
    while at < until:
        yield at
        at += SALE_EVERY
