"""``hourhand schedules``: its verbs."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

import typer

from hourhand.answers.graphs import GridRun
from hourhand.answers.jobs import Job
from hourhand.answers.schedules import Backfill, BackfillReport, Occurrence, Preview, Schedule
from hourhand.cli.completing import schedule_ids
from hourhand.cli.console import opens_page
from hourhand.cli.exits import DONE, FAILED, REFUSED, WRONG_USAGE
from hourhand.cli.helping import Noun
from hourhand.cli.jobs.flags import Policies, given
from hourhand.cli.options import (
    DEFAULT_EVERY_SECONDS,
    SEVERAL,
    EveryOption,
    FollowOption,
    Rows,
    WatchOption,
    WebOption,
    YesOption,
    argument,
    listed,
    option,
    time_option,
)
from hourhand.cli.reading import read_json, read_time
from hourhand.cli.schedules.definition import ApplyFlags, Definition, read_object
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import Priority
from hourhand.domain.schedules.schedule import BackfillOrder, Reprocess

NOT_CONFIRMED = {FAILED: "you did not confirm"}
BACKFILL_VERBS = ("pause", "resume", "cancel")
FILES_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

schedules = Noun(
    name="schedules",
    help="Create, list, preview, pause, trigger, backfill and delete schedules.",
)

ScheduleId = Annotated[str, argument("ID", "ID of the schedule.", schedule_ids)]
ScheduleIds = Annotated[list[str], argument("ID", "IDs of the schedules.", schedule_ids)]
FileOption = Annotated[
    str | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Read the schedule from this file, a JSON object as `schedules show --json` prints "
        "it; - reads stdin. Other options override its fields.",
    ),
]
NoteOption = Annotated[str | None, option("TEXT", "Reason, kept as the schedule's note.")]


@schedules.command("put")
@verb(
    example="hourhand schedules put nightly -x '0 3 * * *' --timezone Europe/Berlin "
    "--handler report",
    changes=True,
    prints=(Schedule,),
)
def put(
    session: Session,
    definition: Definition,
    policies: Policies,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    file: FileOption = None,
) -> None:
    """Create a schedule, or replace all of it.

    Fields that you leave out get their defaults, whatever they were before. To change one field,
    save the output of [bold]schedules show --json[/], and put it with --file and the option.
    Repeating a put has no effect.
    """
    from hourhand.cli.schedules.showing import show_put

    fields = definition.over(read_object(file), policies)
    show_put(session, session.client.schedules.put(id, fields), fields)


@schedules.command("apply")
@verb(
    example="hourhand schedules apply -f schedules/ --name billing --prune --dry-run",
    codes={
        FAILED: "you did not confirm; with --dry-run: there are differences",
        WRONG_USAGE: "wrong usage, or a file is wrong: nothing was changed",
        REFUSED: "a schedule has another origin: nothing was changed",
    },
)
def apply(
    session: Session,
    file: Annotated[
        list[str],
        typer.Option(
            "--file",
            "-f",
            metavar="PATH",
            callback=listed,
            help=f"File, or folder of files, that end in .yaml, .yml or .json; - reads stdin. "
            f"{SEVERAL}.",
        ),
    ],
    how: ApplyFlags,
) -> int:
    """Put the schedules that files contain, and show what changes.

    A file has the fields of [bold]PUT /schedules/{id}[/] and `id`, as YAML or JSON. It may have
    several schedules: as a list, or as several YAML documents. All files are checked, by the API as
    well, before anything is changed. A schedule that is as the file says stays untouched.
    --prune shows what it deletes, and asks.
    """
    from hourhand.cli.schedules.applying import apply as run

    if FILES_NAME.fullmatch(how.name) is None:
        raise typer.BadParameter(
            "must be 1 to 64 of A-Z, a-z, 0-9, _, . and -", param_hint="--name"
        )
    return run(session, file, how)


@schedules.command("list")
@verb(example="hourhand schedules list --watch", prints=(Schedule,))
def list_schedules(
    session: Session,
    rows: Rows,
    recent: Annotated[
        int, option("N", "Also show the results of the newest N runs of each schedule, at most 20.")
    ] = 0,
    watch: WatchOption = False,
    every: EveryOption = DEFAULT_EVERY_SECONDS,
) -> None:
    """List schedules by ID, with their state, next run, expression and handler.

    JOBS counts the jobs that a schedule created at its times, without triggers and backfills. With
    --recent, NEWEST RUNS has the results of runs, the newest first, triggers and backfills
    included.
    """
    from hourhand.cli.schedules.listing import list_found, watch_found

    if watch:
        watch_found(session, rows.most, recent, every)
    list_found(session, rows.most, recent)


@schedules.command("show")
@verb(example="hourhand schedules show nightly --past 30", prints=(Schedule,))
def show_schedule(
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    past: Annotated[int, option("N", "Number of past runs to show.", min=0)] = 10,
    web: WebOption = False,
) -> None:
    """Show a schedule with its next runs and its past runs.

    The output of --json can be put again.
    """
    schedule = session.client.schedules.get(id)
    if opens_page(session, web, "schedules", schedule.id):
        return
    from hourhand.cli.schedules.showing import show

    show(session, schedule, past)


@schedules.command("occurrences")
@verb(example="hourhand schedules occurrences nightly --all --json", prints=(Occurrence,))
def list_occurrences(
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    rows: Rows,
) -> None:
    """List a schedule's past runs, newest first, each with its job or why there is none."""
    from hourhand.cli.schedules.showing import list_occurrences as list_found

    list_found(session, id, rows.most)


