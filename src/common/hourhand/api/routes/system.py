"""The routes about the system: figures, liveness, and the description of the API."""

from __future__ import annotations

from hourhand.answers import system
from hourhand.answers.system import Health, Resweep, Stats
from hourhand.api.access import OPERATE_ALL, READ_SHARED
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.requests.jobs import ResweepInput
from hourhand.api.routing import Route, Services
from hourhand.json_dataclasses import to_json


def get_stats(services: Services, _: Request, __: str) -> Answer:
    """Read the queues' counts, the lateness and the scheduler's state."""
    return Answer.of(to_json(Stats, services.queries.stats()))


def post_resweep(services: Services, request: Request, _: str) -> Answer:
    """Request a resweep: read every bucket again from a time on, after a restore."""
    wanted = ResweepInput.parse(request.json())
    progress = services.resweeps.request(wanted.since)
    services.telemetry.info("A caller requested a resweep.", caller=request.actor)
    return Answer.of(to_json(Resweep, progress))


def get_resweep(services: Services, _: Request, __: str) -> Answer:
    """Read the progress of the last resweep."""
    return Answer.of(to_json(Resweep, services.resweeps.progress()))


def get_health(services: Services, _: Request, __: str) -> Answer:
    """Check that the API answers.

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
    Route("GET /stats", get_stats, READ_SHARED, None, system.Stats),
    Route("POST /resweep", post_resweep, OPERATE_ALL, ResweepInput, system.Resweep),
    Route("GET /resweep", get_resweep, READ_SHARED, None, system.Resweep),
    Route("GET /health", get_health, READ_SHARED, None, system.Health),
    Route("GET /openapi.json", get_openapi, READ_SHARED, documented=False),
    Route("GET /docs", get_docs, READ_SHARED, documented=False),
)
