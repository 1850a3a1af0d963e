"""What each caller may do: the scope that each route needs, and how a tenant bounds it.

API Gateway authenticates. IAM decides for its principals by the method and the path alone. A token
says by its scopes what its owner may do, and may be bound to one tenant by a claim. Callers on this
machine may do everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hourhand.api.requests._errors import quoted
from hourhand.api.requests.filters import BulkDiscard
from hourhand.domain.callers import LOCAL, UNKNOWN
from hourhand.domain.errors import FieldError, Forbidden, HourhandError
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.runs.built_in import CALLBACKS as CALLBACKS_OF_BATCH
from hourhand.settings import SCOPE_PREFIX

MAX_TENANT_CHARACTERS = 128


class Scope(StrEnum):
    """What a token may do. None of them includes another."""

    READ = "read"
    SUBMIT = "submit"
    OPERATE = "operate"


class Bound(StrEnum):
    """What a route does for a caller that is bound to a tenant."""

    JOB = "The job in the path must be of the tenant, else the answer is 404."
    SCHEDULE = "The schedule in the path must be of the tenant, else the answer is 404."
    PUT_SCHEDULE = "As for a body; an id that another tenant uses is 409, by the put itself."
    QUERY = "The filter `tenant` is the caller's; another one is 403."
    BODY = "The field `tenant` is the caller's; another one is 403."
    BULK = "As for a body: `all` is all that the tenant has."
    BATCH = "Each job's `tenant` is the caller's; another one is 403 for that job."
    PARTS = "As for a body. A node, a member or a callback of another tenant is 403, too."
    MEMBERS = "As for a job in the path. A member of another tenant is 403."
    OWN = "Only what is of the tenant is listed."
    SHARED = "As for every caller: it reads nothing that belongs to a tenant."
    BEARER = "The token in the path decides: it names one call of one run."
    REFUSED = "403: it concerns the whole installation."


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use a route."""

    scope: Scope
    bound: Bound


