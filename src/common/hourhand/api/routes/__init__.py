"""The routes of the API, one file for each kind of resource."""

from __future__ import annotations

from hourhand.api.routes import (
    audit,
    bulk,
    calendars,
    graphs,
    handlers,
    jobs,
    limits,
    quotas,
    runs,
    schedules,
    system,
)

DOCUMENTED = tuple(
    route
    for noun in (
        *(jobs, runs, graphs, bulk, schedules, calendars),
        *(handlers, limits, quotas, audit, system),
    )
    for route in noun.ROUTES.rows
)
"""Every route but the two that describe the API itself."""
