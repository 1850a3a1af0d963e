"""The verbs that change jobs: cancel, redrive, run-now, reschedule."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from hourhand.cli.exits import FAILED
from hourhand.cli.jobs.arguments import DryRunOption, EverythingOption, JobId, JobIds
from hourhand.cli.jobs.filters import Filters, takes_filters
from hourhand.cli.reading import Seconds, read_duration, read_json, read_time
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.cli.watching import YesOption
from hourhand.domain.model import Priority

RunAtOption = Annotated[
    datetime | None,
    typer.Option("--run-at", parser=read_time, metavar="TIME", help="When it is to be run."),
]
DelayOption = Annotated[
    Seconds | None,
    typer.Option("--delay", parser=read_duration, metavar="DURATION", help="In how long."),
]
PriorityOption = Annotated[
    Priority | None, typer.Option("--priority", help="Which queue it waits in.")
]
PayloadOption = Annotated[
    str | None,
    typer.Option(
        "--payload", metavar="JSON", help="JSON, @ and the name of a file with it, or - for stdin."
    ),
]
ExpiresOption = Annotated[
    datetime | None,
    typer.Option(
        "--expires-at", parser=read_time, metavar="TIME", help="Not to be begun after it."
    ),
]
SOME_FAILED = {FAILED: "the answer was no, or some of the jobs could not be changed"}


@verb(example="hourhand jobs cancel --handler send-welcome --status PENDING", codes=SOME_FAILED)
@takes_filters
def cancel_jobs(
    session: Session,
    ids: JobIds = None,
    *,
    filters: Filters,
    all: EverythingOption = False,  # noqa: A002 (the flag's name)
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> int:
    """Cancel jobs: those named, or all that the filters find, after a count and a question.

    Jobs that wait are cancelled; those that run are asked to stop, and do when their handler looks.
    """
    from hourhand.cli.jobs.bulk import CANCEL, Choice, operate

    choice = Choice(ids=ids or (), filters=filters, everything=all)
    return operate(session, CANCEL, choice, is_sure=yes, is_dry=dry_run)


@verb(example="hourhand jobs redrive --handler send-welcome --created-after 1d", codes=SOME_FAILED)
@takes_filters
def redrive_jobs(
    session: Session,
    ids: JobIds = None,
    *,
    filters: Filters,
    all: EverythingOption = False,  # noqa: A002 (the flag's name)
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> int:
    """Send jobs round again that ended badly: those named, or all that the filters find.

    Filters find DEAD jobs, unless --status asks for CANCELLED or EXPIRED ones. Each begins anew
    with all its attempts, and keeps its history. You are told how many it will be, and asked.
    """
    from hourhand.cli.jobs.bulk import REDRIVE, Choice, operate

    choice = Choice(ids=ids or (), filters=filters, everything=all)
    return operate(session, REDRIVE, choice, is_sure=yes, is_dry=dry_run)


@verb(example="hourhand jobs run-now 01k2v8r3t5w7x9y1z3b5d")
def run_job_now(session: Session, id: JobId) -> None:  # noqa: A002 (the argument's name)
    """Make a waiting job due at once."""
    from hourhand.cli.jobs.showing import show_changed

    show_changed(session, session.client.run_now(id), "is due now")


@verb(example="hourhand jobs reschedule 01k2v8r3t5w7x9y1z3b5d --delay 2h --priority low")
def reschedule_job(
    session: Session,
    id: JobId,  # noqa: A002 (the argument's name)
    run_at: RunAtOption = None,
    delay: DelayOption = None,
    priority: PriorityOption = None,
    payload: PayloadOption = None,
    expires_at: ExpiresOption = None,
) -> None:
    """Change a job that waits: when it is run, its priority, payload or expiry."""
    from hourhand.cli.jobs.showing import show_changed

    changes: dict[str, Any] = {
        "run_at": run_at,
        "delay": delay,
        "priority": priority,
        "expires_at": expires_at,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    if payload is not None:
        changes["payload"] = read_json(payload, "--payload")
    if not changes:
        raise typer.BadParameter("give what to change: --run-at, --delay, --priority, ...")
    show_changed(session, session.client.reschedule(id, **changes), "changed")
