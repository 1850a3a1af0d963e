"""Jobs that take starts of one rate side by side, in virtual time, each attempt in a thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from bench.lateness.virtual_time import VirtualTime
from hourhand import JobContext, Rate, RunContext, job
from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.testing.inline_runner import InlineRunner, VirtualStop
from hourhand.testing.live_handlers import LiveHandlers
from tests.world.world import World

HEARTBEAT_SECONDS = 15.0
POLL_SECONDS = 1.0
LEAST_SHARE = 0.9

Orders = list[str]


class BeatingStop(VirtualStop):
    """Waits as a handler in a thread does: its heartbeats go on."""

    def wait(self, seconds: float | None = None) -> bool:
        left = self.context.remaining_seconds if seconds is None else seconds
        while left > 0 and not super().wait(min(left, HEARTBEAT_SECONDS)):
            left -= HEARTBEAT_SECONDS
        return bool(self)


@dataclass
class Shop:
    """Jobs of a handler ``greet``, workers that each run one of them, and the calls they made."""

    world: World
    time: VirtualTime
    runner: InlineRunner
    call_seconds: float = 0.2
    calls: list[tuple[float, str]] = field(default_factory=list)
    orders: Orders = field(default_factory=list)

    def call(self, ctx: JobContext, order: str) -> None:
        assert not ctx.cancelled  # a look at it is a heartbeat
        self.calls.append((self.time.monotonic(), order))
        self.time.sleep(self.call_seconds)

    def submit(self, jobs: int, orders: int, **options: Any) -> list[Job]:
        payloads = [[f"{number}.{order}" for order in range(orders)] for number in range(jobs)]
        self.orders = [order for each in payloads for order in each]
        return [self.world.submit(payload=each, **options) for each in payloads]

    def run(self, jobs: list[Job], minutes: int, *, workers: int | None = None) -> None:
        """Let workers work until all jobs ended, or the minutes are over."""
        for _ in range(workers or len(jobs)):
            self.time.start(0, self._work)
        for minute in range(minutes):
            self.time.run_until(60.0 * minute)
            self.world.tick()
            if all(self.world.job(one).status.is_final for one in jobs):
                break
        self.time.run_until(self.time.monotonic() + 1)

    def _work(self) -> None:
        worker = self.world.process().worker
        while True:
            delivery = next(iter(self.world.queues.receive(Priority.MEDIUM, max_messages=1)), None)
            if delivery is None:
                self.time.sleep(POLL_SECONDS)
                continue
            done = worker.execution.handle(delivery, self.runner, lambda: 900.0)
            if done.name == "DONE":
                self.world.queues.delete(delivery)

    def share_of(self, rate: Rate) -> float:
        """Return the rate of the calls from the first to the last, as a share of what it allows."""
        at = sorted(at for at, _ in self.calls)
        return (len(at) - 1) / (at[-1] - at[0]) / (rate.count / rate.per)

    def outcomes(self) -> Counter[str]:
        return Counter(run.outcome for run in self.runner.runs)

    def statuses(self, jobs: list[Job]) -> set[JobStatus]:
        return {self.world.job(one).status for one in jobs}


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> VirtualTime:
    time = VirtualTime(START)
    monkeypatch.setattr("tests.world.world.MemoryClock", lambda: time)
    monkeypatch.setattr("hourhand.testing.inline_runner.VirtualStop", BeatingStop)
    return time


def shop(time: VirtualTime, rate: Rate, handler: Callable[..., Any], **options: Any) -> Shop:
    registry = Registry()
    job("greet", limits=[rate], registry=registry, **options)(handler)
    handlers = LiveHandlers(registry)
    world = World()
    world.handlers = cast(Any, handlers)
    process = world.process()
    world.api, world.scheduler, world.worker = process.api, process.scheduler, process.worker
    return Shop(world, time, InlineRunner(handlers, time))


SHOP = Rate(100, per=60, name="shop", on="take")


def sync_by_cursor(here: list[Shop]) -> Callable[[JobContext, Orders], None]:
    """Return the handler of the page on rates: its list gets the shop that it calls."""

    def sync_orders(ctx: JobContext, payload: Orders) -> None:
        done = ctx.cursor or 0
        for order in payload[done:]:
            ctx.limit("shop").take()
            here[0].call(ctx, order)
            done += 1
            ctx.cursor = done

    return sync_orders


@pytest.mark.parametrize(("jobs", "orders"), [(1, 60), (4, 60), (16, 30), (64, 9)], ids=str)
def test_each_order_is_synced_once_at_the_rate(time: VirtualTime, jobs: int, orders: int) -> None:
    cell: list[Shop] = []
    here = shop(time, SHOP, sync_by_cursor(cell))
    cell.append(here)
    submitted = here.submit(jobs, orders)
    here.run(submitted, minutes=20)
    assert here.statuses(submitted) == {JobStatus.SUCCEEDED}
    assert sorted(order for _, order in here.calls) == sorted(here.orders)
    assert here.share_of(SHOP) >= LEAST_SHARE
    assert set(here.outcomes()) <= {"SUCCEEDED", "SNOOZED"}


@pytest.mark.parametrize(
    "how",
    [{"burst": 1}, {"exact": True}, {"window": "fixed"}],
    ids=["no burst", "sliding", "fixed"],
)
def test_every_kind_of_rate_is_used_up(time: VirtualTime, how: dict[str, Any]) -> None:
    rate = replace(SHOP, **how)
    cell: list[Shop] = []
    here = shop(time, rate, sync_by_cursor(cell))
    cell.append(here)
    submitted = here.submit(16, 14)
    here.run(submitted, minutes=10)
    assert sorted(order for _, order in here.calls) == sorted(here.orders)
    assert here.share_of(rate) >= LEAST_SHARE


def test_fewer_workers_than_jobs_sync_each_order_once(time: VirtualTime) -> None:
    cell: list[Shop] = []
    here = shop(time, SHOP, sync_by_cursor(cell), timeout=60)
    cell.append(here)
    submitted = here.submit(8, 40)
    here.run(submitted, minutes=10, workers=3)
    assert sorted(order for _, order in here.calls) == sorted(here.orders)
    assert here.share_of(SHOP) >= LEAST_SHARE


def test_calls_slower_than_the_rate_use_no_attempt_up(time: VirtualTime) -> None:
    cell: list[Shop] = []
    here = shop(time, SHOP, sync_by_cursor(cell), timeout=60)
    cell.append(here)
    here.call_seconds = 4.0
    submitted = here.submit(1, 60)
    here.run(submitted, minutes=10)
    assert sorted(order for _, order in here.calls) == sorted(here.orders)
    assert here.outcomes() == {"SNOOZED": 4, "SUCCEEDED": 1}


@pytest.mark.parametrize(("runs", "orders"), [(1, 60), (4, 40), (16, 12)], ids=str)
def test_durable_runs_take_each_start_once(time: VirtualTime, runs: int, orders: int) -> None:
    cell: list[Shop] = []

    def sync_orders(ctx: RunContext, payload: Orders) -> None:
        for order in payload:
            ctx.limit("shop").take()
            ctx.step("sync", cell[0].call, ctx, order)

    here = shop(time, SHOP, sync_orders, durable=True)
    cell.append(here)
    submitted = here.submit(runs, orders)
    here.run(submitted, minutes=20)
    assert here.statuses(submitted) == {JobStatus.SUCCEEDED}
    assert sorted(order for _, order in here.calls) == sorted(here.orders)
    assert here.share_of(SHOP) >= LEAST_SHARE
