"""The operations on schedules: put, read, pause, trigger, backfill, preview."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict, Unpack

from hourhand.answers.graphs import ScheduleGrid
from hourhand.answers.jobs import Job
from hourhand.answers.schedules import (
    Backfill,
    BackfillReport,
    Fire,
    Occurrence,
    Preview,
    Schedule,
)
from hourhand.client._operations._asking import (
    ask,
    ask_for,
    delete_at,
    members,
    named,
    pages,
    target,
    whole_number,
)
from hourhand.client._operations._schedule_fields import ScheduleFields, encoded_schedule, merged
from hourhand.client._steps import Operation, Session, Stream
from hourhand.client._values import A, encoded, read, time_text
from hourhand.domain.groups.overlap import OverlapChoice
from hourhand.domain.jobs.job import PriorityChoice
from hourhand.domain.schedules.schedule import OrderChoice, ReprocessChoice

MAX_RECENT = 20
"""Newest runs of a schedule in a listing, as the API allows."""

MAX_BACKFILL = 999_999
"""The number of a backfill has at most six digits."""

MAX_GRID_RUNS = 100
"""Runs in a grid, as the API allows."""


def put(
    session: Session,
    schedule_id: str,
    schedule: Mapping[str, Any] | None = None,
    /,
    *,
    dry_run: bool = False,
    **fields: Unpack[ScheduleFields],
) -> Operation[Schedule]:
    """Create a schedule, or replace all of it, from a mapping or from fields by name.

    ``client.schedules.put("nightly", expression="0 3 * * *", timezone="Europe/Berlin",
    handler="report")``. Without ``paused`` or ``managed_by``, one that is replaced stays as it is;
    ``managed_by=None`` clears it. With ``dry_run``, return the schedule as it would be, and change
    nothing. Raises `Invalid`.
    """
    body = encoded_schedule(merged(schedule, fields))
    query = {"dry_run": "true"} if dry_run else None
    at = target("schedules", named("id", schedule_id), query=query)
    return ask_for(Schedule, session, "PUT", at, body)


def get(session: Session, schedule_id: str) -> Operation[Schedule]:
    """Return a schedule. Raises `NotFound`."""
    return ask_for(Schedule, session, "GET", _at(schedule_id))


def list_schedules(
    session: Session, *, page_size: int = 50, limit: int | None = None, recent: int = 0
) -> Stream[Schedule]:
    """Iterate over schedules in the order of their ids.

    ``recent``: how many of its newest runs each of them has, at most 20. Raises `Invalid`.
    """
    whole_number("recent", recent, MAX_RECENT, least=0)
    query = {"recent": recent} if recent else {}
    yield from pages(
        session,
        Schedule,
        ("schedules",),
        "schedules",
        page_size=page_size,
        limit=limit,
        query=query,
    )


def delete(session: Session, schedule_id: str) -> Operation[None]:
    """Delete a schedule. Raises `NotFound`."""
    yield from delete_at(session, _at(schedule_id))


def pause(session: Session, schedule_id: str, *, note: str | None = None) -> Operation[Schedule]:
    """Pause a schedule: it creates no more jobs until it is resumed. Raises `NotFound`."""
    return _noted(Schedule, session, note, schedule_id, "pause")


def resume(session: Session, schedule_id: str, *, note: str | None = None) -> Operation[Schedule]:
    """Resume a paused schedule. Raises `NotFound`."""
    return _noted(Schedule, session, note, schedule_id, "resume")


class TriggerOptions(TypedDict, total=False):
    """What a triggered job has otherwise than its schedule says: see `trigger`."""

    note: str | None
    payload: Any
    priority: PriorityChoice | None
    idempotency_key: str | None


def trigger(
    session: Session, schedule_id: str, **options: Unpack[TriggerOptions]
) -> Operation[Job]:
    """Run a schedule's job once, now, beside its scheduled ones, and return the job.

    ``payload`` and ``priority`` are for this job instead of the schedule's. With an
    ``idempotency_key``, a repeat returns the same job. Without, each call creates a job, so a lost
    answer is not retried: it raises `Unreachable` with ``may_have_happened``, and `occurrences`
    shows whether the job exists. Raises `Conflict`, `Invalid`, `NotFound`.
    """
    at, is_repeatable = _at(schedule_id, "trigger"), options.get("idempotency_key") is not None
    body = encoded_schedule(options)
    return ask_for(Job, session, "POST", at, body, is_repeatable=is_repeatable)


class BackfillOptions(TypedDict, total=False):
    """How a backfill runs: see `backfill`."""

    overlap: OverlapChoice | None
    order: OrderChoice | None
    max_active: int | None
    reprocess: ReprocessChoice | None
    note: str | None


def backfill(
    session: Session,
    schedule_id: str,
    start: datetime,
    end: datetime,
    *,
    dry_run: bool = False,
    **options: Unpack[BackfillOptions],
) -> Operation[BackfillReport]:
    """Run the scheduled times from ``start`` to ``end``, both included; or only count them.

    ``order`` is ``oldest`` or ``newest`` first, ``max_active`` how many run side by side, and
    ``reprocess`` (``none``, ``failed``, ``all``) which run again that have a job already. As with
    `trigger`, a lost answer is not retried. Raises `Invalid`, `Conflict`, `NotFound`.
    """
    # They are checked by the names that they have here: `from` cannot name an argument.
    span = {"from": time_text("start", start), "to": time_text("end", end)}
    body = encoded_schedule({**span, "dry_run": dry_run or None, **options})
    return ask_for(
        BackfillReport, session, "POST", _at(schedule_id, "backfill"), body, is_repeatable=dry_run
    )


def backfills(
    session: Session, schedule_id: str, *, page_size: int = 50, limit: int | None = None
) -> Stream[Backfill]:
    """Iterate over a schedule's backfills, newest first. Raises `NotFound`."""
    listing = ("schedules", named("id", schedule_id), "backfills")
    yield from pages(session, Backfill, listing, "backfills", page_size=page_size, limit=limit)


