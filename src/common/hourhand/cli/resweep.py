"""``hourhand resweep``: makes the sweep read closed buckets again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer

from hourhand.answers.system import Resweep
from hourhand.cli.exits import FAILED, NOT_FOUND, REFUSED
from hourhand.cli.options import YesOption
from hourhand.cli.output.tables import fact, facts
from hourhand.cli.output.times import Times
from hourhand.cli.reading import read_time_or_duration, time_ago
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

SinceOption = Annotated[
    # To Typer a union of types would be none.
    Any,
    typer.Option(
        "--since",
        parser=read_time_or_duration,
        metavar="TIME|AGO",
        help="Read again from this time, or from this long ago, such as 35d. At most 40 days.",
    ),
]

_STATES = {
    "none": "none",
    "requested": "requested; the next tick starts it",
    "running": "running",
    "done": "done",
}


@verb(
    example="hourhand resweep --since 35d",
    codes={
        **dict.fromkeys((NOT_FOUND, REFUSED)),
        FAILED: "in a production context: you did not confirm",
    },
    prints=(Resweep,),
)
def resweep(
    session: Session,
    since: SinceOption = None,
    yes: YesOption = False,  # noqa: ARG001 (the session has it)
) -> None:
    """Make the scheduler look for due jobs in the past again. Without --since, show the progress.

    The scheduler stops reading a past minute once it has dispatched all jobs of that minute. If
    you restore the tables from a backup, such a minute may contain jobs again, and a resweep finds
    them. It takes one or more ticks, and current jobs come first. It is safe to repeat. See
    docs/how-to/restore.md.
    """
    begin = time_ago(since, session.times.now)
    if begin is None:
        found = session.client.resweep_progress()
    else:
        session.agree()
        found = session.client.resweep(begin)
    if session.is_json:
        session.print_json(found.raw)
    else:
        session.print(facts(_facts(found, session.times)))


def _facts(found: Resweep, times: Times) -> Iterator[tuple[str, str]]:
    yield "resweep", _STATES.get(found.state, found.state)
    yield from fact("since", found.since, times.full)
    yield from fact("requested", found.requested_at, times.full)
    if found.state == "running" and found.watermark is not None and found.until is not None:
        yield "progress", _progress(found.since, found.watermark, found.until, times)


def _progress(since: datetime | None, watermark: datetime, until: datetime, times: Times) -> str:
    """Return the progress. A minute with jobs stays open, and counts as read."""
    whole = until - (since or watermark)
    share = (watermark - (since or watermark)) / whole if whole else 1.0
    return (
        f"{max(0, int(share * 100))} %: read to {times.absolute(watermark)} of "
        f"{times.absolute(until)}"
    )
