"""What the functions' roles may do, by IAM's own simulation of their policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

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
from hourhand.cli.doctor.rights import RIGHTS, Right


def role_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield what there is to look at: the role of each function."""
    for name in RIGHTS:
        yield Look(f"role {name}", partial(_role, aws, deployment, name))


def _role(aws: Aws, deployment: Deployment, name: str) -> Iterator[Finding]:
    check = f"role {name}"
    role = read_function(aws, deployment, name)["Role"]
    wanted: list[Mapping[str, Any]] = []
    refused: list[Mapping[str, Any]] = []
    for right in RIGHTS[name](deployment):
        try:
            answer = _simulate(aws, role, right)
        except NotSeen as hindrance:
            if not hindrance.is_denied:
                raise
            yield skipped(check, hindrance.seen, hindrance.mend)
            return
        (wanted if right.is_wanted else refused).extend(each_result(answer))
    yield judge_rights(name, wanted)
    yield from judge_excess(name, refused)


def _simulate(aws: Aws, role: str, right: Right) -> Mapping[str, Any]:
    context = {
        "ContextKeyName": "dynamodb:LeadingKeys",
        "ContextKeyType": "stringList",
        "ContextKeyValues": list(right.leading_keys),
    }
    return aws.ask(
        "iam",
        "SimulatePrincipalPolicy",
        f"role {role}",
        PolicySourceArn=role,
        ActionNames=list(right.actions),
        ResourceArns=list(right.resources),
        ContextEntries=[context] if right.leading_keys else [],
    )


def each_result(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield one result for an action on a resource.

    Of several resources IAM may tell but one result of the action, with theirs inside, and the
    context values that are missing there too (IAM API reference, ResourceSpecificResult).
    """
    for result in answer["EvaluationResults"]:
        inside = result.get("ResourceSpecificResults", [])
        if not inside:
            yield result
        for each in inside:
            told = {**each, "EvalDecision": each["EvalResourceDecision"]}
            yield {"EvalActionName": result["EvalActionName"], **told}


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