def pause_backfill(
    session: Session, schedule_id: str, n: int, *, note: str | None = None
) -> Operation[Backfill]:
    """Pause a backfill by its number: those of its jobs that did not begin are cancelled.

    Raises `NotFound`, `Conflict` for one that ended.
    """
    return _change_backfill(session, schedule_id, n, "pause", note)


def resume_backfill(
    session: Session, schedule_id: str, n: int, *, note: str | None = None
) -> Operation[Backfill]:
    """Resume a paused backfill, even while its schedule is paused. Raises as `pause_backfill`."""
    return _change_backfill(session, schedule_id, n, "resume", note)


def cancel_backfill(
    session: Session, schedule_id: str, n: int, *, note: str | None = None
) -> Operation[Backfill]:
    """Cancel a backfill and its jobs that wait. Raises as `pause_backfill`."""
    return _change_backfill(session, schedule_id, n, "cancel", note)


def _change_backfill(
    session: Session, schedule_id: str, n: int, verb: str, note: str | None
) -> Operation[Backfill]:
    whole_number("n", n, MAX_BACKFILL)
    return _noted(Backfill, session, note, schedule_id, "backfills", str(n), verb)


def occurrences(
    session: Session, schedule_id: str, *, page_size: int = 50, limit: int | None = None
) -> Stream[Occurrence]:
    """Iterate over a schedule's past occurrences, newest first."""
    listing = ("schedules", named("id", schedule_id), "occurrences")
    yield from pages(session, Occurrence, listing, "occurrences", page_size=page_size, limit=limit)


def upcoming(session: Session, schedule_id: str) -> Operation[tuple[datetime, ...]]:
    """Return the next ten scheduled times of a schedule. Raises `NotFound`."""
    at = target("schedules", named("id", schedule_id), "occurrences", query={"limit": 1})
    value = yield from ask(session, "GET", at)
    return tuple([read(Fire, one).at for one in members(value, "upcoming")])


def preview(
    session: Session,
    schedule: Mapping[str, Any] | None = None,
    /,
    *,
    count: int = 10,
    after: datetime | None = None,
    month: str | None = None,
    **fields: Unpack[ScheduleFields],
) -> Operation[Preview]:
    """Return the scheduled times of a definition after ``after`` (default: now); create nothing.

    ``month``, such as ``2026-12``: count them for each of its days, too. The handler may be left
    out. Raises `Invalid`.
    """
    wanted = encoded_schedule({"count": count, "after": after, "month": month})
    body = wanted[:-1] + b',"schedule":' + encoded_schedule(merged(schedule, fields)) + b"}"
    return ask_for(Preview, session, "POST", target("schedules", "preview"), body)


def grid(session: Session, schedule_id: str, *, runs: int = 25) -> Operation[ScheduleGrid]:
    """Return the last runs of a schedule, newest first, with the nodes of each graph.

    ``runs``: how many, at most 100. Raises `NotFound`.
    """
    whole_number("runs", runs, MAX_GRID_RUNS)
    at = target("schedules", named("id", schedule_id), "grid", query={"runs": runs})
    return ask_for(ScheduleGrid, session, "GET", at)


def _at(schedule_id: str, *rest: str) -> str:
    return target("schedules", named("id", schedule_id), *rest)


def _noted(
    kind: type[A], session: Session, note: str | None, schedule_id: str, *rest: str
) -> Operation[A]:
    body = encoded({} if note is None else {"note": note}, "note")
    return ask_for(kind, session, "POST", _at(schedule_id, *rest), body)
