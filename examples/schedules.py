"""A schedule with a calendar: a report on each working day that is not a public holiday.

Two terminals, in the checkout:

    $ .venv/bin/hourhand dev --handlers examples.schedules
    $ .venv/bin/python -m examples.schedules

The report covers an interval, and not the moment at which it runs. So a report that is late,
repeated or backfilled is the same report.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from hourhand import Client, JobContext, NotRetryable, job

EASTER = {"from": date(2027, 3, 26), "to": date(2027, 3, 29)}
HOLIDAYS = [date(2026, 12, 25), date(2027, 1, 1), EASTER]
SALE_EVERY = timedelta(minutes=20)
FIRST_INTERVAL = timedelta(days=1)


@job("sales-report", timeout=60)
def sales_report(ctx: JobContext, payload: None) -> dict[str, str | int]:
    occurrence = ctx.occurrence
    if occurrence is None:
        raise NotRetryable("A report needs the interval of a schedule: put a schedule for it.")
    # Each sale is in exactly one report, also on the days of 23 and 25 hours.
    until = occurrence.interval_end
    since = occurrence.interval_start or until - FIRST_INTERVAL
    return {
        "at": occurrence.at.isoformat(),
        "since": since.isoformat(),
        "until": until.isoformat(),
        "sales": sum(1 for _ in sales(since, until)),
    }


def sales(since: datetime, until: datetime) -> Iterator[datetime]:
    """Yield the time of each sale, ``until`` not included, in a shop that never closes."""
    epoch = datetime.fromtimestamp(0, UTC)
    at = epoch + -((epoch - since) // SALE_EVERY) * SALE_EVERY
    while at < until:
        yield at
        at += SALE_EVERY


def put_schedule(client: Client) -> None:
    """Create the calendar and the schedule. A repeated call changes nothing."""
    client.calendars.put("public-holidays", HOLIDAYS)
    client.schedules.put(
        "daily-sales",
        expression="30 7 * * MON-FRI",
        timezone="Europe/Berlin",
        handler="sales-report",
        exclude=["public-holidays"],
        misfire={"policy": "all"},  # after an outage: every report, the oldest first
        overlap="buffer_all",
    )


def main() -> None:
    with Client() as client:
        put_schedule(client)
        for at in client.schedules.upcoming("daily-sales"):
            print(at.isoformat())


if __name__ == "__main__":
    main()
