"""From how a call ended to the outcome of its attempt."""

from __future__ import annotations

from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, ErrorInfo, Job, Outcome, Progress
from hourhand.handlers import Snooze, StopReason
from hourhand.ports.handler_runner import Finished
from hourhand.worker._call import Raised, Returned


def finished_call(
    ended: Returned | Raised, told: StopReason | None, progress: Progress | None
) -> Finished:
    """Return the outcome of a handler that ended in time.

    One that was asked to stop and returned anyway succeeded. One that then raised any error
    stopped as asked.
    """
    if isinstance(ended, Returned):
        return _returned(ended.text, progress)
    if told is StopReason.CANCELLED:
        return Finished(outcome=Outcome.CANCELLED, error=ended.error, progress=progress)
    is_snooze = isinstance(ended.wish, Snooze)
    return Finished(
        outcome=Outcome.SNOOZED if is_snooze else Outcome.FAILED,
        error=None if is_snooze else ended.error,
        retry_after=ended.wish.wait if ended.wish is not None else None,
        progress=progress,
    )


def timed_out(
    job: Job, ended: Returned | Raised | None, stack: str | None, progress: Progress | None
) -> Finished:
    """Return the outcome of a handler that was not done in time, however it ended after that.

    ``stack`` is where it was when its time was over; ``ended`` is ``None`` if it still runs.
    """
    message = f"The handler ran longer than its limit of {job.timeout_seconds} s."
    if ended is None:
        message += " It did not stop when asked to, so its process was ended."
    raised = ended.error.traceback if isinstance(ended, Raised) else None
    return Finished(
        outcome=Outcome.TIMED_OUT,
        error=ErrorInfo(type="TimedOut", message=message, traceback=stack or raised),
        progress=progress,
        still_runs=ended is None,
    )


def _returned(text: str, progress: Progress | None) -> Finished:
    size = len(text.encode())
    if size <= MAX_CONTENT_BYTES:
        return Finished(outcome=Outcome.SUCCEEDED, result_text=text, progress=progress)
    message = f"The result is {size:,} bytes of JSON; at most {MAX_CONTENT_BYTES:,} are kept."
    return Finished(
        outcome=Outcome.FAILED,
        error=ErrorInfo(type="ResultTooLarge", message=message, retryable=False),
        progress=progress,
    )
