"""What the OpenAPI document says of each route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from hourhand.answers import (
    audit,
    batches,
    children,
    graphs,
    jobs,
    limits,
    runs,
    schedules,
    system,
)
from hourhand.answers.answered import Answered
from hourhand.api.requests import (
    AuditRequest,
    BackfillInput,
    BatchInput,
    BatchRequest,
    BulkDiscard,
    BulkRequest,
    CalendarInput,
    CallbackFailure,
    CallbackResult,
    ChildrenRequest,
    CloseInput,
    FreeInput,
    GraphInput,
    GridRequest,
    GroupsRequest,
    HandlerPauseInput,
    JobPatch,
    JobSubmission,
    LimitInput,
    LimitQuery,
    ListRequest,
    LogRequest,
    MembersInput,
    NoteInput,
    PageRequest,
    PreviewInput,
    PutQuery,
    RedriveInput,
    RerunInput,
    ResweepInput,
    RetimeInput,
    ScheduleInput,
    SchedulePageRequest,
    SignalInput,
)

_BODY_FAILS = (400, 413, 415, 422)


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """What the document says of one route. ``answer`` absent: it answers without a body.

    ``dry_answer``: what it answers to a ``dry_run``.
    """

    summary: str
    tag: str
    answer: type[Answered] | None
    dry_answer: type[Answered] | None = None
    body: type[BaseModel] | None = None
    needs_body: bool = True
    query: type[BaseModel] | None = None
    statuses: tuple[int, ...] = (200,)
    fails: tuple[int, ...] = ()
    has_location: bool = False

    @property
    def answers(self) -> list[type[Answered]]:
        """The shapes that its answers may have."""
        return [one for one in (self.answer, self.dry_answer) if one is not None]

    @property
    def failures(self) -> list[int]:
        """The statuses of all failures: any route may lack a scope, or get an unknown field."""
        return sorted({*self.fails, 403, 422, 500})


_ON_ONE_JOB: dict[str, Any] = {
    "tag": "jobs",
    "answer": jobs.Job,
    "fails": (400, 404, 409, 415, 503),
}
_IN_BULK: dict[str, Any] = {
    "tag": "bulk",
    "answer": batches.BulkResult,
    "fails": (409, *_BODY_FAILS, 503),
}
_ON_ONE_SCHEDULE: dict[str, Any] = {
    "tag": "schedules",
    "body": NoteInput,
    "needs_body": False,
    "fails": (400, 404, 409, 415, 503),
}

_JOBS: Mapping[tuple[str, str], Description] = {
    ("POST", "/v1/jobs"): Description(
        summary="Submit a job",
        tag="jobs",
        body=JobSubmission,
        answer=jobs.Job,
        statuses=(200, 201),
        has_location=True,
        fails=(409, *_BODY_FAILS, 503),
    ),
    ("POST", "/v1/jobs/batch"): Description(
        summary="Submit up to 500 jobs, 2.5 MB in all, each checked on its own",
        tag="jobs",
        body=BatchRequest,
        answer=batches.BatchResults,
        fails=(*_BODY_FAILS, 503),
    ),
    ("GET", "/v1/jobs"): Description(
        summary="List jobs, newest first, in pages",
        tag="jobs",
        query=ListRequest,
        answer=jobs.JobPage,
        fails=(503,),
    ),
    ("GET", "/v1/jobs/{id}"): Description(
        summary="Read a job with all its fields", tag="jobs", answer=jobs.Job, fails=(404, 503)
    ),
    ("PATCH", "/v1/jobs/{id}"): Description(
        summary="Change a job that is not yet running",
        tag="jobs",
        body=JobPatch,
        answer=jobs.Job,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("GET", "/v1/jobs/{id}/events"): Description(
        summary="Read a job's history", tag="jobs", answer=jobs.Events, fails=(404, 503)
    ),
    ("GET", "/v1/jobs/{id}/logs"): Description(
        summary="Read a job's log, the oldest or the newest lines first, in pages",
        tag="jobs",
        query=LogRequest,
        answer=jobs.LogPage,
        fails=(404, 503),
    ),
    ("POST", "/v1/jobs/{id}/cancel"): Description(
        summary="Cancel a waiting job, or ask a running one to stop", **_ON_ONE_JOB
    ),
    ("POST", "/v1/jobs/{id}/redrive"): Description(
        summary="Redrive a DEAD, EXPIRED or CANCELLED job; a durable run also `from` named calls, "
        "or `fresh`. A `dry_run` answers which calls would run again",
        body=RedriveInput,
        needs_body=False,
        dry_answer=runs.RedrivePlan,
        **_ON_ONE_JOB,
    ),
    ("POST", "/v1/jobs/{id}/signals/{name}"): Description(
        summary="Send a signal to a durable run",
        tag="runs",
        body=SignalInput,
        needs_body=False,
        answer=runs.Accepted,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("GET", "/v1/jobs/{id}/steps"): Description(
        summary="List the recorded calls of a durable run, in pages",
        tag="runs",
        query=PageRequest,
        answer=runs.StepPage,
        fails=(404, 409, 503),
    ),
    ("GET", "/v1/jobs/{id}/journal"): Description(
        summary="Export the journal of a durable run for replays in tests, in pages",
        tag="runs",
        query=PageRequest,
        answer=runs.JournalPage,
        fails=(404, 409, 503),
    ),
    ("GET", "/v1/jobs/{id}/children"): Description(
        summary="List the child jobs of a durable run, in pages",
        tag="runs",
        query=ChildrenRequest,
        answer=children.ChildPage,
        fails=(404, 409, 503),
    ),
    ("POST", "/v1/callbacks/{token}/succeed"): Description(
        summary="Complete a callback with a result",
        tag="runs",
        body=CallbackResult,
        needs_body=False,
        answer=runs.Accepted,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("POST", "/v1/callbacks/{token}/fail"): Description(
        summary="Complete a callback as failed",
        tag="runs",
        body=CallbackFailure,
        answer=runs.Accepted,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("POST", "/v1/callbacks/{token}/heartbeat"): Description(
        summary="Note that the work behind a callback goes on",
        tag="runs",
        answer=runs.Accepted,
        fails=(404, 409, 503),
    ),
    ("POST", "/v1/jobs/{id}/discard"): Description(
        summary="Acknowledge a DEAD job, which then counts as unresolved no longer",
        body=NoteInput,
        needs_body=False,
        **_ON_ONE_JOB,
    ),
    ("POST", "/v1/jobs/{id}/run-now"): Description(
        summary="Make a waiting job due now", **_ON_ONE_JOB
    ),
    ("POST", "/v1/jobs/cancel"): Description(
        summary="Cancel many jobs", body=BulkRequest, **_IN_BULK
    ),
    ("POST", "/v1/jobs/redrive"): Description(
        summary="Redrive many jobs: DEAD jobs, or those with the given status",
        body=BulkRequest,
        **_IN_BULK,
    ),
    ("POST", "/v1/jobs/discard"): Description(
        summary="Discard many DEAD jobs", body=BulkDiscard, **_IN_BULK
    ),
    ("GET", "/v1/dead-letters/groups"): Description(
        summary="List the DEAD jobs in groups by handler and error, in pages",
        tag="jobs",
        query=GroupsRequest,
        answer=jobs.DeadLetterGroups,
        fails=(503,),
    ),
}

_GRAPHS: Mapping[tuple[str, str], Description] = {
    ("POST", "/v1/graphs"): Description(
        summary="Submit a graph: jobs and maps, and which come after which",
        tag="graphs",
        body=GraphInput,
        answer=graphs.Graph,
        statuses=(200, 201),
        has_location=True,
        fails=(409, *_BODY_FAILS, 503),
    ),
    ("GET", "/v1/graphs/{id}"): Description(
        summary="Read a graph with the state of each node",
        tag="graphs",
        answer=graphs.Graph,
        fails=(404, 409, 503),
    ),
    ("POST", "/v1/graphs/{id}/rerun"): Description(
        summary="Run named nodes of a graph that has ended again, and all nodes after them",
        tag="graphs",
        body=RerunInput,
        answer=graphs.GraphRerun,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("POST", "/v1/batches"): Description(
        summary="Submit up to 500 jobs with callbacks, 2.5 MB in all; an open batch takes more",
        tag="batches",
        body=BatchInput,
        answer=children.Batch,
        statuses=(200, 201),
        has_location=True,
        fails=(409, *_BODY_FAILS, 503),
    ),
    ("GET", "/v1/batches/{id}"): Description(
        summary="Read a batch: its counts and its callbacks",
        tag="batches",
        answer=children.Batch,
        fails=(404, 503),
    ),
    ("POST", "/v1/batches/{id}/jobs"): Description(
        summary="Add up to 500 jobs to an open batch; the same call again adds nothing",
        tag="batches",
        body=MembersInput,
        answer=children.Batch,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("POST", "/v1/batches/{id}/close"): Description(
        summary="Close a batch, which then ends after its last job",
        tag="batches",
        body=CloseInput,
        needs_body=False,
        answer=children.Batch,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
}

_SCHEDULES: Mapping[tuple[str, str], Description] = {
    ("PUT", "/v1/schedules/{id}"): Description(
        summary="Create a schedule, or replace all of it",
        tag="schedules",
        query=PutQuery,
        body=ScheduleInput,
        answer=schedules.Schedule,
        statuses=(200, 201),
        fails=(409, *_BODY_FAILS, 503),
        has_location=True,
    ),
    ("GET", "/v1/schedules"): Description(
        summary="List schedules by id, in pages",
        tag="schedules",
        query=SchedulePageRequest,
        answer=schedules.SchedulePage,
        fails=(503,),
    ),
    ("GET", "/v1/schedules/{id}"): Description(
        summary="Read a schedule",
        tag="schedules",
        answer=schedules.Schedule,
        fails=(404, 503),
    ),
    ("DELETE", "/v1/schedules/{id}"): Description(
        summary="Delete a schedule, and cancel its waiting jobs",
        tag="schedules",
        answer=None,
        statuses=(204,),
        fails=(400, 404, 409, 415, 503),
    ),
    ("POST", "/v1/schedules/preview"): Description(
        summary="Compute the next scheduled times; create nothing",
        tag="schedules",
        body=PreviewInput,
        answer=schedules.Preview,
        fails=(*_BODY_FAILS, 503),
    ),
    ("POST", "/v1/schedules/{id}/pause"): Description(
        summary="Pause a schedule; its running jobs continue",
        answer=schedules.Schedule,
        **_ON_ONE_SCHEDULE,
    ),
    ("POST", "/v1/schedules/{id}/resume"): Description(
        summary="Resume a paused schedule",
        answer=schedules.Schedule,
        **_ON_ONE_SCHEDULE,
    ),
    ("POST", "/v1/schedules/{id}/trigger"): Description(
        summary="Run a schedule's job once, now",
        answer=jobs.Job,
        statuses=(201,),
        has_location=True,
        **_ON_ONE_SCHEDULE,
    ),
    ("POST", "/v1/schedules/{id}/backfill"): Description(
        summary="Run a schedule for a period of the past",
        tag="schedules",
        body=BackfillInput,
        answer=schedules.BackfillReport,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("GET", "/v1/schedules/{id}/occurrences"): Description(
        summary="List past occurrences, newest first, and the next ten",
        tag="schedules",
        query=PageRequest,
        answer=schedules.OccurrencePage,
        fails=(404, 503),
    ),
    ("GET", "/v1/schedules/{id}/grid"): Description(
        summary="Show the last runs of a schedule, newest first, and the nodes of each graph",
        tag="schedules",
        query=GridRequest,
        answer=graphs.ScheduleGrid,
        fails=(404, 503),
    ),
}

_CALENDARS: Mapping[tuple[str, str], Description] = {
    ("PUT", "/v1/calendars/{name}"): Description(
        summary="Create a calendar, or replace all of it",
        tag="calendars",
        body=CalendarInput,
        answer=schedules.Calendar,
        statuses=(200, 201),
        fails=(409, *_BODY_FAILS, 503),
        has_location=True,
    ),
    ("GET", "/v1/calendars"): Description(
        summary="List calendars by name, in pages",
        tag="calendars",
        query=PageRequest,
        answer=schedules.CalendarPage,
        fails=(503,),
    ),
    ("GET", "/v1/calendars/{name}"): Description(
        summary="Read a calendar",
        tag="calendars",
        answer=schedules.Calendar,
        fails=(404, 503),
    ),
    ("DELETE", "/v1/calendars/{name}"): Description(
        summary="Delete a calendar that no schedule uses",
        tag="calendars",
        answer=None,
        statuses=(204,),
        fails=(400, 404, 409, 415, 503),
    ),
}

_AUDIT: Mapping[tuple[str, str], Description] = {
    ("GET", "/v1/audit"): Description(
        summary="List what callers did with the jobs and schedules that are kept, in pages",
        tag="audit",
        query=AuditRequest,
        answer=audit.AuditPage,
        fails=(404, 503),
    ),
}

_SYSTEM: Mapping[tuple[str, str], Description] = {
    ("GET", "/v1/stats"): Description(
        summary="Read the queues' counts, the lateness and the scheduler's state",
        tag="system",
        answer=system.Stats,
        fails=(503,),
    ),
    ("POST", "/v1/resweep"): Description(
        summary="Request a resweep: read every bucket again from a time on, after a restore",
        tag="system",
        body=ResweepInput,
        answer=system.Resweep,
        fails=(*_BODY_FAILS, 503),
    ),
    ("GET", "/v1/resweep"): Description(
        summary="Read the progress of the last resweep",
        tag="system",
        answer=system.Resweep,
        fails=(503,),
    ),
    ("GET", "/v1/handlers/{name}"): Description(
        summary="Read a handler: the schema of its payload, its policies, whether it is paused",
        tag="system",
        answer=system.Handler,
        fails=(404, 503),
    ),
    ("GET", "/v1/handlers"): Description(
        summary="List the registered handlers",
        tag="system",
        answer=system.Handlers,
        fails=(503,),
    ),
    ("POST", "/v1/handlers/{name}/pause"): Description(
        summary="Pause a handler: no job of it starts until it is resumed, or until a time",
        tag="system",
        body=HandlerPauseInput,
        needs_body=False,
        answer=system.Handler,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("POST", "/v1/handlers/{name}/resume"): Description(
        summary="End the pause of a handler, and send the jobs that waited for it",
        tag="system",
        body=NoteInput,
        needs_body=False,
        answer=system.Handler,
        fails=(404, *_BODY_FAILS, 503),
    ),
    ("GET", "/v1/limits"): Description(
        summary="List the limits of all handlers, by name",
        tag="system",
        answer=limits.LimitPage,
        query=PageRequest,
        fails=(503,),
    ),
    ("GET", "/v1/limits/{name}"): Description(
        summary="Read a limit: which jobs hold its slots, and which wait",
        tag="system",
        answer=limits.Limit,
        query=LimitQuery,
        fails=(404, 503),
    ),
    ("PUT", "/v1/limits/{name}"): Description(
        summary="Set numbers of a limit in the place of those in the code",
        tag="system",
        body=LimitInput,
        answer=limits.ChangedLimit,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("DELETE", "/v1/limits/{name}"): Description(
        summary="Remove the numbers that were set for a limit",
        tag="system",
        answer=limits.ChangedLimit,
        fails=(404, 503),
    ),
    ("POST", "/v1/limits/{name}/free"): Description(
        summary="Free the slot that a DEAD job keeps",
        tag="system",
        body=FreeInput,
        answer=limits.Limit,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("POST", "/v1/limits/{name}/retime"): Description(
        summary="Give the jobs that wait for a rate new start times, after its number changed",
        tag="system",
        body=RetimeInput,
        needs_body=False,
        answer=batches.BulkResult,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("GET", "/v1/health"): Description(
        summary="Check that the API answers", tag="system", answer=system.Health
    ),
}

DESCRIPTIONS: Mapping[tuple[str, str], Description] = {
    **_JOBS,
    **_GRAPHS,
    **_SCHEDULES,
    **_CALENDARS,
    **_AUDIT,
    **_SYSTEM,
}
"""Every route but the two that describe the API itself."""
