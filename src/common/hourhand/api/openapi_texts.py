"""The texts of the OpenAPI document, beside those of the answers' own fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourhand.answers.jobs import Job
from hourhand.answers.schedules import Calendar, Schedule
from hourhand.api.answer_schemas import texts_of
from hourhand.domain.graphs.rules import OnFailure, TriggerRule

INFO_TEXT = """\
Hourhand runs jobs at a time, after a delay or on a schedule.

Times in requests carry an offset. Times in answers are UTC, with `Z` and milliseconds.
Unknown fields are refused, not ignored. Errors are RFC 9457 problems, except API Gateway's own
403, 413 and 429. In a deployment, every route needs the same authorisation."""

SHAPE_TEXTS = {
    "BackfillInput": "The scheduled times to run, from `from` to `to` inclusive, and how.",
    "CalendarInput": "A calendar: the exclusions of the schedules that name it.",
    "GraphInput": (
        "A graph to submit. The same `id` with the same graph returns the graph that exists."
    ),
    "BatchInput": (
        "A batch to submit. The same `id` with the same batch returns the batch that exists."
    ),
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

MEMBER_TEXT = (
    "A job of a graph or a batch: as for `POST /v1/jobs`, without `id`, `idempotency_key`, `unique`"
    " and `debounce`. Without a `tenant`, it has that of the graph or batch."
)
NODE_TEXT = (
    "A node: a job or a `map`. `handler` and `payload` are those of its job; those of the jobs of a"
    " map are in `map`. The other fields of a job are its policies."
)
_RULES = {"type": "string", "enum": [rule.value for rule in TriggerRule]}
_MODES = {"type": "string", "enum": [mode.value for mode in OnFailure]}
NODE_PROPERTIES: Mapping[str, Any] = {
    "after": {
        "type": "array",
        "items": {"type": "string"},
        "description": "The names of the nodes that come before. Default none.",
    },
    "when": {**_RULES, "description": "The trigger rule. Default all_success."},
    "on_failure": {
        **_MODES,
        "description": "What a failure of the node does to the nodes after it. Default fail.",
    },
    "map": {
        "type": "object",
        "required": ["over", "handler"],
        "description": "One job for each item, in place of `handler` and `payload`.",
        "properties": {
            "over": {
                "description": "The items, at most 10,000: an array, or the result of a node, such"
                ' as `{"$result": "extract"}`.',
            },
            "handler": {"type": "string", "description": "The handler of each job."},
            "payload": {
                "type": ["object", "null"],
                "description": "What each job gets beside its item, which has the key `item`."
                " Without it, the payload is the item.",
            },
            "concurrency": {
                "type": ["integer", "null"],
                "description": "How many jobs of the map run at a time. Default all.",
            },
            "tolerate": {
                "type": ["number", "null"],
                "description": "How many may fail: a number, or a share up to 1.0. Default 0.",
            },
        },
    },
}

_FILTERS = {
    "status": "Only jobs in this state.",
    "handler": "Only jobs of this handler.",
    "schedule_id": "Only jobs that this schedule created.",
    "tenant": "Only jobs of this tenant.",
    "tag": "Only jobs with this tag, as `key:value`.",
    "error_type": "Only jobs whose last failed attempt had this type of error.",
    "error_group": "Only DEAD jobs of this group of dead letters.",
    "created_after": "Only jobs created after this time.",
    "created_before": "Only jobs created before this time.",
    "discarded": "True: only DEAD jobs that were discarded. False: only other jobs.",
}
_BULK = {
    **_FILTERS,
    "all": "Must be true if no filter is given.",
    "dry_run": "Only count the jobs; change nothing.",
    "expected_count": "The count that the caller saw. If more than 1.1 times as many jobs match,"
    " nothing is changed. Read only if there is no cursor.",
    "cursor": "The `next_cursor` of the call before, with the same filters.",
}
_NOTE = "A note for people, such as the reason."
_ONLY_ANSWERED = {"waits_for", "reserved_start", "parent_id", "recent", "effect"}
_JOB = {name: text for name, text in texts_of(Job).items() if name not in _ONLY_ANSWERED}
_NOT_YET = "Not supported yet."
_OF_ITS_JOBS = ("priority", "timeout_seconds", "retention_seconds", "on_lost", "tenant", "tags")
_SCHEDULE = {
    **{name: text for name, text in texts_of(Schedule).items() if name not in _ONLY_ANSWERED},
    **{name: _JOB[name] for name in (*_OF_ITS_JOBS, "retry", "pool")},
    "concurrency_key": _NOT_YET,
}

FIELD_TEXTS = {
    "JobSubmission": {
        **_JOB,
        "delay_seconds": "When to run, in seconds from now.",
        "concurrency_key": "The key of the job under the first concurrency limit of its handler"
        " that has a key of its own, in place of that key.",
        "debounce": "Submissions of a key that come shortly after one another are one job."
        " Default: as its handler states.",
        "unique": "At most one job of a key exists at a time. Default: as its handler states.",
    },
    "LimitChoice": {
        "name": "The name of a limit that handlers share.",
        "key": "Where the key of the job is found: `payload.account`, `payload`, `tags.x`,"
        " `tenant`, `handler`, or a word that is the key. Default: as the limit says.",
    },
    "UniqueInput": {
        "key": "Where the unique key is found: `payload.day`, `payload`, `tags.x`, `tenant`,"
        " `handler`, or a word that is the key.",
        "until": "When the key is free again: `start`, `end` or `success` of the job, or a number"
        " of seconds after its submission. Default end.",
        "on_conflict": "What becomes of a submission whose key another job has: `return` that job,"
        " `reject` with 409, or `replace` its payload and time, which needs `until` `start`."
        " Default return.",
    },
    "DebounceInput": {
        "key": "Where the key is found, as that of `unique`.",
        "wait_seconds": "The job runs once no submission of its key came for so long.",
        "max_wait_seconds": "The job runs at the latest so long after the first submission."
        " Default: submissions may put it off without end.",
        "mode": "Whether the job runs with the `last` payload, the default, or the `first`.",
    },
    "RetryInput": {
        "max_attempts": "The first attempt and all retries. Default 6.",
        "backoff": "How the delay grows with each failure. Default exponential.",
        "base_seconds": "The delay from which the backoff grows. Default 1.",
        "max_delay_seconds": "The maximum delay. Default 3600.",
        "jitter": "The random part of each delay. Default additive: 0 to 500 ms more.",
    },
    "GraphInput": {
        "id": "The id of the graph and of its job. Default: a random id.",
        "nodes": "The nodes by their names, 1 to 1,000; 256 KB of JSON in all.",
        "tenant": _JOB["tenant"],
        "priority": "The queue of the graph's own job. Default medium.",
    },
    "RerunInput": {
        "from": "The names of the nodes to run again, with all nodes after them.",
        "dry_run": "Only answer which nodes would run again; change nothing.",
    },
    "BatchInput": {
        "jobs": "The jobs, at most 500; none is allowed.",
        "on_success": "The job to submit once all jobs have succeeded.",
        "on_complete": "The job to submit once all jobs have ended.",
        "on_failure": "The job to submit once a job has failed.",
        "open": "Whether more jobs may be added until the batch is closed. Default false.",
        "id": "The id of the batch and of its job. Default: a random id.",
        "tenant": _JOB["tenant"],
    },
    "MembersInput": {
        "first_index": "The place of the first of these jobs in the batch, from 0.",
        "jobs": "The jobs, 1 to 500.",
    },
    "CloseInput": {
        "total": "How many jobs the batch must have. Default: those that it has.",
    },
    "ChildrenRequest": {
        "status": "Only children in this state.",
        "path": "Only children of this call, also in the counts.",
        "limit": "The maximum number of children in a page.",
        "cursor": "The `next_cursor` of the page before, with the same filter.",
    },
    "GridRequest": {"runs": "The maximum number of runs. Default 25."},
    "BatchRequest": {"jobs": "The jobs, each as for `POST /v1/jobs`."},
    "JobPatch": {
        "run_at": _JOB["run_at"].replace("; neither means now", ""),
        "delay_seconds": "When to run, in seconds from now.",
        "priority": "The queue of the job.",
        "payload": "Any JSON, up to 2.5 MB, in place of the old payload.",
        "expires_at": "If the job has not started by then, it ends EXPIRED. Null removes the "
        "expiry.",
    },
    "ListRequest": {
        **_FILTERS,
        "idempotency_key": "The job that was submitted under this key, of this `tenant` or of none."
        " Takes no other filter.",
        "limit": "The maximum number of jobs in a page.",
        "cursor": "The `next_cursor` of the page before, with the same filters.",
    },
    "AuditRequest": {
        "job": "Only what was done with this job.",
        "schedule": "Only what was done with this schedule.",
        "handler": "Only when this handler was paused and resumed.",
        "caller": "Only what this caller did: the whole ARN or subject, or `local`. With `*` at its"
        " end: what all did whose identity begins so.",
        "from": "Only what was done at this time or later.",
        "to": "Only what was done before this time.",
        "tenant": "Only what was done with jobs and schedules of this tenant.",
        "limit": "The maximum number of events in a page; those of one job stay together.",
        "cursor": "The `next_cursor` of the page before, with the same filters.",
    },
    "GroupsRequest": {
        **_FILTERS,
        "status": "Only DEAD: what a dead letter is.",
        "limit": "The maximum number of dead letters to read for this page.",
        "cursor": "The `next_cursor` of the page before, with the same filters.",
    },
    "LogRequest": {
        "order": "Which lines come first: the `oldest` (the default) or the `newest`.",
        "limit": "The maximum number of lines in a page.",
        "cursor": "The `next_cursor` of the page before, in the same order.",
    },
    "BulkRequest": _BULK,
    "BulkDiscard": {**_BULK, "note": _NOTE},
    "ScheduleInput": _SCHEDULE,
    "PreviewedSchedule": {**_SCHEDULE, "handler": "May be left out."},
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
    "NoteInput": {"note": _NOTE},
    "TriggerInput": {
        "note": _NOTE,
        "payload": "The payload of this job. Default: the schedule's.",
        "priority": "The priority of this job. Default: the schedule's.",
        "idempotency_key": "A repeat with the same key returns the same job.",
    },
    "HandlerPauseInput": {
        "note": _NOTE,
        "until": "The pause ends by itself at this time. Default: it lasts until a resume.",
    },
    "SignalInput": {
        "payload": "What the wait returns.",
        "id": "The same id again changes nothing. Default: each call is a new signal.",
    },
    "CallbackResult": {"result": "What the wait returns."},
    "CallbackFailure": {"error": "Why the work failed; the wait raises it."},
    "CallbackErrorInput": {"type": "The name of the error.", "message": "What happened."},
    "RedriveInput": {
        "from": "Of a durable run: paths of calls that run again, with all below a branch or a "
        "map of that name. Default: the calls that failed.",
        "dry_run": "Only answer which calls would run again. Needs `from`.",
        "fresh": "Of a durable run: run all of it again, with an empty journal.",
    },
    "LimitQuery": {"key": "One key of a limit that has keys, such as the name of a tenant."},
    "LimitInput": {
        "max": (
            "The number of each key that has none of its own. 0 lets no job start; null restores"
            " the number in the code. Default: it stays."
        ),
        "overrides": (
            "Numbers of keys, at most 200. Null removes one. Keys that are not named stay."
        ),
    },
    "FreeInput": {"job_id": "The DEAD job whose slot is freed."},
    "RetimeInput": {
        "key": "The key whose jobs are meant: required for a rate with keys, such as `tenant`.",
        "cursor": "The `next_cursor` of the call before, to go on. Default: begin.",
    },
    "BackfillInput": {
        "from": "The earliest scheduled time to run.",
        "to": "The latest scheduled time to run, not in the future.",
        "overlap": "What to do when a job of the backfill is due while `max_active` of them run.",
        "order": "Which scheduled times run first.",
        "max_active": "How many jobs of the backfill may run at once.",
        "reprocess": "Which times that have a job run again: none, failed ones, or all.",
        "dry_run": "Only count the scheduled times; create nothing.",
        "note": _NOTE,
    },
    "PreviewInput": {
        "schedule": "A schedule as for `PUT /v1/schedules/{id}`.",
        "count": "The number of scheduled times to return.",
        "after": "Only times later than this. Default now.",
        "month": "A month such as `2026-12`, whose days are counted, too.",
    },
    "CalendarInput": texts_of(Calendar),
    "PutQuery": {
        "dry_run": "Only check the schedule, and answer it as it would be; change nothing.",
    },
    "PageRequest": {
        "limit": "The maximum number of entries in a page.",
        "cursor": "The `next_cursor` of the page before.",
    },
    "StepsRequest": {
        "order": "Which calls come first: the `oldest` (the default) or the `newest`.",
        "limit": "The maximum number of calls in a page.",
        "cursor": "The `next_cursor` of the page before, in the same order.",
    },
    "SchedulePageRequest": {
        "limit": "The maximum number of schedules in a page; with `recent`, at most 50.",
        "cursor": "The `next_cursor` of the page before.",
        "recent": "How many of its newest runs each schedule has, at most 20. Default 0.",
    },
}
"""By model and field; a test checks that none is missing."""
