"""One call of a handler, in a thread of its own."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, ErrorInfo, Job, Outcome, Progress
from hourhand.handlers import (
    Handler,
    JobContext,
    RateLimited,
    RetryLater,
    Snooze,
    StopReason,
    is_suspension,
    result_text,
)
from hourhand.handlers._context import attempt_of
from hourhand.ports.handler_runner import Finished
from hourhand.worker._errors import error_info, stack_of
from hourhand.worker._watchdog import Watchdog


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler returned; ``text`` is its result as JSON.

    ``was_unwound``: it was a durable handler, and was left as it should be where it was unwound.
    """

    text: str
    was_unwound: bool = False


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised, or what it was given or returned was refused.

    ``wish``: the `RetryLater` or `Snooze` that was raised.
    """

    error: ErrorInfo
    wish: RetryLater | Snooze | None = None


_OUT_OF_MEANS = Raised(
    ErrorInfo(type="Error", message="The handler raised, and its error could not be read.")
)
"""Made ahead: where memory or stack are used up, nothing more can be built."""


class HandlerCall:
    """Calls a handler; `ended` says how that went, once `is_done`."""

    def __init__(
        self,
        handler: Handler,
        context: JobContext,
        payload_text: str,
        wake: threading.Event,
        watchdog: Watchdog,
    ) -> None:
        """Prepare the call; ``wake`` is set at its end, and ``watchdog`` forgets it."""
        self.ended: Returned | Raised | None = None
        self._handler = handler
        self._context = context
        self._payload_text = payload_text
        self._wake = wake
        self._watchdog = watchdog
        self._is_interrupted = False
        self._cancel_task: Callable[[], object] | None = None
        # A daemon, so that a handler that never ends does not keep the interpreter from ending.
        self._thread = threading.Thread(
            target=self._run, name=f"handler-{context.job_id}", daemon=True
        )

    @property
    def is_done(self) -> bool:
        """Whether nothing of the handler runs any more in its thread."""
        return self.ended is not None

    def start(self, end_at: float) -> None:
        """Start the thread; where it still runs at ``end_at`` (monotonic), the process ends.

        Raises `RuntimeError` where the process can have no more threads.
        """
        self._watchdog.watch(self, end_at)
        try:
            self._thread.start()
        except RuntimeError:
            self._watchdog.forget(self)
            raise

    def interrupt(self) -> None:
        """End an ``async`` handler where it awaits. There is no such thing for a sync one."""
        self._is_interrupted = True
        cancel_task = self._cancel_task
        if cancel_task is not None:
            cancel_task()

    def stack(self) -> str | None:
        """Return where the handler is at this moment."""
        return stack_of(self._thread)

    def _run(self) -> None:
        ended: Returned | Raised = _OUT_OF_MEANS
        try:
            ended = self._call()
        finally:
            # First: the invocation may be over, and its process frozen, once this has ended.
            self._watchdog.forget(self)
            self.ended = ended
            self._wake.set()

    def _call(self) -> Returned | Raised:
        try:
            arguments = self._handler.arguments(self._payload_text)
            value = self._handler.function(self._context, *arguments)
            if inspect.isawaitable(value):
                value = self._wait_for(value)
            attempt_of(self._context).before_end()
            return Returned(result_text(value))
        except BaseException as error:  # noqa: BLE001 - SystemExit and its kind end a job, not us
            return ended_by(error)

    def _wait_for(self, awaitable: Awaitable[Any]) -> Any:
        import asyncio  # noqa: PLC0415 - 0.03 s that workers without async handlers save

        async def main() -> Any:
            task = asyncio.ensure_future(awaitable)
            self._cancel_task = _task_canceller(asyncio.get_running_loop(), task)
            if self._is_interrupted:
                task.cancel()
            return await task

        try:
            return asyncio.run(main())
        finally:
            self._cancel_task = None


def _task_canceller(loop: Any, task: Any) -> Callable[[], object]:
    """Return what cancels ``task`` from another thread than its loop's."""

    def cancel() -> None:
        try:
            loop.call_soon_threadsafe(task.cancel)
        except RuntimeError:
            # The loop closed meanwhile: the handler has ended by itself.
            return

    return cancel


def ended_by(error: BaseException) -> Returned | Raised:
    """Return how a handler ended that raised ``error``."""
    if is_suspension(error):
        # The context knows why; a durable handler was unwound as it should be.
        return Returned("null", was_unwound=True)
    wish = error if isinstance(error, (RetryLater, Snooze)) else None
    return Raised(error_info(error), wish)


def finished_call(
    ended: Returned | Raised, context: JobContext, progress: Progress | None
) -> Finished:
    """Return the outcome of a handler that ended in time.

    One that was asked to stop and returned anyway succeeded. One that then raised any error
    stopped as asked. A durable handler that was unwound suspends, restarts or ends its run,
    whatever it returned or raised after that.
    """
    attempt = attempt_of(context)
    unwound = attempt.unwound_as()
    attempt.refuse_calls()
    if unwound is not None:
        if not (isinstance(ended, Returned) and ended.was_unwound):
            context.logger.warning(
                "A durable handler caught hourhand.handlers.Suspended, or raised while it was "
                "unwound. The run suspends all the same. Catch Exception, not BaseException.",
                job_id=context.job_id,
            )
        return replace(unwound, progress=progress)
    told = context.cancelled.reason
    if isinstance(ended, Returned):
        return _returned(ended.text, progress)
    if told is StopReason.CANCELLED:
        return Finished(outcome=Outcome.CANCELLED, error=ended.error, progress=progress)
    is_snooze = isinstance(ended.wish, Snooze)
    return Finished(
        outcome=Outcome.SNOOZED if is_snooze else Outcome.FAILED,
        error=None if is_snooze else ended.error,
        retry_after=ended.wish.wait if ended.wish is not None else None,
        reason=ended.wish.reason if is_snooze and ended.wish is not None else "",
        progress=progress,
        is_rate_limited=isinstance(ended.wish, RateLimited),
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
