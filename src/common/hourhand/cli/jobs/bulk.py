"""Cancel, redrive and discard jobs: by their IDs, or by filters after a count and a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from hourhand.answers.jobs import Job
from hourhand.cli.exits import (
    DONE,
    FAILED,
    WRONG_USAGE,
    CommandError,
    one_line,
)
from hourhand.cli.jobs.filters import Filters
from hourhand.cli.jobs.flags import Consent
from hourhand.cli.jobs.showing import show_changed
from hourhand.cli.output.harmless import harmless
from hourhand.cli.session import Session

if TYPE_CHECKING:
    from hourhand import Client
    from hourhand.client import BulkReport, ClientError

SHOWN_FAILURES = 20
LISTS_DISCARDED = "hourhand jobs list --status DEAD --discarded"


@dataclass(frozen=True, slots=True)
class Operation:
    """A change of one job or of many: ``cancel``, ``redrive``, ``discard``.

    ``hint`` returns what to print after the change about the schedules of the changed jobs.
    ``note`` is kept with the changed jobs.
    """

    name: str
    did: str
    one: Callable[[Client, str], Job]
    many: Callable[..., BulkReport]
    hint: Callable[[Sequence[str]], str] = lambda _: ""
    note: str | None = None


CANCEL = Operation(
    "cancel",
    "cancelled",
    one=lambda client, job_id: client.cancel(job_id),
    many=lambda client, **asked: client.cancel_many(**asked),
)


def _overlap_hint(schedules: Sequence[str]) -> str:
    """Return how the redriven jobs of schedules go on, and how to follow them."""
    if not schedules:
        return ""
    several = len(schedules) > 1
    named = f"Their schedules are {', '.join(schedules)}. " if several else ""
    jobs = "Jobs of a schedule" if several else f"Jobs of schedule {schedules[0]}"
    return (
        f"{named}{jobs} run as its overlap allows. Until they have ended, its new times may be "
        "skipped. Follow them before you resume it: "
        f"`hourhand jobs list --schedule {schedules[0]} --watch`."
    )


REDRIVE = Operation(
    "redrive",
    "redriven",
    one=lambda client, job_id: client.redrive(job_id),
    many=lambda client, **asked: client.redrive_many(**asked),
    hint=_overlap_hint,
)


def discarding(note: str | None) -> Operation:
    """Return the operation that discards jobs with a note."""
    return Operation(
        "discard",
        "discarded",
        one=lambda client, job_id: client.discard(job_id, note=note),
        many=lambda client, **asked: client.discard_many(**asked, note=note),
        hint=lambda _: f"Discarded jobs: `{LISTS_DISCARDED}`.",
        note=note,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Which jobs: by ``ids``, by ``filters``, or ``everything``."""

    ids: Sequence[str]
    filters: Filters
    everything: bool = False

    def check(self, *, is_dry: bool) -> None:
        """Raise `typer.BadParameter` for no choice, and for two."""
        if self.ids and (self.everything or not self.filters.is_empty):
            raise typer.BadParameter("give either IDs or filters", param_hint="ID")
        if self.ids and is_dry:
            raise typer.BadParameter("needs a filter or --all", param_hint="--dry-run")
        if not self.ids and not self.everything and self.filters.is_empty:
            raise typer.BadParameter("give IDs, a filter such as --handler, or --all")


def operate(session: Session, operation: Operation, choice: Choice, consent: Consent) -> int:
    """Change the chosen jobs; return the exit code.

    The API is sent the count that was shown: it changes nothing if many more jobs match by then.
    "1,000 or more" is no count, so the caller must agree to all that match (--all-matching).
    """
    choice.check(is_dry=consent.dry_run)
    if choice.ids:
        return _operate_on_named(session, operation, choice.ids)
    filters = choice.filters.for_client(session.clock.now())
    asked: dict[str, Any] = {**filters, "all": choice.everything}
    count = operation.many(session.client, **asked, dry_run=True)
    counted_jobs = counted(count.matched, or_more=count.is_least)
    found = f"{counted_jobs} {choice.filters.described()}".strip()
    if consent.dry_run or not count.matched:
        return show_count(session, operation, found, count.matched, is_least=count.is_least)
    if count.is_least and not consent.all_matching:
        raise CommandError(
            f"{found} match. Give a narrower filter, such as --created-after, or confirm with "
            "--all-matching that all of them are meant. Nothing was changed.",
            WRONG_USAGE,
        )
    session.confirm(f"{operation.name.capitalize()} {found}?", is_sure=consent.yes)
    return show_report(session, operation, _operate_on_found(session, operation, asked, count))


