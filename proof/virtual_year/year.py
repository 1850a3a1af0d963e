"""The virtual year itself: what happens when, and what goes wrong, all by chance from a seed.

Time jumps from one event to the next: a tick, a visible message, a handler that wakes, a person's
act. A tick is left out where nothing can be due before the next one.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.domain.jobs.job import Priority
from hourhand.domain.schedules.recurrence import TZDATA_VERSION
from hourhand.ports.queues import Delivery
from hourhand.testing import Crash
from proof.virtual_year.books import NEAR
from proof.virtual_year.nominal_times import DAY, SECOND
from proof.virtual_year.people import People
from proof.virtual_year.slow_runs import SlowRun
from proof.virtual_year.troubles import AT_TICK, BY_WORKER, make_trouble
from proof.virtual_year.year_world import ChanceRunner, YearWorld
from tests.world.runs import HandlerKilled
from tests.world.world import MAX_BATCHES, Process

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
MILLISECOND = timedelta(milliseconds=1)
LONGEST_WITHOUT_TICK = timedelta(minutes=9)
MOST_AFTERMATH = timedelta(days=20)
MAX_STEPS_A_MOMENT = 5_000
PROCESSES = 3
OUTAGE_MINUTES = (2, 3, 5, 8, 8, 15, 30, 90, 400, 1500, 4000)
STALL_SECONDS = (31.0, 40.0, 70.0, 130.0, 200.0)
"""Longer than a leader's lease."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How large a year is, and how bad: acts and troubles. Troubles are shares of all calls."""

    start: datetime
    schedules: int = 200
    days: int = 365
    seed: int = 1
    acts_per_schedule: float = 16
    outages: float = 60
    tick_trouble: float = 0.05
    api_trouble: float = 0.15
    worker_trouble: float = 0.02


@dataclass(slots=True)
class Down:
    """Until when who is out of order."""

    ticks: datetime
    workers: datetime
    api: datetime


