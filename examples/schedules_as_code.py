"""Schedules that live in the repository: one beside its handler, two in a file.

    $ .venv/bin/hourhand dev --handlers examples.schedules_as_code

It applies the schedule of `nightly-cleanup` at its start. In a second terminal:

    $ .venv/bin/hourhand schedules apply -f examples/schedules_as_code.yaml --name examples
    $ .venv/bin/hourhand schedules list

Each schedule shows what manages it: `code`, or `files:examples`.
"""

from __future__ import annotations

from hourhand import JobContext, NotRetryable, job

REPORTS = {"acme": 12, "globex": 7}


@job("nightly-cleanup", schedule="30 2 * * *", timezone="Europe/Berlin", timeout=600)
def nightly_cleanup(ctx: JobContext) -> str:
    """Delete what the day left behind. The schedule has the name of the handler."""
    return f"clean since {ctx.run_at.isoformat()}"


@job("tenant-report")
def tenant_report(ctx: JobContext, payload: dict[str, str]) -> int:
    """Count the orders of one tenant. Each schedule in the file has its own payload."""
    tenant = payload["tenant"]
    if tenant not in REPORTS:
        raise NotRetryable(f"There is no tenant {tenant}.")
    return REPORTS[tenant]
