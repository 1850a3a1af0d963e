"""The output of ``hourhand limits``: a table, and one limit with its jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hourhand.answers.limits import ChangedLimit, JobOfLimit, Limit, LimitSummary
from hourhand.cli.jobs.bulk import show_changes
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column, fact, facts
from hourhand.cli.output.times import NOTHING
from hourhand.cli.session import Session

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


def list_found(session: Session, limit: int | None) -> None:
    """Print the limits as they arrive, in the order of their names."""
    find = session.client.limits.list
    session.print_list(find, limit, COLUMNS, _row, none="No handler has a limit.")


def show(session: Session, limit: Limit) -> None:
    """Print one limit with the jobs that are known of it."""
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


def show_changed(session: Session, limit: ChangedLimit) -> None:
    """Print one line about a limit whose numbers were changed, or all of it as JSON."""
    if session.gives_json(limit):
        return
    jobs = "1 waiting job" if limit.granted == 1 else f"{limit.granted:,} waiting jobs"
    granted = f"; {jobs} may start" if limit.granted else ""
    session.print(cell(f"{limit.name}  {_numbers(limit)}{granted}"))


def tell_keys_that_go_on(session: Session, limit: ChangedLimit) -> None:
    """Print which keys a pause of the whole limit does not concern."""
    going_on = [key for key, number in limit.overrides.items() if number]
    if going_on:
        named = ", ".join(going_on[:SHOWN_KEYS])
        more = f" and {len(going_on) - SHOWN_KEYS:,} more" if len(going_on) > SHOWN_KEYS else ""
        session.remark(
            f"These keys of {limit.name} have numbers of their own and go on: {named}{more}. "
            "Pause each of them with --key."
        )


def retime_found(session: Session, name: str, key: str | None) -> int:
    """Move the jobs that wait for a rate, with progress; return the exit code."""
    with session.meter("jobs", None) as meter:
        report = session.client.limits.retime(
            name,
            key=key,
            on_progress=lambda done: meter.show(done.matched, len(done.failed), done.matched),
        )
    return show_changes(session, f"of {report.matched:,} that wait moved", report)


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
