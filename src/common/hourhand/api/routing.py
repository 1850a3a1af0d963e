"""Routes: which function answers which method on which path, who may call it, with what bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Concatenate, Generic, ParamSpec

from pydantic import BaseModel

from hourhand.answers.answered import Answered
from hourhand.api.access import Access, AccessRules, Bound, Scope
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.problems import MethodNotAllowed, problem_answer
from hourhand.api.requests._errors import quoted, require_empty
from hourhand.domain.callers import UNKNOWN
from hourhand.domain.errors import FieldError, Forbidden, NotFound, TooLarge
from hourhand.domain.ids import JOB_ID, OWN_ID
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.telemetry import Telemetry
from hourhand.services.audit import AuditService
from hourhand.services.callers import Callers
from hourhand.services.jobs.bulk import BulkService
from hourhand.services.jobs.logs import LogService
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.jobs.pauses import HandlerPauseService
from hourhand.services.jobs.queries import QueryService
from hourhand.services.jobs.submission import SubmissionService
from hourhand.services.limits.operations import LimitService
from hourhand.services.runs.batches import BatchService
from hourhand.services.runs.callbacks import CallbackService
from hourhand.services.runs.child_views import ChildViews
from hourhand.services.runs.graphs import GraphService
from hourhand.services.runs.redrives import RunRedrives
from hourhand.services.runs.signals import SignalService
from hourhand.services.runs.views import RunViews
from hourhand.services.schedules.backfills import BackfillService
from hourhand.services.schedules.calendars import CalendarService
from hourhand.services.schedules.grid import ScheduleGrid
from hourhand.services.schedules.operations import ScheduleService
from hourhand.services.schedules.previews import Previews
from hourhand.services.schedules.queries import OccurrenceQueries
from hourhand.services.schedules.views import ScheduleViews
from hourhand.services.ticks.watermark import ResweepService
from hourhand.settings import Settings

CALLBACKS = "/v1/callbacks/"
MAX_PUBLIC_BYTES = 64_000
"""The largest body of a callback that needs no authorisation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """What the routes call."""

    submission: SubmissionService
    queries: QueryService
    operations: OperationsService
    bulk: BulkService
    logs: LogService
    schedules: ScheduleService
    schedule_views: ScheduleViews
    backfills: BackfillService
    calendars: CalendarService
    occurrences: OccurrenceQueries
    previews: Previews
    pauses: HandlerPauseService
    limits: LimitService
    signals: SignalService
    callbacks: CallbackService
    run_views: RunViews
    run_redrives: RunRedrives
    graphs: GraphService
    batches: BatchService
    child_views: ChildViews
    grid: ScheduleGrid
    resweeps: ResweepService
    callers: Callers
    audit: AuditService
    access: AccessRules
    handlers: HandlerDirectory
    settings: Settings
    telemetry: Telemetry


Operation = Callable[[Services, Request, str], Answer]
"""Answers a request; the last argument is the id in the path, or empty."""

Taken = type[BaseModel] | UnionType | None

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Route:
    """One route: what answers it, who may use it, and what the OpenAPI document says of it.

    ``endpoint`` is its method and its path after ``/v1``. The path may hold names in braces, as
    ``{id}``; the first is the id. ``takes`` is the query of a ``GET``, else the body; with
    ``| None`` the body may be absent. ``answer`` absent: it answers without a body.
    ``dry_answer``: what it answers to a ``dry_run``. ``also``: statuses of failures beside the
    usual ones. ``takes_slashes``: the id, at the end of the path, may contain slashes, as an ARN
    does. The document's summary is the first sentence of the operation's docstring.
    """

    operation: Operation
    endpoint: str
    access: Access
    takes: Taken = None
    answer: type[Answered] | None = None
    query: type[BaseModel] | None = None
    dry_answer: type[Answered] | None = None
    statuses: tuple[int, ...] = (200,)
    also: tuple[int, ...] = ()
    tag: str = ""
    takes_slashes: bool = False

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.endpoint.partition(" ")[0]

    @property
    def path(self) -> str:
        """The whole path, with names in braces."""
        return "/v1" + self.endpoint.partition(" ")[2]

    @property
    def body(self) -> Taken:
        """The model of the body."""
        return None if self.method == "GET" else self.takes

    @property
    def filters(self) -> Taken:
        """The model of the query."""
        return self.takes if self.method == "GET" else self.query

    def match(self, path: str) -> str | None:
        """Return the id in ``path`` (empty where the route has none), ``None`` if it differs."""
        parts = [re.escape(part) for part in re.split(r"\{\w+\}", self.path)]
        match = re.fullmatch(("(.+)" if self.takes_slashes else "([^/]+)").join(parts), path)
        if match is None:
            return None
        return match[1] if len(parts) > 1 else ""


