"""``hourhand jobs``: the verbs that submit and show jobs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hourhand.answers.children import Child
from hourhand.answers.jobs import Event, Job, JobSummary, LogLine
from hourhand.cli.completing import handler_names
from hourhand.cli.console import opens_page
from hourhand.cli.exits import DONE, FAILED, NOT_FOUND, REFUSED, TIMED_OUT
from hourhand.cli.helping import Noun
from hourhand.cli.jobs.filters import ListingFilters
from hourhand.cli.jobs.flags import (
    PAYLOAD_HELP,
    Due,
    FileFlags,
    Policies,
    debounce_fields,
    given,
    unique_fields,
)
from hourhand.cli.options import (
    DEFAULT_EVERY_SECONDS,
    DEFAULT_LOG_LINES,
    EveryOption,
    FollowOption,
    JobId,
    JobIdOrNone,
    OrderOption,
    Rows,
    WatchOption,
    WebOption,
    argument,
    duration_option,
    option,
)
from hourhand.cli.reading import Seconds, read_json, read_limit
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.limits.debounce import Mode
from hourhand.domain.limits.unique_keys import OnConflict

jobs = Noun(name="jobs", help="Submit, list, follow and change jobs.")


@jobs.command("submit")
@verb(
    example="""hourhand jobs submit send-welcome '{"user": 1}' --delay 5m --watch""",
    codes={
        DONE: "accepted (with --watch: the job succeeded; with --file: every line was accepted)",
        NOT_FOUND: None,
        REFUSED: "another job has this ID or idempotency key",
        FAILED: "with --watch: the job did not succeed; with --file: some lines were rejected",
    },
    changes=True,
    prints=(Job,),
)
def submit(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    due: Due,
    policies: Policies,
    from_file: FileFlags,
    handler: Annotated[
        str | None, argument("HANDLER", "Handler that runs the job.", handler_names)
    ] = None,
    payload: Annotated[
        str | None,
        typer.Argument(metavar="PAYLOAD", help=f"{PAYLOAD_HELP} Default: null."),
    ] = None,
    payload_option: Annotated[
        str | None,
        typer.Option(
            "--payload",
            envvar="HOURHAND_JOBS_SUBMIT_PAYLOAD",
            show_envvar=False,
            metavar="JSON",
            help="The same as PAYLOAD. Give one of the two.",
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        option(
            "KEY",
            "Repeating a submission with the same key has no effect. A key holds while its "
            "job is kept, and at least 24 hours after the job's end.",
        ),
    ] = None,
    concurrency_key: Annotated[
        str | None,
        option(
            "KEY",
            "Key of the job under the handler's first concurrency limit that has a key of its "
            "own, such as payload.account, in place of that key.",
        ),
    ] = None,
    limit: Annotated[
        list[Any] | None,
        option(
            "NAME[=KEY]",
            "Shared limit of the job, in place of those of its handler, such as stripe or "
            "stripe=payload.account. Can be repeated, up to three times.",
            parser=read_limit,
        ),
    ] = None,
    unique: Annotated[
        str | None,
        option(
            "KEY",
            "At most one job of this key exists at a time: payload.day, payload, tags.x, "
            "tenant, handler, or a word that is the key.",
        ),
    ] = None,
    unique_until: Annotated[
        str | None,
        option(
            "WHEN",
            "When the key of --unique is free again: start, end or success of the job, or a "
            "number of seconds after its submission. Default: end.",
        ),
    ] = None,
    on_conflict: Annotated[
        OnConflict | None,
        typer.Option(
            help="What to do if another job has the key of --unique: return that job, reject the "
            "submission, or replace payload and time of the job, which needs --unique-until start. "
            "Default: return.",
        ),
    ] = None,
    debounce: Annotated[
        str | None,
        option(
            "KEY",
            "Submissions of this key that come shortly after one another are one job: "
            "payload.shop, tags.x, tenant, handler, or a word. Needs --debounce-wait.",
        ),
    ] = None,
    debounce_wait: Annotated[
        Seconds | None,
        duration_option("The job runs once no submission of its key came for so long."),
    ] = None,
    debounce_max_wait: Annotated[
        Seconds | None,
        duration_option("The job runs at the latest so long after the first submission."),
    ] = None,
    debounce_mode: Annotated[
        Mode | None,
        typer.Option(
            help="Whether the job runs with the payload of the last submission of its key, or of "
            "the first. Default: last.",
        ),
    ] = None,
    id: Annotated[  # noqa: A002 (the flag's name)
        str | None,
        typer.Option("--id", metavar="ID", help="Your own ID for the job."),
    ] = None,
    watch: FollowOption = False,
) -> int:
    """Submit a job, or every line of a file as a job.

    The job is due at once, unless you give --run-at or --delay. Options that you leave out take
    the value of the handler, else the default.

    If an answer is lost, the command repeats the request, and the job is still submitted only
    once. If a submission with --file is interrupted, run the same command again: it continues
    where it stopped, and submits nothing twice. Until every line is done, FILE.hourhand-run keeps
    the progress. After that, the same command submits new jobs. A submission from stdin cannot
    continue, unless its lines have an id or an idempotency_key.
    """
    if payload is not None and payload_option is not None:
        raise typer.BadParameter("cannot be combined with PAYLOAD", param_hint="--payload")
    name, text = ("PAYLOAD", payload) if payload_option is None else ("--payload", payload_option)
    fields = given(
        {
            "handler": handler,
            "payload": None if text is None else read_json(text, name),
            "run_at": due.run_at,
            "delay": due.delay,
            "expires_at": due.expires_at,
            "idempotency_key": idempotency_key,
            "concurrency_key": concurrency_key,
            "limits": limit or None,
            "unique": unique_fields(unique, unique_until, on_conflict),
            "debounce": debounce_fields(debounce, debounce_wait, debounce_max_wait, debounce_mode),
            "id": id,
            **policies.fields(),
        }
    )
    if from_file.file is not None:
        from hourhand.cli.jobs.file_submission import submit_file

        for name in {"id", "idempotency_key"} & fields.keys():
            flag = f"--{name.replace('_', '-')}"
            raise typer.BadParameter("cannot be combined with --file", param_hint=flag)
        return submit_file(session, from_file, fields)
    if handler is None:
        raise typer.BadParameter("give a handler, or --file", param_hint="HANDLER")
    from hourhand.cli.jobs.following import show_new

    return show_new(session, session.client.submit(**fields), "submitted", is_followed=watch)


@jobs.command("list")
@verb(
    example="hourhand jobs list --status DEAD --created-after 2h",
    codes=dict.fromkeys((NOT_FOUND, REFUSED)),
    prints=(JobSummary,),
)
def list_jobs(
    session: Session,
    filters: ListingFilters,
    rows: Rows,
    watch: WatchOption = False,
    every: EveryOption = DEFAULT_EVERY_SECONDS,
) -> None:
    """List jobs, newest first.

    A job must match all filters. Children of runs are not listed: see [bold]jobs children[/]. A
    narrow terminal shows fewer columns. [bold]jobs show[/] prints all fields of one job, and
    --json those of every job.
    """
    from hourhand.cli.jobs.listing import list_found, watch_found

    if watch:
        watch_found(session, filters, rows.limit, every)
    list_found(session, filters, rows.most)


@jobs.command("show")
@verb(
    example="hourhand jobs show --key order-4711 --tenant acme",
    codes={REFUSED: None},
    prints=(Job,),
)
def show_job(
    session: Session,
    id: JobIdOrNone = None,  # noqa: A002 (the argument's name)
    key: Annotated[
        str | None, option("KEY", "Show the job with this idempotency key, without an ID.")
    ] = None,
    tenant: Annotated[
        str | None, option("NAME", "With --key: the tenant of the job, if it has one.")
    ] = None,
    web: WebOption = False,
) -> None:
    """Show a job: its state, times, attempts, payload, result and error."""
    if (id is None) is (key is None):
        raise typer.BadParameter("give either an ID or --key", param_hint="ID")
    if tenant is not None and key is None:
        raise typer.BadParameter("needs --key", param_hint="--tenant")
    job = session.client.get(id, key=key, tenant=tenant)
    if opens_page(session, web, "jobs", job.id):
        return
    from hourhand.cli.jobs.showing import show

    show(session, job)


@jobs.command("events")
@verb(example="hourhand jobs events 01k2v8r3t5w7x9y1z3b5d", codes={REFUSED: None}, prints=(Event,))
def list_events(session: Session, id: JobId) -> None:  # noqa: A002 (the argument's name)
    """List every change of a job's state, oldest first, with its time, cause and reason.

    A long history drops events from its middle, and the list says how many.
    """
    from hourhand.cli.jobs.showing import show_events

    show_events(session, id)


@jobs.command("children")
@verb(
    example="hourhand jobs children 01k2v8r3t5w7x9y1z3b5d --status DEAD",
    codes={REFUSED: "the job is no durable run"},
    prints=(Child,),
)
def list_children(
    session: Session,
    id: JobId,  # noqa: A002 (the argument's name)
    status: Annotated[
        JobStatus | None,
        typer.Option(
            case_sensitive=False,
            # Typer would show them in lower case.
            metavar=f"<{'|'.join(JobStatus)}>",
            help="Only children in this state.",
        ),
    ] = None,
    path: Annotated[
        str | None, option("PATH", "Only children of this call, or node of a graph.")
    ] = None,
    *,
    rows: Rows,
) -> None:
    """List the child jobs of a durable run, a graph or a batch.

    They are in the order of the calls that submitted them, each with the path of its call.
    """
    from hourhand.cli.jobs.listing import list_children as list_found

    list_found(session, id, status, path, rows.most)


@jobs.command("logs")
@verb(
    example="hourhand jobs logs 01k2v8r3t5w7x9y1z3b5d --follow",
    codes={REFUSED: None},
    prints=(LogLine,),
)
def show_logs(
    session: Session,
    id: JobId,  # noqa: A002 (the argument's name)
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new lines until the job has ended.")
    ] = False,
    order: OrderOption = "oldest",
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of lines.")
    ] = DEFAULT_LOG_LINES,
) -> None:
    """Show what a job logged: the lines of its handler, and the worker's own about the job.

    Only lines of `ctx.logger` belong to a job, not what a handler prints. In a deployment, a line
    is there some seconds after it was logged, and as long as CloudWatch Logs keeps it. With
    --follow, --limit has no effect.
    """
    from hourhand.cli.jobs.logs import show_lines

    if follow and order == "newest":
        raise typer.BadParameter("needs --order oldest", param_hint="--follow")
    show_lines(session, id, order=order, limit=None if follow else limit)


@jobs.command("watch")
@verb(
    example="hourhand jobs watch 01k2v8r3t5w7x9y1z3b5d --timeout 5m",
    codes={
        DONE: "the job succeeded",
        FAILED: "the job ended DEAD, CANCELLED or EXPIRED",
        REFUSED: None,
        TIMED_OUT: "the job did not end within --timeout",
    },
    prints=(Job,),
)
def watch_job(
    session: Session,
    id: JobId,  # noqa: A002 (the argument's name)
    timeout: Annotated[
        Seconds | None,
        duration_option("Stop after this time, such as 90s or 5m. Default: no limit."),
    ] = None,
) -> int:
    """Follow a job until it ends: changes of its state, attempts, and its handler's progress.

    With --json each change prints one line: the job at that moment, without its payload.
    """
    from hourhand.cli.jobs.following import follow

    return follow(session, id, timeout)
