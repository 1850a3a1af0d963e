"""``hourhand jobs``: the verbs that change jobs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hourhand.answers.batches import BulkResult
from hourhand.answers.jobs import Job
from hourhand.cli.exits import FAILED, REFUSED
from hourhand.cli.jobs.commands import jobs
from hourhand.cli.jobs.filters import Filters, ListingFilters
from hourhand.cli.jobs.flags import (
    PAYLOAD_HELP,
    Consent,
    Due,
    EverythingOption,
    NoteOption,
    PriorityOption,
    given,
)
from hourhand.cli.options import JobId, JobIds, option
from hourhand.cli.reading import read_json
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

__all__ = ["CHANGE_CODES", "jobs"]
"""`jobs` from here has all its verbs: those that change jobs register themselves below."""

CHANGE_CODES = {
    FAILED: "you did not confirm, or some jobs could not be changed",
    REFUSED: "refused: the state does not allow it, or more jobs match than were counted",
}


@jobs.command("cancel")
@verb(
    example="hourhand jobs cancel --handler send-welcome --status PENDING",
    codes=CHANGE_CODES,
    prints=(Job, BulkResult),
)
def cancel_jobs(
    session: Session,
    filters: Filters,
    ids: JobIds = None,
    all: EverythingOption = False,  # noqa: A002 (the flag's name)
    *,
    consent: Consent,
) -> int:
    """Cancel jobs: those with the given IDs, or all that match the filters.

    A waiting job is cancelled at once. A running job is asked to stop, and stops when its handler
    checks for this. With filters, the command first shows how many jobs match and asks. If many
    more jobs match by the time that you confirm, it changes nothing.
    """
    from hourhand.cli.jobs.bulk import CANCEL, Choice, operate

    choice = Choice(ids=ids or (), filters=filters, everything=all)
    return operate(session, CANCEL, choice, consent)


@jobs.command("redrive")
@verb(
    example="hourhand jobs redrive --handler send-welcome --created-after 1d",
    codes=CHANGE_CODES,
    prints=(Job, BulkResult),
)
def redrive_jobs(
    session: Session,
    filters: ListingFilters,
    ids: JobIds = None,
    all: EverythingOption = False,  # noqa: A002 (the flag's name)
    *,
    consent: Consent,
) -> int:
    """Run failed jobs again: those with the given IDs, or all that match the filters.

    Filters match DEAD jobs, unless --status names CANCELLED or EXPIRED; discarded jobs only with
    --discarded. A redriven job has all its attempts again and keeps its history. Jobs of a schedule
    run as its overlap allows, and its new times may be skipped until they have ended. With filters,
    the command first shows how many jobs match and asks. If many more jobs match by the time that
    you confirm, it changes nothing.
    """
    from hourhand.cli.jobs.bulk import REDRIVE, Choice, operate

    choice = Choice(ids=ids or (), filters=filters, everything=all)
    return operate(session, REDRIVE, choice, consent)


@jobs.command("discard")
@verb(
    example="hourhand jobs discard --handler send-welcome --note 'the list was wrong'",
    codes=CHANGE_CODES,
    prints=(Job, BulkResult),
)
def discard_jobs(
    session: Session,
    filters: Filters,
    ids: JobIds = None,
    note: NoteOption = None,
    all: EverythingOption = False,  # noqa: A002 (the flag's name)
    *,
    consent: Consent,
) -> int:
    """Discard DEAD jobs: those with the given IDs, or all that match the filters.

    A discarded job needs no further work. It stays DEAD, keeps its history, and leaves
    [bold]dead-letters list[/] and the alarm on dead jobs. [bold]jobs list --discarded[/] lists
    discarded jobs with their notes, and [bold]jobs redrive[/] still runs them again, until their
    retention ends. With filters, the command first shows how many jobs match and asks. If many more
    jobs match by the time that you confirm, it changes nothing.
    """
    from hourhand.cli.jobs.bulk import Choice, discarding, operate

    choice = Choice(ids=ids or (), filters=filters, everything=all)
    return operate(session, discarding(note), choice, consent)


@jobs.command("run-now")
@verb(example="hourhand jobs run-now 01k2v8r3t5w7x9y1z3b5d", changes=True, prints=(Job,))
def run_job_now(session: Session, id: JobId) -> None:  # noqa: A002 (the argument's name)
    """Make a waiting job due now."""
    from hourhand.cli.jobs.showing import show_changed

    show_changed(session, session.client.run_now(id), "due now")


@jobs.command("reschedule")
@verb(
    example="hourhand jobs reschedule 01k2v8r3t5w7x9y1z3b5d --delay 2h --priority low",
    changes=True,
    prints=(Job,),
)
def reschedule_job(
    session: Session,
    due: Due,
    id: JobId,  # noqa: A002 (the argument's name)
    priority: PriorityOption = None,
    payload: Annotated[str | None, option("JSON", PAYLOAD_HELP)] = None,
) -> None:
    """Change the time, priority, payload or expiry of a waiting job."""
    from hourhand.cli.jobs.showing import show_changed

    times = {"run_at": due.run_at, "delay": due.delay, "expires_at": due.expires_at}
    changes: dict[str, Any] = given({**times, "priority": priority})
    if payload is not None:
        changes["payload"] = read_json(payload, "--payload")
    if not changes:
        raise typer.BadParameter("give a change: --run-at, --delay, --priority, ...")
    show_changed(session, session.client.reschedule(id, **changes), "changed")
