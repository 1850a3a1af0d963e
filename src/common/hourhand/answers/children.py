"""What the API returns of child jobs, and of batches, which consist of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from hourhand.answers.answered import Answered
from hourhand.answers.jobs import JobSummary
from hourhand.domain.runs.built_in import BatchStatus


class ChildCounts(Answered):
    """How many child jobs a call has, and how many of them have ended."""

    total: int
    succeeded: int
    failed: Annotated[int, "DEAD, CANCELLED or EXPIRED."]


class Child(JobSummary):
    """A child job, with the call that submitted it."""

    path: Annotated[str, "The path of the call within the run."]
    index: Annotated[int, "The place among the children of the call, from 0."]


class ChildPage(Answered):
    """A page of the children of a run, in the order of their calls.

    A page may be short; only a null `next_cursor` ends the listing. The counts are those of all
    children.
    """

    children: tuple[Child, ...]
    total: int
    succeeded: int
    failed: int
    next_cursor: str | None


class Batch(Answered):
    """Jobs with callbacks. `id` is that of the job that runs the batch."""

    id: str
    status: Annotated[str, BatchStatus]
    total: Annotated[int, "The jobs of the batch; of an open one, those added so far."]
    succeeded: int
    failed: Annotated[int, "DEAD, CANCELLED or EXPIRED."]
    callbacks: Annotated[
        Mapping[str, str | None],
        "The jobs `on_success`, `on_complete` and `on_failure`, by their ids; null: not submitted.",
    ]
    created_at: datetime
    finished_at: datetime | None
