"""The texts of the OpenAPI document, beside those of the fields of requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourhand.domain.graphs.rules import OnFailure, TriggerRule

INFO_TEXT = """\
Hourhand runs jobs at a time, after a delay or on a schedule.

Times in requests carry an offset. Times in answers are UTC, with `Z` and milliseconds.
Unknown fields are refused, not ignored. Errors are RFC 9457 problems, except API Gateway's own
403, 413 and 429. In a deployment, every route needs the same authorisation."""

SHAPE_TEXTS = {
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
_RULES = {"type": ["string", "null"], "enum": [*(rule.value for rule in TriggerRule), None]}
_MODES = {"type": ["string", "null"], "enum": [*(mode.value for mode in OnFailure), None]}
NODE_PROPERTIES: Mapping[str, Any] = {
    "after": {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "description": "The names of the nodes that come before. Default none.",
    },
    "when": {**_RULES, "description": "The trigger rule. Default all_success."},
    "on_failure": {
        **_MODES,
        "description": "What a failure of the node does to the nodes after it. Default fail.",
    },
    "map": {
        "type": ["object", "null"],
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
