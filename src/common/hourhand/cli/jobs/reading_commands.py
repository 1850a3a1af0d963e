"""The verbs that look at jobs: list, show, events, watch."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.cli.exits import DONE, FAILED, NOT_FOUND, REFUSED, TIMED_OUT
from hourhand.cli.jobs.arguments import JobId
from hourhand.cli.jobs.filters import Filters, takes_filters
from hourhand.cli.limits import DEFAULT_LIMIT, AllOption, LimitOption
from hourhand.cli.reading import Seconds, read_duration
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.cli.watching import DEFAULT_EVERY_SECONDS, EveryOption, WatchOption

WaitOption = Annotated[
    Seconds | None,
    typer.Option(
        "--timeout",
        parser=read_duration,
        metavar="DURATION",
        help="How long to wait for its end, such as 90s or 5m; without it, as long as it takes.",
    ),
]


@verb(
    example="hourhand jobs list --status DEAD --created-after 2h",
    codes=dict.fromkeys((NOT_FOUND, REFUSED)),
)
@takes_filters
def list_jobs(
    session: Session,
    *,
    filters: Filters,
    limit: LimitOption = DEFAULT_LIMIT,
    all: AllOption = False,  # noqa: A002 (the flag's name)
    watch: WatchOption = False,
    every: EveryOption = DEFAULT_EVERY_SECONDS,
) -> None:
    """List jobs, the newest first.

    All filters that are given must hold. A narrow terminal shows fewer columns; [bold]jobs
    show[/] tells all of one job, and --json all of each.
    """
    from hourhand.cli.jobs.listing import list_found, watch_found

    if watch:
        watch_found(session, filters, limit, every)
    list_found(session, filters, None if all else limit)


@verb(example="hourhand jobs show 01k2v8r3t5w7x9y1z3b5d", codes={REFUSED: None})
def show_job(session: Session, id: JobId) -> None:  # noqa: A002 (the argument's name)
    """Show one job: its state and times, attempts, payload, result and error."""
    from hourhand.cli.jobs.showing import show

    show(session, session.client.get(id))


@verb(example="hourhand jobs events 01k2v8r3t5w7x9y1z3b5d", codes={REFUSED: None})
def list_events(session: Session, id: JobId) -> None:  # noqa: A002 (the argument's name)
    """Tell a job's history: each change of its state, when, by whom and why."""
    from hourhand.cli.jobs.showing import show_events

    show_events(session, id)


@verb(
    example="hourhand jobs watch 01k2v8r3t5w7x9y1z3b5d --timeout 5m",
    codes={
        DONE: "it succeeded",
        FAILED: "it ended otherwise: DEAD, CANCELLED or EXPIRED",
        REFUSED: None,
        TIMED_OUT: "it had not ended in the time given by --timeout",
    },
)
def watch_job(
    session: Session,
    id: JobId,  # noqa: A002 (the argument's name)
    timeout: WaitOption = None,
) -> int:
    """Follow a job to its end: changes of its state, attempts, and how far its handler says it is.

    With --json each change is a line: the job as it is then, without payload.
    """
    from hourhand.cli.jobs.following import follow

    return follow(session, id, timeout)
