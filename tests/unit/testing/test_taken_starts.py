"""``ctx.limit(name).take()``: a handler waits for a start of a rate limit, or runs again at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from hourhand import Concurrency, JobContext, Rate, RateLimited, Retry, job
from hourhand.client import Job
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand, Run, make_context

Take = Callable[[JobContext], object]


class Api:
    """A handler ``call`` that takes starts of rate limits, and the times at which it went on."""

    def __init__(self, *limits: Rate | Concurrency, take: Take | None = None, **options: Any):
        self.calls: list[datetime] = []
        self.registry = Registry()
        self._take = take or (lambda ctx: ctx.limit("api").take(max_wait=2))
        job("call", limits=limits[:1], registry=self.registry, **options)(self.call)
        for number, limit in enumerate(limits[1:]):
            job(f"other-{number}", limits=[limit], registry=self.registry)(self.rest)
        self.fake = FakeHourhand(start=START, handlers=self.registry)

    def call(self, ctx: JobContext) -> None:
        self._take(ctx)
        self.calls.append(self.fake.now)

    def rest(self, ctx: JobContext) -> None:
        pass

    def submit(self, count: int = 1, **options: Any) -> list[Job]:
        return [self.fake.client.submit("call", n, **options) for n in range(count)]

    def seconds(self) -> list[float]:
        """Return when the calls were made, in seconds since the beginning."""
        return [(at - START).total_seconds() for at in sorted(self.calls)]

    def runs_of(self, one: Job) -> list[Run]:
        return [run for run in self.fake.runs if run.job_id == one.id]


def shared(count: int = 6, per: float = 60, burst: int | None = 1, **options: Any) -> Rate:
    return Rate(count, per=per, name="api", on="take", **{"burst": burst, **options})


# --- waiting and running again ---


def test_a_start_that_is_close_is_waited_for() -> None:
    api = Api(shared(60))
    jobs = api.submit(3)
    api.fake.run_due()
    assert api.seconds() == [0, 1, 2]
    assert [len(api.runs_of(one)) for one in jobs] == [1, 1, 1]


def test_a_job_whose_start_is_further_away_runs_again_at_that_time_and_no_earlier() -> None:
    api = Api(shared(6))
    jobs = api.submit(5)
    api.fake.advance(minutes=2)
    assert api.seconds() == pytest.approx([0, 10, 20, 30, 40], abs=0.01)
    assert [len(api.runs_of(one)) for one in jobs] == [1, 2, 2, 2, 2]
    for one in jobs:
        found = api.fake.get(one.id)
        assert (found.status, found.attempt) == ("SUCCEEDED", 1)
    snoozed = api.runs_of(jobs[1])[0]
    assert snoozed.outcome == "SNOOZED"
    reasons = [event.reason for event in api.fake.client.events(jobs[1].id)]
    assert "the rate of api is reached" in reasons


@pytest.mark.parametrize(("max_wait", "runs"), [(0.0, 2), (9.9, 2), (10.1, 1), (60.0, 1)], ids=str)
def test_max_wait_says_how_long_a_handler_waits(max_wait: float, runs: int) -> None:
    api = Api(shared(6), take=lambda ctx: ctx.limit("api").take(max_wait=max_wait))
    _, second = api.submit(2)
    api.fake.advance(seconds=30)
    assert api.seconds() == pytest.approx([0, 10], abs=0.01)
    assert len(api.runs_of(second)) == runs


@pytest.mark.parametrize("distance", [5, 10, 30])
def test_a_handler_never_waits_beyond_its_time_limit(distance: int) -> None:
    rate = shared(1, per=distance)
    api = Api(rate, take=lambda ctx: ctx.limit("api").take(max_wait=600), timeout=5)
    jobs = api.submit(3)
    api.fake.advance(minutes=3)
    assert api.seconds() == pytest.approx([0, distance, 2 * distance], abs=0.01)
    assert "TIMED_OUT" not in {run.outcome for run in api.fake.runs}
    assert [len(api.runs_of(one)) for one in jobs] == [1, 2, 2]


def test_a_job_that_runs_again_at_its_start_holds_no_slot_until_then() -> None:
    api = Api(Concurrency(1), shared(6))
    jobs = api.submit(3)
    api.fake.run_due()
    statuses = [api.fake.get(one.id).status for one in jobs]
    assert statuses == ["SUCCEEDED", "RETRYING", "RETRYING"]
    api.fake.advance(minutes=1)
    assert api.seconds() == pytest.approx([0, 10, 20], abs=0.01)


def test_an_async_handler_takes_starts_too() -> None:
    registry = Registry()
    calls: list[float] = []

    @job("call", limits=[shared(60, burst=2)], registry=registry)
    async def call(ctx: JobContext) -> None:
        limit = ctx.limit("api")
        await asyncio.gather(limit.take_async(), limit.take_async())
        calls.append((fake.now - START).total_seconds())

    fake = FakeHourhand(start=START, handlers=registry)
    for number in range(2):
        fake.client.submit("call", number)
    fake.advance(minutes=1)
    assert len(calls) == 2
    # Four starts, of which two come at once.
    assert calls[-1] >= 2


def test_jobs_that_need_two_limits_do_not_send_each_other_back_for_ever() -> None:
    def both(ctx: JobContext) -> None:
        ctx.limit("api").take()
        ctx.limit("mail").take()

    api = Api(shared(6), Rate(6, per=60, burst=1, name="mail", on="take"), take=both)
    jobs = api.submit(4)
    api.fake.advance(minutes=10)
    assert len(api.calls) == 4
    assert max(len(api.runs_of(one)) for one in jobs) <= 5


@pytest.mark.parametrize(
    "rate",
    [
        shared(10, per=10, burst=3),
        shared(5, per=10, burst=None, exact=True),
        shared(5, per=10, burst=None, window="fixed"),
    ],
    ids=["gcra", "sliding", "fixed"],
)
def test_no_period_has_more_starts_than_the_rate_and_its_burst(rate: Rate) -> None:
    api = Api(rate)
    api.submit(30)
    api.fake.advance(minutes=3)
    assert len(api.calls) == 30
    begins = sorted(api.calls)
    period = timedelta(seconds=rate.per)
    most = max(sum(begin <= at < begin + period for at in begins) for begin in begins)
    assert most <= rate.count + (0 if rate.exact else rate.count if rate.window else 3)


def test_a_cost_counts_for_so_many_starts() -> None:
    api = Api(shared(6), take=lambda ctx: ctx.limit("api").take(cost=3))
    api.submit(3)
    api.fake.advance(minutes=3)
    assert api.seconds() == pytest.approx([0, 30, 60], abs=0.01)


def test_each_key_has_starts_of_its_own() -> None:
    api = Api(shared(6, key="tenant"))
    for tenant in ("acme", "globex"):
        api.submit(2, tenant=tenant)
    api.fake.advance(seconds=30)
    assert api.seconds() == pytest.approx([0, 0, 10, 10], abs=0.01)


def test_a_job_that_named_the_limit_takes_from_the_key_that_it_gave() -> None:
    rate = Rate(6, per=60, burst=1, name="api", key="tenant", on="take")
    api = Api(Concurrency(9), rate)
    api.submit(2, tenant="acme", limits=[{"name": "api", "key": "globex"}])
    api.submit(2, tenant="acme")
    api.fake.advance(seconds=30)
    assert api.seconds() == pytest.approx([0, 0, 10, 10], abs=0.01)


def test_a_failed_attempt_needs_another_start() -> None:
    def fail_once(ctx: JobContext) -> None:
        ctx.limit("api").take()
        if ctx.attempt == 1:
            raise OSError("the service hung up")

    api = Api(shared(6), take=fail_once)
    api.submit()
    api.fake.advance(minutes=1)
    assert api.seconds() == pytest.approx([10], abs=0.01)


def test_a_rate_of_retries_is_free_in_the_first_attempt() -> None:
    def fail_twice(ctx: JobContext) -> None:
        ctx.limit("api").take(max_wait=2)
        if ctx.attempt < 3:
            raise OSError("the service hung up")

    api = Api(Concurrency(9), Rate(1, per=60, burst=1, name="api", on="retry"), take=fail_twice)
    api.submit(2)
    api.fake.advance(seconds=30)
    assert api.calls == []
    api.fake.advance(minutes=10)
    assert len(api.calls) == 2


def test_a_limit_that_counts_only_what_is_taken_holds_no_start_of_a_job_back() -> None:
    api = Api(shared(1, per=3600), take=lambda ctx: None)
    api.submit(5)
    api.fake.run_due()
    assert api.seconds() == [0] * 5


def test_a_refusal_of_the_service_holds_back_what_is_taken_too() -> None:
    def refuse_once(ctx: JobContext) -> None:
        ctx.limit("api").take()
        if ctx.job_id == first.id and len(api.fake.runs) == 0:
            raise RateLimited(30)

    api = Api(shared(60), take=refuse_once)
    first, _ = api.submit(2)
    api.fake.advance(minutes=2)
    assert len(api.calls) == 2
    assert min(api.seconds()) >= 30


# --- several starts in one attempt ---


def take_three(ctx: JobContext) -> None:
    for _ in range(3):
        ctx.limit("api").take()


def test_a_handler_waits_in_its_attempt_for_each_start_and_each_counts() -> None:
    api = Api(shared(1, per=5), take=take_three)
    first, second = api.submit(2)
    api.fake.advance(minutes=1)
    assert api.seconds() == [10, 25]
    assert [len(api.runs_of(one)) for one in (first, second)] == [1, 1]


def test_an_attempt_without_progress_ends_with_an_error() -> None:
    api = Api(shared(1, per=5), take=take_three, timeout=8, retry=Retry(max_attempts=2))
    (one,) = api.submit()
    api.fake.advance(hours=1)
    found = api.fake.get(one.id)
    assert (found.status, api.calls) == ("DEAD", [])
    assert found.error is not None
    assert found.error.type == "NoProgress"
    assert "Set ctx.cursor after each call" in found.error.message
    assert [run.outcome for run in api.runs_of(one)] == ["FAILED", "FAILED"]


def test_an_attempt_that_moved_its_cursor_goes_on_at_its_start() -> None:
    def by_cursor(ctx: JobContext) -> None:
        for number in range(ctx.cursor or 0, 3):
            ctx.limit("api").take()
            ctx.cursor = number + 1

    api = Api(shared(1, per=5), take=by_cursor, timeout=8)
    (one,) = api.submit()
    api.fake.advance(minutes=1)
    assert api.seconds() == pytest.approx([10], abs=0.01)
    assert [run.outcome for run in api.runs_of(one)] == ["SNOOZED", "SNOOZED", "SUCCEEDED"]


def test_an_attempt_with_progress_ends_before_a_call_that_may_not_end_in_time() -> None:
    def by_cursor(ctx: JobContext) -> None:
        for number in range(ctx.cursor or 0, 10):
            ctx.limit("api").take()
            api.fake.clock.advance(12)
            ctx.cursor = number + 1

    api = Api(shared(60), take=by_cursor, timeout=60)
    (one,) = api.submit()
    api.fake.advance(minutes=10)
    assert {run.outcome for run in api.runs_of(one)} == {"SNOOZED", "SUCCEEDED"}
    assert api.fake.get(one.id).attempt == 1


def test_a_handler_that_is_cancelled_while_it_waits_ends_cancelled_though_it_took_a_start() -> None:
    def take_twice(ctx: JobContext) -> None:
        ctx.limit("api").take()
        api.fake.client.cancel(ctx.job_id)
        ctx.limit("api").take()

    api = Api(shared(6), take=take_twice)
    (one,) = api.submit()
    api.fake.advance(minutes=1)
    assert (api.fake.get(one.id).status, api.calls) == ("CANCELLED", [])


# --- ends ---


def test_a_start_beyond_thirty_days_ends_the_job_dead_or_expired() -> None:
    api = Api(shared(1, per=2_592_000))
    jobs = api.submit(3)
    (expiring,) = api.submit(1, expires_at=START + timedelta(days=1))
    api.fake.run_due()
    found = [api.fake.get(one.id) for one in jobs]
    assert [one.status for one in found] == ["SUCCEEDED", "RETRYING", "DEAD"]
    assert found[2].error is not None
    assert found[2].error.type == "RateLimitTooLong"
    api.fake.advance(days=1.1)
    assert api.fake.get(expiring.id).status == "EXPIRED"


WAYS = [{"burst": 3}, {"burst": None, "exact": True}, {"burst": None, "window": "fixed"}]


@pytest.mark.parametrize("how", WAYS, ids=["line", "sliding", "fixed"])
def test_a_job_that_runs_beyond_its_expiry_takes_the_starts_that_are_free(
    how: dict[str, Any],
) -> None:
    def take_late(ctx: JobContext) -> None:
        api.fake.clock.advance(60)
        for _ in range(3):
            ctx.limit("api").take(max_wait=0)

    api = Api(shared(3, **how), take=take_late)
    (one,) = api.submit(1, expires_at=START + timedelta(seconds=30))
    api.fake.run_due()
    assert api.fake.get(one.id).status == "SUCCEEDED"
    assert len(api.runs_of(one)) == 1


@pytest.mark.parametrize(("max_wait", "status"), [(30, "SUCCEEDED"), (5, "EXPIRED")], ids=str)
def test_a_job_that_runs_beyond_its_expiry_waits_in_its_attempt_or_expires(
    max_wait: float, status: str
) -> None:
    def take_late(ctx: JobContext) -> None:
        api.fake.clock.advance(60)
        for _ in range(2):
            ctx.limit("api").take(max_wait=max_wait)

    api = Api(shared(6), take=take_late)
    (one,) = api.submit(1, expires_at=START + timedelta(seconds=30))
    api.fake.advance(minutes=5)
    assert api.fake.get(one.id).status == status


def test_a_job_that_is_asked_to_stop_while_it_waits_ends_cancelled() -> None:
    def cancel_and_take(ctx: JobContext) -> None:
        if api.calls:
            api.fake.client.cancel(ctx.job_id)
        ctx.limit("api").take(max_wait=30)

    api = Api(shared(6), take=cancel_and_take)
    _, second = api.submit(2)
    api.fake.advance(minutes=1)
    assert api.fake.get(second.id).status == "CANCELLED"
    assert len(api.calls) == 1


# --- bad input ---


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("apy", "'apy' is no shared rate limit. Did you mean 'api'? Shared rate limits: api."),
        ("call.1", "'call.1' is no shared rate limit. Shared rate limits: api."),
        ("pool", "'pool' is a concurrency limit, no rate limit. Shared rate limits: api."),
    ],
)
def test_a_name_that_is_no_shared_rate_limit_is_an_error_that_lists_them(
    name: str, problem: str
) -> None:
    pool = Concurrency(9, name="pool")
    api = Api(shared(), pool, take=lambda ctx: ctx.limit(name).take())
    (one,) = api.submit()
    api.fake.run_due()
    error = api.fake.get(one.id).error
    assert error is not None
    assert (error.type, error.message) == ("InvalidLimit", problem)


@pytest.mark.parametrize(
    "options",
    [
        {"cost": 0},
        {"cost": float("nan")},
        {"cost": True},
        {"cost": "1"},
        {"cost": 1_000_001},
        {"max_wait": -1},
        {"max_wait": float("inf")},
    ],
    ids=str,
)
def test_a_cost_and_a_wait_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ValueError, match=f"{name} must be a number from"):
        make_context().limit("api").take(**options)


def test_a_window_counts_each_start_as_one() -> None:
    api = Api(shared(5, burst=None, exact=True), take=lambda ctx: ctx.limit("api").take(cost=2))
    (one,) = api.submit()
    api.fake.run_due()
    error = api.fake.get(one.id).error
    assert error is not None
    assert "cost cannot be given" in error.message


def test_a_take_of_more_starts_than_a_period_has_is_refused() -> None:
    api = Api(shared(6), take=lambda ctx: ctx.limit("api").take(cost=6.5))
    (one,) = api.submit()
    api.fake.run_due()
    error = api.fake.get(one.id).error
    assert error is not None
    assert "cost must be at most 6, the count of 'api', not 6.5" in error.message


def test_in_a_context_that_a_test_created_every_start_is_free() -> None:
    context = make_context()
    for _ in range(100):
        context.limit("anything").take()
    asyncio.run(context.limit("anything").take_async())
