"""``hourhand jobs submit``: one job by flags, or a file of them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hourhand.cli.completing import handler_names
from hourhand.cli.exits import DONE, FAILED, NOT_FOUND, REFUSED
from hourhand.cli.jobs.runs import How
from hourhand.cli.reading import Seconds, read_duration, read_json, read_tag, read_time
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.model import Backoff, Jitter, OnLost, Priority

WHEN, POLICY, FILE = "When and where", "Policy", "Many jobs"

HandlerArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="HANDLER",
        help="What is to be run.",
        show_default=False,
        autocompletion=handler_names,
    ),
]
PayloadArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="PAYLOAD",
        help="JSON, @ and the name of a file with it, or - for stdin. Without it: null.",
        show_default=False,
    ),
]
RunAtOption = Annotated[
    datetime | None,
    typer.Option(
        "--run-at",
        parser=read_time,
        metavar="TIME",
        help="When: such as 2027-01-31T09:00, which is meant where this machine is, or with an "
        "offset.",
        rich_help_panel=WHEN,
    ),
]
DelayOption = Annotated[
    Seconds | None,
    typer.Option(
        "--delay",
        parser=read_duration,
        metavar="DURATION",
        help="In how long: 90, 90s, 5m, 1.5h or 2d. Neither: at once.",
        rich_help_panel=WHEN,
    ),
]
PriorityOption = Annotated[
    Priority | None,
    typer.Option("--priority", help="Which queue it waits in.", rich_help_panel=WHEN),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="A second submission with the same key and job is the first one.",
        rich_help_panel=WHEN,
    ),
]
IdOption = Annotated[
    str | None,
    typer.Option("--id", metavar="ID", help="An id of your own.", rich_help_panel=WHEN),
]
TenantOption = Annotated[
    str | None,
    typer.Option("--tenant", metavar="NAME", help="Whose job it is.", rich_help_panel=WHEN),
]
TagsOption = Annotated[
    list[Any] | None,
    typer.Option(
        "--tag",
        parser=read_tag,
        metavar="KEY:VALUE",
        help="To find it by; may be given several times.",
        rich_help_panel=WHEN,
    ),
]
ExpiresOption = Annotated[
    datetime | None,
    typer.Option(
        "--expires-at",
        parser=read_time,
        metavar="TIME",
        help="Not to be begun after it.",
        rich_help_panel=POLICY,
    ),
]
TimeoutOption = Annotated[
    Seconds | None,
    typer.Option(
        "--timeout",
        parser=read_duration,
        metavar="DURATION",
        help="How long an attempt may take.",
        rich_help_panel=POLICY,
    ),
]
RetentionOption = Annotated[
    Seconds | None,
    typer.Option(
        "--retention",
        parser=read_duration,
        metavar="DURATION",
        help="How long it is kept after its end.",
        rich_help_panel=POLICY,
    ),
]
OnLostOption = Annotated[
    OnLost | None,
    typer.Option(
        "--on-lost", help="What if the worker vanishes that runs it.", rich_help_panel=POLICY
    ),
]
AttemptsOption = Annotated[
    int | None,
    typer.Option(
        "--max-attempts",
        metavar="N",
        min=1,
        max=100,
        help="How often it is tried, the first try included.",
        rich_help_panel=POLICY,
    ),
]
BackoffOption = Annotated[
    Backoff | None,
    typer.Option("--backoff", help="How the delays before retries grow.", rich_help_panel=POLICY),
]
BaseOption = Annotated[
    Seconds | None,
    typer.Option(
        "--retry-base",
        parser=read_duration,
        metavar="DURATION",
        help="The first of these delays.",
        rich_help_panel=POLICY,
    ),
]
LongestOption = Annotated[
    Seconds | None,
    typer.Option(
        "--retry-max-delay",
        parser=read_duration,
        metavar="DURATION",
        help="The longest of them.",
        rich_help_panel=POLICY,
    ),
]
JitterOption = Annotated[
    Jitter | None,
    typer.Option("--jitter", help="How chance spreads them.", rich_help_panel=POLICY),
]
WatchOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Follow it to its end, as `jobs watch` does.")
]
FileOption = Annotated[
    str | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Submit every line, a JSON object with the fields of a job; - for stdin. Flags are "
        "for lines that lack the field.",
        rich_help_panel=FILE,
    ),
]
FailedOption = Annotated[
    Path | None,
    typer.Option(
        "--failed",
        metavar="FILE",
        help="Where refused lines go with the reason; without it, the file's name and .failed.",
        rich_help_panel=FILE,
    ),
]
ParallelOption = Annotated[
    int,
    typer.Option(
        "--parallel",
        metavar="N",
        min=1,
        max=64,
        help="How many requests, of up to 500 jobs each, are under way at once.",
        rich_help_panel=FILE,
    ),
]
HowOption = Annotated[
    Literal["new", "resume"] | None,
    typer.Option(
        "--again",
        help="If a submission of the file broke off and it is not clear what is meant: "
        "resume goes on with it, new submits every line as new jobs.",
        rich_help_panel=FILE,
    ),
]


@verb(
    example="""hourhand jobs submit send-welcome '{"user": 1}' --delay 5m --watch""",
    codes={
        DONE: "it was accepted (with --watch: it succeeded; with --file: all lines were)",
        NOT_FOUND: None,
        REFUSED: "its id or key is already that of another job",
        FAILED: "with --watch, it ended otherwise; with --file, lines were refused",
    },
)
def submit(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    handler: HandlerArgument = None,
    payload: PayloadArgument = None,
    run_at: RunAtOption = None,
    delay: DelayOption = None,
    priority: PriorityOption = None,
    idempotency_key: KeyOption = None,
    id: IdOption = None,  # noqa: A002 (the flag's name)
    tenant: TenantOption = None,
    tag: TagsOption = None,
    expires_at: ExpiresOption = None,
    timeout: TimeoutOption = None,
    retention: RetentionOption = None,
    on_lost: OnLostOption = None,
    max_attempts: AttemptsOption = None,
    backoff: BackoffOption = None,
    retry_base: BaseOption = None,
    retry_max_delay: LongestOption = None,
    jitter: JitterOption = None,
    watch: WatchOption = False,
    file: FileOption = None,
    failed: FailedOption = None,
    parallel: ParallelOption = 4,
    again: HowOption = None,
) -> int:
    """Submit a job, or every job of a file.

    What is not given is the handler's, or the default. A lost answer never submits twice, and
    nor does a file: if its submission breaks off, the same command goes on with it. What it needs
    for that is in a small file beside it (FILE.hourhand-run) until every line is dealt with; the
    file given once more after that is new jobs. Lines from stdin are new jobs each time, but for
    those with an idempotency_key or an id.
    """
    retry = {
        "max_attempts": max_attempts,
        "backoff": backoff,
        "base_seconds": retry_base,
        "max_delay_seconds": retry_max_delay,
        "jitter": jitter,
    }
    given = {
        "handler": handler,
        "payload": read_json(payload, "PAYLOAD") if payload is not None else None,
        "run_at": run_at,
        "delay": delay,
        "priority": priority,
        "idempotency_key": idempotency_key,
        "id": id,
        "tenant": tenant,
        "tags": dict(tag) if tag else None,
        "expires_at": expires_at,
        "timeout_seconds": _whole(timeout, "--timeout"),
        "retention_seconds": _whole(retention, "--retention"),
        "on_lost": on_lost,
        "retry": {name: value for name, value in retry.items() if value is not None} or None,
    }
    fields = {name: value for name, value in given.items() if value is not None}
    if file is None:
        return _submit_one(session, fields, watch)
    return _submit_many(session, fields, file, failed, parallel, again)


def _submit_one(session: Session, fields: dict[str, Any], watch: bool) -> int:
    from hourhand.cli.jobs.following import follow
    from hourhand.cli.jobs.showing import show_changed

    if "handler" not in fields:
        raise typer.BadParameter("give a handler, or jobs by --file", param_hint="HANDLER")
    job = session.client.submit(**fields)
    if watch:
        session.remark(f"Job {job.id}", "")
        return follow(session, job.id, None)
    show_changed(session, job, "submitted")
    return DONE


def _submit_many(
    session: Session,
    fields: dict[str, Any],
    file: str,
    failed: Path | None,
    parallel: int,
    again: How | None,
) -> int:
    from hourhand.cli.jobs.file_submission import FileOptions, submit_file

    for name in ("id", "idempotency_key"):
        if name in fields:
            flag = f"--{name.replace('_', '-')}"
            raise typer.BadParameter("is of one job, not of a file's", param_hint=flag)
    options = FileOptions(file=file, failed=failed, parallel=parallel, how=again, defaults=fields)
    return submit_file(session, options)


def _whole(seconds: float | None, flag: str) -> int | None:
    """Return what the API takes in whole seconds."""
    if seconds is None:
        return None
    if not float(seconds).is_integer():
        raise typer.BadParameter("must be whole seconds", param_hint=flag)
    return int(seconds)
