"""``hourhand shards``: in how many shards of the index new jobs are filed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.exits import FAILED, NO_ACCESS, NOT_FOUND, CommandError
from hourhand.cli.helping import Noun
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.ticks.buckets import MAX_SHARDS, ShardMapVersion, bucket_start

if TYPE_CHECKING:
    # `hourhand --help` imports this file, and must not load boto3.
    from hourhand.cli.doctor.asking import Aws
    from hourhand.cli.doctor.deployment import Deployment

shards = Noun(name="shards", help="Show and set in how many shards of the index jobs are filed.")

_CODES = {FAILED: "AWS or the scheduler refused a call", NOT_FOUND: "no such stack", **NO_ACCESS}
_COLUMNS = (Column("JOBS DUE FROM"), Column("SHARDS", is_number=True))


@shards.command("show")
@verb(example="hourhand shards show --stack hourhand-prod", codes=_CODES, asks_api=False)
def show(session: Session, flags: DeploymentFlags) -> None:
    """Show in how many shards new jobs are filed, by the minute in which they are due.

    A shard takes about a thousand writes per second. See docs/how-to/shards.md.
    """

    def read(aws: Aws, deployment: Deployment) -> Sequence[ShardMapVersion]:
        from hourhand.aws.control_store import DynamoControlStore

        table = deployment.output("ControlTable")
        return aws.look(
            "dynamodb",
            "GetItem",
            f"table {table}",
            lambda client: DynamoControlStore(client, table).read_shard_map().versions,
        )

    _print(session, flags, read)


@shards.command("set")
@verb(
    example="hourhand shards set 4 --stack hourhand-prod",
    codes=_CODES,
    asks_api=False,
    changes=True,
)
def set_shards(
    session: Session,
    count: Annotated[
        int, typer.Argument(metavar="N", min=1, max=MAX_SHARDS, help="Number of shards.")
    ],
    flags: DeploymentFlags,
) -> None:
    """File new jobs in N shards, from one or two minutes in the future on.

    Jobs that are in the index stay in their shards, and the scheduler finds them there. Jobs run
    during the change. See docs/how-to/shards.md.
    """

    def change(aws: Aws, deployment: Deployment) -> Sequence[ShardMapVersion]:
        from hourhand.aws.published import ALIAS
        from hourhand.aws.sweep_invoker import RESIZE

        name = f"{deployment.function('scheduler')}:{ALIAS}"
        payload = json.dumps({RESIZE: {"shards": count}})
        answer = aws.ask("lambda", "Invoke", f"function {name}", FunctionName=name, Payload=payload)
        answered: Any = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise CommandError(str(answered.get("errorMessage", answered)), FAILED)
        return [ShardMapVersion(**each) for each in answered["versions"]]

    _print(session, flags, change)


def _print(
    session: Session,
    flags: DeploymentFlags,
    read: Callable[[Aws, Deployment], Sequence[ShardMapVersion]],
) -> None:
    from hourhand.cli.doctor.deployment import opened_deployment

    with opened_deployment(flags, session.clock) as (aws, deployment, _):
        versions = read(aws, deployment)
    began = [(bucket_start(each.from_bucket), each.count) for each in versions]
    if session.is_json:
        for at, count in began:
            session.print_json({"from": at.isoformat(), "shards": count})
    else:
        session.print_table(_COLUMNS, [[session.times.short(at), str(n)] for at, n in began])
