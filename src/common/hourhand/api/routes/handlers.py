"""The routes of the registered handlers: what they take, and whether they are paused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hourhand.answers import system
from hourhand.answers.system import (
    Handler,
    HandlerDebounce,
    HandlerLimit,
    HandlerPause,
    HandlerPolicies,
    HandlerSchedule,
    HandlerUnique,
)
from hourhand.api.access import OPERATE_ALL, READ_SHARED
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.requests._errors import quoted
from hourhand.api.requests.schedule_operations import HandlerPauseInput, NoteInput
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.domain.errors import NotFound
from hourhand.domain.jobs.pauses import HandlerPauses
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Concurrency, Limit, limit_names
from hourhand.json_dataclasses import to_json
from hourhand.ports.handler_directory import DeclaredSchedule, HandlerInfo
from hourhand.services.jobs.new_job import say_unknown

ROUTES = RouteTable(Route)


@ROUTES.add("GET /handlers", READ_SHARED, None, system.Handlers)
def get_handlers(services: Services, _: Request, __: str) -> Answer:
    """List the registered handlers."""
    pauses, now = services.pauses.read()
    return Answer.of({"handlers": [_handler(i, pauses, now) for i in services.handlers.all()]})


@ROUTES.add("GET /handlers/{name}", READ_SHARED, None, system.Handler)
def get_handler(services: Services, _: Request, name: str) -> Answer:
    """Read a handler: the schema of its payload, its policies, whether it is paused."""
    return _answer(services, _require(services, name))


@ROUTES.add("POST /handlers/{name}/pause", OPERATE_ALL, HandlerPauseInput | None, system.Handler)
def pause_handler(services: Services, request: Request, name: str) -> Answer:
    """Pause a handler: no job of it starts until it is resumed, or until a time."""
    info = _require(services, name)
    wanted = HandlerPauseInput.parse(request.json() if request.has_body else {})
    services.pauses.pause(name, until=wanted.until, note=wanted.note, actor=request.actor)
    return _answer(services, info)


@ROUTES.add("POST /handlers/{name}/resume", OPERATE_ALL, NoteInput | None, system.Handler)
def resume_handler(services: Services, request: Request, name: str) -> Answer:
    """End the pause of a handler, and send the jobs that waited for it."""
    info = _require(services, name)
    note = NoteInput.parse(request.json() if request.has_body else {}).note
    services.pauses.resume(name, note=note, actor=request.actor)
    return _answer(services, info)


def _require(services: Services, name: str) -> HandlerInfo:
    info = services.handlers.find(name)
    if info is None:
        raise NotFound(f"The handler {quoted(name)} {say_unknown(services.handlers, name)}.")
    return info


def _answer(services: Services, info: HandlerInfo) -> Answer:
    return Answer.of(_handler(info, *services.pauses.read()))


def _handler(info: HandlerInfo, pauses: HandlerPauses, now: datetime) -> dict[str, Any]:
    pause = pauses.of(info.name, now)
    return to_json(
        Handler,
        info,
        payload_validated=info.payload_check is not None,
        policies=to_json(HandlerPolicies, info.policies),
        limits=[
            _limit(name, limit)
            for name, limit in zip(limit_names(info.name, info.limits), info.limits, strict=True)
        ],
        unique=None if info.unique is None else to_json(HandlerUnique, info.unique),
        debounce=None if info.debounce is None else _debounce(info.debounce),
        schedule=None if info.schedule is None else _schedule(info.schedule),
        paused=None if pause is None else to_json(HandlerPause, pause),
    )


def _limit(name: str, limit: Limit) -> dict[str, Any]:
    if isinstance(limit, Concurrency):
        own: dict[str, Any] = {"kind": "concurrency", "per_seconds": None, "burst": None}
    else:
        own = {
            "kind": "rate",
            "max": limit.count,
            "per_seconds": limit.per,
            "burst": limit.burst_size,
            **dict.fromkeys(("on_full", "max_waiting", "holds", "order")),
        }
    return to_json(HandlerLimit, limit, name=name, **own)


def _debounce(debounce: Debounce) -> dict[str, Any]:
    waits = {"wait_seconds": debounce.wait, "max_wait_seconds": debounce.max_wait}
    return to_json(HandlerDebounce, debounce, **waits)


def _schedule(declared: DeclaredSchedule) -> dict[str, Any]:
    expression = declared.expression
    shown = expression if isinstance(expression, str) else list(expression)
    return to_json(HandlerSchedule, declared, expression=shown)
