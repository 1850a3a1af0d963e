"""Whether the tick rule and the event sources are on: without them no function is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hourhand.aws.table_schema import PRIORITY_QUEUES
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import Finding, Look, failed, ok, warning

RULE = "tick rule"

_PROBLEM = "PROBLEM"
"""How the result of an invocation begins that failed, such as "PROBLEM: Function call failed"."""


def caller_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield one look at the rule, and one at the event source of each priority queue.

    Only whether they are on. Drift detection compares their settings, but not whether an event
    source is enabled, since the template does not set that. An identity
    without the right to drift detection still sees here why no tick runs.
    """
    yield Look(RULE, partial(_rule, aws, deployment), is_essential=True)
    for queue in PRIORITY_QUEUES.values():
        check = f"event source {queue.name}"
        run = partial(_source, aws, deployment, queue.name)
        yield Look(check, run, is_essential=True)


def _rule(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    name = deployment.output("TickRule")
    yield judge_rule(name, aws.ask("events", "DescribeRule", f"rule {name}", Name=name))


def _source(aws: Aws, deployment: Deployment, name: str) -> Iterator[Finding]:
    arn = deployment.queue_arn(name)
    # By the queue: a worker that is called by an alias does not list it under its name.
    answer = aws.ask("lambda", "ListEventSourceMappings", "every event source", EventSourceArn=arn)
    return judge_source(name, deployment.function("worker"), answer["EventSourceMappings"])


def judge_rule(name: str, described: Mapping[str, Any]) -> Finding:
    """Judge whether the rule is on."""
    if described["State"] == "ENABLED":
        return ok(RULE, "enabled")
    return failed(
        RULE,
        f"is {described['State']}: the scheduler is not called",
        f"aws events enable-rule --name {name}",
    )


def judge_source(
    queue: str, worker: str, sources: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    """Judge whether Lambda delivers the messages of a queue to the worker."""
    check = f"event source {queue}"
    ours = [source for source in sources if function_of(source["FunctionArn"]) == worker]
    if not ours:
        yield failed(
            check,
            f"no event source delivers its messages to {worker}",
            "Redeploy with CONTEXT=--revert-drift.",
        )
        return
    source = ours[0]
    state = source["State"]
    if state in {"Disabled", "Disabling", "Deleting"}:
        reason = source.get("StateTransitionReason", "Lambda gives no reason")
        yield failed(
            check,
            f"is {state} ({reason}): its jobs do not start",
            f"aws lambda update-event-source-mapping --uuid {source['UUID']} --enabled",
        )
    elif state != "Enabled":
        yield warning(check, f"is {state}", "Run this check again in a minute.")
    else:
        yield ok(check, f"enabled{_share_of(source)}")
    result = str(source.get("LastProcessingResult") or "")
    if result.startswith(_PROBLEM):
        yield warning(
            check, f"its last invocation: {result}", "See the worker's log for the error."
        )


def _share_of(source: Mapping[str, Any]) -> str:
    concurrency = source.get("ScalingConfig", {}).get("MaximumConcurrency")
    return "" if concurrency is None else f", up to {concurrency} at once"


def function_of(arn: str) -> str:
    """Return the function's name in its ARN or that of its alias."""
    return arn.rpartition(":function:")[2].partition(":")[0]
