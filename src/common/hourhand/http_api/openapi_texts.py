"""What the OpenAPI document says in words."""

from __future__ import annotations

INFO_TEXT = """\
Hourhand runs jobs at a time, after a delay or on a schedule.

Times carry an offset on their way in, and are UTC with `Z` and milliseconds on their way out.
Unknown fields are refused, not ignored. Errors are RFC 9457 problems; API Gateway's own 403, 413
and 429 are not. Deployed, every route needs the same authorisation."""

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

FIELD_TEXTS = {
    "JobSubmission": {
        "handler": "The registered name of the function that does the work.",
        "payload": "Any JSON, up to 2.5 MB, for the handler.",
        "run_at": f"{_RUN_AT} Not together with `delay_seconds`; neither means now.",
        "delay_seconds": "When to run, in seconds from now.",
        "priority": "Which queue it goes to: who is likely to be first. Default medium.",
        "idempotency_key": (
            "The same key with the same body is the same job, while that is kept and at least"
            " 24 hours after its end. Not together with `id`."
        ),
        "id": "The job's id, chosen by the caller.",
        "timeout_seconds": "How long one attempt may take. Default 300.",
        "expires_at": "If it has not started by then, it never does.",
        "retention_seconds": "How long it is kept after its end. Default 7 days.",
        "on_lost": "Whether it may be run again when the worker that ran it vanished.",
        "tenant": "Whom it is for: a label for fairness and search.",
        "tags": "Up to 20 labels to find it by. Keys hold no colon.",
        "retry": "How often and how late a failed attempt is followed by another.",
        "pool": "Not supported yet, but for `default`.",
        "concurrency_key": "Not supported yet.",
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
}
"""By model and field; a test sees to it that none is forgotten."""
