"""The routes of quotas: how many jobs a tenant or a caller may submit and have."""

from __future__ import annotations

from functools import partial

from hourhand.answers import quotas
from hourhand.api.access import OPERATE_ALL, READ_ALL
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.requests.limits import QuotaInput
from hourhand.api.routing import Route, Services
from hourhand.domain.errors import NotFound
from hourhand.domain.jobs.quotas import Quota, QuotaKind
from hourhand.json_dataclasses import to_json


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


QUOTA_ROUTES = (
    Route("GET /quotas", list_quotas, READ_ALL, None, quotas.Quotas),
    *(
        Route(
            f"{method} /quotas/{kind}/{{{kind}}}",
            partial(act, kind),
            OPERATE_ALL,
            takes,
            gives,
            statuses=statuses,
            takes_slashes=True,
        )
        for method, act, takes, gives, statuses in (
            ("PUT", put_quota, QuotaInput, quotas.Quota, (200,)),
            ("DELETE", delete_quota, None, None, (204,)),
        )
        for kind in QuotaKind
    ),
)
