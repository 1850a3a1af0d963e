"""``hourhand dead-letters redrive``: dead jobs sent round again, by ids, handler or error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import typer

from hourhand.cli.dead_letters.filters import DeadFilters
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
    meant: DeadFilters,
    *,
    everything: bool,
    is_sure: bool,
    is_dry: bool,
) -> int:
    """Send the jobs that are chosen round again; return the exit code."""
    filters = Filters(handler=meant.handler, tenant=meant.tenant)
    if meant.error is None:
        # Said aloud, so that it stays so whatever a redrive without a status comes to mean.
        dead = replace(filters, status=JobStatus.DEAD)
        is_filtered = everything or not filters.is_empty
        choice = Choice(ids=ids, filters=dead if is_filtered else filters)
        return operate(session, REDRIVE, choice, is_sure=is_sure, is_dry=is_dry)
    if ids:
        raise typer.BadParameter("give ids, or filters: not both", param_hint="ID")
    # The API has no filter for an error.
    found = [job.id for job in dead_jobs(session, meant) if is_meant(job, meant)]
    told = f"{counted(len(found))} {filters.told()}".strip() + f" that died of {meant.error}"
    if is_dry or not found:
        return tell_count(session, REDRIVE, told, len(found))
    session.confirm(f"Redrive {told}?", is_sure=is_sure)
    return operate_on_each(session, REDRIVE, found)
