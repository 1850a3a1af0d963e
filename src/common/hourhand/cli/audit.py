"""``hourhand audit``: who did what with jobs, schedules and handlers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import typer

from hourhand.answers.audit import AuditEvent, AuditPage
from hourhand.cli.completing import handler_names
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.options import Rows
from hourhand.cli.output.tables import Column
from hourhand.cli.reading import read_time_or_duration, time_ago
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.callers import LOCAL
from hourhand.domain.jobs.job import EventKind
from hourhand.domain.schedules.schedule import INCLUDED_AGAIN

MAX_EVENTS = 10_000
"""How many events are sorted by their times; a search that finds more stops there."""

NOTHING_OF_CALLER = (
    "This caller did nothing that matches. Give the whole identity, as `hourhand jobs events` "
    "prints it, or its beginning and *."
)
RESTORED = "RESTORED"
"""What a table says of a job that was redriven because its schedule includes it again."""

ONE_ACTION = timedelta(seconds=1)
"""What lies further apart is not shown as one action."""

LARGEST_PAGE = 200
COLUMNS = (
    Column("WHEN"),
    Column("ACTION"),
    Column("JOB", rank=1),
    Column("SCHEDULE", rank=2, is_flexible=True),
    Column("HANDLER", rank=2, is_flexible=True),
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
HandlerOption = Annotated[
    str | None,
    typer.Option(
        "--handler",
        metavar="NAME",
        help="Show when this handler was paused and resumed, and its limits were changed.",
        autocompletion=handler_names,
    ),
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
        parser=read_time_or_duration,
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
        parser=read_time_or_duration,
        metavar="TIME|AGO",
        help="Show what was done before this time, or before this long ago.",
    ),
]


@verb(
    example="hourhand audit --caller arn:aws:iam::123456789012:user/alice --from 2d",
    codes=dict.fromkeys((NOT_FOUND, REFUSED)),
    prints=(AuditEvent,),
)
def audit(  # noqa: PLR0913 (Typer makes its arguments the flags)
    session: Session,
    job: JobOption = None,
    schedule: ScheduleOption = None,
    handler: HandlerOption = None,
    caller: CallerOption = None,
    tenant: TenantOption = None,
    since: FromOption = None,
    until: ToOption = None,
    *,
    rows: Rows,
) -> None:
    """Show who did what with jobs, schedules and handlers, newest first. Give at least one filter.

    It shows submissions, changes, cancels, redrives, discards and run-nows of jobs, and puts,
    pauses, resumes, triggers, backfills and deletions of schedules, and pauses and resumes of
    handlers. CHANGED with a handler and no job means the numbers of a limit, with a schedule that
    a backfill was paused, resumed or cancelled, and with neither a quota. What was done with
    several jobs of one schedule at once, such as by its pause, is one row. RESTORED means that a
    schedule includes a job again that it had cancelled. --json prints each event.

    The command reads the histories of the jobs, schedules and handlers that are kept. So it does
    not show what was done with a job that is deleted, what a long history of a job has dropped, or
    what was done with a schedule or a handler more than 400 days ago. It does not show changes of
    calendars and resweeps, which the log of the function api has, nor reads and refused requests,
    which the access log of the API has.

    Without --job, --schedule or --handler, it reads every history, which takes about a minute for
    100,000 jobs. With --schedule, it shows what was done with the schedule, not with its jobs.
    """
    if not any((job, schedule, handler, caller, tenant, since, until)):
        raise typer.BadParameter(
            "give --job, --schedule, --handler, --caller, --tenant, --from or --to"
        )
    if sum(1 for one in (job, schedule, handler) if one) > 1:
        raise typer.BadParameter("give one of --job, --schedule and --handler")
    now = session.times.now
    events = _found(
        session,
        job=job,
        schedule=schedule,
        handler=handler,
        caller=caller,
        tenant=tenant,
        since=time_ago(since, now),
        until=time_ago(until, now),
    )
    session.print_list(
        lambda **_: [Action((event,)) for event in events] if session.is_json else folded(events),
        rows.most,
        COLUMNS,
        _row,
        none=NOTHING_OF_CALLER if caller else "No caller did anything that matches.",
        first="newest",
    )
    if not session.is_json and any(event.caller == LOCAL for event in events):
        session.remark("A local cloud authenticates no caller: each one is `local`.")


@dataclass(frozen=True, slots=True)
class Action:
    """What a caller did at once: ``events`` with jobs of one schedule, newest first, or one."""

    events: tuple[AuditEvent, ...]

    @property
    def raw(self) -> Mapping[str, Any]:
        """The newest event, as the API sent it."""
        return self.events[0].raw


def folded(events: Iterable[AuditEvent]) -> list[Action]:
    """Return what was done, newest first, where ``events`` are sorted so."""
    found: list[list[AuditEvent]] = []
    newest_alike: dict[tuple[str | None, ...], list[AuditEvent]] = {}
    for event in events:
        is_of_schedule = event.job_id is not None and event.schedule_id is not None
        alike = event.caller, event.action, event.schedule_id, event.reason
        newer = newest_alike.get(alike)
        if is_of_schedule and newer is not None and _is_same_action(newer[-1], event):
            newer.append(event)
            continue
        found.append([event])
        if is_of_schedule:
            newest_alike[alike] = found[-1]
    return [Action(tuple(together)) for together in found]


def _is_same_action(newer: AuditEvent, older: AuditEvent) -> bool:
    return newer.job_id != older.job_id and newer.at - older.at <= ONE_ACTION


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


def _row(session: Session, action: Action) -> tuple[str, ...]:
    event, count = action.events[0], len(action.events)
    is_restored = event.action == EventKind.REDRIVEN.name and event.reason == INCLUDED_AGAIN
    return (
        session.times.absolute(event.at),
        RESTORED if is_restored else event.action,
        f"{count:,} jobs" if count > 1 else event.job_id or "",
        event.schedule_id or "",
        event.handler or "",
        event.caller,
        event.reason or "",
    )
