"""What calls the functions: the minute's rule, and the event source of each priority queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hourhand.aws.published import ALIAS
from hourhand.aws.table_schema import PRIORITY_QUEUES
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import REDEPLOY, Finding, Look, failed, ok, warning

RULE = "tick rule"
RATE = "rate(1 minute)"
PARTIAL = "ReportBatchItemFailures"

_PROBLEM = "PROBLEM"
"""How the result of an invocation begins that failed, such as "PROBLEM: Function call failed"."""


def caller_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield what there is to look at."""
    yield Look(RULE, partial(_rule, aws, deployment), is_essential=True)
    yield Look(RULE, partial(_targets, aws, deployment), is_essential=True)
    for queue in PRIORITY_QUEUES.values():
        check = f"event source {queue.name}"
        run = partial(_source, aws, deployment, queue.name)
        yield Look(check, run, is_essential=True)


def _rule(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    name = deployment.output("TickRule")
    return judge_rule(name, aws.ask("events", "DescribeRule", f"rule {name}", Name=name))


def _targets(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    name = deployment.output("TickRule")
    answer = aws.ask("events", "ListTargetsByRule", f"rule {name}", Rule=name)
    yield judge_targets(deployment.function("scheduler"), answer["Targets"])


def _source(aws: Aws, deployment: Deployment, name: str) -> Iterator[Finding]:
    arn = deployment.queue_arn(name)
    # By the queue: a worker that is called by an alias does not list it under its name.
    answer = aws.ask("lambda", "ListEventSourceMappings", "every event source", EventSourceArn=arn)
    return judge_source(name, deployment.function("worker"), answer["EventSourceMappings"])


def judge_rule(name: str, described: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge whether the rule fires, once a minute."""
    if described["State"] != "ENABLED":
        yield failed(
            RULE,
            f"is {described['State']}: the scheduler is not called",
            f"aws events enable-rule --name {name}",
        )
    if described.get("ScheduleExpression") != RATE:
        yield failed(RULE, f"fires at {described.get('ScheduleExpression')}, not {RATE}", REDEPLOY)
    elif described["State"] == "ENABLED":
        yield ok(RULE, f"enabled, {RATE}")


def judge_targets(scheduler: str, targets: Sequence[Mapping[str, Any]]) -> Finding:
    """Judge whether the rule calls the scheduler."""
    if any(_called(target["Arn"]) == (scheduler, ALIAS) for target in targets):
        return ok(RULE, f"calls {scheduler}:{ALIAS}")
    called = ", ".join(target["Arn"] for target in targets) or "nothing"
    return failed(RULE, f"calls {called}, not {scheduler}:{ALIAS}", REDEPLOY)


def judge_source(
    queue: str, worker: str, sources: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    """Judge whether the worker is handed the messages of a queue."""
    check = f"event source {queue}"
    ours = [source for source in sources if _called(source["FunctionArn"])[0] == worker]
    if not ours:
        yield failed(check, f"nothing hands its messages to {worker}", REDEPLOY)
        return
    source = ours[0]
    state = source["State"]
    if state in {"Disabled", "Disabling", "Deleting"}:
        reason = source.get("StateTransitionReason", "no reason is told")
        yield failed(
            check,
            f"is {state} ({reason}): its jobs do not start",
            f"aws lambda update-event-source-mapping --uuid {source['UUID']} --enabled",
        )
    elif state != "Enabled":
        yield warning(check, f"is {state}", "Look again in a minute.")
    else:
        yield ok(check, f"enabled{_share_of(source)}")
    yield from _judge_alias(check, source)
    yield from _judge_delivery(check, source)
    if len(ours) > 1:
        yield warning(check, f"{len(ours)} of them hand out its messages", "Delete all but one.")


def _judge_alias(check: str, source: Mapping[str, Any]) -> Iterator[Finding]:
    qualifier = _called(source["FunctionArn"])[1]
    if qualifier != ALIAS:
        called = f"version {qualifier}" if qualifier else "$LATEST"
        yield failed(check, f"calls {called} of the worker, not its alias {ALIAS}", REDEPLOY)


def _judge_delivery(check: str, source: Mapping[str, Any]) -> Iterator[Finding]:
    if PARTIAL not in source.get("FunctionResponseTypes", []):
        yield failed(
            check, f"lacks {PARTIAL}: one message that fails fails its whole batch", REDEPLOY
        )
    result = str(source.get("LastProcessingResult") or "")
    if result.startswith(_PROBLEM):
        yield warning(check, f"its last call: {result}", "See the worker's log for the error.")


def _share_of(source: Mapping[str, Any]) -> str:
    concurrency = source.get("ScalingConfig", {}).get("MaximumConcurrency")
    return "" if concurrency is None else f", up to {concurrency} at once"


def _called(arn: str) -> tuple[str, str]:
    """Return the function's name in its ARN, and the version or alias: empty without one."""
    name, _, qualifier = arn.rpartition(":function:")[2].partition(":")
    return name, qualifier
