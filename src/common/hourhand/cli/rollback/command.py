"""``hourhand rollback``: its flags, what it prints, and in which order it asks and acts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.exits import (
    DONE,
    FAILED,
    NO_ACCESS,
    NOT_FOUND,
    REFUSED,
    WRONG_USAGE,
    CommandError,
)
from hourhand.cli.options import YesOption
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

if TYPE_CHECKING:
    # `hourhand --help` imports this file, and must not load boto3.
    from hourhand.cli.doctor.asking import Aws
    from hourhand.cli.doctor.deployment import Deployment
    from hourhand.cli.rollback.moving import Moved, Pruned
    from hourhand.cli.rollback.plan import Transition
    from hourhand.cli.versions import Installed, Published

ACTING_SECONDS = 120
"""Time for the calls of one run; a person may take longer to answer in between."""

KEPT_DEPLOYMENTS = 10
LEAST_KEPT_DEPLOYMENTS = 2

COLUMNS = (
    Column("DEPLOYMENT"),
    Column("RELEASE", rank=2),
    Column("PUBLISHED"),
    Column("API", rank=3, is_number=True),
    Column("SCHEDULER", rank=3, is_number=True),
    Column("WORKER", rank=3, is_number=True),
    Column("", rank=1),
)

ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="VERSION",
        help="ID of the deployment to move to, or its first digits, as --list shows it. Default: "
        "the deployment before the newest.",
    ),
]
ListOption = Annotated[
    bool,
    typer.Option(
        "--list",
        envvar="HOURHAND_ROLLBACK_LIST",
        show_envvar=False,
        help="Only list the available deployments.",
    ),
]
PruneOption = Annotated[
    bool,
    typer.Option("--prune", help="Delete the versions of old deployments, instead of a rollback."),
]
KeepOption = Annotated[
    int,
    typer.Option(
        "--keep",
        metavar="N",
        min=LEAST_KEPT_DEPLOYMENTS,
        help="With --prune: number of newest deployments to keep.",
    ),
]


@verb(
    example="hourhand rollback --stack hourhand-prod",
    codes={
        FAILED: "AWS refused a call, or some aliases were not moved: run it again",
        WRONG_USAGE: "wrong usage",
        NOT_FOUND: "no such stack or deployment",
        REFUSED: "no earlier deployment, or a deployment is running",
        **NO_ACCESS,
    },
    asks_api=False,
)
def rollback(
    session: Session,
    flags: DeploymentFlags,
    to: ToOption = None,
    show: ListOption = False,
    prune: PruneOption = False,
    keep: KeepOption = KEPT_DEPLOYMENTS,
    yes: YesOption = False,
) -> int:
    """Return to the functions' code and environment of an earlier deployment.

    Every deployment publishes a version of each function, and old versions are kept. This command
    moves the alias of all three functions to the versions of one deployment, within seconds. It
    prints the changes and asks first. Running jobs finish on their present version. A second run
    of the same command changes nothing.

    Tables, queues, roles and the other settings of the stack do not change. Older code does not
    touch what newer code wrote (see docs/how-to/upgrading.md). To move forward again, use --to with
    the newest deployment, or deploy a change of a function.
    """
    if show + prune + (to is not None) > 1:
        raise typer.BadParameter("give only one of --to, --list and --prune")
    from hourhand.cli.doctor.asking import open_aws
    from hourhand.cli.doctor.deployment import require_deployment
    from hourhand.cli.doctor.findings import NotSeen
    from hourhand.cli.versions import read_installed

    stack = flags.stack_name

    def aws() -> Aws:
        return open_aws(flags, session.clock, seconds=ACTING_SECONDS)

    try:
        deployment, is_settled = require_deployment(aws(), stack)
        installed = read_installed(aws(), deployment)
        if show:
            return _list(session, stack, installed)
        if not is_settled:
            message = f"A deployment of {stack} is running. Wait until it ends."
            raise CommandError(message, REFUSED)
        if prune:
            return _prune(session, aws, deployment, installed, keep, is_sure=yes)
        return _go(session, aws, stack, deployment, installed, to, is_sure=yes)
    except NotSeen as hindrance:
        raise hindrance.as_error() from hindrance


def _list(session: Session, stack: str, installed: Installed) -> int:
    from hourhand.cli.versions import FUNCTIONS

    published = installed.published
    live = installed.live
    rows = []
    for place, each in enumerate(published):
        at = [name for name in FUNCTIONS if live[name] == each]
        if session.is_json:
            session.print_json(
                {
                    **_as_json(each),
                    "published_at": each.at.isoformat(),
                    "versions": dict(each.numbers),
                    "is_newest": place == 0,
                    "live": at,
                }
            )
        notes = ["newest"] if place == 0 else []
        notes += ["live"] if len(at) == len(FUNCTIONS) else [f"live: {name}" for name in at]
        numbers = [str(each.numbers[name]) for name in FUNCTIONS]
        published_at = session.times.short(each.at)
        rows.append([each.deployment, each.release, published_at, *numbers, ", ".join(notes)])
    if not session.is_json:
        session.print_table(COLUMNS, rows)
        if not published:
            session.remark(f"{stack} has no earlier deployment.")
    return DONE


def _go(
    session: Session,
    aws: Callable[[], Aws],
    stack: str,
    deployment: Deployment,
    installed: Installed,
    wanted: str | None,
    *,
    is_sure: bool,
) -> int:
    from hourhand.cli.rollback.moving import Moved, move_all
    from hourhand.cli.rollback.plan import moves_to, target_of

    target = target_of(installed, wanted)
    moves = moves_to(target, installed)
    if not moves:
        if not session.is_json:
            session.print_text(
                f"Nothing to do: {stack} is already at deployment {target.deployment}. For an "
                "earlier one use --to; --list shows them."
            )
        return _report(session, stack, target, Moved(done=()))
    for line in _intent(session, stack, target, moves):
        session.remark(line, style="")
    session.confirm(f"Move {stack} to deployment {target.deployment}?", is_sure=is_sure)
    moved = move_all(aws(), deployment, target, moves)
    return _report(session, stack, target, moved)


def _intent(
    session: Session, stack: str, target: Published, moves: Sequence[Transition]
) -> Iterator[str]:
    yield (
        f"{stack} moves to deployment {target.deployment} (Hourhand {target.release}, published "
        f"{session.times.full(target.at)}):"
    )
    for move in moves:
        yield f"  {move.function}: version {move.old} -> {move.new}"
    yield (
        "Running jobs finish on their present version. Tables, queues, roles and the other "
        "settings of the stack do not change."
    )


def _report(session: Session, stack: str, target: Published, moved: Moved) -> int:
    """Print what was done, and return the exit code."""
    if session.is_json:
        session.print_json(
            {
                "stack": stack,
                **_as_json(target),
                "moved": [_move_as_json(move) for move in moved.done],
                "not_moved": [_move_as_json(move) for move in moved.left],
                "reason": moved.reason or None,
            }
        )
    for move in () if session.is_json else moved.done:
        session.print_text(f"Moved {move.function}: version {move.old} -> {move.new}.")
    if moved.left:
        left = ", ".join(move.function for move in moved.left)
        session.remark(
            f"Not moved: {left}. {moved.reason}\n"
            "Both versions work with the same tables, so nothing is lost. Run this again: "
            f"hourhand rollback --stack {stack} --to {target.deployment}",
            style="bold red",
        )
        return FAILED
    if moved.done and not session.is_json:
        session.remark(
            "The next deployment that changes a function moves the aliases forward again. To move "
            "them now, use --to with the newest deployment."
        )
    return DONE


def _prune(
    session: Session,
    aws: Callable[[], Aws],
    deployment: Deployment,
    installed: Installed,
    keep: int,
    *,
    is_sure: bool,
) -> int:
    from hourhand.cli.rollback.moving import Pruned, prune_all
    from hourhand.cli.rollback.plan import to_prune

    numbers = to_prune(installed, keep, aws().clock.now())
    count = sum(map(len, numbers.values()))
    if count:
        question = f"Delete {count} versions, and keep those of the newest {keep} deployments?"
        session.confirm(question, is_sure=is_sure)
        pruned = prune_all(aws(), deployment, numbers)
    else:
        pruned = Pruned(deleted=numbers)
    return _report_pruned(session, pruned)


def _report_pruned(session: Session, pruned: Pruned) -> int:
    if session.is_json:
        deleted = {name: list(numbers) for name, numbers in pruned.deleted.items()}
        session.print_json(
            {"deleted": deleted, "refused": list(pruned.refused), "more": pruned.more}
        )
    else:
        counts = ", ".join(f"{len(numbers)} of {name}" for name, numbers in pruned.deleted.items())
        session.print_text(f"Deleted versions: {counts}.")
    for refusal in pruned.refused:
        session.remark(f"Not deleted: {refusal}", style="bold red")
    if pruned.more:
        session.remark(f"{pruned.more} more can be deleted: run the command again.")
    return FAILED if pruned.refused else DONE


def _as_json(published: Published) -> dict[str, Any]:
    return {"deployment": published.deployment, "release": published.release}


def _move_as_json(move: Transition) -> Mapping[str, Any]:
    return {"function": move.function, "from": move.old, "to": move.new}
