"""Sends one batch, and again the jobs of it that failed temporarily.

A batch whose answer is lost is sent again as it is: each of its jobs has an id or key of its own,
so none is submitted twice. A job of a batch that failed temporarily is sent again alone.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from hourhand.answers.batches import FieldProblem
from hourhand.answers.jobs import Job
from hourhand.client._exchange import pause_before_retry, try_once
from hourhand.client._operations._asking import members, target
from hourhand.client._problems import problem_failure
from hourhand.client._steps import Answer, Operation, Request, Session
from hourhand.client._values import (
    ClientError,
    Submission,
    Submitted,
    TooLarge,
    UnexpectedAnswer,
    decoded,
    read,
)

MAX_BATCH_JOBS = 500
MAX_BATCH_BYTES = 2_500_000
"""The API's own limits of a batch, measured as it measures them: in bytes sent."""

_HEAD, BETWEEN, _TAIL = b'{"jobs":[', b",", b"]}"
ENVELOPE_BYTES = len(_HEAD) + len(_TAIL)


@dataclass(slots=True)
class Sending:
    """A submission that was read and not emitted yet. ``body`` is its JSON.

    ``outcome`` is what is known so far: it may be tried again while it is not ``is_settled``.
    """

    index: int
    submission: Submission | None = None
    body: bytes = b""
    outcome: Submitted | None = None
    is_settled: bool = False
    may_have_happened: bool = False

    def fail(self, failure: ClientError) -> None:
        """Note that it failed, temporarily or permanently."""
        self.may_have_happened = self.may_have_happened or failure.may_have_happened
        # Many may fail for one reason; each names its own submission.
        error = copy.copy(failure)
        error.may_have_happened = self.may_have_happened
        error.submission = self.submission
        self.outcome = Submitted(index=self.index, submission=self.submission, error=error)

    def succeed(self, job: Job) -> None:
        """Note that it is submitted."""
        self.outcome = Submitted(index=self.index, submission=self.submission, job=job)

    @property
    def error(self) -> ClientError | None:
        """Why it failed, as far as is known."""
        return None if self.outcome is None else self.outcome.error


def refuse_too_large(sending: Sending) -> None:
    """Note that a submission failed because it is too large for any batch."""
    size_bytes = len(sending.body) + ENVELOPE_BYTES
    if size_bytes > MAX_BATCH_BYTES:
        message = (
            f"is {size_bytes:,} bytes of JSON with its fields; at most "
            f"{MAX_BATCH_BYTES:,} are allowed"
        )
        problem = FieldProblem(field="job", message=message)
        sending.fail(TooLarge("The job is too large for a batch.", errors=[problem]))


def send_batch(session: Session, batch: list[Sending]) -> Operation[None]:
    """Send a batch, and again its jobs that failed temporarily; note the result of each."""
    left = batch
    attempt = 0
    while True:
        attempt += 1
        try:
            yield from _send_once(session, left)
        except Exception as error:  # noqa: BLE001 - whatever it is, each job gets it
            detail = f"The batch could not be sent: {type(error).__name__}: {error}"
            _fail(left, ClientError(detail, may_have_happened=True))
            return
        left = [one for one in left if one.error is not None and one.error.is_temporary]
        if not left or attempt == session.max_attempts:
            return
        longest = max(left, key=lambda one: _retry_after(one.error))
        assert longest.error is not None
        if not (yield from pause_before_retry(session, attempt, longest.error)):
            return


def _fail(batch: list[Sending], error: ClientError) -> None:
    for sending in batch:
        sending.fail(error)


def _retry_after(error: ClientError | None) -> float:
    return 0.0 if error is None else error.retry_after_seconds or 0.0


def _send_once(session: Session, batch: list[Sending]) -> Operation[None]:
    body = _HEAD + BETWEEN.join([one.body for one in batch]) + _TAIL
    request = Request(method="POST", target=target("jobs", "batch"), body=body)
    outcome = yield from try_once(session, request)
    if isinstance(outcome, ClientError):
        _fail(batch, outcome)
        return
    try:
        results = _results_of(outcome, len(batch))
    except UnexpectedAnswer as error:
        error.may_have_happened = True
        _fail(batch, error)
        return
    for sending, result in zip(batch, results, strict=True):
        if isinstance(result, ClientError):
            sending.fail(result)
        else:
            sending.succeed(result)


def _results_of(answer: Answer, sent: int) -> list[Job | ClientError]:
    """Return the API's result for each job of a batch."""
    results = members(decoded(answer.body), "results")
    if len(results) != sent:
        raise UnexpectedAnswer(f"The API's answer has {len(results)} results for {sent} jobs.")
    return [_result(one) for one in results]


def _result(told: Any) -> Job | ClientError:
    job, problem = (told.get("job"), told.get("error")) if isinstance(told, dict) else (None, None)
    if isinstance(problem, dict) and isinstance(problem.get("status"), int):
        failure = problem_failure(problem, problem["status"])
        if "stored" in told:
            failure.stored = told["stored"]
            failure.may_have_happened = failure.stored is not False
        return failure
    try:
        return read(Job, job, "job")
    except UnexpectedAnswer as error:
        error.may_have_happened = True
        return error
