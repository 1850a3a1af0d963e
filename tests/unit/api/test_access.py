"""What a caller may do, as it follows from what API Gateway authenticated."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.api.access import Access, AccessRules, Bound, Caller, Scope
from hourhand.api.app import ROUTES
from hourhand.domain.callers import LOCAL
from hourhand.domain.errors import Forbidden

ACCESS = {(route.method, route.path): route.access for route in ROUTES}
RULES = AccessRules(tenant_claim="org")
EVERY_SCOPE = "hourhand/read hourhand/submit hourhand/operate"


def token(**claims: Any) -> dict[str, Any]:
    """Return the authorizer of a token as API Gateway gives it."""
    return {"jwt": {"claims": {"sub": "alice", **claims}, "scopes": None}}


@pytest.mark.parametrize("route", ACCESS, ids=" ".join)
def test_only_reads_need_the_scope_of_readers(route: tuple[str, str]) -> None:
    is_read = ACCESS[route].scope is Scope.READ

    assert is_read == (route[0] == "GET" or route[1] == "/v1/schedules/preview")


@pytest.mark.parametrize("route", ACCESS, ids=" ".join)
def test_what_is_shared_is_only_read(route: tuple[str, str]) -> None:
    if ACCESS[route].bound is Bound.SHARED:
        assert ACCESS[route].scope is Scope.READ


@pytest.mark.parametrize("route", ACCESS, ids=" ".join)
def test_a_route_with_an_id_looks_at_whose_it_is(route: tuple[str, str]) -> None:
    expected = {
        "/v1/jobs/{id}": {Bound.JOB},
        "/v1/schedules/{id}": {Bound.SCHEDULE, Bound.PUT_SCHEDULE},
    }
    for prefix, bounds in expected.items():
        if route[1].startswith(prefix):
            assert ACCESS[route].bound in bounds


@pytest.mark.parametrize(
    ("authorizer", "caller"),
    [
        ({}, Caller(identity=LOCAL)),
        (
            {"iam": {"userArn": "arn:aws:iam::123456789012:user/alice"}},
            Caller(identity="arn:aws:iam::123456789012:user/alice"),
        ),
        ({"iam": {"userArn": None, "userId": "AIDAEXAMPLE"}}, Caller(identity="AIDAEXAMPLE")),
        ({"iam": {}}, Caller(identity="unknown:iam")),
        ({"lambda": {"principalId": "service_1"}}, Caller(identity="service_1")),
        ({"lambda": {"principalId": "local"}}, Caller(identity="jwt:local")),
        (token(), Caller(identity="alice", scopes=frozenset())),
        (
            token(scope="openid hourhand/read hourhand/operate other/submit hourhand/readers"),
            Caller(identity="alice", scopes=frozenset({Scope.READ, Scope.OPERATE})),
        ),
        (
            token(scp="[hourhand/submit hourhand/read]"),
            Caller(identity="alice", scopes=frozenset({Scope.SUBMIT, Scope.READ})),
        ),
        (token(scope="read,submit"), Caller(identity="alice", scopes=frozenset())),
        (
            token(org="acme", scope="hourhand/read"),
            Caller(identity="alice", scopes=frozenset({Scope.READ}), tenant="acme"),
        ),
        (
            {"jwt": {"claims": {"client_id": "robot"}}},
            Caller(identity="robot", scopes=frozenset()),
        ),
        ({"jwt": {}}, Caller(identity="unknown:jwt", scopes=frozenset())),
        # No subject can pass for another kind of caller.
        (token(sub="local"), Caller(identity="jwt:local", scopes=frozenset())),
        (token(sub="arn:aws:x"), Caller(identity="jwt:arn:aws:x", scopes=frozenset())),
        (token(sub="unknown:jwt"), Caller(identity="jwt:unknown:jwt", scopes=frozenset())),
        (token(sub="jwt:local"), Caller(identity="jwt:jwt:local", scopes=frozenset())),
    ],
)  # fmt: skip
def test_a_caller_is_whom_the_authorizer_names(authorizer: dict[str, Any], caller: Caller) -> None:
    assert RULES.caller_of(authorizer) == caller


@pytest.mark.parametrize("tenant", ["", "[acme globex]", "[acme]", "x" * 129, 7, ["acme"]])
def test_a_token_whose_tenant_is_unclear_may_do_nothing(tenant: Any) -> None:
    with pytest.raises(Forbidden, match="org must be one tenant"):
        RULES.caller_of(token(org=tenant, scope=EVERY_SCOPE))


def test_a_claim_that_no_setting_names_binds_nobody() -> None:
    assert AccessRules().caller_of(token(org="acme", tenant="acme")).tenant is None


def test_the_prefix_of_scopes_is_a_setting() -> None:
    rules = AccessRules(scope_prefix="jobs:")
    caller = rules.caller_of(token(scope="jobs:submit hourhand/read"))

    assert caller.scopes == frozenset({Scope.SUBMIT})
    with pytest.raises(Forbidden, match="needs the scope jobs:read, which the token lacks"):
        rules.require(caller, Access(Scope.READ, Bound.SHARED))


@pytest.mark.parametrize("held", Scope)
@pytest.mark.parametrize("needed", Scope)
def test_no_scope_includes_another(held: Scope, needed: Scope) -> None:
    caller = Caller(identity="alice", scopes=frozenset({held}))

    if held is needed:
        RULES.require(caller, Access(needed, Bound.SHARED))
        return
    with pytest.raises(Forbidden, match=f"needs the scope hourhand/{needed}"):
        RULES.require(caller, Access(needed, Bound.SHARED))