class Year:
    """One virtual year. `run` it, then audit its ``books`` at ``closed_at``."""

    def __init__(self, plan: Plan, progress: Callable[[Year], None] = lambda _: None) -> None:
        self.plan, self.progress = plan, progress
        self.randomness = random.Random(plan.seed)
        self.world = YearWorld(plan.start, index_lag=SECOND)
        self.books = self.world.books
        self.ends_at = plan.start + plan.days * DAY
        self.closed_at = self.ends_at + DAY
        self.processes = [self.world.process() for _ in range(PROCESSES)]
        self.runs: list[SlowRun] = []
        self.down = Down(plan.start, plan.start, plan.start)
        self.next_tick = plan.start + MINUTE
        self.last_tick = plan.start
        self.is_calm = False
        self.is_meeting = False
        self._events: list[tuple[datetime, int, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self.people = People(self)
        self.people.make_plans()
        for _ in range(round(plan.outages * self.randomness.uniform(0.8, 1.2))):
            self.at(self.some_time(), self._break_something)
        for day in range(plan.days + MOST_AFTERMATH.days):
            self.at(plan.start + day * DAY, self._sweep_up)

    # --- time ---

    @property
    def now(self) -> datetime:
        """The time."""
        return self.world.clock.now()

    def at(self, when: datetime, act: Callable[[], object]) -> None:
        """Do something later."""
        heapq.heappush(self._events, (when, next(self._numbers), act))

    def some_time(self) -> datetime:
        """Return any moment of the year, now and then a whole minute."""
        seconds = self.randomness.random() * self.plan.days * DAY.total_seconds()
        at = self.plan.start + timedelta(milliseconds=round(seconds * 1000))
        return at.replace(second=0, microsecond=0) if self.randomness.random() < 0.25 else at

    def run(self) -> None:
        """Let the year pass, then a day without troubles, then what is left come to its end."""
        self._run_until(self.ends_at)
        self._calm_down()
        self._run_until(self.closed_at)
        while next(self._unsettled(), None) is not None:
            late = self.closed_at + MOST_AFTERMATH
            assert self.now < late, list(itertools.islice(self._unsettled(), 10))
            self._run_until(self.now + HOUR)
        for run in list(self.runs):
            self._resume(run, SlowRun.kill)

    def _run_until(self, end: datetime) -> None:
        steps = 0
        while True:
            when, act = self._next()
            if max(when, self.now) >= end:
                self._advance_to(end)
                return
            steps = 0 if self._advance_to(when) else steps + 1
            assert steps < MAX_STEPS_A_MOMENT, f"the year stands still: {act}"
            act()

    def _advance_to(self, when: datetime) -> bool:
        """Let time pass until then; whether any did. The clock itself is finer than it shows."""
        before = self.now
        if when <= before:
            return False
        self.world.advance_to(max(when, before + MILLISECOND))
        return True

    def _next(self) -> tuple[datetime, Callable[[], object]]:
        when, act = self.next_tick, self._tick
        if self._events and self._events[0][0] <= when:
            when, act = self._events[0][0], self._do_next_event
        visible_at = self._next_message()
        if visible_at is not None and visible_at < when:
            when, act = visible_at, self._deliver
        woken = min(self.runs, key=lambda run: run.wake_at, default=None)
        if woken is not None and woken.wake_at < when:
            return woken.wake_at, partial(self._resume, woken, SlowRun.resume)
        return when, act

    def _do_next_event(self) -> None:
        heapq.heappop(self._events)[2]()

    def _next_message(self) -> datetime | None:
        held = self.world.queues.messages()
        if not held:
            return None
        return max(min(one.visible_at for one in held), self.down.workers)

    # --- ticks ---

    def _tick(self) -> None:
        now = self.now
        self.next_tick = max(now.replace(second=0, microsecond=0) + MINUTE, self.down.ticks)
        self.next_tick += self.randomness.randrange(3) * SECOND
        if not self._is_worth_a_tick(now):
            return
        self.last_tick = now
        self.books.counts["ticks"] += 1
        process = self.some_process(self.plan.tick_trouble, AT_TICK)
        self.survive(lambda: self.world.tick(process.scheduler), "ticks")
        self.progress(self)

    def _is_worth_a_tick(self, now: datetime) -> bool:
        if now - self.last_tick >= LONGEST_WITHOUT_TICK:
            return True
        if any(looked_after <= now for looked_after in self.books.unfinished.values()):
            return True
        if any(next_at <= now + NEAR for next_at in self.books.next_visits.values()):
            return True
        walk = self.world.schedules.get_walk()
        return walk.wanted > walk.finished or walk.zone_data != TZDATA_VERSION

    # --- workers ---

    def _deliver(self) -> None:
        for priority in Priority:
            for _ in range(MAX_BATCHES):
                batch = self.world.queues.receive(priority)
                self.randomness.shuffle(batch)
                for delivery in batch:
                    self._work(delivery)
                if not batch:
                    break

    def _work(self, delivery: Delivery) -> None:
        process = self.some_process(self.plan.worker_trouble, BY_WORKER)
        job = self.world.store.get(delivery.message.job_id)
        runner = ChanceRunner(self.world.clock)
        work = partial(self.world.work, delivery, runner, process.worker)
        if job is None or job.handler != "slow" or self.is_meeting:
            self.survive(work, "deliveries")
            return
        runner.slow = SlowRun(work, self.now)
        self.runs.append(runner.slow)
        self._resume(runner.slow, SlowRun.resume)

    def _resume(self, run: SlowRun, how: Callable[[SlowRun], None]) -> None:
        self.survive(partial(how, run), "slow runs")
        if run.is_over and run in self.runs:
            self.runs.remove(run)

    # --- trouble ---

    def some_process(self, share: float = 0.0, methods: tuple[str, ...] = ()) -> Process:
        """Return a process; such a share of them is in trouble at one of its next calls."""
        healthy = self.randomness.choice(self.processes)
        if self.is_calm or self.is_meeting or self.randomness.random() >= share:
            return healthy
        return self.world.process(make_trouble(self.randomness, methods, self._meet))

    def survive(self, work: Callable[[], object], who: str) -> bool:
        """Do it, whoever dies of it; whether there was an answer."""
        try:
            work()
        except (Crash, HandlerKilled):
            self.books.counts[f"deaths: {who}"] += 1
            return False
        except HourhandError as error:
            self.books.counts[f"{who}: {type(error).__name__}"] += 1
            return not isinstance(error, Unavailable)
        return True

    def _meet(self) -> None:
        """Do what somebody else does in the midst of another's call."""
        if self.is_meeting:
            return
        self.is_meeting = True
        try:
            self._meet_somebody()
        finally:
            self.is_meeting = False

    def _meet_somebody(self) -> None:
        self.books.counts["meetings"] += 1
        other = self.some_process()
        kind = self.randomness.random()
        if kind < 0.3:
            self._sweep_beside(other)
        elif kind < 0.5:
            # The one who is met stands still for so long that another leads meanwhile.
            self.world.advance(self.randomness.choice(STALL_SECONDS))
            self.survive(lambda: self.world.tick(other.scheduler), "ticks")
        elif kind < 0.9:
            near = [i for i, at in self.books.next_visits.items() if at <= self.now + NEAR]
            self.people.act(self.randomness.choice(near or self.people.ids), is_aimed=True)
        elif self.now >= self.down.workers:
            self._deliver()

    def _sweep_beside(self, other: Process) -> None:
        """A second leader at the same time, whatever the lease says."""
        now = self.now
        horizon = now + self.world.timings.look_ahead
        sweep = other.scheduler.scheduling.schedule_sweep
        self.survive(lambda: sweep.run(now=now, horizon=horizon, may_go_on=lambda: True), "ticks")

    def _break_something(self) -> None:
        minutes = self.randomness.choice(OUTAGE_MINUTES) * self.randomness.uniform(0.5, 1.4)
        until = min(self.now + timedelta(milliseconds=round(minutes * 60_000)), self.ends_at)
        kind = self.randomness.choice(
            ["ticks", "ticks", "workers", "both", "all", "no api", "index"]
        )
        self.books.counts[f"outages: {kind}"] += 1
        if kind in {"ticks", "both", "all", "no api"}:
            self.down.ticks = max(self.down.ticks, until)
            self.next_tick = max(self.next_tick, self.down.ticks)
        if kind in {"workers", "both", "all"}:
            self.down.workers = max(self.down.workers, until)
            for run in [run for run in self.runs if self.randomness.random() < 0.5]:
                self._resume(run, SlowRun.kill)
        if kind in {"all", "no api"}:
            self.down.api = max(self.down.api, until)
        if kind == "index":
            self.world.schedules.freeze_index()
            self.at(until, self.world.schedules.thaw_index)

    def _sweep_up(self) -> None:
        """Forget what TTL would have forgotten."""
        self.world.store.delete_expired(self.now)
        self.world.schedules.delete_expired(self.now)
        self.world.queues.dead_letters.clear()

    # --- the end ---

    def _calm_down(self) -> None:
        self.is_calm = True
        self.down = Down(self.now, self.now, self.now)
        self.next_tick = self.now
        self.world.schedules.thaw_index()
        self._events = [event for event in self._events if event[2] == self._sweep_up]
        heapq.heapify(self._events)
        for schedule_id in self.people.ids:
            self.people.resume(schedule_id)

    def _unsettled(self) -> Iterator[str]:
        """What of the year is still to come to its end."""
        for job_id in self.books.unfinished:
            account = self.books.accounts[job_id]
            if account.nominal <= self.closed_at:
                yield f"job {job_id} of {account.schedule_id}"
        for schedule_id, next_at in self.books.next_visits.items():
            if next_at <= self.closed_at:
                yield f"{schedule_id} wants a visit at {next_at}"
