"""The routes of schedules: put, read, list, operate, look back and ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hourhand.api.http_request import Request
from hourhand.api.http_response import MAX_ANSWER_BYTES, Answer
from hourhand.api.named_pages import answer_page
from hourhand.api.requests import (
    BackfillInput,
    NoteInput,
    PageRequest,
    PreviewInput,
    PutQuery,
    ScheduleInput,
    SchedulePageRequest,
    quoted,
)
from hourhand.api.routing import Route, Services
from hourhand.api.views.jobs import job_response
from hourhand.api.views.schedules import (
    backfill_report,
    occurrence_page,
    preview_response,
    schedule_response,
)
from hourhand.domain.errors import FieldError, InvalidInput, NotFound
from hourhand.domain.ids import OWN_ID
from hourhand.services.schedules.queries import OccurrencePage, OccurrenceRecord
from hourhand.services.schedules.views import ScheduleView

MAX_SCHEDULES_WITH_RECENT = 50
"""Twenty runs of each are 1,000 jobs: ten calls of BatchGetItem, about a second."""

Runs = Sequence[OccurrenceRecord]


def put_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """``PUT /schedules/{id}``: create it, or replace it whole; a dry run only answers it."""
    if OWN_ID.fullmatch(schedule_id) is None:
        fault = FieldError("id", "must be 1 to 100 of A-Z, a-z, 0-9, _ and -")
        raise InvalidInput("The id in the URL is invalid.", errors=(fault,))
    query = PutQuery.parse_query(request.query())
    wanted = ScheduleInput.parse(request.json())
    if query.dry_run == "true":
        return _told(services.schedules.preview_put(schedule_id, wanted, tenant=request.tenant))
    view, created = services.schedules.put(
        schedule_id, wanted, actor=request.actor, tenant=request.tenant
    )
    location = f"{request.stage_prefix}/v1/schedules/{schedule_id}"
    answer = Answer.of(schedule_response(view), status=201 if created else 200)
    return answer.with_headers({"location": location})


def list_schedules(services: Services, request: Request, _: str) -> Answer:
    """``GET /schedules``, in the order of their ids; a page with newest runs is shorter."""
    query = SchedulePageRequest.parse_query(request.query())
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


def get_schedule(services: Services, _: Request, schedule_id: str) -> Answer:
    """``GET /schedules/{id}``."""
    return _told(services.schedule_views.get(_require_id(schedule_id)))


def delete_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """``DELETE /schedules/{id}``."""
    services.schedules.delete(_require_id(schedule_id), actor=request.actor)
    return Answer(status=204)


def pause_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """``POST /schedules/{id}/pause``."""
    known_id, note = _require_id(schedule_id), _note(request)
    return _told(services.schedules.pause(known_id, note, actor=request.actor))


def resume_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """``POST /schedules/{id}/resume``."""
    known_id, note = _require_id(schedule_id), _note(request)
    return _told(services.schedules.resume(known_id, note, actor=request.actor))


def trigger_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """``POST /schedules/{id}/trigger``: run a schedule's job once, now."""
    known_id, note = _require_id(schedule_id), _note(request)
    job = services.schedules.trigger(known_id, note, actor=request.actor, trace_id=request.trace_id)
    location = f"{request.stage_prefix}/v1/jobs/{job.id}"
    answer = Answer.of(job_response(services.queries.report(job)), status=201)
    return answer.with_headers({"location": location})


def backfill_schedule(services: Services, request: Request, schedule_id: str) -> Answer:
    """``POST /schedules/{id}/backfill``."""
    known_id = _require_id(schedule_id)
    wanted = BackfillInput.parse(request.json())
    report = services.backfills.start(known_id, wanted, actor=request.actor)
    return Answer.of(backfill_report(report))


def list_occurrences(services: Services, request: Request, schedule_id: str) -> Answer:
    """``GET /schedules/{id}/occurrences``. A page whose jobs have many tags comes back shorter."""
    known_id = _require_id(schedule_id)
    query = PageRequest.parse_query(request.query())
    limit = query.limit
    while True:
        page = services.occurrences.history(known_id, limit=limit, cursor=query.cursor)
        answer = Answer.of(occurrence_page(_own_jobs(page, request.tenant)))
        if answer.size_bytes <= MAX_ANSWER_BYTES or limit == 1:
            return answer
        limit //= 2


def preview_schedule(services: Services, request: Request, _: str) -> Answer:
    """``POST /schedules/preview``: the next scheduled times; it creates nothing."""
    wanted = PreviewInput.parse(request.json())
    preview = services.previews.preview(
        wanted.definition, count=wanted.count, after=wanted.after, month=wanted.month
    )
    return Answer.of(preview_response(preview))


SCHEDULE_ROUTES = (
    Route("PUT", "/v1/schedules/{id}", put_schedule, takes_query=True, takes_body=True),
    Route("GET", "/v1/schedules", list_schedules, takes_query=True),
    Route("GET", "/v1/schedules/{id}", get_schedule),
    Route("DELETE", "/v1/schedules/{id}", delete_schedule),
    Route("POST", "/v1/schedules/preview", preview_schedule, takes_body=True),
    Route("POST", "/v1/schedules/{id}/pause", pause_schedule, takes_body=True),
    Route("POST", "/v1/schedules/{id}/resume", resume_schedule, takes_body=True),
    Route("POST", "/v1/schedules/{id}/trigger", trigger_schedule, takes_body=True),
    Route("POST", "/v1/schedules/{id}/backfill", backfill_schedule, takes_body=True),
    Route("GET", "/v1/schedules/{id}/occurrences", list_occurrences, takes_query=True),
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


def _require_id(schedule_id: str) -> str:
    if OWN_ID.fullmatch(schedule_id) is None:
        raise NotFound(f"There is no schedule {quoted(schedule_id)}.")
    return schedule_id
