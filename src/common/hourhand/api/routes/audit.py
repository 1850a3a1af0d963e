"""The route that lists what callers did."""

from __future__ import annotations

from hourhand.answers import audit
from hourhand.answers.audit import AuditEvent, AuditPage
from hourhand.api.access import READ_OWN
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.requests.filters import AuditRequest
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.domain.callers import identity_of, name_of
from hourhand.json_dataclasses import to_json

ROUTES = RouteTable(Route)


@ROUTES.add("GET /audit", READ_OWN, AuditRequest, audit.AuditPage, also=(404,))
def search_audit(services: Services, request: Request, _: str) -> Answer:
    """List what callers did with the jobs and schedules that are kept, in pages."""
    page = services.audit.search(AuditRequest.parse(request.query()))
    identities = services.callers.identities(event.actor for event in page.events)
    told = []
    for event in page.events:
        identity = identity_of(event.actor, identities) or event.actor
        told.append(to_json(AuditEvent, event, caller=identity, actor=name_of(identity)))
    return Answer.of(to_json(AuditPage, page, events=told))
