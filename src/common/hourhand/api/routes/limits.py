"""The routes of limits: which jobs hold their slots and wait for them, and their numbers."""

from __future__ import annotations

from typing import Any

from hourhand.answers import batches, limits
from hourhand.answers.limits import ChangedLimit, JobOfLimit, Limit, LimitSummary
from hourhand.api.access import OPERATE_ALL, READ_ALL
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.pages import answer_page
from hourhand.api.requests.limits import FreeInput, LimitInput, LimitQuery, RetimeInput
from hourhand.api.requests.schedule_operations import PageRequest
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.api.views.jobs import bulk_result
from hourhand.domain.limits.declarations import LIMIT_NAME, Concurrency, Rate
from hourhand.json_dataclasses import to_json
from hourhand.services.limits.operations import LimitReport

ROUTES = RouteTable(Route)


@ROUTES.add("GET /limits", READ_ALL, PageRequest, limits.LimitPage)
def list_limits(services: Services, request: Request, _: str) -> Answer:
    """List the limits of all handlers, by name."""
    return answer_page(
        "limits",
        PageRequest.parse(request.query()),
        services.limits.list,
        lambda report: (
            report.declared.name,
            to_json(LimitSummary, report, **_fields(report)),
        ),
        LIMIT_NAME,
    )


@ROUTES.add("GET /limits/{name}", READ_ALL, LimitQuery, limits.Limit)
def get_limit(services: Services, request: Request, name: str) -> Answer:
    """Read a limit: which jobs hold its slots, and which wait."""
    wanted = LimitQuery.parse(request.query())
    report = services.limits.show(name, wanted.key)
    return Answer.of(to_json(Limit, report, **_whole(report)))


@ROUTES.add("PUT /limits/{name}", OPERATE_ALL, LimitInput, limits.ChangedLimit)
def put_limit(services: Services, request: Request, name: str) -> Answer:
    """Set numbers of a limit in the place of those in the code."""
    changes = LimitInput.parse(request.json()).changes
    report, granted = services.limits.change(name, changes, actor=request.actor)
    return Answer.of(to_json(ChangedLimit, report, granted=granted, **_whole(report)))


@ROUTES.add("DELETE /limits/{name}", OPERATE_ALL, None, limits.ChangedLimit)
def delete_limit(services: Services, request: Request, name: str) -> Answer:
    """Remove the numbers that were set for a limit."""
    report, granted = services.limits.restore(name, actor=request.actor)
    return Answer.of(to_json(ChangedLimit, report, granted=granted, **_whole(report)))


@ROUTES.add("POST /limits/{name}/free", OPERATE_ALL, FreeInput, limits.Limit)
def free_slot(services: Services, request: Request, name: str) -> Answer:
    """Free the slot that a DEAD job keeps."""
    job_id = FreeInput.parse(request.json()).job_id
    report = services.limits.free(name, job_id, actor=request.actor)
    return Answer.of(to_json(Limit, report, **_whole(report)))


@ROUTES.add("POST /limits/{name}/retime", OPERATE_ALL, RetimeInput | None, batches.BulkResult)
def retime_limit(services: Services, request: Request, name: str) -> Answer:
    """Give the jobs that wait for a rate new start times, after its number changed."""
    wanted = RetimeInput.parse(request.json() if request.has_body else {})
    done = services.limits.retime(name, wanted.key, wanted.cursor, actor=request.actor)
    return Answer.of(bulk_result(done))


def _whole(report: LimitReport) -> dict[str, Any]:
    jobs = {"holders": report.holders, "waiters": report.waiters}
    shown = {
        name: None if found is None else [to_json(JobOfLimit, one) for one in found]
        for name, found in jobs.items()
    }
    return _fields(report) | shown


def _fields(report: LimitReport) -> dict[str, Any]:
    declared = report.declared
    return {
        "name": declared.name,
        "kind": "concurrency" if isinstance(declared.limit, Concurrency) else "rate",
        "key": declared.limit.key,
        "declared_max": declared.number,
        "per_seconds": declared.limit.per if isinstance(declared.limit, Rate) else None,
        "overrides": dict(report.override.keys),
        "handlers": list(declared.handlers),
    }
