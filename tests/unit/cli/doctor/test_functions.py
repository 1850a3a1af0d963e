from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hourhand.cli.doctor.deployment import FUNCTION_OUTPUTS
from hourhand.cli.doctor.findings import Status
from hourhand.cli.doctor.functions import function_looks, judge_reserve, judge_state
from tests.unit.cli.doctor.fakes import DEPLOYMENT, client_error, fake_aws, found
from tests.unit.cli.doctor.fakes import statuses as statuses_of

READY = {"State": "Active", "LastUpdateStatus": "Successful", "Runtime": "python3.13"}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, Status.OK),
        ({"Description": "Hourhand 1, deployment x: api of y"}, Status.OK),
        ({"Description": "Hourhand 1, deployment x: api of y, without bytecode"}, Status.WARNING),
        ({"State": "Pending"}, Status.WARNING),
        ({"State": "Inactive"}, Status.WARNING),
        ({"LastUpdateStatus": "InProgress"}, Status.WARNING),
        ({"State": "Failed", "StateReason": "no subnet"}, Status.FAILED),
        ({"LastUpdateStatus": "Failed", "LastUpdateStatusReason": "no subnet"}, Status.FAILED),
    ],
)
def test_a_function_must_be_ready_and_its_last_change_taken(
    changes: dict[str, str], status: Status
) -> None:
    finding = judge_state("api", READY | changes)
    assert statuses_of([finding]) == [status]
    assert ("no subnet" in finding.seen) == (status is Status.FAILED)


def looked(
    script: Mapping[str, dict[str, Any] | Exception | Callable[..., Any]],
) -> dict[str, list[str]]:
    standard = {
        "lambda.get_function_configuration": READY,
        "lambda.get_function_concurrency": {},
    }
    told: dict[str, list[str]] = {}
    for finding in found(function_looks(fake_aws({**standard, **script}), DEPLOYMENT)):
        told.setdefault(finding.check, []).append(f"{finding.status}: {finding.seen}")
    return told


def test_each_function_is_looked_at() -> None:
    assert looked({}) == {
        f"function {name}": ["OK: active, python3.13"] for name in FUNCTION_OUTPUTS
    }


def test_a_concurrency_that_may_not_be_read_hides_no_state() -> None:
    told = looked({"lambda.get_function_concurrency": client_error("AccessDeniedException")})
    assert told["function worker"][0] == "OK: active, python3.13"
    assert "lacks lambda:GetFunctionConcurrency" in told["function worker"][1]


def test_a_function_of_which_none_may_run_is_switched_off() -> None:
    assert list(judge_reserve("worker", "w", None)) == []
    assert statuses_of(judge_reserve("worker", "w", 5)) == [Status.OK]
    (finding,) = judge_reserve("worker", "w", 0)
    assert statuses_of([finding]) == [Status.FAILED]
    assert finding.fix.endswith("--function-name w")
    told = looked({"lambda.get_function_concurrency": {"ReservedConcurrentExecutions": 0}})
    for name in FUNCTION_OUTPUTS:
        assert any("is switched off" in seen for seen in told[f"function {name}"])


def test_what_is_read_is_the_version_that_the_alias_is_at() -> None:
    def answer(Qualifier: str, **_: str) -> dict[str, Any]:  # noqa: N803 (Lambda's)
        return READY | ({"State": "Inactive"} if Qualifier == "live" else {})

    told = looked({"lambda.get_function_configuration": answer})
    assert told["function worker"][0].startswith("WARNING: is Inactive")


def test_a_function_without_its_alias_fails() -> None:
    gone = looked({"lambda.get_function_configuration": client_error("ResourceNotFoundException")})
    assert gone["function api"] == [
        "FAILED: there is no function hourhand-dev-api:live (ResourceNotFoundException)"
    ]
