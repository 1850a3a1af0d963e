"""Moves aliases and deletes versions, one call after the other, and reports what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hourhand.aws.published import ALIAS, rollback_description
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import NotSeen, Status
from hourhand.cli.rollback.plan import Transition
from hourhand.cli.versions import Published, read_alias

MAX_PRUNED = 300
"""Versions that one run deletes of each function; the next run deletes the rest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """What was done: the moves that hold now, and why the first of the others failed."""

    done: Sequence[Transition]
    left: Sequence[Transition] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruned:
    """The versions that were deleted, by function, and what Lambda said of those that were not."""

    deleted: Mapping[str, Sequence[int]]
    refused: Sequence[str] = ()
    more: int = 0


def move_all(
    aws: Aws, deployment: Deployment, target: Published, moves: Sequence[Transition]
) -> Moved:
    """Move one alias after the other; stop at the first that cannot be moved."""
    for place, move in enumerate(moves):
        try:
            _move(aws, deployment, target, move)
        except NotSeen as hindrance:
            reason = f"{hindrance.seen}. {hindrance.fix}".strip()
            return Moved(done=moves[:place], left=moves[place:], reason=reason)
    return Moved(done=moves)


def _move(aws: Aws, deployment: Deployment, target: Published, move: Transition) -> None:
    function = deployment.function(move.function)
    at = aws.clock.now().isoformat(timespec="seconds")
    try:
        aws.ask(
            "lambda",
            "UpdateAlias",
            f"function {function}",
            FunctionName=function,
            Name=ALIAS,
            FunctionVersion=str(move.new),
            Description=rollback_description(target.deployment, at),
            # None of the calls has the other version of a gradual shift any more.
            RoutingConfig={"AdditionalVersionWeights": {}},
            # A deployment that moved the alias meanwhile is not undone without a look at it.
            RevisionId=move.revision,
        )
    except NotSeen as hindrance:
        # An answer may be lost after the alias has moved; asked again, Lambda names a conflict.
        found = read_alias(aws, deployment, move.function)
        if found.number == move.new and not found.is_split:
            return
        if found.revision == move.revision:
            raise
        raise NotSeen(
            Status.FAILED,
            f"another process moved the alias of {move.function} to version {found.number}",
            "Use --list to see what was deployed.",
        ) from hindrance


def prune_all(aws: Aws, deployment: Deployment, numbers: Mapping[str, Sequence[int]]) -> Pruned:
    """Delete versions, oldest first; what Lambda refuses to delete stays, with its reason."""
    deleted: dict[str, list[int]] = {name: [] for name in numbers}
    refused: list[str] = []
    for name, of_function in numbers.items():
        function = deployment.function(name)
        for number in of_function[:MAX_PRUNED]:
            try:
                aws.ask(
                    "lambda",
                    "DeleteFunction",
                    f"function {function}:{number}",
                    expected={"ResourceNotFoundException"},
                    FunctionName=function,
                    Qualifier=str(number),
                )
            except NotSeen as hindrance:
                if hindrance.is_denied:
                    raise
                refused.append(f"{function}:{number}: {hindrance.seen}")
            else:
                deleted[name].append(number)
    more = sum(max(0, len(of_function) - MAX_PRUNED) for of_function in numbers.values())
    return Pruned(deleted=deleted, refused=refused, more=more)
