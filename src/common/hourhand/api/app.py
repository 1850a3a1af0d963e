"""The HTTP API as one function: an API Gateway event in, its answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hourhand.api.access import READ_SHARED
from hourhand.api.http_request import Request, read_event
from hourhand.api.http_response import Answer
from hourhand.api.problems import log_if_unforeseen, problem_answer
from hourhand.api.routes import DOCUMENTED
from hourhand.api.routing import Route, Services, answer_request

App = Callable[[Mapping[str, Any], object], dict[str, Any]]


def get_openapi(services: Services, request: Request, _: str) -> Answer:
    """``GET /openapi.json``."""
    # Imported only for this request, not at a cold start.
    from hourhand.api.openapi import openapi_document  # noqa: PLC0415

    return Answer.of(openapi_document(request.stage_prefix, services.access.scope_prefix))


def get_docs(services: Services, request: Request, _: str) -> Answer:
    """``GET /docs``."""
    from hourhand.api.docs_page import docs_page  # noqa: PLC0415
    from hourhand.api.openapi import openapi_document  # noqa: PLC0415

    return docs_page(openapi_document(request.stage_prefix, services.access.scope_prefix))


ROUTES = (
    *DOCUMENTED,
    Route(get_openapi, "GET /openapi.json", READ_SHARED),
    Route(get_docs, "GET /docs", READ_SHARED),
)


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
