"""``hourhand dead-letters redrive``: dead jobs sent round again, by ids, handler or error."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from hourhand.cli.dead_letters.groups import dead_jobs, is_meant
from hourhand.cli.jobs.bulk import (
    REDRIVE,
    Choice,
    counted,
    operate,
    operate_on_each,
    tell_count,
)
from hourhand.cli.jobs.filters import Filters
from hourhand.cli.session import Session
from hourhand.domain.model import JobStatus


def redrive(
    session: Session,
    ids: Sequence[str],
    *,
    handler: str | None,
    tenant: str | None,
    error: str | None,
    everything: bool,
    is_sure: bool,
    is_dry: bool,
) -> int:
    """Send the jobs that are chosen round again; return the exit code."""
    filters = Filters(handler=handler, tenant=tenant)
    if error is None:
        # Said aloud, so that it stays so whatever a redrive without a status comes to mean.
        dead = Filters(status=JobStatus.DEAD, handler=handler, tenant=tenant)
        is_filtered = everything or not filters.is_empty
        choice = Choice(ids=ids, filters=dead if is_filtered else filters)
        return operate(session, REDRIVE, choice, is_sure=is_sure, is_dry=is_dry)
    if ids:
        raise typer.BadParameter("give ids, or filters: not both", param_hint="ID")
    # The API has no filter for an error.
    found = dead_jobs(session, handler=handler, tenant=tenant)
    meant = [job.id for job in found if is_meant(job, error)]
    told = f"{counted(len(meant))} {filters.told()}".strip() + f" that died of {error}"
    if is_dry or not meant:
        return tell_count(session, REDRIVE, told, len(meant))
    session.confirm(f"Redrive {told}?", is_sure=is_sure)
    return operate_on_each(session, REDRIVE, meant)