@schedules.command("grid")
@verb(
    example="hourhand schedules grid nightly-etl --runs 50",
    codes={REFUSED: None},
    prints=(GridRun,),
)
def show_grid(
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    runs: Annotated[int, option("N", "Maximum number of runs.", min=1, max=100)] = 25,
) -> None:
    """Show the last runs of a schedule as a grid: a row for each node, a column for each run.

    The newest run is on the right. A letter stands for each status. A run whose job is no graph has
    the first row alone.
    """
    from hourhand.cli.schedules.grid import show_grid as show_found

    show_found(session, id, runs)


@schedules.command("pause")
@verb(
    example="hourhand schedules pause nightly --note 'database migration'",
    changes=True,
    prints=(Schedule,),
)
def pause(session: Session, ids: ScheduleIds, note: NoteOption = None) -> int:
    """Pause schedules. Their pending jobs are cancelled; running jobs continue.

    Jobs that were redriven or triggered still run. Other jobs that wait for a slot are cancelled
    when they check again. The note stands for the schedule's own until the schedule is resumed.
    """
    from hourhand.cli.schedules.showing import show_pause

    client = session.client.schedules
    return session.do_to_each(ids, lambda one: show_pause(session, client.pause(one, note=note)))


@schedules.command("resume")
@verb(example="hourhand schedules resume nightly", changes=True, prints=(Schedule,))
def resume(session: Session, ids: ScheduleIds, note: NoteOption = None) -> int:
    """Resume paused schedules. Their misfire policy decides about the runs that they missed.

    The jobs of the next minutes are created at once; those that the pause cancelled are restored.
    The note of the pause ends with it; --note gives the schedule another note. If you redrove jobs
    of the schedule, first wait until they have ended: until then, its new runs may be skipped for
    overlap. [bold]jobs list --schedule ID --watch[/] follows them.
    """
    from hourhand.cli.schedules.showing import show_resume

    client = session.client.schedules
    return session.do_to_each(ids, lambda one: show_resume(session, client.resume(one, note=note)))


@schedules.command("trigger")
@verb(
    example="hourhand schedules trigger nightly --watch",
    codes={
        DONE: "the job was created (with --watch: it succeeded)",
        FAILED: "with --watch: the job did not succeed",
    },
    changes=True,
    prints=(Job,),
)
def trigger(
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    payload: Annotated[
        str | None, option("JSON", "Payload of this job instead of the schedule's.")
    ] = None,
    priority: Annotated[
        Priority | None,
        typer.Option(help="Priority of this job: high, medium or low. Default: the schedule's."),
    ] = None,
    idempotency_key: Annotated[
        str | None, option("KEY", "A repeat with the same key shows the same job.")
    ] = None,
    note: NoteOption = None,
    watch: FollowOption = False,
) -> int:
    """Run a schedule's job once, now, even if the schedule is paused."""
    from hourhand.cli.jobs.following import show_new

    how = given({"note": note, "priority": priority, "idempotency_key": idempotency_key})
    if payload is not None:
        how["payload"] = read_json(payload, "--payload")
    job = session.client.schedules.trigger(id, **how)
    return show_new(session, job, "created", is_followed=watch)


