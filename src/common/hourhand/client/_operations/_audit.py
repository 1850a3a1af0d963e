"""What callers did."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypedDict, Unpack

from hourhand.answers.audit import AuditEvent, AuditPage
from hourhand.client._operations._asking import pages, require_encodable
from hourhand.client._steps import Session, Stream
from hourhand.client._values import read, time_text


class AuditFilters(TypedDict, total=False):
    """Whose events, and of which time. An event must match all that are given."""

    job: str | None
    schedule: str | None
    handler: str | None
    caller: str | None
    tenant: str | None
    since: datetime | None
    until: datetime | None


_TIMES = {"since": "from", "until": "to"}


def audit(
    session: Session,
    *,
    page_size: int = 50,
    limit: int | None = None,
    on_page: Callable[[AuditPage], None] | None = None,
    **filters: Unpack[AuditFilters],
) -> Stream[AuditEvent]:
    """Iterate over what callers did with jobs, schedules and handlers, page by page.

    The filters are ``job``, ``schedule`` (an id) or ``handler`` (a name, whose pauses are shown),
    ``caller`` (a whole ARN or subject, or the beginning of one and ``*``), ``tenant``, ``since``
    (included) and ``until`` (not included). Events of one job or schedule come newest first.
    Without any of them, all histories are read: those of jobs first, the newest job first, then
    those of schedules, then those of handlers. ``on_page`` is called with each page, which may be
    empty. Raises `Invalid`, and `NotFound` for a job or schedule that is not kept.
    """
    query: dict[str, Any] = {}
    for name, value in filters.items():
        if value is not None:
            require_encodable(name, value)
            query[_TIMES.get(name, name)] = time_text(name, value) if name in _TIMES else value
    yield from pages(
        session,
        AuditEvent,
        ("audit",),
        "events",
        page_size=page_size,
        limit=limit,
        query=query,
        on_page=None if on_page is None else lambda value: on_page(read(AuditPage, value)),
    )
