"""The routes of schedules: put, read, list, operate, look back and ahead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hourhand.answers import jobs, schedules
from hourhand.api.access import OPERATE_SCHEDULE, READ_SCHEDULE, READ_SHARED, Access, Bound, Scope
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.pages import answer_page, fitting_page, require_schedule
from hourhand.api.requests._errors import quoted
from hourhand.api.requests.schedule_operations import (
    BackfillInput,
    NoteInput,
    PageRequest,
    PreviewInput,
    PutQuery,
    SchedulePageRequest,
    TriggerInput,
)
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.api.views.jobs import job_response
from hourhand.api.views.schedules import (
    backfill_report,
    backfill_response,
    occurrence_page,
    preview_response,
    schedule_response,
)
from hourhand.domain.errors import FieldError, InvalidInput, NotFound
from hourhand.domain.ids import OWN_ID
from hourhand.domain.schedules.backfills import BackfillChange
from hourhand.services.schedules.queries import OccurrencePage, OccurrenceRecord
from hourhand.services.schedules.views import ScheduleView

MAX_SCHEDULES_WITH_RECENT = 50
"""Twenty runs of each are 1,000 jobs: ten calls of BatchGetItem, about a second."""

_NUMBER = re.compile(r"[1-9][0-9]{0,5}")

Runs = Sequence[OccurrenceRecord]

ROUTES = RouteTable(Route)


@ROUTES.add(
    "PUT /schedules/{id}",
    Access(Scope.OPERATE, Bound.PUT_SCHEDULE),
    ScheduleInput,
    schedules.Schedule,
    query=PutQuery,
    statuses=(200, 201),
)
def put_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """Create a schedule, or replace all of it."""
    if OWN_ID.fullmatch(schedule_id) is None:
        fault = FieldError("id", "must be 1 to 100 of A-Z, a-z, 0-9, _ and -")
        raise InvalidInput("The id in the URL is invalid.", errors=(fault,))
    query = PutQuery.parse(request.query())
    wanted = ScheduleInput.parse(request.json())
    if query.dry_run == "true":
        return _told(services.schedules.preview_put(schedule_id, wanted, tenant=request.tenant))
    view, created = services.schedules.put(
        schedule_id, wanted, actor=request.actor, tenant=request.tenant
    )
    location = request.address(f"/schedules/{schedule_id}")
    return Answer.stored(schedule_response(view), location, is_new=created)


@ROUTES.add(
    "GET /schedules", Access(Scope.READ, Bound.OWN), SchedulePageRequest, schedules.SchedulePage
)
def list_schedules(services: Services, request: Request, _: str) -> Answer:
    """List schedules by id, in pages."""
    query = SchedulePageRequest.parse(request.query())
    read_page = services.schedule_views.list
    if request.tenant is not None:
        read_page = partial(services.schedule_views.list_of_tenant, request.tenant)
    if not query.recent:
        return answer_page("schedules", query, read_page, _named)

    def read(
        after: str | None, limit: int
    ) -> tuple[Sequence[tuple[ScheduleView, Runs]], str | None]:
        views, next_name = read_page(after, min(limit, MAX_SCHEDULES_WITH_RECENT))
        recent = services.occurrences.recent([v.schedule for v in views], count=query.recent)
        runs = {name: _own_runs(records, request.tenant) for name, records in recent.items()}
        return [(view, runs[view.schedule.id]) for view in views], next_name

    return answer_page("schedules", query, read, lambda pair: _named(*pair))


@ROUTES.add("GET /schedules/{id}", READ_SCHEDULE, None, schedules.Schedule)
def get_schedule(services: Services, _: Request, schedule_id: str) -> Answer:
    """Read a schedule."""
    return _told(services.schedule_views.get(require_schedule(schedule_id)))


@ROUTES.add("DELETE /schedules/{id}", OPERATE_SCHEDULE, statuses=(204,))
def delete_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """Delete a schedule, and cancel its waiting jobs."""
    services.schedules.delete(require_schedule(schedule_id), actor=request.actor)
    return Answer(status=204)


@ROUTES.add("POST /schedules/preview", READ_SHARED, PreviewInput, schedules.Preview)
def preview_schedule(services: Services, request: Request, _: str) -> Answer:
    """Compute the next scheduled times; create nothing."""
    wanted = PreviewInput.parse(request.json())
    preview = services.previews.preview(
        wanted.definition, count=wanted.count, after=wanted.after, month=wanted.month
    )
    return Answer.of(preview_response(preview))


@ROUTES.add("POST /schedules/{id}/pause", OPERATE_SCHEDULE, NoteInput | None, schedules.Schedule)
def pause_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """Pause a schedule; its running jobs continue."""
    known_id, note = require_schedule(schedule_id), _note(request)
    return _told(services.schedules.pause(known_id, note, actor=request.actor))


@ROUTES.add("POST /schedules/{id}/resume", OPERATE_SCHEDULE, NoteInput | None, schedules.Schedule)
def resume_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """Resume a paused schedule."""
    known_id, note = require_schedule(schedule_id), _note(request)
    return _told(services.schedules.resume(known_id, note, actor=request.actor))


@ROUTES.add(
    "POST /schedules/{id}/trigger",
    OPERATE_SCHEDULE,
    TriggerInput | None,
    jobs.Job,
    statuses=(201,),
    also=(429,),
)
def trigger_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """Run a schedule's job once, now."""
    known_id = require_schedule(schedule_id)
    wanted = TriggerInput.parse(request.json() if request.has_body else {})
    job = services.schedules.trigger(
        known_id,
        wanted.note,
        actor=request.actor,
        trace_id=request.trace_id,
        key=wanted.idempotency_key,
        **wanted.changes,
    )
    answer = job_response(services.queries.report(job))
    return Answer.stored(answer, request.address(f"/jobs/{job.id}"))


