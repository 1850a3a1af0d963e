"""The HTTP API as one function: an API Gateway event in, its answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hourhand.api.http_request import read_event
from hourhand.api.problems import log_if_unforeseen, problem_answer
from hourhand.api.routes.audit import AUDIT_ROUTES
from hourhand.api.routes.bulk import BULK_ROUTES
from hourhand.api.routes.calendars import CALENDAR_ROUTES
from hourhand.api.routes.graphs import GRAPH_ROUTES
from hourhand.api.routes.handlers import HANDLER_ROUTES
from hourhand.api.routes.jobs import JOB_ROUTES
from hourhand.api.routes.limits import LIMIT_ROUTES
from hourhand.api.routes.quotas import QUOTA_ROUTES
from hourhand.api.routes.runs import RUN_ROUTES
from hourhand.api.routes.schedules import SCHEDULE_ROUTES
from hourhand.api.routes.system import SYSTEM_ROUTES
from hourhand.api.routing import Services, answer_request

ROUTES = (
    *JOB_ROUTES,
    *RUN_ROUTES,
    *GRAPH_ROUTES,
    *BULK_ROUTES,
    *SCHEDULE_ROUTES,
    *CALENDAR_ROUTES,
    *HANDLER_ROUTES,
    *LIMIT_ROUTES,
    *QUOTA_ROUTES,
    *AUDIT_ROUTES,
    *SYSTEM_ROUTES,
)

App = Callable[[Mapping[str, Any], object], dict[str, Any]]


def create_app(services: Services) -> App:
    """Return what answers events of API Gateway (HTTP API, payload format 2.0).

    It keeps no state of a request, so threads may call it side by side. It raises nothing: an
    unexpected error is logged and answered with 500.
    """

    def app(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
        is_head = False
        try:
            request = read_event(event)
            is_head = request.method == "HEAD"
            answer = answer_request(ROUTES, services, request)
        except Exception as error:  # noqa: BLE001 - the last resort: no caller sees a stack
            log_if_unforeseen(services.telemetry, error)
            answer = problem_answer(error)
        return answer.to_event(with_body=not is_head)

    return app
