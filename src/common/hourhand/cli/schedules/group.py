"""The verbs of ``hourhand schedules``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from hourhand.cli.completing import schedule_ids
from hourhand.cli.exits import DONE, FAILED
from hourhand.cli.helping import Noun
from hourhand.cli.limits import DEFAULT_LIMIT, AllOption, LimitOption
from hourhand.cli.reading import read_time
from hourhand.cli.schedules.definition_flags import takes_definition
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.cli.watching import DEFAULT_EVERY_SECONDS, EveryOption, WatchOption, YesOption
from hourhand.domain.overlap import OverlapPolicy
from hourhand.domain.schedules import BackfillOrder, Reprocess

PAST = 10

schedules = Noun(
    name="schedules",
    no_args_is_help=True,
    help="Put, look at, pause, trigger and delete schedules; run their past.",
)

ScheduleId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The schedule.", show_default=False, autocompletion=schedule_ids
    ),
]
ScheduleIds = Annotated[
    list[str],
    typer.Argument(
        metavar="ID", help="The schedules.", show_default=False, autocompletion=schedule_ids
    ),
]
FileOption = Annotated[
    str | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="A file with a schedule as a JSON object, such as `schedules show --json` prints; - "
        "for stdin. Flags go before its fields.",
    ),
]
PastOption = Annotated[
    int,
    typer.Option("--past", metavar="N", min=0, help="How many of the last times to tell."),
]
NoteOption = Annotated[
    str | None, typer.Option("--note", metavar="TEXT", help="Why, for those who ask later.")
]
FollowOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Follow the job to its end, as `jobs watch` does.")
]
FromOption = Annotated[
    datetime,
    typer.Option(
        "--from",
        envvar="HOURHAND_SCHEDULES_BACKFILL_FROM",
        parser=read_time,
        metavar="TIME",
        help="The first nominal time, or before it.",
    ),
]
ToOption = Annotated[
    datetime,
    typer.Option(
        "--to",
        envvar="HOURHAND_SCHEDULES_BACKFILL_TO",
        parser=read_time,
        metavar="TIME",
        help="The last one, or after it.",
    ),
]
OverlapOption = Annotated[
    OverlapPolicy | None,
    typer.Option("--overlap", help="Of those that are due while others run."),
]
OrderOption = Annotated[
    BackfillOrder | None, typer.Option("--order", help="Which of them run first.")
]
ActiveOption = Annotated[
    int | None, typer.Option("--max-active", metavar="N", min=1, help="How many run at once.")
]
ReprocessOption = Annotated[
    Reprocess | None,
    typer.Option("--reprocess", help="Which run again that have a job already."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only tell what would run.")]
CountOption = Annotated[
    int, typer.Option("--count", "-n", metavar="N", min=1, help="How many times to tell.")
]
AfterOption = Annotated[
    datetime | None,
    typer.Option(
        "--after", parser=read_time, metavar="TIME", help="After when; without it, from now on."
    ),
]
PreviewedId = Annotated[
    str | None,
    typer.Argument(
        metavar="ID",
        help="A schedule that there is, to be seen with the flags that are given.",
        show_default=False,
        autocompletion=schedule_ids,
    ),
]


@schedules.command("put")
@verb(
    example="hourhand schedules put nightly -x '0 3 * * *' --timezone Europe/Berlin "
    "--handler report"
)
@takes_definition
def put(
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    file: FileOption = None,
    *,
    given: Mapping[str, Any],
) -> None:
    """Create a schedule, or replace it whole.

    What is not given has its default, whatever it was before: put a changed copy of what
    [bold]schedules show --json[/] prints to change one thing. The same put again changes nothing.
    """
    from hourhand.cli.schedules.fields import putable, read_object, together
    from hourhand.cli.schedules.showing import show_standing

    of_file = {} if file is None else putable(read_object(file, "--file"))
    fields = together(of_file, given)
    show_standing(session, session.client.schedules.put(id, fields))


@schedules.command("list")
@verb(example="hourhand schedules list --watch")
def list_schedules(
    session: Session,
    limit: LimitOption = DEFAULT_LIMIT,
    all: AllOption = False,  # noqa: A002 (the flag's name)
    watch: WatchOption = False,
    every: EveryOption = DEFAULT_EVERY_SECONDS,
) -> None:
    """List schedules by their ids: when each fires next, what it runs, and how it stands."""
    from hourhand.cli.schedules.listing import list_found, watch_found

    if watch:
        watch_found(session, None if all else limit, every)
    list_found(session, None if all else limit)


@schedules.command("show")
@verb(example="hourhand schedules show nightly --past 30")
def show_schedule(session: Session, id: ScheduleId, past: PastOption = PAST) -> None:  # noqa: A002
    """Show one schedule: its rule, its next times, what became of the last ones, and why.

    With --json it is what can be put again.
    """
    from hourhand.cli.schedules.showing import show

    show(session, session.client.schedules.get(id), past)


@schedules.command("occurrences")
@verb(example="hourhand schedules occurrences nightly --all --json")
def list_occurrences(
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    limit: LimitOption = DEFAULT_LIMIT,
    all: AllOption = False,  # noqa: A002 (the flag's name)
) -> None:
    """Tell what became of a schedule's past times, newest first: a job, or why there is none."""
    from hourhand.cli.schedules.showing import show_occurrences

    show_occurrences(session, id, None if all else limit)


