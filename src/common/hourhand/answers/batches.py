"""The problem of a failed request, and the results of batches and bulk operations."""

from typing import Annotated, Any

from hourhand.answers.answered import Answered, Example
from hourhand.answers.jobs import Job


class FieldProblem(Answered):
    """The error of one field; nested fields have dotted names such as `retry.backoff`."""

    field: str
    message: str

    def __str__(self) -> str:
        """Return both as one phrase."""
        return f"{self.field} {self.message}"


class Problem(Answered):
    """Why a request failed (RFC 9457). `type` is for programs, `detail` for people."""

    type: Annotated[str, Example("urn:hourhand:invalid")]
    title: str
    status: int
    detail: str
    errors: tuple[FieldProblem, ...] = ()


ReportedProblem = Annotated[Any, Problem]
"""A problem as it was received: a missing field of it must not hide the other jobs' results."""


class AcceptedJob(Answered):
    """The result of a job of a batch that was accepted."""

    job: Job


class RefusedJob(Answered):
    """The result of a job of a batch that was refused."""

    error: ReportedProblem


class UnavailableJob(RefusedJob):
    """The result of a job of a batch for which a store did not answer, or the time was short.

    Submit it again: with this `id` as its id, if it was sent without an id and key.
    """

    status: Annotated[int, Example(503)]
    code: Annotated[str, Example("unavailable")]
    stored: Annotated[bool | None, "Whether the job is stored; null if it is not known."]
    id: Annotated[str | None, "The id of the job; null if its unique key names it."]


class BatchResults(Answered):
    """The result of each job of a batch, in the order sent."""

    results: tuple[AcceptedJob | UnavailableJob | RefusedJob, ...]


class BulkFailure(Answered):
    """A job that matched and could not be changed."""

    id: str
    error: ReportedProblem


class BulkResult(Answered):
    """What a bulk operation did. A call with `next_cursor` continues where this one ended."""

    matched: int
    changed: int
    failed: tuple[BulkFailure, ...]
    count_is_bounded: Annotated[
        bool, "Whether the call stopped at 1,000 jobs, so that as many or more match."
    ]
    next_cursor: str | None
    schedules: Annotated[
        tuple[str, ...],
        "Up to 20 schedules whose overlap decides when the jobs that were redriven run.",
    ] = ()
