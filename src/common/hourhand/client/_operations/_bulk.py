"""Cancels, redrives or discards many jobs, by filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from hourhand.answers.batches import BulkResult
from hourhand.client._exchange import exchange
from hourhand.client._operations._asking import (
    MAX_LIMIT,
    JobFilters,
    filters_of,
    target,
    whole_number,
)
from hourhand.client._problems import problem_failure
from hourhand.client._steps import Operation, Request, Session
from hourhand.client._values import ClientError, UnexpectedAnswer, decoded, encoded, read

MAX_COUNTED = 1_000
"""Where a dry run stops counting."""

MAX_SCHEDULES = 20
"""How many schedules a report names."""

MAX_KEPT_FAILURES = 10_000
"""How many failures a report names; the rest is in its counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkFailure:
    """A job that matched and could not be changed."""

    id: str
    error: ClientError


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkReport:
    """What a bulk operation did, or would do with ``dry_run``. ``matched`` and ``changed`` count.

    ``is_least``: an answer was lost, so more may have changed than was counted; or a dry run
    stopped counting at 1,000. ``schedules``: up to 20 whose overlap decides when the redriven jobs
    run.
    """

    matched: int = 0
    changed: int = 0
    failed: tuple[BulkFailure, ...] = ()
    is_least: bool = False
    schedules: tuple[str, ...] = ()


BulkProgress = Callable[[BulkReport], object]
"""Called with the report so far, after each call of the API."""


def cancel_many(
    session: Session,
    *,
    all: bool = False,  # noqa: A002 - the API's name of it
    dry_run: bool = False,
    expected_count: int | None = None,
    on_progress: BulkProgress | None = None,
    **filters: Unpack[JobFilters],
) -> Operation[BulkReport]:
    """Cancel the jobs that match all filters; to cancel every job, give ``all=True``.

    The filters are those of `list`. ``dry_run``: only count the jobs; the count stops at 1,000, and
    ``is_least`` is then true. ``expected_count``: the count that you saw, if it did not stop there.
    If more than 1.1 times as many match now, nothing is changed, and `Conflict` is raised with the
    code ``count_changed``. ``on_progress`` is called with the report so far, after each call of the
    API. Raises `Invalid`.
    """
    asked = _asked(filters, all, dry_run, expected_count)
    return (yield from _change_many(session, "cancel", asked, on_progress))


def redrive_many(
    session: Session,
    *,
    all: bool = False,  # noqa: A002 - the API's name of it
    dry_run: bool = False,
    expected_count: int | None = None,
    on_progress: BulkProgress | None = None,
    **filters: Unpack[JobFilters],
) -> Operation[BulkReport]:
    """Redrive the jobs that match all filters; to redrive every job, give ``all=True``.

    Without ``status``, only DEAD jobs match; without ``discarded``, only jobs that were not
    discarded. The other arguments are those of `cancel_many`. Raises `Conflict` and `Invalid`.
    """
    asked = _asked(filters, all, dry_run, expected_count)
    return (yield from _change_many(session, "redrive", asked, on_progress))


def discard_many(
    session: Session,
    *,
    note: str | None = None,
    all: bool = False,  # noqa: A002 - the API's name of it
    dry_run: bool = False,
    expected_count: int | None = None,
    on_progress: BulkProgress | None = None,
    **filters: Unpack[JobFilters],
) -> Operation[BulkReport]:
    """Discard the DEAD jobs that match all filters; to discard all of them, give ``all=True``.

    ``note`` says why. The other arguments are those of `cancel_many`. Raises `Conflict` and
    `Invalid`.
    """
    asked = {**_asked(filters, all, dry_run, expected_count), "note": note}
    return (yield from _change_many(session, "discard", asked, on_progress))


def _asked(
    filters: Mapping[str, Any], everything: bool, dry_run: bool, expected_count: int | None
) -> dict[str, Any]:
    if expected_count is not None:
        whole_number("expected_count", expected_count, MAX_LIMIT, least=0)
    return {
        **filters,
        "all": everything or None,
        "dry_run": dry_run or None,
        "expected_count": expected_count,
    }


def _change_many(
    session: Session, verb: str, given: Mapping[str, Any], on_progress: BulkProgress | None
) -> Operation[BulkReport]:
    body = filters_of(given)
    return (yield from change_in_calls(session, target("jobs", verb), body, on_progress))


def change_in_calls(
    session: Session, at: str, body: Mapping[str, Any], on_progress: BulkProgress | None
) -> Operation[BulkReport]:
    """Call until every job was looked at; a call does up to 1,000 jobs or 20 seconds of work."""
    is_dry = "dry_run" in body
    report = BulkReport()
    cursor: str | None = None
    while True:
        asked = body if cursor is None else {**body, "cursor": cursor}
        request = Request(method="POST", target=at, body=encoded(asked, "filters"))
        exchanged = yield from exchange(session, request)
        part = read(BulkResult, decoded(exchanged.answer.body))
        # What only counts has lost nothing with an answer: the repeated one has the whole count.
        report = _together(report, part, exchanged.lost_before and not is_dry)
        before, cursor = cursor, part.next_cursor
        stops = cursor is not None and is_dry and report.matched >= MAX_COUNTED
        if stops:
            report = replace(report, is_least=True)
        if on_progress is not None:
            on_progress(report)
        if cursor is None or stops:
            return report
        if cursor == before:
            raise UnexpectedAnswer(
                "The API returned the same next_cursor twice, so the operation would never end."
            )


def _together(report: BulkReport, part: BulkResult, lost_before: bool) -> BulkReport:
    room = MAX_KEPT_FAILURES - len(report.failed)
    failed = [BulkFailure(id=one.id, error=_error_of(one.error)) for one in part.failed[:room]]
    return BulkReport(
        matched=report.matched + part.matched,
        changed=report.changed + part.changed,
        failed=(*report.failed, *failed),
        is_least=report.is_least or lost_before,
        schedules=tuple(dict.fromkeys((*report.schedules, *part.schedules)))[:MAX_SCHEDULES],
    )


def _error_of(problem: Any) -> ClientError:
    known = problem if isinstance(problem, dict) else {}
    status = known.get("status")
    return problem_failure(known, status if isinstance(status, int) else 0)
