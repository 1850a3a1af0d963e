"""What the OpenAPI document says in words, beside what the answers say of their own fields."""

from __future__ import annotations

from hourhand.answers.jobs import Job
from hourhand.answers.schedules import Calendar, Schedule
from hourhand.api.answer_schemas import texts_of

INFO_TEXT = """\
Hourhand runs jobs at a time, after a delay or on a schedule.

Times carry an offset on their way in, and are UTC with `Z` and milliseconds on their way out.
Unknown fields are refused, not ignored. Errors are RFC 9457 problems; API Gateway's own 403, 413
and 429 are not. Deployed, every route needs the same authorisation."""

SHAPE_TEXTS = {
    "BackfillInput": "Which past nominal times to run, `from` and `to` included, and how.",
    "CalendarInput": "A calendar as it is put: what the schedules that name it leave out.",
    "JobPatch": (
        "What changes of a job that is not yet running: the fields that are sent. Only `expires_at`"
        " and `payload` may be null: that removes the one, and the other becomes null."
    ),
    "JobStatus": "The states of a job; SUCCEEDED, DEAD, CANCELLED and EXPIRED are its ends.",
    "JobSubmission": (
        "A job as it is submitted. What is absent or null is as its handler's policies say, or"
        " else as the default is."
    ),
}
"""Of the shapes whose docstrings speak to who reads our code."""

_FILTERS = {
    "status": "Only jobs in this state.",
    "handler": "Only jobs of this handler.",
    "schedule_id": "Only jobs that this schedule made.",
    "tenant": "Only jobs of this tenant.",
    "tag": "Only jobs with this tag, as `key:value`.",
    "created_after": "Only jobs created after this time.",
    "created_before": "Only jobs created before this time.",
}
_JOB = texts_of(Job)
_NOT_YET = "Not supported yet."
_OF_ITS_JOBS = ("priority", "timeout_seconds", "retention_seconds", "on_lost", "tenant", "tags")
_SCHEDULE = {
    **texts_of(Schedule),
    **{name: _JOB[name] for name in (*_OF_ITS_JOBS, "retry", "pool")},
    "concurrency_key": _NOT_YET,
}

FIELD_TEXTS = {
    "JobSubmission": {
        **_JOB,
        "delay_seconds": "When to run, in seconds from now.",
        "concurrency_key": _NOT_YET,
    },
    "RetryInput": {
        "max_attempts": "The first try and the retries. Default 6.",
        "backoff": "How the delay grows with each failure. Default exponential.",
        "base_seconds": "The delay that it grows from. Default 1.",
        "max_delay_seconds": "What it never exceeds. Default 3600.",
        "jitter": "How chance spreads it. Default additive: 0 to 500 ms more.",
    },
    "BatchRequest": {"jobs": "The jobs, each as for `POST /v1/jobs`."},
    "JobPatch": {
        "run_at": _JOB["run_at"].replace("; neither means now", ""),
        "delay_seconds": "When to run, in seconds from now.",
        "priority": "Which queue it goes to.",
        "payload": "Any JSON, up to 2.5 MB, in place of the old payload.",
        "expires_at": "If it has not started by then, it never does; null removes this.",
    },
    "ListRequest": {
        **_FILTERS,
        "limit": "How many jobs a page holds at most.",
        "cursor": "The `next_cursor` of the page before, with the same filters.",
    },
    "BulkRequest": {
        **_FILTERS,
        "all": "Must be true where no filter is given.",
        "dry_run": "Count only, change nothing.",
        "cursor": "The `next_cursor` of the call before, with the same filters.",
    },
    "ScheduleInput": _SCHEDULE,
    "PreviewedSchedule": {**_SCHEDULE, "handler": "May be left out."},
    "MisfireInput": {
        "policy": (
            "Which of the missed ones run: the latest (the default), all of them in order, the"
            " earliest, or none."
        ),
        "window_seconds": "Older ones are skipped in any case. Default 86400.",
    },
    "KeepInput": {
        "succeeded": "Of those that succeeded. Default 100.",
        "failed": "Of the other ended ones. Default 100.",
    },
    "ExcludedRange": {
        "from": "The first date, or the first instant, that is excluded.",
        "to": "The last date that is excluded, or the first instant that is not.",
    },
    "NoteInput": {"note": "Why, for people."},
    "BackfillInput": {
        "from": "The earliest nominal time to run.",
        "to": "The latest nominal time to run, not in the future.",
        "overlap": "What becomes of a job that is due while as many run as may.",
        "order": "Which of them run first.",
        "max_active": "How many may run at once.",
        "reprocess": "Whether those run again that have a job: none, failed ones, or all.",
        "dry_run": "Count only, make nothing.",
        "note": "Why, for people.",
    },
    "PreviewInput": {
        "schedule": "A schedule as for `PUT /v1/schedules/{id}`.",
        "count": "How many fires to tell.",
        "after": "They are all later than this. Default now.",
    },
    "CalendarInput": texts_of(Calendar),
    "PageRequest": {
        "limit": "How many entries a page holds at most.",
        "cursor": "The `next_cursor` of the page before.",
    },
}
"""By model and field; a test sees to it that none is forgotten."""
