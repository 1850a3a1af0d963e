"""The routes of bulk operations."""

from __future__ import annotations

from hourhand.answers import batches
from hourhand.api.access import BULK
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.problems import log_if_unforeseen
from hourhand.api.requests.filters import BulkDiscard, BulkRequest
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.api.views.jobs import bulk_result
from hourhand.services.jobs.bulk import BulkResult

ROUTES = RouteTable(Route)


@ROUTES.add("POST /jobs/cancel", BULK, BulkRequest, batches.BulkResult, tag="bulk")
def cancel_jobs(services: Services, request: Request, _: str) -> Answer:
    """Cancel many jobs."""
    bulk = BulkRequest.parse(request.json())
    return _answer(services, services.bulk.cancel(bulk, actor=request.actor))


@ROUTES.add("POST /jobs/redrive", BULK, BulkRequest, batches.BulkResult, tag="bulk")
def redrive_jobs(services: Services, request: Request, _: str) -> Answer:
    """Redrive many jobs: DEAD jobs, or those with the given status."""
    bulk = BulkRequest.parse(request.json())
    return _answer(services, services.bulk.redrive(bulk, actor=request.actor))


@ROUTES.add("POST /jobs/discard", BULK, BulkDiscard, batches.BulkResult, tag="bulk")
def discard_jobs(services: Services, request: Request, _: str) -> Answer:
    """Discard many DEAD jobs."""
    bulk = BulkDiscard.parse(request.json())
    return _answer(services, services.bulk.discard(bulk, actor=request.actor))


def _answer(services: Services, result: BulkResult) -> Answer:
    for failure in result.failed:
        log_if_unforeseen(services.telemetry, failure.error)
    return Answer.of(bulk_result(result))
