"""Limits: how many jobs of a key may run at a time, which do, and which wait."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from hourhand.answers.answered import Answered


class JobOfLimit(Answered):
    """A job that holds a slot, or waits for one."""

    job_id: str
    since: datetime | None
    blocked_by: Annotated[
        str | None, "Of a job that waits: its nearest ancestor that holds a slot, if there is one."
    ] = None


class LimitSummary(Answered):
    """A limit as listings show it."""

    name: str
    kind: Annotated[str, ("concurrency", "rate")]
    key: Annotated[str, "Where the key of a job is found, or the key itself."]
    max: Annotated[
        int, "How many jobs of one key may run at a time or, of a rate, start in its period."
    ]
    declared_max: Annotated[int, "The number in the code, which applies without an override."]
    per_seconds: Annotated[
        float | None, "The period of a rate in seconds. Null for a concurrency limit."
    ]
    overrides: Annotated[Mapping[str, int], "The keys that have a number of their own."]
    handlers: Annotated[tuple[str, ...], "The handlers whose jobs have the limit."]
    running: Annotated[
        int | None, "How many jobs hold a slot. Null for a limit with keys, unless one is named."
    ]
    waiting: Annotated[
        int | None, "How many jobs wait, counted up to 10,000. Null where `running` is."
    ]
    oldest_waiting_at: Annotated[
        datetime | None, "Since when the oldest of the first 20 that wait has waited."
    ]


class Limit(LimitSummary):
    """A limit and, of one with keys, what is known of one key.

    `holders` and `waiters` are null for a limit with keys, unless a key is named.
    """

    holders: tuple[JobOfLimit, ...] | None
    waiters: Annotated[tuple[JobOfLimit, ...] | None, "The first 20 jobs that wait."]


class ChangedLimit(Limit):
    """A limit whose numbers were changed."""

    granted: Annotated[
        int,
        "How many waiting jobs got a slot at once, at most 1,000. The next sweeps grant others.",
    ]


class LimitPage(Answered):
    """A page of limits, by name. A null `next_cursor` ends the listing."""

    limits: tuple[LimitSummary, ...]
    next_cursor: str | None
