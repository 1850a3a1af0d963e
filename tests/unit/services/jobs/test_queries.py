"""The reads of the API: one job, its events, pages of jobs, and the statistics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable
from hourhand.domain.jobs.job import (
    Attempt,
    ErrorInfo,
    EventKind,
    JobStatus,
    Outcome,
    Priority,
)
from hourhand.domain.jobs.searches import JobFilter
from hourhand.domain.ticks.buckets import bucket_start
from hourhand.domain.ticks.leases import LEADER
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished
from hourhand.services.jobs.queries import LatenessStats, QueueStats, percentile, summary
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import Behaviour, fail, fail_for_good, make_error
from tests.world.world import World

NO_FILTERS = JobFilter()
IN_BUCKET = "x" * 300_000


# --- one job ------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [{"a": 1}, "x" * 300, IN_BUCKET])
@pytest.mark.parametrize("result_size", [10, 1000, 300_000])
def test_a_job_is_told_whole_wherever_its_parts_are_kept(
    world: World, payload: object, result_size: int
) -> None:
    job = world.submit(payload=payload)
    assert world.api.queries.job(job.id).result_text is None
    result = '"' + "y" * result_size + '"'
    world.deliver(lambda *_: Finished(outcome=Outcome.SUCCEEDED, result_text=result))
    report = world.api.queries.job(job.id)
    assert report.job == world.job(job)
    assert report.result_text == result
    assert report.payload_text == world.runs[0].payload_text
    assert report == world.api.queries.report(report.job)


def test_a_job_tells_of_its_attempts_and_of_its_last_error(world: World) -> None:
    job = world.submit()
    world.deliver(fail)
    report = world.api.queries.job(job.id)
    (attempt,) = report.attempts
    assert isinstance(attempt, Attempt)
    assert (attempt.number, attempt.outcome, attempt.started_at) == (1, Outcome.FAILED, START)
    assert report.error == attempt.error == make_error()
    world.advance(3)
    world.deliver()
    report = world.api.queries.job(job.id)
    assert [a.outcome for a in report.attempts] == [Outcome.FAILED, Outcome.SUCCEEDED]


def test_the_last_failure_is_told_though_its_event_was_dropped_from_a_long_history() -> None:
    job = make_job(status=JobStatus.RETRYING, last_failure="ValueError: no such user")
    report = summary(job)
    assert report.attempts == ()
    assert report.error == ErrorInfo(type="ValueError", message="no such user")
    assert summary(replace(job, status=JobStatus.SUCCEEDED)).error is None


def test_a_payload_that_is_gone_is_told_as_nothing(world: World) -> None:
    job = world.submit(payload="x" * 300)
    world.store.delete_expired(START.replace(year=2030))
    assert world.api.queries.job(job.id).payload_text is None


def test_a_job_at_hand_is_told_though_it_is_gone_from_the_table(world: World) -> None:
    job = make_job()
    report = world.api.queries.report(job)
    assert (report.job, report.payload_text, report.attempts) == (job, "null", ())


def test_an_unknown_job_is_told(world: World) -> None:
    for read in (world.api.queries.job, world.api.queries.events):
        with pytest.raises(NotFound, match="no-such-job"):
            read("no-such-job")


def test_the_events_of_a_job_come_oldest_first(world: World) -> None:
    job = world.submit(delay_seconds=400)
    world.settle()
    events = world.api.queries.events(job.id)
    assert [event.kind for event in events.events] == [
        EventKind.SUBMITTED,
        EventKind.ENQUEUED,
        EventKind.CLAIMED,
        EventKind.SUCCEEDED,
    ]
    assert events.dropped == 0


def test_events_that_had_to_go_are_counted(world: World) -> None:
    job = world.submit(retry={"max_attempts": 20, "backoff": "fixed"})
    world.settle(fail)
    events = world.api.queries.events(job.id)
    assert events.dropped > 0
    assert events.events[0].kind is EventKind.SUBMITTED
    assert events.events[-1].status is JobStatus.DEAD


# --- pages --------------------------------------------------------------------------------------


def test_pages_follow_one_another_without_gap_or_repetition(world: World) -> None:
    submitted = []
    for _ in range(7):
        submitted.append(world.submit().id)
        world.advance(1)
    listed: list[str] = []
    cursor = None
    for _ in range(10):
        page = world.api.queries.list_jobs(NO_FILTERS, limit=3, cursor=cursor)
        listed += [report.job.id for report in page.jobs]
        cursor = page.next_cursor
        if cursor is None:
            break
        world.submit()
    assert listed == submitted[::-1], "what came meanwhile is on earlier pages"


def test_a_page_leaves_out_payload_result_and_traceback(world: World) -> None:
    world.submit(payload="secret")
    world.deliver(fail_for_good)
    (report,) = world.api.queries.list_jobs(NO_FILTERS, limit=50, cursor=None).jobs
    assert (report.payload_text, report.result_text) == (None, None)
    assert report.error is not None
    assert (report.error.type, report.error.message) == ("ValueError", "boom")
    assert report.error.traceback is None


@pytest.mark.parametrize(("ends", "is_retryable"), [(fail_for_good, False), (fail, True)])
def test_a_page_says_whether_an_error_was_one_to_retry(
    world: World, ends: Behaviour, is_retryable: bool
) -> None:
    job = world.submit(retry={"max_attempts": 2})
    world.deliver(ends)
    world.advance(3)
    world.deliver(ends)
    assert world.job(job).status is JobStatus.DEAD
    (listed,) = world.api.queries.list_jobs(NO_FILTERS, limit=50, cursor=None).jobs
    whole = world.api.queries.job(job.id)
    for report in (listed, whole):
        assert report.error is not None
        assert report.error.retryable is is_retryable


def test_a_cursor_that_is_not_ours_is_refused(world: World) -> None:
    with pytest.raises(InvalidInput):
        world.api.queries.list_jobs(NO_FILTERS, limit=50, cursor="nonsense")


# --- how the system does ------------------------------------------------------------------------


def test_a_new_installation_has_nothing_to_tell(world: World) -> None:
    stats = world.api.queries.stats()
    assert stats.queues == tuple(QueueStats("default", p, 0, 0, 0, None) for p in Priority)
    assert stats.lateness == LatenessStats(None, None, 0, None)
    assert (stats.leader, stats.epoch, stats.last_tick_at, stats.watermark) == (None, 0, None, None)
    assert (stats.open_buckets, stats.skew_ms) == (0, 0)


def test_queues_are_told_by_what_waits_runs_and_is_delayed(world: World) -> None:
    world.submit(priority="high")
    world.submit(priority="high")
    world.submit(priority="low", delay_seconds=200)
    world.advance(100)
    world.tick()
    world.queues.receive(Priority.HIGH, 1)
    high, medium, low = world.api.queries.stats().queues
    assert (high.waiting, high.running, high.oldest_due_seconds) == (1, 1, 100)
    assert medium == QueueStats("default", Priority.MEDIUM, 0, 0, 0, 0)
    assert (low.delayed, low.oldest_due_seconds) == (1, 0)


@pytest.mark.parametrize("error", [Unavailable(), OSError("AccessDenied"), KeyError("Attributes")])
def test_queues_that_cannot_be_counted_leave_the_rest_of_the_statistics(
    world: World, error: Exception
) -> None:
    world.submit(priority="high")
    world.tick()
    stats = world.process(Faults().fail("queues.counts", error)).api.queries.stats()
    assert stats.last_tick_at == START
    assert stats.queues == tuple(QueueStats("default", p, None, None, None, 0) for p in Priority)
    assert world.telemetry.total("optional_requests_failed") == 1


def test_the_last_tick_is_told_with_who_led_it(world: World) -> None:
    world.submit(on_lost="dead")
    for _ in range(5):
        world.tick()
        world.advance(60)
    stats = world.api.queries.stats()
    state = world.control.read_watermark()
    assert state is not None
    assert stats.leader is not None
    assert stats.leader.startswith("tick-")
    assert (stats.epoch, stats.last_tick_at) == (5, START.replace(minute=4))
    assert stats.watermark == bucket_start(state.low)
    assert stats.open_buckets == len(state.open)


def test_a_tick_under_way_is_told_before_the_last_one(world: World) -> None:
    world.tick()
    world.scheduler.scheduling.leadership.acquire(LEADER, "under-way")
    stats = world.api.queries.stats()
    assert (stats.leader, stats.epoch) == ("under-way", 2)


def test_lateness_is_told_of_the_newest_jobs_that_began(world: World) -> None:
    for seconds in range(10):
        world.submit()
        world.advance(seconds)
        world.deliver()
    world.submit()
    lateness = world.api.queries.stats().lateness
    assert (lateness.p50_ms, lateness.p99_ms, lateness.sample) == (4000, 9000, 10)
    assert lateness.since == START


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1), (1, 1), (50, 5), (51, 6), (99, 10), (100, 10)]
)
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(percent: int, expected: int) -> None:
    assert percentile(range(1, 11), percent) == expected
    assert percentile([], percent) is None


def test_a_job_that_succeeded_at_last_has_no_error_but_its_attempts_have(world: World) -> None:
    job = world.submit()
    world.deliver(fail)
    world.settle()
    report = world.api.queries.job(job.id)
    assert report.job.status is JobStatus.SUCCEEDED
    assert report.error is None
    assert [attempt.outcome for attempt in report.attempts] == ["FAILED", "SUCCEEDED"]
    assert report.attempts[0].error is not None


# --- by key -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tenant", [None, "acme"])
def test_a_job_is_found_by_its_key_and_tenant_with_one_read(
    world: World, tenant: str | None
) -> None:
    body: dict[str, Any] = {} if tenant is None else {"tenant": tenant}
    job = world.submit(idempotency_key="order-4711", **body)
    world.submit(idempotency_key="order-4712", **body)
    faults = Faults()
    queries = world.process(faults).api.queries
    queries.ids.secret()
    queries.find_by_key(tenant, "order-4712")  # reads the pauses, which are kept for a while
    faults.calls.clear()
    page = queries.find_by_key(tenant, "order-4711")
    assert [report.job for report in page.jobs] == [job]
    assert page.next_cursor is None
    assert [(call.port, call.method) for call in faults.calls] == [("jobs", "get")]


def test_a_key_of_another_tenant_finds_nothing(world: World) -> None:
    world.submit(idempotency_key="order-4711", tenant="acme")
    world.submit(id="order-4711")
    for tenant in (None, "other"):
        assert world.api.queries.find_by_key(tenant, "order-4711").jobs == ()
