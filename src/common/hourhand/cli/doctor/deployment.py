"""The deployment that is checked: a CloudFormation stack, its status and its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hourhand.aws.queues import queue_name
from hourhand.aws.table_schema import (
    BACKSTOP,
    CLOCK,
    CONTROL,
    DEAD_LETTERS,
    IDEMPOTENCY,
    JOBS,
    PRIORITY_QUEUES,
    SCHEDULES,
    TICK_FAILURES,
)
from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.doctor import asking
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.findings import Finding, NotSeen, Status, failed, ok, warning
from hourhand.cli.exits import NOT_FOUND, CommandError
from hourhand.domain.jobs.job import Priority
from hourhand.ports.clock import Clock

CHECK = "stack"

TABLE_OUTPUTS = {
    JOBS.name: "JobsTable",
    CONTROL.name: "ControlTable",
    IDEMPOTENCY.name: "IdempotencyTable",
    SCHEDULES.name: "SchedulesTable",
}
QUEUE_OUTPUTS = {
    PRIORITY_QUEUES[Priority.HIGH].name: "QueueHighUrl",
    PRIORITY_QUEUES[Priority.MEDIUM].name: "QueueMediumUrl",
    PRIORITY_QUEUES[Priority.LOW].name: "QueueLowUrl",
    DEAD_LETTERS.name: "DeadLetterQueueUrl",
    BACKSTOP.name: "BackstopQueueUrl",
    CLOCK.name: "ClockQueueUrl",
    TICK_FAILURES.name: "TickFailuresQueueUrl",
}
FUNCTION_OUTPUTS = {
    "api": "ApiFunction",
    "scheduler": "SchedulerFunction",
    "worker": "WorkerFunction",
}
OUTPUTS = (
    "ApiUrl",
    "Installation",
    *TABLE_OUTPUTS.values(),
    *QUEUE_OUTPUTS.values(),
    *FUNCTION_OUTPUTS.values(),
    "TickRule",
)
"""The outputs of the stack that `hourhand doctor` reads."""

_SETTLED = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"})
_UNDONE = frozenset({"UPDATE_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"})
NO_SUCH_STACK = "ValidationError"
"""CloudFormation's code for a stack that does not exist (API reference, DescribeStacks)."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Names and addresses of what a stack created. ``stack_id`` is its ARN."""

    stack_id: str
    outputs: Mapping[str, str]

    def output(self, name: str) -> str:
        """Return one; raise `NotSeen` where the stack has none of that name."""
        if name not in self.outputs:
            raise NotSeen(
                Status.SKIPPED,
                f"not checked: the stack has no output {name}",
                "Deploy this version of the stack.",
            )
        return self.outputs[name]

    def table(self, name: str) -> str:
        """Return the full name of the table that `table_schema` calls ``name``."""
        return self.output(TABLE_OUTPUTS[name])

    def queue_url(self, name: str) -> str:
        """Return the URL of the queue that `table_schema` calls ``name``."""
        return self.output(QUEUE_OUTPUTS[name])

    def function(self, name: str) -> str:
        """Return the name of the function ``api``, ``scheduler`` or ``worker``."""
        # Lambda accepts an ARN wherever it accepts a name; its answer holds the name.
        return self.output(FUNCTION_OUTPUTS[name]).rpartition(":function:")[2]

    def queue_arn(self, name: str) -> str:
        """Return the ARN of a queue."""
        _, partition, _, region, account, *_ = self.stack_id.split(":")
        return f"arn:{partition}:sqs:{region}:{account}:{queue_name(self.queue_url(name))}"


def find_deployment(aws: Aws, stack: str) -> tuple[Deployment | None, list[Finding]]:
    """Look the stack up; ``None`` where there is none, or it cannot be seen."""
    try:
        described = _described(aws, stack)
    except NotSeen as hindrance:
        return None, [hindrance.of(CHECK)]
    if described is None:
        return None, [no_stack(stack, aws.session.region_name)]
    deployment = _deployment_of(described)
    return deployment, list(judge_stack(described, deployment.outputs))


def require_deployment(aws: Aws, stack: str) -> tuple[Deployment, bool]:
    """Return the deployment, and whether CloudFormation is not changing it at the moment.

    Raises `NotSeen`, and `CommandError` if there is no such stack.
    """
    described = _described(aws, stack)
    if described is None:
        missing = no_stack(stack, aws.session.region_name)
        raise CommandError(f"{missing.seen}. {missing.fix}", NOT_FOUND)
    is_settled = not described["StackStatus"].endswith("_IN_PROGRESS")
    return _deployment_of(described), is_settled


@contextmanager
def opened_deployment(
    flags: DeploymentFlags, clock: Clock, *, seconds: float = asking.LOOKING_SECONDS
) -> Iterator[tuple[Aws, Deployment, bool]]:
    """Yield AWS and what `require_deployment` returns, for calls that may raise `NotSeen`.

    Raises `CommandError` for what AWS does not show.
    """
    try:
        aws = asking.open_aws(flags, clock, seconds=seconds)
        yield aws, *require_deployment(aws, flags.stack_name)
    except NotSeen as hindrance:
        raise hindrance.as_error() from hindrance


def _described(aws: Aws, stack: str) -> Mapping[str, Any] | None:
    answer = aws.ask(
        "cloudformation",
        "DescribeStacks",
        f"stack {stack}",
        expected={NO_SUCH_STACK},
        StackName=stack,
    )
    return next(iter(answer.get("Stacks", [])), None)


def _deployment_of(described: Mapping[str, Any]) -> Deployment:
    outputs = {each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", [])}
    return Deployment(described["StackId"], outputs)


def no_stack(stack: str, region: str | None) -> Finding:
    """Return that nothing is deployed under that name."""
    return failed(
        CHECK,
        f"there is no stack {stack} in {region}",
        "Give its name with --stack and its Region with --region, or deploy it: see "
        "docs/how-to/deploy.md.",
    )


def judge_stack(described: Mapping[str, Any], outputs: Iterable[str]) -> Iterator[Finding]:
    """Judge a stack's status, and whether it has all outputs that are read."""
    status: str = described["StackStatus"]
    seen = f"{described['StackName']} is {status}"
    if status in _SETTLED:
        yield ok(CHECK, seen)
    elif status in _UNDONE:
        yield warning(
            CHECK,
            f"{seen}: its last update failed and was undone",
            "See the stack's events for the first failure, fix its cause, and deploy again.",
        )
    elif status.endswith("_IN_PROGRESS"):
        yield warning(
            CHECK,
            f"{seen}: CloudFormation is changing it",
            "Run this check again when the change has finished.",
        )
    else:
        reason = described.get("StackStatusReason", "CloudFormation gives no reason")
        yield failed(
            CHECK,
            f"{seen}: {reason}",
            "See the stack's events for the first failure, fix its cause, and deploy again.",
        )
    missing = [name for name in OUTPUTS if name not in set(outputs)]
    if missing:
        yield failed(
            CHECK,
            f"has no output {', '.join(missing)}",
            "Give --stack the name of a stack of Hourhand, or deploy this version.",
        )
