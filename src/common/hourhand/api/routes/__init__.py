"""The routes of the API, one file for each kind of resource."""

from __future__ import annotations

from hourhand.api.routes.audit import AUDIT_ROUTES
from hourhand.api.routes.bulk import BULK_ROUTES
from hourhand.api.routes.calendars import CALENDAR_ROUTES
from hourhand.api.routes.graphs import GRAPH_ROUTES
from hourhand.api.routes.handlers import HANDLER_ROUTES
from hourhand.api.routes.jobs import JOB_ROUTES
from hourhand.api.routes.limits import LIMIT_ROUTES
from hourhand.api.routes.quotas import QUOTA_ROUTES
from hourhand.api.routes.runs import RUN_ROUTES
from hourhand.api.routes.schedules import SCHEDULE_ROUTES
from hourhand.api.routes.system import SYSTEM_ROUTES

DOCUMENTED = (
    *JOB_ROUTES,
    *RUN_ROUTES,
    *GRAPH_ROUTES,
    *BULK_ROUTES,
    *SCHEDULE_ROUTES,
    *CALENDAR_ROUTES,
    *HANDLER_ROUTES,
    *LIMIT_ROUTES,
    *QUOTA_ROUTES,
    *AUDIT_ROUTES,
    *SYSTEM_ROUTES,
)
"""Every route but the two that describe the API itself."""
