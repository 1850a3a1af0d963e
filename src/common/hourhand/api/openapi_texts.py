"""The texts of the OpenAPI document: its introduction, its shapes and their fields."""

from __future__ import annotations

INFO_TEXT = """\
Hourhand runs jobs at a time, after a delay or on a schedule.

Times in requests carry an offset. Times in answers are UTC, with `Z` and milliseconds.
Unknown fields are refused, not ignored. Errors are RFC 9457 problems, except API Gateway's own
403, 413 and 429. In a deployment, every route needs the same authorisation."""

SHAPE_TEXTS = {
    "BackfillInput": "The scheduled times to run, from `from` to `to` inclusive, and how.",
    "CalendarInput": "A calendar: the exclusions of the schedules that name it.",
    "JobPatch": (
        "The fields to change of a job that is not yet running. Only `expires_at` and `payload`"
        " may be null: null removes the expiry, and sets the payload to null."
    ),
    "JobStatus": "The state of a job. SUCCEEDED, DEAD, CANCELLED and EXPIRED are final.",
    "JobSubmission": (
        "A job to submit. A field that is absent or null has the value of its handler's policy,"
        " or else the default."
    ),
}
"""Of the shapes whose docstrings are written for readers of the code."""

_FILTERS = {
    "status": "Only jobs in this state.",
    "handler": "Only jobs of this handler.",
    "schedule_id": "Only jobs that this schedule created.",
    "tenant": "Only jobs of this tenant.",
    "tag": "Only jobs with this tag, as `key:value`.",
    "created_after": "Only jobs created after this time.",
    "created_before": "Only jobs created before this time.",
}
_RUN_AT = "When to run: RFC 3339 with an offset, at most a day in the past, before 2201."

