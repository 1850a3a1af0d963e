"""What the OpenAPI document says in words."""

from __future__ import annotations

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
_RUN_AT = "When to run: RFC 3339 with an offset, at most a day in the past, before 2201."

_HANDLER = "The registered name of the function that does the work."
_EXCLUDE = (
    "Dates in the schedule's zone (`2026-12-25`), ranges of dates (`to` is excluded, too) or of"
    " times with offset (`to` is not), expressions"
)
_POLICIES = {
    "priority": "Which queue it goes to: who is likely to be first. Default medium.",
    "timeout_seconds": "How long one attempt may take. Default 300.",
    "retention_seconds": "How long it is kept after its end. Default 7 days.",
    "on_lost": "Whether it may be run again when the worker that ran it vanished.",
    "tenant": "Whom it is for: a label for fairness and search.",
    "tags": "Up to 20 labels to find it by. Keys hold no colon.",
    "retry": "How often and how late a failed attempt is followed by another.",
    "pool": "Not supported yet, but for `default`.",
    "concurrency_key": "Not supported yet.",
}
_SCHEDULE = {
    "expression": (
        "When it fires: `cron(...)` with AWS's six fields, a Unix cron of five fields (six: with"
        " the second first), `@daily` and the like, `rate(5 minutes)`, `at(2027-01-01T09:00)`;"
        " or a list of up to 20 of them."
    ),
    "timezone": "The IANA zone that local times are meant in. Default UTC.",
    "anchor": (
        "A rate fires at it plus every multiple of its interval. Default `start_at`, else the"
        " time it was first put."
    ),
    "dst_gap": (
        "Local times that do not exist fire at the first instant after the gap (`next_valid`, the"
        " default), not at all, or later by the length of the gap (`shift`)."
    ),
    "dst_fold": "At which of its two instants a local time fires that comes twice. Default first.",
    "exclude": f"{_EXCLUDE}, and names of calendars.",
    "start_at": "It fires at this time at the earliest.",
    "end_at": "It fires at this time at the latest.",
    "max_occurrences": "After so many jobs it ends.",
    "jitter_seconds": (
        "Each job is due later than its nominal time by up to this, always the same for the same"
        " time, and never past the next one. Default 0."
    ),
    "misfire": "What is done about nominal times that an outage or a pause missed.",
    "overlap": "What becomes of a job that is due while as many run as may. Default skip.",
    "max_running": "How many of its jobs may run at once. Default 1; no limit under `allow`.",
    "buffer_limit": "How many wait at most under `buffer_all`. Default 100.",
    "pause_on_failure": "Whether it pauses when a job of it ends DEAD. Default false.",
    "paused": "Whether it is paused. Left out, a schedule that is replaced stays as it is.",
    "note": "Why, for people.",
    "keep": "How many ended occurrences the history tells of.",
    "payload": "Any JSON, up to 256,000 bytes, for the handler.",
    **_POLICIES,
}

FIELD_TEXTS = {
    "JobSubmission": {
        "handler": _HANDLER,
        "payload": "Any JSON, up to 2.5 MB, for the handler.",
        "run_at": f"{_RUN_AT} Not together with `delay_seconds`; neither means now.",
        "delay_seconds": "When to run, in seconds from now.",
        "idempotency_key": (
            "The same key with the same body is the same job, while that is kept and at least"
            " 24 hours after its end. Not together with `id`."
        ),
        "id": "The job's id, chosen by the caller.",
        "expires_at": "If it has not started by then, it never does.",
        **_POLICIES,
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
        "run_at": f"{_RUN_AT} Not together with `delay_seconds`.",
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
    "ScheduleInput": {"handler": _HANDLER, **_SCHEDULE},
    "PreviewedSchedule": {"handler": "May be left out.", **_SCHEDULE},
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
    "CalendarInput": {
        "exclude": f"{_EXCLUDE}.",
        "note": "What it is for, for people.",
    },
    "PageRequest": {
        "limit": "How many entries a page holds at most.",
        "cursor": "The `next_cursor` of the page before.",
    },
}
"""By model and field; a test sees to it that none is forgotten."""