@ROUTES.add(
    "POST /schedules/{id}/backfill", OPERATE_SCHEDULE, BackfillInput, schedules.BackfillReport
)
def backfill_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """Run a schedule for a period of the past."""
    known_id = require_schedule(schedule_id)
    wanted = BackfillInput.parse(request.json())
    report = services.backfills.start(known_id, wanted, actor=request.actor)
    return Answer.of(backfill_report(report))


@ROUTES.add("GET /schedules/{id}/backfills", READ_SCHEDULE, PageRequest, schedules.BackfillPage)
def list_backfills(services: Services, request: Request, schedule_id: str) -> Answer:
    """List the backfills of a schedule, newest first."""
    read = partial(services.backfills.list, require_schedule(schedule_id))
    query = PageRequest.parse(request.query())
    return answer_page(
        "backfills", query, read, lambda pair: (pair[0].id, backfill_response(*pair))
    )


def change_backfill(services: Services, request: Request, schedule_id: str) -> Answer:
    """Pause, resume or cancel a backfill; its running jobs continue.

    The path ends with the verb.
    """
    known_id, note = require_schedule(schedule_id), _note(request)
    number, verb = request.path.rsplit("/", 2)[1:]
    if _NUMBER.fullmatch(number) is None:
        raise NotFound(f"Schedule {known_id} has no backfill {quoted(number)}.")
    backfill = services.backfills.change(
        known_id, int(number), BackfillChange[verb.upper()], note, request.actor
    )
    return Answer.of(backfill_response(*backfill))


for _verb in ("pause", "resume", "cancel"):
    ROUTES.add(
        f"POST /schedules/{{id}}/backfills/{{n}}/{_verb}",
        OPERATE_SCHEDULE,
        NoteInput | None,
        schedules.Backfill,
    )(change_backfill)


@ROUTES.add("GET /schedules/{id}/occurrences", READ_SCHEDULE, PageRequest, schedules.OccurrencePage)
def list_occurrences(services: Services, request: Request, schedule_id: str) -> Answer:
    """List past occurrences, newest first, and the next ten.

    A page whose jobs have many tags comes back shorter.
    """
    known_id = require_schedule(schedule_id)
    query = PageRequest.parse(request.query())
    return fitting_page(
        query,
        lambda **at: occurrence_page(
            _own_jobs(services.occurrences.history(known_id, **at), request.tenant)
        ),
    )


def _named(view: ScheduleView, recent: Runs = ()) -> tuple[str, dict[str, Any]]:
    return view.schedule.id, schedule_response(view, recent)


def _own_jobs(page: OccurrencePage, tenant: str | None) -> OccurrencePage:
    return replace(page, entries=_own_runs(page.entries, tenant))


def _own_runs(
    records: Sequence[OccurrenceRecord], tenant: str | None
) -> tuple[OccurrenceRecord, ...]:
    """Return entries without the jobs of other tenants: the schedule was another one's then."""
    if tenant is None:
        return tuple(records)
    return tuple(
        replace(record, job=None)
        if record.job is not None and record.job.tenant != tenant
        else record
        for record in records
    )


def _told(view: ScheduleView) -> Answer:
    return Answer.of(schedule_response(view))


def _note(request: Request) -> str | None:
    """Return the note that came along; the body may be absent."""
    return NoteInput.parse(request.json() if request.has_body else {}).note