READ_JOB = Access(Scope.READ, Bound.JOB)
READ_OWN = Access(Scope.READ, Bound.QUERY)
READ_SCHEDULE = Access(Scope.READ, Bound.SCHEDULE)
READ_SHARED = Access(Scope.READ, Bound.SHARED)
READ_ALL = Access(Scope.READ, Bound.REFUSED)
SUBMIT_OWN = Access(Scope.SUBMIT, Bound.BODY)
SUBMIT_PARTS = Access(Scope.SUBMIT, Bound.PARTS)
OPERATE_JOB = Access(Scope.OPERATE, Bound.JOB)
OPERATE_SCHEDULE = Access(Scope.OPERATE, Bound.SCHEDULE)
OPERATE_ALL = Access(Scope.OPERATE, Bound.REFUSED)
BULK = Access(Scope.OPERATE, Bound.BULK)
COMPLETE = Access(Scope.OPERATE, Bound.BEARER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who sent a request.

    ``scopes``: what a token allows; ``None`` for a principal of IAM and on this machine, where
    the policy has decided or nothing is decided. ``tenant``: the only one whose jobs and schedules
    exist for this caller; ``None``: all.
    """

    identity: str
    scopes: frozenset[Scope] | None = None
    tenant: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessRules:
    """How the claims of a token are read.

    ``scope_prefix`` stands before each scope's name. ``tenant_claim`` names the claim that binds a
    token to a tenant; empty: none does.
    """

    scope_prefix: str = SCOPE_PREFIX
    tenant_claim: str = ""

    def caller_of(self, authorizer: Mapping[str, Any]) -> Caller:
        """Return whom API Gateway authenticated; without an authorizer the caller is local.

        Raises `Forbidden` for a token whose tenant cannot be read.
        """
        iam, token = authorizer.get("iam"), authorizer.get("jwt")
        if token is not None:
            return self._token_of(token.get("claims") or {})
        if iam is not None:
            return Caller(identity=str(iam.get("userArn") or iam.get("userId") or UNKNOWN + "iam"))
        principal = (authorizer.get("lambda") or {}).get("principalId")
        return Caller(identity=LOCAL if principal is None else _authenticated(str(principal)))

    def require(self, caller: Caller, access: Access) -> None:
        """Raise `Forbidden` naming the scope that a token lacks."""
        if caller.scopes is not None and access.scope not in caller.scopes:
            raise Forbidden(
                f"This needs the scope {self.scope_prefix}{access.scope}, which the token lacks."
            )

    def _token_of(self, claims: Mapping[str, Any]) -> Caller:
        subject = claims.get("sub") or claims.get("client_id") or claims.get("azp")
        return Caller(
            identity=_authenticated(str(subject)) if subject else UNKNOWN + "jwt",
            scopes=frozenset(s for s in Scope if self.scope_prefix + s in _scopes_in(claims)),
            tenant=self._tenant_of(claims),
        )

    def _tenant_of(self, claims: Mapping[str, Any]) -> str | None:
        tenant = claims.get(self.tenant_claim) if self.tenant_claim else None
        if tenant is None:
            return None
        # API Gateway writes a list as text in brackets: it cannot be told which one is meant.
        is_list = isinstance(tenant, str) and tenant.startswith("[")
        if not isinstance(tenant, str) or is_list or not 0 < len(tenant) <= MAX_TENANT_CHARACTERS:
            raise Forbidden(
                f"The claim {self.tenant_claim} must be one tenant, of 1 to "
                f"{MAX_TENANT_CHARACTERS} characters."
            )
        return tenant


def own_query(query: Mapping[str, str], tenant: str) -> dict[str, str]:
    """Return the filters of a query with the caller's tenant; raise `Forbidden` for another one."""
    if query.get("tenant", tenant) != tenant:
        raise _other_tenant(tenant)
    return {**query, "tenant": tenant}


def own_fields(body: object, tenant: str) -> object:
    """Return a body with the caller's tenant; raise `Forbidden` for another one.

    A body that is no object is left to its parser, which refuses it.
    """
    if not isinstance(body, dict):
        return body
    given = body.get("tenant")
    if given is not None and given != tenant:
        raise _other_tenant(tenant)
    return {**body, "tenant": tenant}


def own_filters(body: object, tenant: str) -> object:
    """Return the body of a bulk operation with the caller's tenant.

    It must name filters or ``all`` for itself, as every caller's: the tenant alone would be all.
    """
    BulkDiscard.parse(body)
    return own_fields(body, tenant)


def own_members(body: object, tenant: str) -> object:
    """Return the body of a batch in which each job that states no tenant has the caller's."""
    if not isinstance(body, dict) or not isinstance(body.get("jobs"), list):
        return body
    jobs = [
        {**job, "tenant": tenant} if isinstance(job, dict) and job.get("tenant") is None else job
        for job in body["jobs"]
    ]
    return {**body, "jobs": jobs}


def own_parts(body: object, tenant: str) -> object:
    """Return a graph or a batch with the caller's tenant; raise `Forbidden` for another one."""
    require_own_members(body, tenant)
    return own_fields(body, tenant)


def require_own_members(body: object, tenant: str) -> object:
    """Return a body as it is; raise `Forbidden` if a job in it is of another tenant.

    One that states no tenant becomes one of the run that submits it.
    """
    if not isinstance(body, dict):
        return body
    nodes, jobs = body.get("nodes"), body.get("jobs")
    parts = [
        *(nodes.values() if isinstance(nodes, dict) else ()),
        *(jobs if isinstance(jobs, list) else ()),
        *(body.get(name) for name in CALLBACKS_OF_BATCH),
    ]
    for part in parts:
        if isinstance(part, dict) and part.get("tenant") not in (None, tenant):
            raise _other_tenant(tenant)
    return body


OWN_BODIES: Mapping[Bound, Callable[[object, str], object]] = {
    Bound.BODY: own_fields,
    Bound.PUT_SCHEDULE: own_fields,
    Bound.BULK: own_filters,
    Bound.BATCH: own_members,
    Bound.PARTS: own_parts,
    Bound.MEMBERS: require_own_members,
}
"""What the bodies of routes become for a caller that is bound to a tenant."""


def own_submission(
    submission: NewJob | HourhandError, tenant: str | None
) -> NewJob | HourhandError:
    """Return a job of a batch, or the error of one that the caller may not submit."""
    if tenant is None or isinstance(submission, HourhandError) or submission.tenant == tenant:
        return submission
    return _other_tenant(tenant)


def _other_tenant(tenant: str) -> Forbidden:
    message = f"must be {quoted(tenant)} or absent: the token is bound to this tenant"
    return Forbidden(
        "The token is bound to another tenant.", errors=(FieldError("tenant", message),)
    )


def _scopes_in(claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the scopes of a token: words (RFC 8693), or a list as API Gateway writes it."""
    texts = [str(claims.get(name) or "") for name in ("scope", "scp")]
    return frozenset(word for text in texts for word in text.strip("[]").replace(",", " ").split())


def _authenticated(subject: str) -> str:
    """Return the identity of a subject, which no other kind of identity can equal."""
    is_like_another = subject == LOCAL or subject.startswith(("arn:", UNKNOWN, "jwt:"))
    return f"jwt:{subject}" if is_like_another else subject
