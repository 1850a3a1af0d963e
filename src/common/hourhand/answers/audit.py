"""What callers did with jobs, schedules and handlers."""

from datetime import datetime
from typing import Annotated

from hourhand.answers.answered import Answered
from hourhand.domain.jobs.job import EventKind
from hourhand.domain.schedules.schedule import ScheduleEventKind

ACTIONS = tuple(
    dict.fromkeys(kind.name for kinds in (EventKind, ScheduleEventKind) for kind in kinds)
)


class AuditEvent(Answered):
    """What a caller did. `job_id` is null if it was done with a schedule, a handler or a quota.

    `action` is the `kind` of a job's event, or what was done with the schedule or the handler.
    """

    at: datetime
    caller: Annotated[str, "As in the events of a job: an ARN, a token's subject, or `local`."]
    actor: Annotated[str, "The caller's short name."]
    action: Annotated[str, ACTIONS]
    job_id: str | None
    schedule_id: str | None
    handler: Annotated[str | None, "The handler of the job, or that of the pause or limit."]
    reason: Annotated[str | None, "The note or reason that is on record."]


class AuditPage(Answered):
    """What callers did, newest first within the page. Only a null `next_cursor` ends.

    `histories_read` counts the jobs, schedules and handlers that the page was made from: it may be
    empty.
    """

    events: tuple[AuditEvent, ...]
    histories_read: int
    next_cursor: str | None
