"""The routes about the system: figures and liveness."""

from __future__ import annotations

from hourhand.answers import system
from hourhand.answers.system import Health, Resweep, Stats
from hourhand.api.access import OPERATE_ALL, READ_SHARED
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.requests.jobs import ResweepInput
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.json_dataclasses import to_json

ROUTES = RouteTable(Route)


@ROUTES.add("GET /stats", READ_SHARED, None, system.Stats)
def get_stats(services: Services, _: Request, __: str) -> Answer:
    """Read the queues' counts, the lateness and the scheduler's state."""
    return Answer.of(to_json(Stats, services.queries.stats()))


@ROUTES.add("POST /resweep", OPERATE_ALL, ResweepInput, system.Resweep)
def post_resweep(services: Services, request: Request, _: str) -> Answer:
    """Request a resweep: read every bucket again from a time on, after a restore."""
    wanted = ResweepInput.parse(request.json())
    progress = services.resweeps.request(wanted.since)
    services.telemetry.info("A caller requested a resweep.", caller=request.actor)
    return Answer.of(to_json(Resweep, progress))


@ROUTES.add("GET /resweep", READ_SHARED, None, system.Resweep)
def get_resweep(services: Services, _: Request, __: str) -> Answer:
    """Read the progress of the last resweep."""
    return Answer.of(to_json(Resweep, services.resweeps.progress()))


@ROUTES.add("GET /health", READ_SHARED, None, system.Health)
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
