"""The functions: they run, know all that they need, and the worker is not taken for a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hourhand.aws.published import ALIAS
from hourhand.aws.table_schema import PRIORITY_QUEUES
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import BUCKET_OUTPUT, FUNCTION_OUTPUTS, Deployment
from hourhand.cli.doctor.findings import REDEPLOY, Finding, Look, failed, ok, skipped, warning
from hourhand.cli.doctor.queues import read_queue
from hourhand.domain.errors import InvalidInput
from hourhand.domain.timings import Timings
from hourhand.settings import (
    API_NEEDS,
    SCHEDULER_NEEDS,
    WORKER_NEEDS,
    LeaderMode,
    Settings,
    read_settings,
)

NEEDS = {"api": API_NEEDS, "scheduler": SCHEDULER_NEEDS, "worker": WORKER_NEEDS}

_OUTPUTS = {
    "installation": "Installation",
    "jobs_table": "JobsTable",
    "control_table": "ControlTable",
    "idempotency_table": "IdempotencyTable",
    "schedules_table": "SchedulesTable",
    "bucket": BUCKET_OUTPUT,
    "queue_high": "QueueHighUrl",
    "queue_medium": "QueueMediumUrl",
    "queue_low": "QueueLowUrl",
    "dead_letter_queue": "DeadLetterQueueUrl",
    "clock_queue": "ClockQueueUrl",
}
"""Which output of the stack each setting repeats."""


def function_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield what there is to look at: each function, and what is special about the worker."""
    for name in FUNCTION_OUTPUTS:
        check = f"function {name}"
        yield Look(check, partial(_function, aws, deployment, name), is_essential=True)
        yield Look(check, partial(_reserve, aws, deployment, name))
    yield Look("function worker", partial(_timeout, aws, deployment))
    yield Look("function worker", partial(_loop, aws, deployment))


def read_function(aws: Aws, deployment: Deployment, name: str) -> Mapping[str, Any]:
    """Return the configuration of the version of a function that its alias is at."""
    function = deployment.function(name)
    return aws.ask(
        "lambda",
        "GetFunctionConfiguration",
        f"function {function}:{ALIAS}",
        FunctionName=function,
        Qualifier=ALIAS,
    )


def _function(aws: Aws, deployment: Deployment, name: str) -> Iterator[Finding]:
    configuration = read_function(aws, deployment, name)
    yield from judge_state(name, configuration)
    yield from judge_environment(name, configuration, deployment.outputs)


def _reserve(aws: Aws, deployment: Deployment, name: str) -> Iterator[Finding]:
    function = deployment.function(name)
    answer = aws.ask(
        "lambda", "GetFunctionConcurrency", f"function {function}", FunctionName=function
    )
    yield from judge_reserve(name, function, answer.get("ReservedConcurrentExecutions"))


def _timeout(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    timeout = int(read_function(aws, deployment, "worker")["Timeout"])
    hidden = {
        queue.name: int(read_queue(aws, deployment, queue.name)["VisibilityTimeout"])
        for queue in PRIORITY_QUEUES.values()
    }
    yield judge_timeout(timeout, hidden)


def _loop(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    function = deployment.function("worker")
    answer = aws.ask(
        "lambda", "GetFunctionRecursionConfig", f"function {function}", FunctionName=function
    )
    yield judge_loop(function, answer["RecursiveLoop"])


def judge_state(name: str, configuration: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge whether a function can be called, and whether its last change was taken."""
    check = f"function {name}"
    state = configuration.get("State", "Active")
    update = configuration.get("LastUpdateStatus", "Successful")
    if state == "Failed" or update == "Failed":
        reason = configuration.get("StateReason") or configuration.get("LastUpdateStatusReason")
        yield failed(
            check,
            f"is {state}, its last update {update}: {reason or 'no reason is told'}",
            "Mend the reason (a layer, a subnet, a role, a key), then deploy the stack again.",
        )
    elif state in {"Pending", "Inactive"} or update == "InProgress":
        yield warning(
            check,
            f"is {state}, its last update {update}",
            "Look again in a minute; an inactive function wakes when it is called.",
        )
    else:
        yield ok(check, f"{state.lower()}, {configuration.get('Runtime', 'no runtime told')}")


def judge_environment(
    name: str, configuration: Mapping[str, Any], outputs: Mapping[str, str]
) -> Iterator[Finding]:
    """Judge whether a function's environment is complete, and of this very installation."""
    check = f"function {name}"
    environment = configuration.get("Environment", {})
    if "Error" in environment:
        reason = environment["Error"].get("Message", "no reason is told")
        yield skipped(
            check,
            f"its environment is not shown: {reason}",
            "Allow your identity kms:Decrypt with the function's key, or look with another one.",
        )
        return
    variables = environment.get("Variables", {})
    try:
        settings = read_settings(variables, NEEDS[name])
    except InvalidInput as error:
        yield failed(check, error.detail, REDEPLOY)
        return
    differing = [
        f"{setting} is {getattr(settings, setting)}"
        for setting, output in _OUTPUTS.items()
        if getattr(settings, setting) and getattr(settings, setting) != outputs.get(output)
    ]
    if differing:
        yield failed(check, f"works on something else: {', '.join(differing)}", REDEPLOY)
    else:
        yield ok(check, "environment complete")
    if name == "scheduler":
        yield from judge_flags(settings)


def judge_flags(settings: Settings) -> Iterator[Finding]:
    """Judge the flags of the scheduler that are safe, and yet not what one leaves them at."""
    check = "function scheduler"
    if settings.leader is not LeaderMode.ELECTED:
        yield warning(
            check,
            f"does not lead: HOURHAND_LEADER is {settings.leader}",
            "Unless another deployment leads on these tables, jobs beyond the look-ahead wait: "
            "deploy with -c leader=elected.",
        )
    if not settings.timings.outlasts_a_lost_tick:
        seconds = settings.timings.look_ahead.total_seconds()
        wanted = Timings().look_ahead.total_seconds()
        yield warning(
            check,
            f"looks {seconds:.0f} s ahead: one lost tick makes jobs late",
            f"Deploy with -c look_ahead_seconds={wanted:.0f}.",
        )


def judge_reserve(name: str, function: str, reserved: int | None) -> Iterator[Finding]:
    """Judge the concurrency that is reserved for a function: with 0 it is switched off."""
    check = f"function {name}"
    if reserved == 0:
        yield failed(
            check,
            "is switched off: its reserved concurrency is 0, so every call is throttled",
            f"aws lambda delete-function-concurrency --function-name {function}",
        )
    elif reserved is not None:
        yield ok(check, f"up to {reserved} at once are reserved")


def judge_timeout(timeout_seconds: int, hidden_seconds: Mapping[str, int]) -> Finding:
    """Judge whether messages stay hidden for as long as the worker may take."""
    check = "function worker"
    short = [f"{n} {s} s" for n, s in hidden_seconds.items() if s < timeout_seconds]
    if not short:
        return ok(check, f"may take {timeout_seconds} s")
    return failed(
        check,
        f"may take {timeout_seconds} s, but messages reappear earlier in {', '.join(short)}",
        REDEPLOY,
    )


def judge_loop(function: str, loop: str) -> Finding:
    """Judge whether Lambda lets the worker answer its own messages."""
    check = "function worker"
    if loop == "Allow":
        return ok(check, "may send to its own queues")
    return failed(
        check,
        f"recursive loops: {loop}; a retry goes to the queue that invoked it, and Lambda stops "
        "such a job after some 16 turns",
        "Deploy this version of the stack, or: aws lambda put-function-recursion-config "
        f"--function-name {function} --recursive-loop Allow",
    )