_HANDLER = "The registered name of the function that runs the job."
_EXCLUDE = (
    "Dates in the schedule's zone (`2026-12-25`), ranges of dates (`to` is excluded, too) or of"
    " times with offset (`to` is not), expressions"
)
_POLICIES = {
    "priority": "The queue of the job. Default medium.",
    "timeout_seconds": "How long one attempt may take. Default 300.",
    "retention_seconds": "How long the job is kept after its end. Default 7 days.",
    "on_lost": "Whether the job is retried if its worker is lost. Default retry.",
    "tenant": "The tenant of the job: a label for fairness and search.",
    "tags": "Up to 20 labels for search. Keys contain no colon.",
    "retry": "How often a failed attempt is retried, and after which delays.",
    "pool": "Only `default` is supported so far.",
    "concurrency_key": "Not supported yet.",
}
_SCHEDULE = {
    "expression": (
        "When to run: `cron(...)` with AWS's six fields, a Unix cron of five fields (six: with"
        " the second first), a macro such as `@daily`, `rate(5 minutes)`,"
        " `at(2027-01-01T09:00)`; or a list of up to 20 of them."
    ),
    "timezone": "The IANA time zone of local times. Default UTC.",
    "anchor": (
        "The time from which a rate counts: it runs at this time plus every multiple of its"
        " interval. Default `start_at`, else the time at which the schedule was created."
    ),
    "dst_gap": (
        "What to do when a clock change skips the local time: run at the first instant after the"
        " gap (`next_valid`, the default), do not run (`skip`), or run later by the length of the"
        " gap (`shift`)."
    ),
    "dst_fold": "When to run if a clock change repeats the local time. Default first.",
    "exclude": f"{_EXCLUDE}, and names of calendars.",
    "start_at": "No run before this time.",
    "end_at": "No run after this time.",
    "max_occurrences": "The schedule ends after this number of jobs.",
    "jitter_seconds": (
        "Delays each job by up to this. The delay of one scheduled time never changes, and never"
        " passes the next scheduled time. Default 0."
    ),
    "misfire": "What to do about scheduled times that an outage or a pause missed.",
    "overlap": "What to do when a job is due while `max_running` jobs run. Default skip.",
    "max_running": "How many of its jobs may run at once. Default 1; no limit under `allow`.",
    "buffer_limit": "How many jobs may wait under `buffer_all`. Default 100.",
    "pause_on_failure": "Whether the schedule pauses when one of its jobs ends DEAD. Default "
    "false.",
    "paused": "Whether the schedule is paused. Default: a replaced schedule stays as it is.",
    "note": "A note for people, such as the reason of a pause.",
    "keep": "How many ended occurrences the history lists.",
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
            "The same key with the same body returns the same job, as long as the job is kept and"
            " at least 24 hours after its end. Not together with `id`."
        ),
        "id": "The job's id, chosen by the caller.",
        "expires_at": "If the job has not started by then, it ends EXPIRED.",
        **_POLICIES,
    },
    "RetryInput": {
        "max_attempts": "The first attempt and all retries. Default 6.",
        "backoff": "How the delay grows with each failure. Default exponential.",
        "base_seconds": "The delay from which the backoff grows. Default 1.",
        "max_delay_seconds": "The maximum delay. Default 3600.",
        "jitter": "The random part of each delay. Default additive: 0 to 500 ms more.",
    },
    "BatchRequest": {"jobs": "The jobs, each as for `POST /v1/jobs`."},
    "JobPatch": {
        "run_at": f"{_RUN_AT} Not together with `delay_seconds`.",
        "delay_seconds": "When to run, in seconds from now.",
        "priority": "The queue of the job.",
        "payload": "Any JSON, up to 2.5 MB, in place of the old payload.",
        "expires_at": "If the job has not started by then, it ends EXPIRED. Null removes the "
        "expiry.",
    },
    "ListRequest": {
        **_FILTERS,
        "limit": "The maximum number of jobs in a page.",
        "cursor": "The `next_cursor` of the page before, with the same filters.",
    },
    "BulkRequest": {
        **_FILTERS,
        "all": "Must be true if no filter is given.",
        "dry_run": "Only count the jobs; change nothing.",
        "cursor": "The `next_cursor` of the call before, with the same filters.",
    },
    "ScheduleInput": {"handler": _HANDLER, **_SCHEDULE},
    "PreviewedSchedule": {"handler": "May be left out.", **_SCHEDULE},
    "MisfireInput": {
        "policy": (
            "Which missed times run: the latest (the default), all of them in order, the"
            " earliest, or none."
        ),
        "window_seconds": "Times that were missed longer ago are skipped. Default 86400.",
    },
    "KeepInput": {
        "succeeded": "The number of succeeded occurrences. Default 100.",
        "failed": "The number of all other ended occurrences. Default 100.",
    },
    "ExcludedRange": {
        "from": "The first date, or the first instant, that is excluded.",
        "to": "The last date that is excluded, or the first instant that is not.",
    },
    "NoteInput": {"note": "A note for people, such as the reason."},
    "BackfillInput": {
        "from": "The earliest scheduled time to run.",
        "to": "The latest scheduled time to run, not in the future.",
        "overlap": "What to do when a job of the backfill is due while `max_active` of them run.",
        "order": "Which scheduled times run first.",
        "max_active": "How many jobs of the backfill may run at once.",
        "reprocess": "Which times that have a job run again: none, failed ones, or all.",
        "dry_run": "Only count the scheduled times; create nothing.",
        "note": "A note for people, such as the reason.",
    },
    "PreviewInput": {
        "schedule": "A schedule as for `PUT /v1/schedules/{id}`.",
        "count": "The number of scheduled times to return.",
        "after": "Only times later than this. Default now.",
    },
    "CalendarInput": {
        "exclude": f"{_EXCLUDE}.",
        "note": "A note for people, such as the calendar's purpose.",
    },
    "PageRequest": {
        "limit": "The maximum number of entries in a page.",
        "cursor": "The `next_cursor` of the page before.",
    },
}
"""By model and field; a test checks that none is missing."""
