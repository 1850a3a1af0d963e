"""``hourhand limits``: its verbs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from hourhand.answers.batches import BulkResult
from hourhand.answers.limits import ChangedLimit, JobOfLimit, Limit, LimitSummary
from hourhand.cli.completing import job_ids, limit_names
from hourhand.cli.exits import REFUSED, WRONG_USAGE, CommandError
from hourhand.cli.helping import Noun
from hourhand.cli.options import Rows, argument, option
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column, fact, facts
from hourhand.cli.output.times import NOTHING
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.limits.declarations import MAX_RATE_COUNT

COLUMNS = (
    Column("NAME", is_whole=True),
    Column("KIND", rank=3),
    Column("KEY", rank=2),
    Column("MAX", is_number=True),
    Column("RUNNING", is_number=True),
    Column("WAITING", is_number=True),
    Column("OLDEST SINCE", rank=1),
)
SHOWN_KEYS = 20
"""Keys that a remark names."""

JOB_COLUMNS = (Column("JOB", is_whole=True), Column("STATE"), Column("SINCE"))

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
def list_limits(session: Session, rows: Rows) -> None:
    """List limits by name: how many jobs may run, how many do, and how many wait.

    Of a limit with keys, such as one for each tenant, neither is known without a key: see show.
    """
    find = session.client.limits.list
    session.print_list(find, rows.most, COLUMNS, _row, none="No handler has a limit.")


@limits.command("show")
@verb(example="hourhand limits show stripe --key acme", prints=(Limit,))
def show_limit(session: Session, name: LimitName, key: ShownKeyOption = None) -> None:
    """Show a limit, the jobs that hold its slots, and the first 20 that wait.

    A limit with keys shows its jobs for one key at a time.
    """
    limit = session.client.limits.get(name, key=key)
    if session.gives_json(limit):
        return
    session.print(facts(_facts(session, limit)))
    rows = [
        *_job_rows(session, "holds a slot", limit.holders),
        *_job_rows(session, "waits", limit.waiters),
    ]
    if rows:
        session.print("")
        session.print_table(JOB_COLUMNS, rows)
    if limit.kind == "rate":
        session.remark("The jobs that wait for a rate have start times: see `hourhand jobs list`.")
    elif limit.running is None:
        session.remark(
            f"Name a key to see its jobs: --key KEY, where KEY is a value of {limit.key}."
        )


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
    if (number is None) is not restore:
        raise CommandError("Give a number, or --restore.", WRONG_USAGE)
    session.agree()
    if restore and key is None:
        _show_changed(session, session.client.limits.delete(name))
    else:
        _show_changed(session, _put(session, name, key, number))


@limits.command("pause")
@verb(example="hourhand limits pause stripe", changes=True, prints=(ChangedLimit,))
def pause(session: Session, names: LimitNames, key: KeyOption = None) -> int:
    """Set the numbers of limits to 0: no job that has them gets a slot until they are resumed.

    Jobs are accepted and wait. Jobs that have a slot start and end as ever, and workers may give
    slots for 30 s more. Keys that have a number of their own go on: the command names them, and
    --key pauses one. A rate cannot be paused: pause its handlers, which also takes a note and an
    end.
    """

    def pause_one(name: str) -> None:
        changed = _put(session, name, key, 0)
        _show_changed(session, changed)
        if key is None:
            _tell_keys_that_go_on(session, changed)

    return session.do_to_each(names, pause_one)


@limits.command("resume")
@verb(example="hourhand limits resume stripe", changes=True, prints=(ChangedLimit,))
def resume(session: Session, names: LimitNames, key: KeyOption = None) -> int:
    """End the pause of limits: the numbers in the code apply again, and waiting jobs start.

    Up to 1,000 start at once. The next sweeps, one a minute, start the others, and those of a
    limit with keys. A number that was set before the pause is not restored; set it again.
    """
    return session.do_to_each(
        names, lambda one: _show_changed(session, _put(session, one, key, None))
    )


@limits.command("retime")
@verb(example="hourhand limits retime stripe", changes=True, prints=(BulkResult,))
def retime(session: Session, name: LimitName, key: RetimedKeyOption = None) -> int:
    """Give the jobs that wait for a rate new start times, after its number was changed.

    A waiting job keeps the start time that it got by the number at that time. This command moves
    the jobs to the start times of the present number, in their order. It also ends a hold by
    RateLimited and forgets a single job that cost too much: the next job starts at the rate.
    """
    from hourhand.cli.jobs.bulk import show_changes

    session.agree()
    with session.meter("jobs", None) as meter:
        report = session.client.limits.retime(
            name,
            key=key,
            on_progress=lambda done: meter.show(done.matched, len(done.failed), done.matched),
        )
    return show_changes(session, f"of {report.matched:,} that wait moved", report)


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


def _show_changed(session: Session, limit: ChangedLimit) -> None:
    """Print one line about a limit whose numbers were changed, or all of it as JSON."""
    if session.gives_json(limit):
        return
    jobs = "1 waiting job" if limit.granted == 1 else f"{limit.granted:,} waiting jobs"
    granted = f"; {jobs} may start" if limit.granted else ""
    session.print(cell(f"{limit.name}  {_numbers(limit)}{granted}"))


def _tell_keys_that_go_on(session: Session, limit: ChangedLimit) -> None:
    """Print which keys a pause of the whole limit does not concern."""
    going_on = [key for key, number in limit.overrides.items() if number]
    if going_on:
        named = ", ".join(going_on[:SHOWN_KEYS])
        more = f" and {len(going_on) - SHOWN_KEYS:,} more" if len(going_on) > SHOWN_KEYS else ""
        session.remark(
            f"These keys of {limit.name} have numbers of their own and go on: {named}{more}. "
            "Pause each of them with --key."
        )


def _numbers(limit: LimitSummary) -> str:
    """Return the numbers of a limit: ``at most 0 in 60 s (in the code: 5), acme: 10``."""
    period = "" if limit.per_seconds is None else f" in {limit.per_seconds:,.12g} s"
    declared = "" if limit.max == limit.declared_max else f" (in the code: {limit.declared_max:,})"
    keys = "".join(f", {key}: {number:,}" for key, number in limit.overrides.items())
    return f"at most {limit.max:,}{period}{declared}{keys}"


def _facts(session: Session, limit: Limit) -> Iterator[tuple[str, str]]:
    yield "limit", limit.name
    yield "kind", limit.kind
    yield "key", limit.key
    yield "numbers", _numbers(limit)
    yield "handlers", ", ".join(limit.handlers)
    yield from fact("running", limit.running, "{:,}".format)
    if limit.waiting is not None:
        since = limit.oldest_waiting_at
        oldest = "" if since is None else f", the oldest since {session.times.full(since)}"
        yield "waiting", f"{limit.waiting:,}{oldest}"


def _job_rows(
    session: Session, state: str, jobs: Sequence[JobOfLimit] | None
) -> Iterator[tuple[str, ...]]:
    for job in jobs or ():
        since = NOTHING if job.since is None else session.times.absolute(job.since)
        by = "" if job.blocked_by is None else f" for its ancestor {job.blocked_by}"
        yield job.job_id, f"{state}{by}", since


def _row(session: Session, limit: LimitSummary) -> tuple[str, ...]:
    since = limit.oldest_waiting_at
    return (
        limit.name,
        limit.kind,
        limit.key,
        f"{limit.max:,}",
        NOTHING if limit.running is None else f"{limit.running:,}",
        NOTHING if limit.waiting is None else f"{limit.waiting:,}",
        NOTHING if since is None else session.times.short(since),
    )
