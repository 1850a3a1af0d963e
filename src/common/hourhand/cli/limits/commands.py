"""``hourhand limits``: its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.answers.batches import BulkResult
from hourhand.answers.limits import ChangedLimit, Limit, LimitSummary
from hourhand.cli.completing import job_ids, limit_names
from hourhand.cli.exits import REFUSED, WRONG_USAGE, CommandError
from hourhand.cli.helping import Noun
from hourhand.cli.options import Rows, argument, option
from hourhand.cli.output.harmless import cell
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.limits.declarations import MAX_RATE_COUNT

limits = Noun(
    name="limits",
    help="List and show limits of how many jobs run at a time or start in a period, and change "
    "them while jobs run.",
)

LimitName = Annotated[
    str,
    argument(
        "NAME",
        "Name of the limit: its own, or that of the handler and a number, such as sync.1.",
        limit_names,
    ),
]
LimitNames = Annotated[list[str], argument("NAME", "Names of the limits.", limit_names)]
JobId = Annotated[str, argument("JOB", "ID of the job.", job_ids)]
KeyOption = Annotated[
    str | None,
    option(
        "KEY",
        "One key of a limit that has keys, such as the name of a tenant. Default: all keys "
        "that have no number of their own.",
    ),
]
RetimedKeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        help="The key whose jobs are moved. Required for a rate that has keys, such as the name of "
        "a tenant.",
    ),
]
ShownKeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        help="The key whose jobs are shown, of a limit that has keys, such as the name of a "
        "tenant. Without it, such a limit shows its numbers alone.",
    ),
]


@limits.command("list")
@verb(example="hourhand limits list", codes={REFUSED: None}, prints=(LimitSummary,))
def list_limits(
    session: Session,
    rows: Rows,
) -> None:
    """List limits by name: how many jobs may run, how many do, and how many wait.

    Of a limit with keys, such as one for each tenant, neither is known without a key: see show.
    """
    from hourhand.cli.limits.showing import list_found

    list_found(session, rows.most)


@limits.command("show")
@verb(example="hourhand limits show stripe --key acme", prints=(Limit,))
def show_limit(session: Session, name: LimitName, key: ShownKeyOption = None) -> None:
    """Show a limit, the jobs that hold its slots, and the first 20 that wait.

    A limit with keys shows its jobs for one key at a time.
    """
    from hourhand.cli.limits.showing import show

    show(session, session.client.limits.get(name, key=key))


@limits.command("set")
@verb(
    example="hourhand limits set stripe 10 --key acme",
    changes=True,
    prints=(ChangedLimit,),
)
def set_limit(
    session: Session,
    name: LimitName,
    number: Annotated[
        int | None,
        typer.Argument(
            metavar="[MAX]",
            min=0,
            max=MAX_RATE_COUNT,
            help="How many jobs of one key may run at a time; 0 lets no job start. Of a rate: "
            "how many may start in its period, at least 1.",
            show_default=False,
        ),
    ] = None,
    key: KeyOption = None,
    restore: Annotated[
        bool,
        typer.Option(
            "--restore", help="Remove the number that was set; without --key, all numbers."
        ),
    ] = False,
) -> None:
    """Set the number of a limit in the place of that in the code, or restore it.

    Workers know the number within 30 s. Jobs that run go on. If the number is increased, up to
    1,000 waiting jobs start at once. The next sweeps, one a minute, start the others, and those
    of keys that are not named. A deployment does not remove the number.
    """
    from hourhand.cli.limits.showing import show_changed

    if (number is None) is not restore:
        raise CommandError("Give a number, or --restore.", WRONG_USAGE)
    session.agree()
    if restore and key is None:
        show_changed(session, session.client.limits.delete(name))
    else:
        show_changed(session, _put(session, name, key, number))


@limits.command("pause")
@verb(example="hourhand limits pause stripe", changes=True, prints=(ChangedLimit,))
def pause(session: Session, names: LimitNames, key: KeyOption = None) -> int:
    """Set the numbers of limits to 0: no job that has them gets a slot until they are resumed.

    Jobs are accepted and wait. Jobs that have a slot start and end as ever, and workers may give
    slots for 30 s more. Keys that have a number of their own go on: the command names them, and
    --key pauses one. A rate cannot be paused: pause its handlers, which also takes a note and an
    end.
    """
    from hourhand.cli.limits.showing import show_changed, tell_keys_that_go_on

    def pause_one(name: str) -> None:
        changed = _put(session, name, key, 0)
        show_changed(session, changed)
        if key is None:
            tell_keys_that_go_on(session, changed)

    return session.do_to_each(names, pause_one)


@limits.command("resume")
@verb(example="hourhand limits resume stripe", changes=True, prints=(ChangedLimit,))
def resume(session: Session, names: LimitNames, key: KeyOption = None) -> int:
    """End the pause of limits: the numbers in the code apply again, and waiting jobs start.

    Up to 1,000 start at once. The next sweeps, one a minute, start the others, and those of a
    limit with keys. A number that was set before the pause is not restored; set it again.
    """
    from hourhand.cli.limits.showing import show_changed

    return session.do_to_each(
        names, lambda one: show_changed(session, _put(session, one, key, None))
    )


@limits.command("retime")
@verb(example="hourhand limits retime stripe", changes=True, prints=(BulkResult,))
def retime(session: Session, name: LimitName, key: RetimedKeyOption = None) -> int:
    """Give the jobs that wait for a rate new start times, after its number was changed.

    A waiting job keeps the start time that it got by the number at that time. This command moves
    the jobs to the start times of the present number, in their order. It also ends a hold by
    RateLimited and forgets a single job that cost too much: the next job starts at the rate.
    """
    from hourhand.cli.limits.showing import retime_found

    session.agree()
    return retime_found(session, name, key)


@limits.command("free")
@verb(example="hourhand limits free import.1 job-4711", changes=True, prints=(Limit,))
def free(session: Session, name: LimitName, job_id: JobId) -> None:
    """Free the slot that a DEAD job keeps, so that the next job may start.

    With holds="success" a slot is kept until the job succeeds: redrive or discard the job, or free
    its slot.
    """
    session.agree()
    limit = session.client.limits.free(name, job_id)
    if session.gives_json(limit):
        return
    session.print(cell(f"{limit.name}  freed the slot of {job_id}"))


def _put(session: Session, name: str, key: str | None, number: int | None) -> ChangedLimit:
    """Set the number of a limit, or that of one key of it; ``None`` restores it."""
    put = session.client.limits.put
    return put(name, max=number) if key is None else put(name, overrides={key: number})