@schedules.command("backfill")
@verb(
    example="hourhand schedules backfill nightly --from 2027-01-01 --to 2027-01-31 --dry-run",
    codes=NOT_CONFIRMED,
    prints=(BackfillReport, Backfill),
)
def backfill(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    what: Annotated[
        list[str],
        argument(
            "[pause|resume|cancel] ID [N]",
            "ID of the schedule. To change a backfill of it: what to do, the ID, and the number "
            "of the backfill.",
            schedule_ids,
        ),
    ],
    start: Annotated[
        datetime | None,
        typer.Option(
            "--from",
            envvar="HOURHAND_SCHEDULES_BACKFILL_FROM",
            show_envvar=False,
            parser=read_time,
            metavar="TIME",
            help="Start of the period, inclusive.",
        ),
    ] = None,
    end: Annotated[
        datetime | None,
        typer.Option(
            "--to",
            envvar="HOURHAND_SCHEDULES_BACKFILL_TO",
            show_envvar=False,
            parser=read_time,
            metavar="TIME",
            help="End of the period, inclusive.",
        ),
    ] = None,
    overlap: Annotated[
        OverlapPolicy | None,
        typer.Option(
            help="What to do with a run while the maximum is active: skip, allow, buffer_one, "
            "buffer_all or cancel_other. Default: buffer_all."
        ),
    ] = None,
    order: Annotated[
        BackfillOrder | None, typer.Option(help="Which runs start first: oldest or newest.")
    ] = None,
    max_active: Annotated[
        int | None, option("N", "Maximum number of runs that are active at once.", min=1)
    ] = None,
    reprocess: Annotated[
        Reprocess | None,
        typer.Option(help="Which times with a job to run again: none, failed or all."),
    ] = None,
    note: NoteOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would run.")] = False,
    yes: YesOption = False,
) -> None:
    """Run a schedule for a period of the past; or pause, resume or cancel such a backfill.

    The command shows how many scheduled times it would run, and asks. Without --reprocess it runs
    only the times that have no job. [bold]schedules backfill cancel ID N[/] ends a backfill and its
    waiting jobs; [bold]pause[/] and [bold]resume[/] are used alike. Running jobs continue.
    [bold]schedules backfills ID[/] shows the numbers.
    """
    from hourhand.cli.schedules.backfilling import backfill as run
    from hourhand.cli.schedules.backfilling import change

    first, *rest = what
    if first in BACKFILL_VERBS and len(rest) == 2 and rest[1].isdecimal():  # noqa: PLR2004 (ID, N)
        change(session, first, rest[0], int(rest[1]), note, is_sure=yes)
        return
    if rest:
        raise typer.BadParameter("must be ID, or pause, resume or cancel, ID and N")
    if start is None or end is None:
        raise typer.BadParameter("Give both --from and --to.")

    how = {
        "overlap": overlap,
        "order": order,
        "max_active": max_active,
        "reprocess": reprocess,
        "note": note,
    }
    run(session, first, (start, end), given(how), is_dry=dry_run, is_sure=yes)


@schedules.command("backfills")
@verb(example="hourhand schedules backfills nightly", prints=(Backfill,))
def list_backfills(
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    rows: Rows,
) -> None:
    """List a schedule's backfills, newest first, with their numbers and progress."""
    from hourhand.cli.schedules.backfilling import list_backfills as list_found

    list_found(session, id, rows.most)


@schedules.command("preview")
@verb(
    example="hourhand schedules preview -x '30 2 * * *' --timezone Europe/Berlin --count 5",
    prints=(Preview,),
)
def preview(
    session: Session,
    definition: Definition,
    policies: Policies,
    id: Annotated[  # noqa: A002 (the argument's name)
        str | None,
        argument(
            "ID",
            "ID of a schedule to preview with the changes that the options make.",
            schedule_ids,
        ),
    ] = None,
    file: FileOption = None,
    count: Annotated[
        int, typer.Option("--count", "-n", metavar="N", min=1, help="Number of times to show.")
    ] = 10,
    after: Annotated[
        datetime | None, time_option("Show the times after this one. Default: now.")
    ] = None,
    month: Annotated[
        str | None,
        option(
            "YYYY-MM",
            "Show the days of this month instead: how many times each has, and which "
            "calendars exclude some.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show the next times of a schedule, local and UTC, with the effects of clock changes.

    Nothing is created, and no handler is needed.
    """
    from hourhand.cli.schedules.previewing import found
    from hourhand.cli.schedules.previewing import preview as show

    before = {} if id is None else found(session, id).raw
    fields = definition.over({**before, **read_object(file)}, policies)
    show(session, fields, count=count, after=after, month=month)


@schedules.command("delete")
@verb(example="hourhand schedules delete nightly --yes", codes=NOT_CONFIRMED)
def delete(session: Session, ids: ScheduleIds, yes: YesOption = False) -> int:
    """Delete schedules. Their pending jobs are cancelled; running jobs continue."""
    act = session.client.schedules.delete
    return session.delete_each("schedule", ids, act, key="id", is_sure=yes)