def _operate_on_named(session: Session, operation: Operation, ids: Sequence[str]) -> int:
    changed: list[Job] = []

    def act(job_id: str) -> None:
        changed.append(operation.one(session.client, job_id))
        show_changed(session, changed[-1], operation.did)

    code = session.do_to_each(ids, act)
    if changed:
        _tell(session, operation, [job.schedule_id for job in changed if job.schedule_id])
    return code


def _tell(session: Session, operation: Operation, schedules: Sequence[str]) -> None:
    """Print what to know after a change."""
    told = operation.hint(list(dict.fromkeys(schedules)))
    if told and not session.is_json:
        session.remark(told)


def _operate_on_found(
    session: Session, operation: Operation, asked: Mapping[str, Any], count: BulkReport
) -> BulkReport:
    """Change all jobs that match, one call of the API after the other, with progress."""
    from hourhand.client import BulkReport

    report = BulkReport()
    expected = None if count.is_least else count.matched
    with session.meter("jobs", expected) as meter:

        def note(done: BulkReport) -> None:
            nonlocal report
            report = done
            meter.show(done.matched, len(done.failed), done.matched)

        try:
            operation.many(session.client, **asked, expected_count=expected, on_progress=note)
        except KeyboardInterrupt:
            done = f"{counted(report.changed)} {operation.did}"
            session.remark(f"At least {done} so far. Repeat the command for the rest.")
            raise
    return report


def show_count(
    session: Session, operation: Operation, found: str, matched: int, *, is_least: bool = False
) -> int:
    """Print how many jobs would change; return the exit code. ``is_least``: or more."""
    if session.is_json:
        counts = {"matched": matched, "changed": 0, "failed": [], "count_is_bounded": is_least}
        session.print_json(counts)
    else:
        session.print(Text(harmless(f"{found} would be {operation.did}. Nothing was changed.")))
    return DONE


def show_report(session: Session, operation: Operation, report: BulkReport) -> int:
    """Print the result and what to know of it; return the exit code."""
    code = show_changes(session, operation.did, report)
    if report.changed and not session.is_json:
        if operation.note is not None:
            session.remark(f"The note is kept with them: {operation.note}")
        _tell(session, operation, report.schedules)
    return code


def show_changes(session: Session, did: str, report: BulkReport) -> int:
    """Print how many jobs were changed, and which were not; return the exit code."""
    code = FAILED if report.failed else DONE
    if session.is_json:
        failed = [{"id": each.id, "error": _problem(each.error)} for each in report.failed]
        counts = {"matched": report.matched, "changed": report.changed}
        session.print_json({**counts, "failed": failed, "schedules": list(report.schedules)})
        return code
    for each in report.failed[:SHOWN_FAILURES]:
        session.remark(f"{each.id}: {one_line(each.error)}", "red")
    if len(report.failed) > SHOWN_FAILURES:
        session.remark(f"and {len(report.failed) - SHOWN_FAILURES:,} more", "red")
    failures = f", {len(report.failed):,} failed" if report.failed else ""
    least = "at least " if report.is_least else ""
    session.print(Text(f"{least}{counted(report.changed)} {did}{failures}."))
    return code


def counted(count: int, noun: str = "job", *, or_more: bool = False) -> str:
    """Return the number with its noun."""
    if or_more:
        return f"{count:,} or more {noun}s"
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def _problem(error: ClientError) -> dict[str, Any]:
    return {"status": error.status, "code": error.code, "detail": error.detail}
