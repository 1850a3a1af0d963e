"""The policies for callers allow exactly the routes that they name, and together all there are.

IAM judges an HTTP API's request by its own method and path, whatever the key of the route that
takes it (API Gateway developer guide, "Control access for invoking an API").
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from hourhand.api.app import ROUTES
from hourhand.api.routing import Route
from hourhand.domain.jobs.quotas import QuotaKind

FOLDER = Path(__file__).parents[2] / "docs" / "iam"
NAMES = ("submitter", "operator", "reader", "quotas")
ARN = re.compile(r"arn:aws:execute-api:REGION:ACCOUNT:API_ID/\$default/([A-Z]+)(/v1/[\w./*-]+)")
LONGEST_POLICY = 6_144
"""Characters of a managed policy, without white space (IAM quotas)."""

SUBMISSION = {
    ("POST", "/v1/jobs"),
    ("POST", "/v1/jobs/batch"),
    ("POST", "/v1/graphs"),
    ("POST", "/v1/batches"),
    ("POST", "/v1/batches/*/jobs"),
}
QUOTAS = {(method, f"/v1/quotas/{kind}/*") for method in ("PUT", "DELETE") for kind in QuotaKind}
CLOSE = ("POST", "/v1/batches/*/close")
MAY_RUN = ("SubmitBySchedules", "ChangePayloads")
"""The operator's statements that let it run any handler, or any payload."""

PREVIEW = ("POST", "/v1/schedules/preview")


def _policy(name: str) -> dict[str, Any]:
    policy: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return policy


def _patterns(name: str) -> set[tuple[str, str]]:
    """Return method and path of what a policy allows, and see that it says nothing else."""
    found: set[tuple[str, str]] = set()
    for statement in _policy(name)["Statement"]:
        assert set(statement) == {"Sid", "Effect", "Action", "Resource"}
        assert (statement["Effect"], statement["Action"]) == ("Allow", "execute-api:Invoke")
        for arn in statement["Resource"]:
            match = ARN.fullmatch(arn)
            assert match is not None, arn
            found.add((match[1], match[2]))
    return found


def _template(route: Route) -> tuple[str, str]:
    # A wildcard spans slashes, so one of a schedule reaches its backfills: policies must be short.
    return route.method, re.sub(r"{\w+}(/backfills/{n})?", "*", route.path)


def _allowed(name: str) -> set[tuple[str, str]]:
    """Return the routes that a policy lets through, with some id in their path."""
    return {
        _template(route)
        for route in ROUTES
        for method, pattern in _patterns(name)
        if route.method == method
        and fnmatchcase(re.sub(r"{\w+}", "nightly-report.7", route.path), pattern)
    }


def test_the_folder_holds_the_policies_of_callers_and_of_operators() -> None:
    operators = {"config", "doctor", "oncall", "rollback"}
    assert {path.stem for path in FOLDER.glob("*.json")} == {*NAMES, *operators}


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_allows_the_routes_that_it_names_and_no_other(name: str) -> None:
    assert _allowed(name) == _patterns(name)


def test_together_they_allow_every_route() -> None:
    every = {_template(route) for route in ROUTES}

    assert set.union(*(_allowed(name) for name in NAMES)) == every


def test_a_reader_reads_everything_and_changes_nothing() -> None:
    reads = {_template(route) for route in ROUTES if route.method == "GET"}

    assert _allowed("reader") == reads | {PREVIEW}


def test_a_submitter_submits_and_does_not_list_change_or_schedule() -> None:
    allowed = _allowed("submitter")

    assert {route for route in allowed if route[0] != "GET"} == {*SUBMISSION, CLOSE}
    assert ("GET", "/v1/jobs") not in allowed


def test_an_operator_does_all_but_submit_directly_and_change_quotas() -> None:
    every = {_template(route) for route in ROUTES}
    assert _allowed("operator") == every - SUBMISSION - QUOTAS - {("GET", "/v1/quotas")}
    assert _allowed("quotas") > QUOTAS


def test_two_statements_hold_all_by_which_an_operator_runs_what_nobody_submitted() -> None:
    statements = {one["Sid"]: set(one["Resource"]) for one in _policy("operator")["Statement"]}
    routes = {
        sid: {match.groups() for arn in arns if (match := ARN.fullmatch(arn))}
        for sid, arns in statements.items()
    }

    assert routes["SubmitBySchedules"] == {
        ("PUT", "/v1/schedules/*"),
        ("POST", "/v1/schedules/*/trigger"),
        ("POST", "/v1/schedules/*/backfill"),
    }
    assert routes["ChangePayloads"] == {("PATCH", "/v1/jobs/*")}
    # Without the two, what is left names no route of theirs.
    rest = set[Any]().union(*(found for sid, found in routes.items() if sid not in MAY_RUN))
    assert not rest & (routes["SubmitBySchedules"] | routes["ChangePayloads"] | SUBMISSION)
    page = (FOLDER.parent / "reference" / "iam.md").read_text()
    for sid in MAY_RUN:
        assert f"`{sid}`" in page, "the page says what may be left out"


@pytest.mark.parametrize("name", ["submitter", "reader"])
def test_a_wildcard_of_those_who_may_not_change_reaches_no_route_that_they_may_not_use(
    name: str,
) -> None:
    # API Gateway hands the function its path decoded: an encoded slash or question mark could
    # make one route, allowed by a wildcard, into another of the same method and the same beginning.
    reached = {
        _template(route)
        for route in ROUTES
        for method, pattern in _patterns(name)
        if "*" in pattern and route.method == method != "GET"
        if route.path.startswith(pattern.partition("*")[0])
    }
    assert reached <= _allowed(name)
    assert reached <= {CLOSE, *SUBMISSION}


@pytest.mark.parametrize("name", [*NAMES, "config", "doctor", "oncall", "rollback"])
def test_a_policy_fits_into_a_managed_policy(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text()
    longest = {"REGION": "ap-southeast-1", "ACCOUNT": "1" * 12, "API_ID": "a" * 10}
    longest |= {"INSTALLATION": "i" * 30, "BUCKET": "b" * 63}
    filled = re.sub("|".join(longest), lambda match: longest[match[0]], text)

    assert len(re.sub(r"\s", "", filled)) <= LONGEST_POLICY
