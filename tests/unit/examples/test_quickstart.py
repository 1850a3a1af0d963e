"""The first handlers that anybody sees do what they say."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from examples.quickstart import Welcome, check_report, send_newsletter, send_welcome
from hourhand import JobContext
from hourhand.handlers import StopReason
from hourhand.memory import START

ADA = Welcome(email="ada@example.org", name="Ada")


@pytest.fixture
def ctx() -> JobContext:
    return JobContext(job_id="j1", run_at=START, deadline=START + timedelta(minutes=1))


def test_a_welcome_goes_to_its_address(ctx: JobContext) -> None:
    assert send_welcome(ctx, ADA) == {"sent_to": "ada@example.org"}


def test_a_newsletter_goes_to_everybody_and_says_how_far_it_is(ctx: JobContext) -> None:
    assert send_newsletter(ctx, [ADA, ADA]) == {"sent": 2}
    assert ctx.last_progress is not None
    assert (ctx.last_progress.done, ctx.last_progress.total) == (1, 2)


def test_a_newsletter_that_is_cancelled_stops_where_it_is(ctx: JobContext) -> None:
    ctx.cancelled.tell(StopReason.CANCELLED)

    assert send_newsletter(ctx, [ADA, ADA]) == {"sent": 0}


def test_a_report_is_checked_until_it_is_there(ctx: JobContext) -> None:
    with pytest.raises(LookupError, match="not written yet"):
        asyncio.run(check_report(ctx, {}))
    assert asyncio.run(check_report(ctx, {"is_written": True})) == "ready"