@schedules.command("pause")
@verb(example="hourhand schedules pause nightly --note 'the database moves'")
def pause(session: Session, ids: ScheduleIds, note: NoteOption = None) -> int:
    """Let schedules make no more jobs. Pending ones are cancelled, running ones go on."""
    from hourhand.cli.schedules.several import do_to_each
    from hourhand.cli.schedules.showing import show_standing

    return do_to_each(
        session,
        ids,
        lambda each: show_standing(session, session.client.schedules.pause(each, note=note)),
    )


@schedules.command("resume")
@verb(example="hourhand schedules resume nightly")
def resume(session: Session, ids: ScheduleIds, note: NoteOption = None) -> int:
    """Let paused schedules go on; what they missed is dealt with by their misfire policy."""
    from hourhand.cli.schedules.several import do_to_each
    from hourhand.cli.schedules.showing import show_standing

    return do_to_each(
        session,
        ids,
        lambda each: show_standing(session, session.client.schedules.resume(each, note=note)),
    )


@schedules.command("trigger")
@verb(
    example="hourhand schedules trigger nightly --watch",
    codes={
        DONE: "its job is made (with --watch: it succeeded)",
        FAILED: "with --watch, the job ended otherwise",
    },
)
def trigger(
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    note: NoteOption = None,
    watch: FollowOption = False,
) -> int:
    """Run a schedule's job once, now, paused or not."""
    from hourhand.cli.jobs.following import follow
    from hourhand.cli.jobs.showing import show_changed

    job = session.client.schedules.trigger(id, note=note)
    if watch:
        session.remark(f"Job {job.id}", "")
        return follow(session, job.id, None)
    show_changed(session, job, "made")
    return DONE


@schedules.command("backfill")
@verb(
    example="hourhand schedules backfill nightly --from 2027-01-01 --to 2027-01-31 --dry-run",
    codes={FAILED: "it was not confirmed"},
)
def backfill(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    id: ScheduleId,  # noqa: A002 (the argument's name)
    start: FromOption,
    end: ToOption,
    overlap: OverlapOption = None,
    order: OrderOption = None,
    max_active: ActiveOption = None,
    reprocess: ReprocessOption = None,
    note: NoteOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Run nominal times of the past on purpose, both ends included.

    It tells how many they are and asks first. Without --reprocess only times without a job run.
    """
    from hourhand.cli.schedules.backfilling import backfill as run

    how = {
        "overlap": overlap,
        "order": order,
        "max_active": max_active,
        "reprocess": reprocess,
        "note": note,
    }
    given = {name: value for name, value in how.items() if value is not None}
    run(session, id, (start, end), given, is_dry=dry_run, is_sure=yes)


@schedules.command("preview")
@verb(example="hourhand schedules preview -x '30 2 * * *' --timezone Europe/Berlin --count 5")
@takes_definition
def preview(
    session: Session,
    id: PreviewedId = None,  # noqa: A002 (the argument's name)
    file: FileOption = None,
    count: CountOption = 10,
    after: AfterOption = None,
    *,
    given: Mapping[str, Any],
) -> None:
    """Tell when a schedule would fire, in its zone and in UTC, and what changes of clocks do to it.

    Nothing is created. A handler need not be given.
    """
    from hourhand.cli.schedules.fields import putable, read_object, together
    from hourhand.cli.schedules.previewing import found
    from hourhand.cli.schedules.previewing import preview as tell

    before: Mapping[str, Any] = {} if id is None else found(session, id).raw
    of_file = {} if file is None else read_object(file, "--file")
    fields = together(putable({**before, **of_file}), given)
    tell(session, fields, count, after)


@schedules.command("delete")
@verb(
    example="hourhand schedules delete nightly --yes",
    codes={FAILED: "it was not confirmed"},
)
def delete(session: Session, ids: ScheduleIds, yes: YesOption = False) -> int:
    """Delete schedules. Their pending jobs are cancelled, running ones go on."""
    from hourhand.cli.schedules.several import Kind, delete_each

    schedule = Kind("schedule", "id", session.client.schedules.delete)
    return delete_each(session, ids, schedule, is_sure=yes)
