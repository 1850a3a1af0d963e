"""``hourhand runs``: its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.answers.jobs import Job
from hourhand.answers.runs import Accepted, RedrivePlan, Step
from hourhand.cli.completing import job_ids
from hourhand.cli.exits import REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.options import (
    OrderOption,
    Rows,
    argument,
    option,
)
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

runs = Noun(
    name="runs",
    help="Show the steps of durable runs, send them signals, and run parts of them again.",
)

RunId = Annotated[str, argument("RUN", "ID of the run's job.", job_ids)]


@runs.command("steps")
@verb(example="hourhand runs steps 01k2v8r3t5w7x9y1z3b5d", prints=(Step,))
def list_steps(
    session: Session,
    id: RunId,  # noqa: A002 (the argument's name)
    order: OrderOption = "oldest",
    *,
    rows: Rows,
) -> None:
    """List the steps and waits of a run, ordered by when they were recorded."""
    from hourhand.cli.runs.showing import list_found

    list_found(session, id, order, rows.most)


@runs.command("signal")
@verb(
    example="""hourhand runs signal 01k2v8r3t5w7x9y1z3b5d approved --payload '{"by": "Ann"}'""",
    changes=True,
    prints=(Accepted,),
)
def send_signal(
    session: Session,
    run: RunId,
    name: Annotated[str, argument("NAME", "Name of the signal.")],
    payload: Annotated[str | None, option("JSON", "Payload of the signal. Default: null.")] = None,
    id: Annotated[  # noqa: A002 (the flag's name)
        str | None,
        typer.Option(
            "--id",
            metavar="ID",
            help="ID of the signal. The same ID again changes nothing. Default: a new one.",
        ),
    ] = None,
) -> None:
    """Send a signal to a run. A run that waits for it continues at once.

    A signal that comes before the run waits for it is kept until then.
    """
    from hourhand.cli.runs.showing import payload_of

    accepted = session.client.runs.signal(run, name, payload_of(payload), id=id)
    if session.gives_json(accepted):
        return
    session.remark(f"The run {run} got the signal {name}.")


@runs.command("journal")
@verb(example="hourhand runs journal 01k2v8r3t5w7x9y1z3b5d")
def export_journal(session: Session, id: RunId) -> None:  # noqa: A002 (the argument's name)
    """Print the journal of a run as JSON, for hourhand.testing.replay.

    It has no secrets of callbacks and no private results.
    """
    session.print_json(session.client.runs.journal(id))


@runs.command("redrive")
@verb(
    example="hourhand runs redrive 01k2v8r3t5w7x9y1z3b5d --from transform --dry-run",
    codes={REFUSED: "the run goes on, was compensated, or has no call of this path"},
    changes=True,
    prints=(Job, RedrivePlan),
)
def redrive_run(
    session: Session,
    id: RunId,  # noqa: A002 (the argument's name)
    paths: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            envvar="HOURHAND_RUNS_REDRIVE_FROM",
            show_envvar=False,
            metavar="PATH",
            help="Path of a call that runs again, with all below a branch of that name. May be "
            "given several times. Default: only the calls that failed.",
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Run everything again, with an empty journal and new step keys."
        ),
    ] = False,
    new_keys: Annotated[
        bool,
        typer.Option(
            "--new-keys",
            help="Give the steps that run again new keys, so that they have their effect again. "
            "Default: they keep their keys, and a receiver that knows a key has no second effect.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print which calls would run again, and change nothing."),
    ] = False,
) -> None:
    """Run a durable run again from where it failed, or from named calls.

    With --from it works on any run that ended, also on one that succeeded.
    """
    for flag, is_given in (("--dry-run", dry_run), ("--new-keys", new_keys)):
        if is_given and not paths:
            raise typer.BadParameter("needs --from", param_hint=flag)
    if fresh and paths:
        raise typer.BadParameter("cannot be given together with --from", param_hint="--fresh")
    from hourhand.cli.jobs.showing import show_changed
    from hourhand.cli.runs.showing import show_plan

    if dry_run:
        plan = session.client.runs.plan_redrive(id, paths or (), new_keys=new_keys)
        show_plan(session, plan)
        return
    changed = session.client.runs.redrive(id, paths=paths or None, fresh=fresh, new_keys=new_keys)
    show_changed(session, changed, "redriven")
