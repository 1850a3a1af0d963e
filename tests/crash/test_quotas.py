"""Quotas: how many jobs a tenant or a caller may submit in a minute, and have live."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.errors import BadRequest, HourhandError, QuotaExceeded, WrongState
from hourhand.domain.jobs.job import EventKind, JobStatus
from hourhand.domain.jobs.quotas import MAX_QUOTAS, Quota, QuotaKind, live_jobs
from hourhand.domain.side_items import SideItem
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.handlers._runs.context import RunContext
from hourhand.memory import START
from tests.scenarios.children import FamilyWorld
from tests.scenarios.graphs import GraphWorld, fill, put_batch
from tests.scenarios.runs import RunWorld
from tests.world.faults import Faults
from tests.world.watched_store import StorableSideItems
from tests.world.world import World

ARN = "arn:aws:sts::123456789012:assumed-role/batch/session"


def quota(kind: QuotaKind = QuotaKind.TENANT, name: str = "acme", **bounds: Any) -> Quota:
    return Quota(kind=kind, name=name, **bounds)


def bound(world: World, **bounds: Any) -> None:
    world.api.pauses.set_quota(quota(**bounds), "caller")


def removed(world: World) -> bool:
    return world.api.pauses.set_quota(quota(), "caller")


def submit_many(
    world: World, count: int, *, actor: str = "caller", **body: Any
) -> list[HourhandError]:
    """Submit jobs in one request; return the refusals."""
    requests = [JobSubmission.parse({"handler": "greet", **body}) for _ in range(count)]
    results = world.api.submission.submit_many(requests, actor=actor)
    return [one for one in results if isinstance(one, HourhandError)]


@pytest.fixture
def world() -> World:
    return World()


class CountedSideItems(StorableSideItems):
    """Side items whose reads and writes are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def read_item(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append("read")
        return super().read_item(*args, **kwargs)

    def write_item(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append("write")
        return super().write_item(*args, **kwargs)


def counted() -> tuple[World, list[str]]:
    world = World()
    side_items = CountedSideItems()
    world.side_items = side_items
    world.api = world.process().api
    return world, side_items.calls


# --- accepted jobs ---


def test_a_tenant_submits_as_many_jobs_in_a_minute_as_its_quota_allows(world: World) -> None:
    bound(world, accepted_per_minute=3)
    world.advance(20)
    for _ in range(2):
        world.submit(tenant="acme")
    refusals = submit_many(world, 3, tenant="acme")
    assert [type(one) for one in refusals] == [QuotaExceeded, QuotaExceeded]
    with pytest.raises(QuotaExceeded, match="tenant acme may submit 3 jobs in a minute") as refused:
        world.submit(tenant="acme")
    assert refused.value.retry_after_seconds == 40
    assert not submit_many(world, 9, tenant="other")
    assert not submit_many(world, 9)
    assert len(world.store.jobs()) == 21
    world.advance(40)
    world.submit(tenant="acme")


def test_without_a_quota_nothing_is_read_or_written() -> None:
    world, calls = counted()
    world.submit(tenant="acme")
    submit_many(world, 3, tenant="acme")
    assert calls == []


def test_a_request_costs_one_write_and_one_that_is_refused_none() -> None:
    world, calls = counted()
    bound(world, accepted_per_minute=250)
    assert len(submit_many(world, 300, tenant="acme")) == 50
    assert calls == ["write"]
    assert len(submit_many(world, 300, tenant="acme")) == 300
    submit_many(world, 300, tenant="other")
    assert calls == ["write"]


def test_processes_together_accept_no_more_than_the_quota(world: World) -> None:
    bound(world, accepted_per_minute=5)
    others = [world.process().api for _ in range(4)]
    accepted = 0
    for number in range(20):
        with_quota = others[number % 4]
        request = JobSubmission.parse({"handler": "greet", "tenant": "acme"})
        results = with_quota.submission.submit_many([request] * 2, actor="caller")
        accepted += sum(not isinstance(one, HourhandError) for one in results)
    assert accepted == 5


def test_an_invalid_job_of_a_batch_does_not_count(world: World) -> None:
    bound(world, accepted_per_minute=1)
    good = JobSubmission.parse({"handler": "greet", "tenant": "acme"})
    bad = BadRequest("It is no job.")
    results = world.api.submission.submit_many([bad, good, bad], actor="caller")
    assert [isinstance(one, HourhandError) for one in results] == [True, False, True]


@pytest.mark.parametrize(
    ("name", "is_bound"),
    [
        (ARN, True),
        ("arn:aws:sts::123456789012:assumed-role/batch/*", True),
        ("arn:aws:sts::123456789012:assumed-role/batch", False),
        ("arn:aws:sts::123456789012:assumed-role/other/*", False),
    ],
)
def test_a_quota_of_a_caller_is_that_of_its_identity(
    world: World, name: str, is_bound: bool
) -> None:
    key = world.api.callers.key_of(ARN)
    bound(world, kind=QuotaKind.CALLER, name=name, accepted_per_minute=1)
    assert bool(submit_many(world, 2, actor=key)) is is_bound
    assert not submit_many(world, 2, actor=world.api.callers.key_of("arn:aws:iam::1:user/x"))


def test_what_a_caller_may_not_submit_uses_nothing_of_its_tenants_quota(world: World) -> None:
    key = world.api.callers.key_of(ARN)
    bound(world, accepted_per_minute=5)
    bound(world, kind=QuotaKind.CALLER, name=ARN, accepted_per_minute=2)
    assert len(submit_many(world, 9, actor=key, tenant="acme")) == 7
    assert len(submit_many(world, 9, tenant="acme")) == 6


# --- children, batches and schedules ---


def test_a_run_over_the_quota_of_its_tenant_waits_and_does_not_fail() -> None:
    def handler(_world: RunWorld, ctx: RunContext) -> Any:
        return ctx.map("all", [["x", 0]] * 7, "child").results()

    world = FamilyWorld(handler)
    world.submit(id="run", tenant="acme")
    bound(world, accepted_per_minute=3)
    for made in (3, 6, 7):
        world.minute()
        assert len(world.store.jobs()) == 1 + made
    world.settle()
    run = world.job("run")
    assert run.status is JobStatus.SUCCEEDED
    assert sum(event.kind is EventKind.SNOOZED for event in run.history) == 2


def test_a_schedule_over_the_quota_of_its_tenant_waits_and_does_not_fail(world: World) -> None:
    world.put_schedule("often", expression="rate(15 seconds)", tenant="acme", misfire="all")
    world.put_schedule("other", expression="rate(15 seconds)")
    bound(world, accepted_per_minute=3)
    world.advance(31)
    world.minute()
    made = []
    for _ in range(4):
        before = sum(job.tenant == "acme" for job in world.store.jobs().values())
        world.minute()
        made.append(sum(job.tenant == "acme" for job in world.store.jobs().values()) - before)
    assert made == [3, 3, 3, 3]
    assert world.telemetry.total("schedule_visits_failed") == 0
    assert removed(world)
    for _ in range(5):
        world.minute()
    found = {job.occurrence for job in world.store.jobs().values() if job.tenant == "acme"}
    times = sorted(time for time in found if time is not None)
    gaps = {later - earlier for earlier, later in pairwise(times)}
    assert gaps == {timedelta(seconds=15)}


def test_a_request_for_members_of_a_batch_over_the_quota_gets_further_each_minute() -> None:
    world = GraphWorld()
    put_batch(world, is_open=True, tenant="acme")
    world.deliver()
    bound(world, accepted_per_minute=3)
    before = len(world.store.jobs())
    for members in (3, 6):
        world.minute()
        with pytest.raises(QuotaExceeded):
            fill(world, 0, 7)
        assert len(world.store.jobs()) == before + members
    world.minute()
    fill(world, 0, 7)
    assert len(world.store.jobs()) == before + 7


def test_a_trigger_over_the_quota_is_refused(world: World) -> None:
    world.put_schedule("daily", expression="0 9 * * *", tenant="acme")
    bound(world, accepted_per_minute=1)
    world.advance(31)
    world.trigger("daily")
    world.advance(1)
    with pytest.raises(QuotaExceeded):
        world.trigger("daily")


# --- live jobs ---


def test_a_tick_counts_the_live_jobs_of_a_quota(world: World) -> None:
    bound(world, live=3)
    world.submit(tenant="other")
    world.submit(tenant="acme", delay_seconds=3_600)
    for _ in range(4):
        world.submit(tenant="acme")
    world.tick()
    with pytest.raises(QuotaExceeded, match="acme has 4 live jobs; its quota is 3") as refused:
        world.submit(tenant="acme")
    assert refused.value.retry_after_seconds == 60
    world.deliver()
    world.advance(60)
    world.tick()
    assert len(submit_many(world, 5, tenant="acme")) == 2


def test_live_jobs_of_a_caller_are_counted_by_who_submitted_them(world: World) -> None:
    key = world.api.callers.key_of(ARN)
    bound(world, kind=QuotaKind.CALLER, name=ARN, live=2)
    bound(world, accepted_per_minute=100)
    for _ in range(3):
        assert not submit_many(world, 1, actor=key)
    world.tick()
    assert len(submit_many(world, 1, actor=key)) == 1
    assert not submit_many(world, 1, tenant="acme")


def test_the_live_jobs_of_old_buckets_count_in_every_tick(world: World) -> None:
    bound(world, live=1)
    world.submit(tenant="acme")
    world.pause_handler()
    for _ in range(20):
        world.advance(60)
        world.tick()
        assert submit_many(world, 1, tenant="acme")


def test_each_sweep_keeps_the_counts_of_its_shards() -> None:
    world = World(shard_map=ShardMap((ShardMapVersion(0, 2),)))
    bound(world, live=4)
    for _ in range(8):
        world.submit(tenant="acme")
    world.advance(10)
    for shard in (0, 1):
        world.scheduler.scheduling.sweep_shards(
            [shard], 1, world.clock.now(), "further", lambda: 55.0
        )
    with pytest.raises(QuotaExceeded, match="8 live jobs"):
        world.submit(tenant="acme")


def test_a_count_of_live_jobs_ends_where_no_tick_renews_it(world: World) -> None:
    bound(world, live=1)
    world.submit(tenant="acme")
    world.tick()
    assert submit_many(world, 1, tenant="acme")
    world.advance(360)
    assert not submit_many(world, 1, tenant="acme")
    assert live_jobs(None, START) == 0


def test_a_count_that_cannot_be_kept_does_not_stop_the_tick(world: World) -> None:
    bound(world, live=1)
    faults = Faults().throttle("write_item", times=9)
    report = world.tick(world.process(faults).scheduler)
    assert report.completed
    assert world.telemetry.total("optional_requests_failed") == 1


def test_a_count_that_is_gone_refuses_nothing() -> None:
    key = quota().live_key
    assert live_jobs(SideItem(key, {}), START) == 0


# --- changes ---


def test_a_quota_replaces_the_one_before_and_is_removed(world: World) -> None:
    bound(world, accepted_per_minute=1)
    bound(world, live=9)
    bound(world, kind=QuotaKind.CALLER, name="local", live=2)
    assert world.control.read_pauses().quotas == (
        quota(QuotaKind.CALLER, "local", live=2),
        quota(live=9),
    )
    assert removed(world)
    assert not removed(world)


def test_there_are_only_so_many_quotas(world: World) -> None:
    for number in range(MAX_QUOTAS):
        bound(world, name=f"t{number}", live=1)
    bound(world, name="t0", live=2)
    with pytest.raises(WrongState, match="Remove one first"):
        bound(world, name="more", live=1)


def test_a_pause_leaves_the_quotas_as_they_are(world: World) -> None:
    bound(world, live=9)
    world.pause_handler()
    world.resume_handler()
    world.settle()
    assert world.control.read_pauses().quotas == (quota(live=9),)
