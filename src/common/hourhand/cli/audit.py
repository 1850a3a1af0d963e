"""``hourhand audit``: who did what with jobs and schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from hourhand.answers.audit import AuditEvent
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.options import DEFAULT_LIMIT, AllOption, LimitOption
from hourhand.cli.output.tables import Column
from hourhand.cli.reading import read_time_ago
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

if TYPE_CHECKING:
    from hourhand.client import AuditEvent, AuditPage

MAX_EVENTS = 10_000
"""How many events are sorted by their times; a search that finds more stops there."""

NOTHING_OF_CALLER = (
    "This caller did nothing that matches. Give the whole identity, as `hourhand jobs events` "
    "prints it, or its beginning and *."
)
LARGEST_PAGE = 200
COLUMNS = (
    Column("WHEN"),
    Column("ACTION"),
    Column("JOB", rank=1),
    Column("SCHEDULE", rank=2, is_flexible=True),
    Column("CALLER", is_flexible=True),
    Column("REASON", rank=3, is_flexible=True),
)

JobOption = Annotated[
    str | None,
    typer.Option("--job", metavar="ID", help="Show what was done with this job."),
]
ScheduleOption = Annotated[
    str | None,
    typer.Option("--schedule", metavar="ID", help="Show what was done with this schedule."),
]
CallerOption = Annotated[
    str | None,
    typer.Option(
        "--caller",
        metavar="ARN",
        help="Show what this caller did: the whole ARN of an IAM principal, the subject of a "
        "token, or local. With * at its end: all callers that begin so, such as the sessions of a "
        "role. `hourhand jobs events` prints callers.",
    ),
]
TenantOption = Annotated[
    str | None,
    typer.Option("--tenant", metavar="NAME", help="Only jobs and schedules of this tenant."),
]
FromOption = Annotated[
    # To Typer a union of types would be none.
    Any,
    typer.Option(
        "--from",
        envvar="HOURHAND_AUDIT_FROM",
        show_envvar=False,
        parser=read_time_ago,
        metavar="TIME|AGO",
        help="Show what was done since this time, or since this long ago, such as 2d.",
    ),
]
ToOption = Annotated[
    Any,
    typer.Option(
        "--to",
        envvar="HOURHAND_AUDIT_TO",
        show_envvar=False,
        parser=read_time_ago,
        metavar="TIME|AGO",
        help="Show what was done before this time, or before this long ago.",
    ),
]


@verb(
    example="hourhand audit --caller arn:aws:iam::123456789012:user/alice --from 2d",
    codes=dict.fromkeys((NOT_FOUND, REFUSED)),
    prints=(AuditEvent,),
)
def audit(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    job: JobOption = None,
    schedule: ScheduleOption = None,
    caller: CallerOption = None,
    tenant: TenantOption = None,
    since: FromOption = None,
    until: ToOption = None,
    limit: LimitOption = DEFAULT_LIMIT,
    all: AllOption = False,  # noqa: A002 (the flag's name)
) -> None:
    """Show who did what with jobs and schedules, newest first. Give at least one filter.

    It shows submissions, changes, cancels, redrives and run-nows of jobs, and puts, pauses,
    resumes, triggers, backfills and deletions of schedules. It reads the histories of the jobs and
    schedules that are kept. So it does not show what was done with a job that is deleted, what a
    long history of a job has dropped, or what was done with a schedule more than 400 days ago.
    It does not show changes of calendars, resweeps, reads and refused requests; the access log of
    the API has them.

    Without --job or --schedule, it reads every history, which takes about a minute for 100,000
    jobs. With --schedule, it shows what was done with the schedule, not with its jobs.
    """
    if not any((job, schedule, caller, tenant, since, until)):
        raise typer.BadParameter("give --job, --schedule, --caller, --tenant, --from or --to")
    if job and schedule:
        raise typer.BadParameter("give either --job or --schedule", param_hint="--schedule")
    now = session.times.now
    found = _found(
        session,
        job=job,
        schedule=schedule,
        caller=caller,
        tenant=tenant,
        since=_instant(since, now),
        until=_instant(until, now),
    )
    session.print_list(
        iter(found),
        None if all else limit,
        partial(_table, session),
        none=NOTHING_OF_CALLER if caller else "No caller did anything that matches.",
        first="newest",
    )


def _found(session: Session, **asked: Any) -> list[AuditEvent]:
    """Return all that matches, newest first, with progress; at most `MAX_EVENTS`."""
    read = 0
    with session.meter("histories read", None) as meter:

        def note(page: AuditPage) -> None:
            nonlocal read
            read += page.histories_read
            meter.show(read, 0, read)

        events = list(
            session.client.audit(
                **asked, page_size=LARGEST_PAGE, limit=MAX_EVENTS + 1, on_page=note
            )
        )
    if len(events) > MAX_EVENTS:
        session.remark(
            f"The search stopped after {MAX_EVENTS:,} events. Narrow it with --from and --to, "
            "--job or --schedule.",
            "yellow",
        )
    return sorted(events[:MAX_EVENTS], key=lambda event: event.at, reverse=True)


def _table(session: Session, events: Sequence[AuditEvent]) -> RenderableType:
    return session.table(COLUMNS, [_row(session, event) for event in events], without_empty=True)


def _row(session: Session, event: AuditEvent) -> tuple[str, ...]:
    return (
        session.times.absolute(event.at),
        event.action,
        event.job_id or "",
        event.schedule_id or "",
        event.caller,
        event.reason or "",
    )


def _instant(given: datetime | timedelta | None, now: datetime) -> datetime | None:
    return now - given if isinstance(given, timedelta) else given
