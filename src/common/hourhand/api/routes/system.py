"""The routes about the system: figures, liveness, and the description of the API."""

from __future__ import annotations

from hourhand.answers.system import Health, Resweep, Stats
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.requests import ResweepInput
from hourhand.api.routing import Route, Services
from hourhand.json_dataclasses import to_json


def get_stats(services: Services, _: Request, __: str) -> Answer:
    """``GET /stats``."""
    return Answer.of(to_json(Stats, services.queries.stats()))


def post_resweep(services: Services, request: Request, _: str) -> Answer:
    """``POST /resweep``: read every bucket again from a time on."""
    wanted = ResweepInput.parse(request.json())
    return Answer.of(to_json(Resweep, services.resweeps.request(wanted.since)))


def get_resweep(services: Services, _: Request, __: str) -> Answer:
    """``GET /resweep``: how far the last one is."""
    return Answer.of(to_json(Resweep, services.resweeps.progress()))


def get_health(services: Services, _: Request, __: str) -> Answer:
    """``GET /health``: this process answers, and which installation it is of.

    It calls no AWS service.
    """
    settings = services.settings
    return Answer.of(
        to_json(
            Health,
            settings,
            status="ok",
            stage=settings.stage or None,
            region=settings.region or None,
            account=settings.account or None,
        )
    )


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


SYSTEM_ROUTES = (
    Route("GET", "/v1/stats", get_stats),
    Route("POST", "/v1/resweep", post_resweep, takes_body=True),
    Route("GET", "/v1/resweep", get_resweep),
    Route("GET", "/v1/health", get_health),
    Route("GET", "/v1/openapi.json", get_openapi),
    Route("GET", "/v1/docs", get_docs),
)
