"""Whether the functions can be invoked: the state of each, and its reserved concurrency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hourhand.aws.published import ALIAS, UNCOMPILED
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import FUNCTION_OUTPUTS, Deployment
from hourhand.cli.doctor.findings import Finding, Look, failed, ok, warning


def function_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield two looks at each function.

    Drift detection compares their settings, but no state, and a reserved concurrency only where
    the template sets one.
    """
    for name in FUNCTION_OUTPUTS:
        check = f"function {name}"
        yield Look(check, partial(_state, aws, deployment, name), is_essential=True)
        yield Look(check, partial(_reserve, aws, deployment, name))


def _state(aws: Aws, deployment: Deployment, name: str) -> Iterator[Finding]:
    """Look at the version that the alias is at."""
    function = deployment.function(name)
    answer = aws.ask(
        "lambda",
        "GetFunctionConfiguration",
        f"function {function}:{ALIAS}",
        FunctionName=function,
        Qualifier=ALIAS,
    )
    yield judge_state(name, answer)


def _reserve(aws: Aws, deployment: Deployment, name: str) -> Iterator[Finding]:
    function = deployment.function(name)
    answer = aws.ask(
        "lambda", "GetFunctionConcurrency", f"function {function}", FunctionName=function
    )
    yield from judge_reserve(name, function, answer.get("ReservedConcurrentExecutions"))


def judge_state(name: str, configuration: Mapping[str, Any]) -> Finding:
    """Judge whether a function can be called, and whether Lambda applied its last change."""
    check = f"function {name}"
    state = configuration.get("State", "Active")
    update = configuration.get("LastUpdateStatus", "Successful")
    if state == "Failed" or update == "Failed":
        reason = configuration.get("StateReason") or configuration.get("LastUpdateStatusReason")
        return failed(
            check,
            f"is {state}, its last update {update}: {reason or 'Lambda gives no reason'}",
            "Fix the reason (a layer, a subnet, a role, a key), then deploy the stack again.",
        )
    if state in {"Pending", "Inactive"} or update == "InProgress":
        return warning(
            check,
            f"is {state}, its last update {update}",
            "Run this check again in a minute. An inactive function becomes active when it is "
            "invoked.",
        )
    if configuration.get("Description", "").endswith(UNCOMPILED):
        return warning(
            check,
            "has no bytecode: each cold start compiles every module, for 1.5 to 1.8 times the CPU "
            "of a start",
            "Install the functions' version of Python where you deploy (docs/how-to/deploy.md, "
            "What you need), then deploy again. require_bytecode=true refuses such a package.",
        )
    return ok(check, f"{state.lower()}, {configuration.get('Runtime', 'no runtime given')}")


def judge_reserve(name: str, function: str, reserved: int | None) -> Iterator[Finding]:
    """Judge the concurrency that is reserved for a function: with 0 it is switched off."""
    check = f"function {name}"
    if reserved == 0:
        yield failed(
            check,
            "is switched off: its reserved concurrency is 0, so every invocation is throttled",
            f"aws lambda delete-function-concurrency --function-name {function}",
        )
    elif reserved is not None:
        yield ok(check, f"has a reserved concurrency of {reserved}")
