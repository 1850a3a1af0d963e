"""What a handler may ask and tell, and what it may raise."""

from __future__ import annotations

import logging
import math
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hourhand import JobContext, RateLimited, RetryLater, Snooze
from hourhand.domain.jobs.job import Progress
from hourhand.handlers import JobLogger, StopReason, StopSignal
from hourhand.handlers._context import Attempt, attempt_of

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture
def ctx() -> JobContext:
    return JobContext(job_id="j1", run_at=NOON, deadline=NOON + timedelta(minutes=1))


def test_cancelled_is_falsy_until_the_handler_is_told(ctx: JobContext) -> None:
    assert not ctx.cancelled
    assert not ctx.cancelled.wait(0)

    ctx.cancelled.tell(StopReason.CANCELLED)

    assert ctx.cancelled
    assert ctx.cancelled.wait(0)
    assert not ctx.lost


def test_waiting_for_the_signal_ends_when_it_is_told() -> None:
    signal = StopSignal()
    waiting = threading.Thread(target=signal.wait, args=(30,))
    waiting.start()

    signal.tell(StopReason.TIMED_OUT)

    waiting.join(10)
    assert not waiting.is_alive()


def test_the_first_reason_stands_unless_the_job_is_lost(ctx: JobContext) -> None:
    ctx.cancelled.tell(StopReason.CANCELLED)
    ctx.cancelled.tell(StopReason.TIMED_OUT)
    assert ctx.cancelled.reason is StopReason.CANCELLED
    assert repr(ctx.cancelled) == "<StopSignal cancelled>"

    ctx.cancelled.tell(StopReason.LOST)
    assert ctx.lost


def test_progress_keeps_the_last_that_was_told(ctx: JobContext) -> None:
    ctx.progress(1, total=4, message="one")
    ctx.progress(2)

    assert ctx.last_progress == Progress(done=2.0)


def test_a_long_progress_message_is_cut(ctx: JobContext) -> None:
    ctx.progress(1, message="ü" * 300)

    assert ctx.last_progress is not None
    assert len((ctx.last_progress.message or "").encode()) <= 100


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, 1e16])
def test_progress_that_is_no_amount_is_refused_by_name(ctx: JobContext, wrong: float) -> None:
    with pytest.raises(ValueError, match="done must be a number from 0"):
        ctx.progress(wrong)
    with pytest.raises(ValueError, match="total must be a number from 0"):
        ctx.progress(0, total=wrong)
    assert ctx.last_progress is None


def test_a_cursor_is_read_again_as_it_was_set(ctx: JobContext) -> None:
    kept: list[str] = []
    attempt_of(ctx).keep_cursor = kept.append
    assert ctx.cursor is None
    ctx.cursor = {"page": [3, "é"]}
    assert ctx.cursor == {"page": [3, "é"]}
    assert kept == ['{"page":[3,"\\u00e9"]}']


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("x" * 99, "is 101 bytes of JSON; at most 100"),
        (object(), "must be a JSON value"),
        (float("nan"), "not JSON compliant"),
    ],
)
def test_a_cursor_that_is_no_small_json_value_is_refused(
    ctx: JobContext, wrong: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ctx.cursor = wrong
    assert ctx.cursor is None


def test_the_remaining_time_never_falls_below_zero() -> None:
    now = [100.0]
    ctx = JobContext(
        job_id="j1",
        run_at=NOON,
        deadline=NOON,
        _attempt=Attempt(ends_at_monotonic=107.0, monotonic=lambda: now[0]),
    )

    assert ctx.remaining_seconds == 7.0
    now[0] = 120.0
    assert ctx.remaining_seconds == 0.0


def test_the_loggers_lines_carry_the_jobs_fields(caplog: pytest.LogCaptureFixture) -> None:
    logger = JobLogger(logging.getLogger("test.job"), {"job_id": "j1", "attempt": 2})

    with caplog.at_level(logging.INFO, "test.job"):
        logger.info("Sent %s.", "it", recipients=3, name="x", extra={"kind": "mail"})

    (record,) = caplog.records
    assert record.getMessage() == "Sent it."
    line = vars(record)
    assert (line["job_id"], line["attempt"]) == ("j1", 2)
    assert (line["recipients"], line["kind"], line["name_"]) == (3, "mail", "x")
    assert record.name == "test.job"


def test_the_logger_still_takes_standard_arguments(caplog: pytest.LogCaptureFixture) -> None:
    logger = JobLogger(logging.getLogger("test.job"), {})

    try:
        raise LookupError("gone")
    except LookupError:
        logger.exception("It failed.")

    assert caplog.records[0].exc_info is not None


@pytest.mark.parametrize("kind", [RetryLater, Snooze])
def test_a_wait_is_a_number_of_seconds_or_a_timedelta(kind: Any) -> None:
    assert kind(1.5).wait == timedelta(seconds=1.5)
    assert kind(timedelta(minutes=2), "not yet").wait == timedelta(minutes=2)
    assert str(kind(90)) == "again in 90 s"
    assert str(kind(90, "not yet")) == "not yet"


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, 367 * 86_400])
def test_a_wait_out_of_range_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="seconds must be from 0 to 31622400"):
        Snooze(wrong)


def test_a_refusal_of_another_service_may_last_for_a_year() -> None:
    assert RateLimited(timedelta(days=366)).wait == timedelta(days=366)
    with pytest.raises(ValueError, match="seconds must be from 0 to 31622400, not"):
        RateLimited(timedelta(days=366, seconds=1))


@pytest.mark.parametrize("wrong", ["soon", None, True])
def test_a_wait_that_is_no_number_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="must be a number or a timedelta"):
        RetryLater(wrong)


def test_a_refusal_of_another_service_is_a_reason_unless_the_handler_has_one() -> None:
    assert RateLimited(5).reason == "another service allows no call now"
    assert RateLimited(5, "the bank is closed").reason == "the bank is closed"