class RouteTable(Generic[P]):
    """The routes of one kind of resource, in the order in which their operations are defined.

    ``make`` is `Route`: so `add` takes what a route takes after its operation.
    """

    def __init__(self, make: Callable[Concatenate[Operation, P], Route]) -> None:
        self._make = make
        self.rows: list[Route] = []

    def add(self, *row: P.args, **more: P.kwargs) -> Callable[[Operation], Operation]:
        """Return a decorator that adds the route which its operation answers."""

        def add_answered(operation: Operation) -> Operation:
            self.rows.append(self._make(operation, *row, **more))
            return operation

        return add_answered


def answer_request(routes: Sequence[Route], services: Services, request: Request) -> Answer:
    """Find the route of ``request`` and let it answer.

    Raises `NotFound` for an unknown path, `Forbidden`, and what its operation raises.
    """
    matching = [(route, id_) for route in routes if (id_ := route.match(request.path)) is not None]
    if not matching:
        raise NotFound("This route does not exist.")
    method = "GET" if request.method == "HEAD" else request.method
    for route, id_ in matching:
        if route.method == method:
            _refuse_what_is_not_taken(route, request)
            request = _admit(services, request, route, id_)
            return route.operation(services, request, id_)
    return _answer_other_method(request.method, [route for route, _ in matching])


def _admit(services: Services, request: Request, route: Route, id_: str) -> Request:
    """Return ``request`` with what its caller may see of it, and the key that events name it by.

    A request without authorisation may only complete a callback.

    Raises `Forbidden`, and `NotFound` for what belongs to another tenant.
    """
    if request.is_public:
        _require_callback(request, route)
        return replace(request, actor=services.callers.key_of(UNKNOWN + "callback"))
    caller = services.access.caller_of(request.authorizer)
    services.access.require(caller, route.access)
    if caller.tenant is not None:
        _require_own(services, route.access.bound, caller.tenant, id_)
        request = replace(request, tenant=caller.tenant, bound=route.access.bound)
    if route.access.scope is not Scope.READ:
        request = replace(request, actor=services.callers.key_of(caller.identity))
    return request


def _require_callback(request: Request, route: Route) -> None:
    """Refuse what a caller whom nothing authenticated may not do: all but a small callback."""
    if not route.path.startswith(CALLBACKS):
        raise Forbidden("Without authorisation only callbacks can be completed.")
    if len((request.body or "").encode()) > MAX_PUBLIC_BYTES:
        message = f"must have at most {MAX_PUBLIC_BYTES:,} bytes without authorisation"
        raise TooLarge("The body is too large.", errors=(FieldError("body", message),))


def _require_own(services: Services, bound: Bound, tenant: str, id_: str) -> None:
    match bound:
        case Bound.REFUSED:
            raise Forbidden(
                "This concerns the whole installation, and the token is bound to the tenant "
                f"{quoted(tenant)}."
            )
        case Bound.JOB | Bound.MEMBERS:
            known = JOB_ID.fullmatch(id_) is not None
            if not known or not services.queries.is_of_tenant(id_, tenant):
                raise NotFound(f"There is no job {quoted(id_)}.")
        case Bound.SCHEDULE:
            known = OWN_ID.fullmatch(id_) is not None
            if not known or not services.schedule_views.is_of_tenant(id_, tenant):
                raise NotFound(f"There is no schedule {quoted(id_)}.")
        case _:
            return


def _answer_other_method(method: str, routes: Sequence[Route]) -> Answer:
    methods = {route.method for route in routes} | {"OPTIONS"}
    if "GET" in methods:
        methods.add("HEAD")
    allow = {"allow": ", ".join(sorted(methods))}
    if method == "OPTIONS":
        return Answer(status=204, headers=allow)
    error = MethodNotAllowed(f"{quoted(method)} is not allowed here. Allowed: {allow['allow']}.")
    return problem_answer(error).with_headers(allow)


def _refuse_what_is_not_taken(route: Route, request: Request) -> None:
    """Refuse a query or a body that the route would have to ignore."""
    if route.filters is None:
        require_empty(request.query(), what="query")
    if route.body is None and request.has_body:
        require_empty(request.json(), what="body")
