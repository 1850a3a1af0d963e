"""What the functions' roles may do, by IAM's own simulation of their policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hourhand.aws.table_schema import (
    CLOCK,
    CONTROL,
    DEAD_LETTERS,
    IDEMPOTENCY,
    JOBS,
    PRIORITY_QUEUES,
    RUN_AT_INDEX,
    SCHEDULES,
)
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import (
    REDEPLOY,
    Finding,
    Look,
    NotSeen,
    failed,
    ok,
    skipped,
    warning,
)
from hourhand.cli.doctor.functions import read_function

_READ = ("dynamodb:GetItem",)
_WRITE = ("dynamodb:PutItem", "dynamodb:UpdateItem")
_SEND = ("sqs:SendMessage",)
_TAKE = ("sqs:ReceiveMessage", "sqs:DeleteMessage")
_TAKE_AND_HIDE = (*_TAKE, "sqs:ChangeMessageVisibility")
_CONTENTS = ("s3:GetObject", "s3:PutObject")


@dataclass(frozen=True, slots=True)
class Right:
    """Actions on resources that a role must have, or (``is_wanted`` false) must not have."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    is_wanted: bool = True


def role_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield what there is to look at: the role of each function."""
    for name, rights in _RIGHTS.items():
        yield Look(f"role {name}", partial(_role, aws, deployment, name, rights))


def _role(aws: Aws, deployment: Deployment, name: str, rights: Any) -> Iterator[Finding]:
    check = f"role {name}"
    role = read_function(aws, deployment, name)["Role"]
    wanted: list[Mapping[str, Any]] = []
    refused: list[Mapping[str, Any]] = []
    for right in rights(deployment):
        try:
            answer = _simulate(aws, role, right)
        except NotSeen as hindrance:
            if not hindrance.is_denied:
                raise
            yield skipped(check, hindrance.seen, hindrance.mend)
            return
        (wanted if right.is_wanted else refused).extend(answer["EvaluationResults"])
    yield judge_rights(name, wanted)
    yield from judge_excess(name, refused)


def _simulate(aws: Aws, role: str, right: Right) -> Mapping[str, Any]:
    return aws.ask(
        "iam",
        "SimulatePrincipalPolicy",
        f"role {role}",
        PolicySourceArn=role,
        ActionNames=list(right.actions),
        ResourceArns=list(right.resources),
    )


def judge_rights(name: str, results: Sequence[Mapping[str, Any]]) -> Finding:
    """Judge whether a role may do what its function does."""
    check = f"role {name}"
    denied = [r for r in results if r["EvalDecision"] != "allowed"]
    if not denied:
        return ok(check, f"may do the {len(results)} things that were tried")
    told = _told(denied)
    # Conditions of the user's own policies, for which the simulation was given no values.
    missing = sorted({key for r in denied for key in r.get("MissingContextValues", [])})
    if missing:
        return skipped(
            check,
            f"cannot be told: whether it may {told} depends on {', '.join(missing)}",
            "Look at the conditions in its policies.",
        )
    return failed(
        check,
        f"may not {told}",
        f"{REDEPLOY} A permissions boundary or a policy of the organisation may deny it, too.",
    )


def judge_excess(name: str, results: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Judge whether a role may do what user code in its function must not."""
    allowed = [r for r in results if r["EvalDecision"] == "allowed"]
    if allowed:
        yield warning(
            f"role {name}",
            f"may {_told(allowed)}, so a handler could mislead the scheduler",
            "Grant the worker what its handlers need and no more.",
        )


def _told(results: Iterable[Mapping[str, Any]]) -> str:
    found = {(r["EvalActionName"], _resource(r.get("EvalResourceName", "*"))) for r in results}
    return ", ".join(f"{action} on {resource}" for action, resource in sorted(found))


def _resource(arn: str) -> str:
    return arn.split(":", 5)[-1]


def _api_rights(deployment: Deployment) -> Iterator[Right]:
    tables = (deployment.table_arn(JOBS.name), deployment.table_arn(SCHEDULES.name))
    yield Right((*_READ, *_WRITE), tables)
    yield Right(_READ, (deployment.table_arn(CONTROL.name),))
    yield Right(_SEND, _queues(deployment))
    yield Right(_CONTENTS, (deployment.object_arns(),))


def _scheduler_rights(deployment: Deployment) -> Iterator[Right]:
    tables = (JOBS.name, SCHEDULES.name, CONTROL.name)
    yield Right((*_READ, *_WRITE), tuple(deployment.table_arn(name) for name in tables))
    index = f"{deployment.table_arn(JOBS.name)}/index/{RUN_AT_INDEX.name}"
    yield Right(("dynamodb:Query",), (index,))
    yield Right(_SEND, (*_queues(deployment), deployment.queue_arn(CLOCK.name)))
    yield Right(_TAKE, (deployment.queue_arn(CLOCK.name),))
    yield Right(("lambda:InvokeFunction",), (deployment.function_arn("scheduler"),))


def _worker_rights(deployment: Deployment) -> Iterator[Right]:
    written = (JOBS.name, IDEMPOTENCY.name)
    kept_from_it = (CONTROL.name, SCHEDULES.name)
    yield Right((*_READ, *_WRITE), tuple(deployment.table_arn(name) for name in written))
    yield Right(_READ, tuple(deployment.table_arn(name) for name in kept_from_it))
    yield Right(_SEND, _queues(deployment))
    priorities = (queue.name for queue in PRIORITY_QUEUES.values())
    yield Right(_TAKE_AND_HIDE, tuple(deployment.queue_arn(name) for name in priorities))
    yield Right(_CONTENTS, (deployment.object_arns(),))
    for name in kept_from_it:
        yield Right(_WRITE, (deployment.table_arn(name),), is_wanted=False)


def _queues(deployment: Deployment) -> tuple[str, ...]:
    """Return the queues that every function sends to."""
    names = (*(queue.name for queue in PRIORITY_QUEUES.values()), DEAD_LETTERS.name)
    return tuple(deployment.queue_arn(name) for name in names)


_RIGHTS = {"api": _api_rights, "scheduler": _scheduler_rights, "worker": _worker_rights}
