"""The routes of quotas: how many jobs a tenant or a caller may submit and have."""

from __future__ import annotations

from functools import partial

from hourhand.answers import quotas
from hourhand.api.access import OPERATE_ALL, READ_ALL
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.requests.limits import QuotaInput
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.domain.errors import NotFound
from hourhand.domain.jobs.quotas import Quota, QuotaKind
from hourhand.json_dataclasses import to_json

ROUTES = RouteTable(Route)


@ROUTES.add("GET /quotas", READ_ALL, None, quotas.Quotas)
def list_quotas(services: Services, _request: Request, _: str) -> Answer:
    """List all quotas, by kind and name."""
    record, _now = services.pauses.read()
    return Answer.of({"quotas": [to_json(quotas.Quota, one) for one in record.quotas]})


def put_quota(kind: QuotaKind, services: Services, request: Request, name: str) -> Answer:
    """Set how many jobs a tenant or a caller may submit in a minute, and have live."""
    bounds = QuotaInput.parse(request.json(), name).model_dump()
    quota = Quota(kind=kind, name=name, **bounds)
    services.pauses.set_quota(quota, request.actor)
    return Answer.of(to_json(quotas.Quota, quota))


def delete_quota(kind: QuotaKind, services: Services, request: Request, name: str) -> Answer:
    """Remove the quota of a tenant or a caller."""
    if not services.pauses.set_quota(Quota(kind=kind, name=name), request.actor):
        raise NotFound(f"The {kind} {name} has no quota.")
    return Answer(status=204)


for _kind in QuotaKind:
    _path = f"/quotas/{_kind}/{{{_kind}}}"
    ROUTES.add(f"PUT {_path}", OPERATE_ALL, QuotaInput, quotas.Quota, takes_slashes=True)(
        partial(put_quota, _kind)
    )
    ROUTES.add(f"DELETE {_path}", OPERATE_ALL, statuses=(204,), takes_slashes=True)(
        partial(delete_quota, _kind)
    )
