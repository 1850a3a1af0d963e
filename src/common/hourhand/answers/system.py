"""Statistics, resweeps, handlers and the health of the API."""

from datetime import datetime
from typing import Annotated

from hourhand.answers.answered import Answered
from hourhand.answers.jobs import OnLostName, PriorityName, Retry


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


class Handler(Answered):
    """A registered handler and the policies of its `@job`; null for those that it leaves out."""

    name: str
    description: str
    timeout_seconds: int | None
    priority: PriorityName | None
    retry: Retry | None
    on_lost: OnLostName | None
    retention_seconds: int | None


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
