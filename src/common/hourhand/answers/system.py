"""Statistics, resweeps, handlers and the health of the API."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from hourhand.answers.answered import Answered
from hourhand.answers.jobs import OnLostName, PriorityName, Retry
from hourhand.domain.limits.debounce import Mode
from hourhand.domain.limits.declarations import Holds, OnFull, Order
from hourhand.domain.limits.unique_keys import OnConflict

OnFullName = Annotated[str, OnFull]
HoldsName = Annotated[str, Holds]
OrderName = Annotated[str, Order]


class QueueStats(Answered):
    """One queue of a pool; its counts are SQS's, and approximate; null where SQS gave none."""

    pool: str
    priority: PriorityName
    waiting: int | None
    running: int | None
    delayed: int | None
    oldest_due_seconds: float | None


class LatenessStats(Answered):
    """Lateness of the newest jobs that started: `sample` of them, created `since`."""

    p50_ms: int | None
    p99_ms: int | None
    sample: int
    since: datetime | None


class Stats(Answered):
    """The system's statistics, as of the last tick and of the queues' own counts."""

    queues: tuple[QueueStats, ...]
    lateness: LatenessStats
    leader: str | None
    epoch: int
    last_tick_at: datetime | None
    watermark: datetime | None
    open_buckets: int
    skew_ms: int


class Resweep(Answered):
    """The progress of the last resweep: done once `watermark` is at `until`, where it stood."""

    state: Annotated[str, ("none", "requested", "running", "done")]
    since: datetime | None
    requested_at: datetime | None
    watermark: datetime | None
    until: datetime | None


class HandlerPolicies(Answered):
    """The policies of a handler's `@job`; null for those that it leaves to the defaults."""

    timeout_seconds: int | None
    priority: PriorityName | None
    retry: Retry | None
    on_lost: OnLostName | None
    retention_seconds: int | None


class HandlerSchedule(Answered):
    """The schedule that a handler's `@job` declares. Its id is the name of the handler.

    Each deployment applies it: `GET /schedules/{id}` is the schedule as it stands.
    """

    expression: Annotated[Any, str | tuple[str, ...], "An expression, or a list of them."]
    timezone: str


class HandlerPause(Answered):
    """Since when a handler is paused, until when (null: until it is resumed), and why."""

    since: datetime
    until: datetime | None
    note: str | None


class HandlerLimit(Answered):
    """A limit that a handler's `@job` declares. Fields of the other kind are null."""

    name: Annotated[str, "its own name, by which handlers share it, or `<handler>.<n>`"]
    kind: Annotated[str, ("concurrency", "rate")]
    max: Annotated[int, "how many jobs of one key may run at a time, or start in `per_seconds`"]
    key: Annotated[str, "where the key of a job is found, or the key itself"]
    on_full: Annotated[OnFullName | None, "what becomes of a job that finds the limit full"]
    max_waiting: Annotated[int | None, "how many jobs may wait; null if there is no bound"]
    holds: Annotated[HoldsName | None, "how long a job keeps its slot"]
    order: Annotated[OrderName | None, "in which order waiting jobs start"]
    per_seconds: float | None
    burst: Annotated[int | None, "how many jobs may start at once after a pause"]


class HandlerUnique(Answered):
    """Which jobs of a handler are one and the same: at most one of a key is in scope."""

    key: Annotated[str, "where the key of a job is found, or the key itself"]
    until: Annotated[Any, str | int, "`start`, `end` or `success`, or a number of seconds"]
    on_conflict: Annotated[str, OnConflict]


class HandlerDebounce(Answered):
    """How submissions of a key that come shortly after one another become one job."""

    key: Annotated[str, "where the key of a job is found, or the key itself"]
    wait_seconds: float
    max_wait_seconds: float | None
    mode: Annotated[str, Mode]


class Handler(Answered):
    """A registered handler: what it takes, its policies and its declared schedule.

    `schedule` is null if its `@job` declares none, `paused` if it is not paused.
    """

    name: str
    description: str
    payload_schema: Annotated[
        Mapping[str, Any] | None,
        "JSON Schema (draft 2020-12) of the payload; null if the handler takes any JSON",
    ]
    payload_examples: Annotated[
        tuple[Any, ...], "payloads that the handler accepts; empty if none is known"
    ]
    payload_validated: Annotated[bool, "whether a submission is refused if its payload is wrong"]
    policies: HandlerPolicies
    limits: Annotated[tuple[HandlerLimit, ...], "in the order in which they are declared"]
    unique: Annotated[HandlerUnique | None, "null if its jobs are not unique"]
    debounce: Annotated[HandlerDebounce | None, "null if its jobs are not debounced"]
    run_timeout_seconds: Annotated[
        int | None, "how long a run of a durable handler may take; null for any other handler"
    ]
    schedule: HandlerSchedule | None
    paused: HandlerPause | None


class Handlers(Answered):
    """Every registered handler, by name."""

    handlers: tuple[Handler, ...]


class Health(Answered):
    """The API answers. The other fields say which installation it is; null: it is not known."""

    status: Annotated[str, ("ok",)]
    installation: Annotated[str, "The prefix of the names of its tables, queues and functions."]
    stage: Annotated[str | None, "`dev` or `prod`, as it was deployed; `local` for a local cloud."]
    region: Annotated[str | None, "Its AWS Region."]
    account: Annotated[str | None, "The id of its AWS account."]
