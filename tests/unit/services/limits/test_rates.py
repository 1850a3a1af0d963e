"""Rate limits: when jobs start, and what a wait for a start time costs and keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.ids import digest10
from hourhand.domain.jobs.job import Content, EventKind, Job, JobStatus, Outcome
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.job_limits import JobLimit
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.domain.limits.rate_writes import hold_write
from hourhand.domain.limits.rates import LONGEST_WAIT, LimiterState, rate_shards
from hourhand.domain.side_items import SideItemUpdate, SideKey
from hourhand.domain.times import rfc3339
from hourhand.memory import START, MemoryHandlerDirectory, MemoryRandomness
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.side_item_store import SideItemWrite
from hourhand.services.jobs.execution import Disposition
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.limits import rate_limiters
from hourhand.services.limits.rate_admission import TOO_LONG
from hourhand.services.limits.rate_limiters import MAX_RACES, RateLimiters
from tests.world.faults import Faults
from tests.world.limits import holders, limited, while_one_runs
from tests.world.runs import fail, succeed
from tests.world.world import World

SECOND = timedelta(seconds=1)


def starts(world: World) -> list[datetime]:
    return sorted(run.started_at for run in world.runs)


def seconds(world: World) -> list[float]:
    """Return when handlers started, in seconds since the beginning."""
    return [round((at - START).total_seconds(), 1) for at in starts(world)]


def pass_time(world: World, length: float, step: float = 0.5, **how: Any) -> None:
    """Let time pass, and work off what is due."""
    end = world.clock.monotonic() + length
    while world.clock.monotonic() < end:
        world.deliver(**how)
        world.advance(step)


def most_in(times: Sequence[datetime], window: timedelta) -> int:
    """Return how many of the times lie in any window, half open."""
    return max(sum(begin <= at < begin + window for at in times) for begin in times)


def paced(*limits: Limit, count: int = 10, **body: Any) -> World:
    """Return a world with so many jobs, in the order of their due times."""
    world = limited(*limits)
    for number in range(count):
        world.submit(id=f"job-{number}", **body)
        world.advance(0.001)
    return world


# --- when jobs start ---


def test_a_burst_starts_at_once_and_the_others_at_the_rate() -> None:
    world = paced(Rate(60, per=60, burst=3))
    pass_time(world, 15)
    # Three at once; two are waited for; the others come back at their times.
    assert seconds(world)[:3] == pytest.approx([0, 0, 0], abs=0.1)
    gaps = [later - sooner for sooner, later in pairwise(starts(world)[2:])]
    assert len(starts(world)) == 10
    assert min(gaps) >= 0.5 * SECOND
    assert starts(world)[-1] - starts(world)[2] >= 7 * SECOND


@pytest.mark.parametrize(
    "rate",
    [
        Rate(10, per=10, burst=1),
        Rate(20, per=10, burst=5),
        Rate(3, per=10),
        Rate(600, per=2, burst=300),
    ],
    ids=["leaky", "burst", "slow", "sharded"],
)
def test_no_period_has_more_starts_than_the_rate_and_a_burst(rate: Rate) -> None:
    world = paced(rate, count=24)
    pass_time(world, 85, 1)
    assert len(starts(world)) == 24
    allowed = rate.count + rate.burst_size
    assert most_in(starts(world), timedelta(seconds=rate.per)) <= allowed


def test_a_job_waits_once_and_keeps_no_slot_meanwhile() -> None:
    world = paced(Rate(6, per=60, burst=1), Concurrency(1), count=2)
    pass_time(world, 1)
    job = world.job("job-1")
    assert job.reservation is not None
    assert job.reservation.at == job.due_at
    assert job.waits_for is None
    assert "job-1" not in holders(world)
    assert job.history[-1].reason == "the rate of greet.1 is reached"
    generation = job.generation
    pass_time(world, 12)
    job = world.job("job-1")
    assert (job.status, job.generation) == (JobStatus.SUCCEEDED, generation)
    assert job.reservation is None


def test_each_key_has_a_rate_of_its_own() -> None:
    world = limited(Rate(6, per=60, burst=1, key="tenant"))
    for tenant in ("acme", "globex", "acme"):
        world.submit(tenant=tenant)
    world.deliver()
    assert len(starts(world)) == 2


def test_handlers_share_a_rate_by_its_name() -> None:
    shared = Rate(6, per=60, burst=1, name="stripe")
    world = World(
        handlers=(
            HandlerInfo(name="greet", limits=(shared,)),
            HandlerInfo(name="other", limits=(shared,)),
        )
    )
    world.submit()
    world.submit(handler="other")
    world.deliver()
    assert len(starts(world)) == 1
    pass_time(world, 11)
    assert len(starts(world)) == 2


def test_of_two_rates_the_slower_decides_and_both_are_kept() -> None:
    world = paced(Rate(60, per=60, burst=1), Rate(6, per=60, burst=1, name="slow"), count=4)
    pass_time(world, 45)
    assert len(starts(world)) == 4
    assert most_in(starts(world), 10 * SECOND) == 1


def test_jobs_that_come_back_late_together_keep_the_rate() -> None:
    world = paced(Rate(10, per=10, burst=2), count=30)
    pass_time(world, 2)
    # No worker runs until all of them are due.
    world.advance(40)
    pass_time(world, 60, 0.5)
    assert len(starts(world)) == 30
    assert most_in(starts(world), 10 * SECOND) <= 12


def test_a_rate_that_counts_retries_lets_every_first_attempt_start() -> None:
    world = paced(
        Rate(6, per=60, burst=1, on="retry"),
        count=3,
        retry={"max_attempts": 2, "base_seconds": 1, "jitter": "none"},
    )
    world.deliver(fail)
    assert len(starts(world)) == 3
    world.advance(2)
    world.deliver()
    assert len(starts(world)) == 4


def test_each_attempt_is_a_start() -> None:
    world = limited(Rate(6, per=60, burst=1))
    world.submit(id="one", retry={"max_attempts": 2, "base_seconds": 1, "jitter": "none"})
    world.deliver(fail)
    pass_time(world, 5)
    assert len(starts(world)) == 1
    pass_time(world, 8)
    assert world.job("one").status is JobStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("cost", "payload", "started"),
    [(2, None, 2), ("payload.tokens", {"tokens": 2}, 2), ("payload.tokens", {"tokens": -1}, 4)],
)
def test_a_cost_counts_for_as_many_starts(cost: float | str, payload: object, started: int) -> None:
    world = paced(Rate(60, per=60, burst=4, cost=cost), count=8, payload=payload)
    world.deliver()
    at_once = [at for at in starts(world) if at - START < 0.5 * SECOND]
    assert len(at_once) in {started, started + 1}


TOKENS = Rate(60, per=60, burst=4, cost="payload.tokens")


def test_a_payload_that_costs_more_than_a_period_has_is_refused() -> None:
    world = limited(TOKENS)
    with pytest.raises(InvalidInput, match="count of the rate limit") as refused:
        world.submit(payload={"tokens": 60.5})
    assert [error.field for error in refused.value.errors] == ["payload.tokens"]
    with pytest.raises(InvalidInput, match="count of the rate limit"):
        world.put_schedule("nightly", expression="0 3 * * *", payload={"tokens": 61})
    world.submit(id="job-0", payload={"tokens": 60}, delay_seconds=60)
    with pytest.raises(InvalidInput, match="count of the rate limit"):
        world.change("job-0", payload={"tokens": 61})


@pytest.mark.parametrize("jobs_before", [0, 5], ids=["start", "reserve"])
def test_a_stored_job_that_costs_more_than_a_period_has_counts_for_one(jobs_before: int) -> None:
    world = World()
    world.submit(id="job-0", payload={"tokens": 6_000}, delay_seconds=1)
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=(TOKENS,)))
    worker = world.process().worker
    for _ in range(jobs_before):
        world.submit(payload={"tokens": 3})
    pass_time(world, 30, by=worker)
    job = world.job("job-0")
    assert job.status is JobStatus.SUCCEEDED
    told = next(line for line in world.telemetry.warnings if "costs more" in line.sentence)
    assert told.fields["count"] == 60
    # The next one starts a period later, less the burst.
    world.submit(id="next", payload={"tokens": 1})
    pass_time(world, 70, by=worker)
    begun = {run.job.id: run.started_at for run in world.runs}
    assert begun["next"] - begun["job-0"] >= timedelta(seconds=56)


def test_under_a_lower_number_a_job_counts_for_one_period_at_most() -> None:
    world = limited(TOKENS)
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=1), "operator")
    world.submit(id="job-0", payload={"tokens": 60})
    world.submit(id="job-1", payload={"tokens": 60})
    pass_time(world, 62)
    assert seconds(world) == pytest.approx([0, 60], abs=1)


def test_the_payload_is_read_once_for_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    world = limited(TOKENS, Rate(600, per=60, cost="payload.tokens", name="b"), Concurrency(3))
    world.submit(id="job-0", payload={"tokens": 2, "text": "x" * 1_000})
    read: list[str] = []
    whole = PayloadStore.read

    def counted(store: PayloadStore, job_id: str, content: Content) -> str | None:
        read.append(job_id)
        return whole(store, job_id, content)

    monkeypatch.setattr(PayloadStore, "read", counted)
    world.deliver()
    # Once for its costs, and once for its handler.
    assert len(starts(world)) == 1
    assert read == ["job-0", "job-0"]


# --- changes ---


def test_a_new_count_applies_to_later_reservations() -> None:
    world = paced(Rate(6, per=60, burst=1), count=2)
    world.api.limits.change("greet.1", LimitChanges(sets_max=True, max=600), "caller")
    world.advance(31)
    world.submit(id="late")
    world.deliver()
    assert len(starts(world)) == 3


def test_a_job_that_is_changed_loses_its_start_time_and_asks_again() -> None:
    world = paced(Rate(6, per=60, burst=1), count=2)
    world.deliver()
    assert world.job("job-1").reservation is not None
    world.change("job-1", priority="high")
    assert world.job("job-1").reservation is None
    world.deliver()
    assert len(starts(world)) == 1
    pass_time(world, 25)
    assert len(starts(world)) == 2


def test_a_job_that_finds_a_line_once_it_holds_its_slot_gives_the_slot_back() -> None:
    world = limited(Rate(6, per=60, burst=2), Concurrency(1, key="tenant"))
    world.submit(id="first", tenant="a")
    world.submit(id="second", tenant="a")

    def look() -> None:
        assert world.job("second").waits_for is not None
        # While it waits for its slot, others use up the rate.
        for number in range(3):
            world.submit(id=f"other-{number}", tenant=f"b-{number}")
        world.advance(11)
        world.deliver()

    while_one_runs(world, look)
    world.deliver()
    job = world.job("second")
    assert job.reservation is not None
    # A lazy limit keeps a holder whose generation ended; the next job replaces it.
    assert holders(world)["second"] == job.generation - 1
    pass_time(world, 60)
    assert world.job("second").status is JobStatus.SUCCEEDED


# --- lost races ---


@pytest.mark.parametrize(("fraction", "waits"), [(0.0, 1), (0.5, 6), (0.999, 10)])
def test_a_job_that_lost_every_race_waits_for_a_drawn_time(
    monkeypatch: pytest.MonkeyPatch, fraction: float, waits: int
) -> None:
    monkeypatch.setattr(MemoryRandomness, "fraction", lambda _: fraction)
    world = World()
    overrides = world.api.limits.overrides
    limiters = RateLimiters(
        world.side_items, world.clock, MemoryRandomness(), overrides, world.telemetry
    )
    assert limiters.ask_again() == waits * SECOND


# --- a reset ---


@pytest.mark.parametrize("shards", [1, 2])
def test_after_a_reset_jobs_start_at_the_rate_and_those_that_have_a_time_keep_it(
    shards: int,
) -> None:
    world = limited(Rate(60, per=60, burst=2, shards=shards))
    world.submit(id="job-0")
    world.deliver(told_to_wait)
    limit = JobLimit(
        id="greet:rate:handler",
        name="greet.1",
        position=0,
        limit=Rate(60, per=60, burst=2, shards=shards),
        digest=digest10("limit", "greet:rate:handler"),
        divides=False,
    )
    overrides = world.api.limits.overrides
    limiters = RateLimiters(
        world.side_items, world.clock, MemoryRandomness(), overrides, world.telemetry
    )
    assert isinstance(limit.limit, Rate)
    assert limiters.reset(limit, limit.limit)
    assert not limiters.reset(limit, limit.limit)
    for number in range(1, 13):
        world.submit(id=f"job-{number}")
    begun = world.clock.now()
    pass_time(world, 15)
    first = [at - begun for at in starts(world)[1:]]
    assert len(first) == 12
    assert max(first) <= timedelta(seconds=15)
    assert sum(at < timedelta(seconds=5) for at in first) <= 8
    pass_time(world, 10)
    assert world.job("job-0").status is JobStatus.SUCCEEDED


# --- the end of a line ---


def fill(world: World, length: timedelta) -> None:
    """Let the line of the only limiter be so long."""
    [key] = [key for key in world.side_items.items() if key.partition.startswith("m.")]
    item = world.side_items.items()[key]
    line = item.number("line") or 0
    world.side_items.write_item(
        SideItemUpdate(
            key=key,
            sets={"line": line + length // timedelta(microseconds=1)},
            keep_until=world.clock.now() + length,
        )
    )


def test_a_start_beyond_the_longest_wait_ends_the_job_dead() -> None:
    world = paced(Rate(6, per=60, burst=1), count=1)
    world.deliver()
    fill(world, LONGEST_WAIT)
    world.submit(id="late")
    world.deliver()
    job = world.job("late")
    assert job.status is JobStatus.DEAD
    assert job.last_failure is not None
    assert job.last_failure.startswith(TOO_LONG)
    assert len(starts(world)) == 1


@pytest.mark.parametrize(("expires_in", "ends"), [(None, JobStatus.DEAD), (60, JobStatus.EXPIRED)])
def test_a_line_that_grows_too_long_once_a_job_holds_its_slot_ends_the_job(
    expires_in: float | None, ends: JobStatus
) -> None:
    world = paced(Rate(6, per=60, burst=1), Concurrency(3), count=1)
    world.deliver()
    world.advance(20)
    expiry = None if expires_in is None else rfc3339(world.clock.now() + expires_in * SECOND)
    world.submit(id="late", expires_at=expiry)
    [delivery] = world.receive()
    held: list[str] = []

    def others_reserve() -> None:
        held.extend(holders(world))
        fill(world, LONGEST_WAIT + 60 * SECOND)

    # The first read found no line.
    faults = Faults().interrupt("side_items.read_item", others_reserve, nth=2)
    world.handle(delivery, succeed, world.process(faults).worker)
    assert held == ["late"]
    assert holders(world) == {}
    pass_time(world, 65)
    assert world.job("late").status is ends
    assert len(starts(world)) == 1


def test_a_start_after_the_expiry_ends_the_job_expired_and_wastes_no_start() -> None:
    world = paced(Rate(6, per=60, burst=1), count=3)
    world.deliver()
    world.submit(id="late", expires_at=rfc3339(world.clock.now() + 20 * SECOND))
    world.deliver()
    assert world.job("late").reservation is None
    pass_time(world, 22)
    assert world.job("late").status is JobStatus.EXPIRED
    world.submit(id="next")
    pass_time(world, 10)
    assert world.job("next").status is JobStatus.SUCCEEDED


@pytest.mark.parametrize("how", [{"exact": True}, {"window": "fixed"}], ids=["sliding", "fixed"])
def test_a_window_without_room_before_the_expiry_ends_the_job_expired_and_wastes_no_start(
    how: dict[str, Any],
) -> None:
    world = limited(Rate(1, per=60, **how))
    world.submit(id="first")
    world.deliver()
    expires_at = world.clock.now() + 20 * SECOND
    world.submit(id="late", expires_at=rfc3339(expires_at))
    world.deliver()
    assert (world.job("late").due_at, world.job("late").reservation) == (expires_at, None)
    pass_time(world, 22)
    assert world.job("late").status is JobStatus.EXPIRED
    world.submit(id="next")
    pass_time(world, 40)
    assert world.job("next").status is JobStatus.SUCCEEDED


@pytest.mark.parametrize("how", [{"burst": 1}, {"exact": True}, {"window": "fixed"}])
def test_a_job_that_a_crowded_gate_sends_back_beyond_its_expiry_ends_when_it_expires(
    how: dict[str, Any],
) -> None:
    world = limited(Rate(1, per=60, **how))
    world.submit(id="first")
    world.deliver()
    expires_at = world.clock.now() + 100 * SECOND
    world.submit(id="late", expires_at=rfc3339(expires_at))
    world.deliver()
    reservation = world.job("late").reservation
    assert reservation is not None
    world.advance((reservation.at - world.clock.now()).total_seconds() - 1)
    # Another job of the rate was refused: the gate has moved beyond the expiry.
    limits = world.worker.execution.tools.limits
    limits.hold_rates(world.job("first"), world.clock.now() + 90 * SECOND)
    world.advance(1)
    world.deliver()
    assert world.job("late").due_at == expires_at
    pass_time(world, 42)
    assert world.job("late").status is JobStatus.EXPIRED
    assert len(starts(world)) == 1


def refuse_write(*_: object) -> SideItemWrite:
    """Stand for a write of a state that others moved."""
    return SideItemWrite(is_applied=False, item=None)


@pytest.mark.parametrize("jobs_before", [0, 1], ids=["start", "reserve"])
def test_a_state_that_others_move_again_and_again_hides_the_message(
    monkeypatch: pytest.MonkeyPatch, jobs_before: int
) -> None:
    world = paced(Rate(6, per=60, burst=1), count=jobs_before)
    world.deliver()
    world.submit(id="late")
    with monkeypatch.context() as patch:
        patch.setattr(type(world.side_items), "write_item", refuse_write)
        assert world.deliver() == [Disposition.KEEP]
    assert len(starts(world)) == jobs_before
    assert world.job("late").reservation is None
    pass_time(world, 17)
    assert len(starts(world)) == jobs_before + 1


def test_a_gate_that_others_move_again_and_again_keeps_the_start_time_of_a_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = paced(Rate(6, per=60, burst=1), count=2)
    world.deliver()
    reservation = world.job("job-1").reservation
    assert reservation is not None
    world.advance_to(reservation.at)
    with monkeypatch.context() as patch:
        patch.setattr(type(world.side_items), "write_item", refuse_write)
        assert world.deliver() == [Disposition.KEEP]
    assert len(starts(world)) == 1
    assert world.job("job-1").reservation == reservation
    pass_time(world, 6)
    assert len(starts(world)) == 2


@pytest.mark.parametrize("expires_in", [None, 15], ids=["too long", "expires before"])
def test_a_job_that_changes_while_it_gets_a_start_time_keeps_its_change(
    expires_in: float | None,
) -> None:
    world = paced(Rate(6, per=60, burst=1), count=2)
    world.deliver()
    expiry = world.clock.now() + (expires_in or 1_000) * SECOND
    world.submit(id="late", payload="old", expires_at=rfc3339(expiry))
    [delivery] = world.receive()
    faults = Faults().interrupt("jobs.transition", lambda: world.change("late", payload="new"))
    assert world.handle(delivery, succeed, world.process(faults).worker) is Disposition.KEEP
    changed = world.job("late")
    assert (changed.generation, changed.reservation) == (2, None)
    pass_time(world, 45)
    assert world.job("late").status is (
        JobStatus.SUCCEEDED if expires_in is None else JobStatus.EXPIRED
    )
    payloads = [run.payload_text for run in world.runs if run.job.id == "late"]
    assert payloads == ([] if expires_in else ['"new"'])
    assert world.queues.messages() == []


def test_a_plain_start_costs_one_write_and_a_wait_moves_the_job_once() -> None:
    world = paced(Rate(6, per=60, burst=1), count=2)
    pass_time(world, 15)
    waited = world.job("job-1")
    assert [event.kind for event in waited.history].count(EventKind.CHANGED) == 1
    assert waited.generation == 2


# --- another service's limit ---


def told_to_wait(job: Job, pulse: Pulse) -> Finished:
    """Raise `RateLimited(retry_after=20)`."""
    if job.id == "job-0" and job.token == 1:
        wait = timedelta(seconds=20)
        return Finished(outcome=Outcome.SNOOZED, retry_after=wait, is_rate_limited=True)
    return succeed(job, pulse)


@pytest.mark.parametrize("others", [(), (Concurrency(5),)], ids=["alone", "beside slots"])
@pytest.mark.parametrize("burst", [1, 10])
def test_a_job_that_another_service_refuses_holds_the_others_back(
    burst: int, others: tuple[Limit, ...]
) -> None:
    world = limited(*others, Rate(60, per=60, burst=burst))
    world.submit(id="job-0")
    world.deliver(told_to_wait)
    for number in range(1, 6):
        world.submit(id=f"job-{number}")
    pass_time(world, 19)
    assert len(starts(world)) == 1
    pass_time(world, 20)
    assert len(starts(world)) == 7
    assert world.job("job-0").attempt == 1


def test_a_job_without_a_rate_is_only_put_off() -> None:
    world = World()
    world.submit(id="job-0")
    world.submit(id="other")
    world.deliver(told_to_wait)
    assert world.job("other").status is JobStatus.SUCCEEDED
    world.advance(21)
    world.deliver()
    assert world.job("job-0").status is JobStatus.SUCCEEDED


def test_a_shorter_wait_does_not_shorten_one_that_stands() -> None:
    world = limited(Rate(60, per=60))
    world.submit(id="job-0")
    world.submit(id="job-1")

    def refuse(job: Job, pulse: Pulse) -> Finished:
        wait = timedelta(seconds=30 if job.id == "job-0" else 5)
        return Finished(outcome=Outcome.SNOOZED, retry_after=wait, is_rate_limited=True)

    while_one_runs(world, lambda: None, refuse)
    world.submit(id="late")
    pass_time(world, 29)
    assert "late" not in [run.job.id for run in world.runs]


def test_a_hold_is_kept_while_other_jobs_start_again_and_again() -> None:
    world = limited(Rate(60, per=60, burst=10))
    world.submit(id="job-0")
    [delivery] = world.receive()
    faults = Faults()
    names = (f"beside-{number}" for number in range(20))

    def another_starts() -> None:
        world.submit(id=next(names))
        world.deliver()

    # The first write is the start of the job itself.
    for nth in range(2, 2 + 2 * MAX_RACES):
        faults.interrupt("side_items.write_item", another_starts, nth=nth)
    world.handle(delivery, told_to_wait, world.process(faults).worker)
    begun = len(starts(world))
    assert begun == 2
    world.submit(id="late")
    pass_time(world, 19)
    assert len(starts(world)) == begun
    pass_time(world, 20)
    assert len(starts(world)) == begun + 2


def test_of_many_refusals_at_once_one_writes_each_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    rate = Rate(1000, per=1)
    world = limited(rate)
    for number in range(5):
        world.submit(id=f"job-{number}")
    held = Counter[str]()

    def refuse(job: Job, pulse: Pulse) -> Finished:
        world.advance(0.1)
        wait = timedelta(seconds=20)
        return Finished(outcome=Outcome.SNOOZED, retry_after=wait, is_rate_limited=True)

    def counted(
        key: SideKey, state: LimiterState, now: datetime, until: datetime
    ) -> SideItemUpdate | None:
        update = hold_write(key, state, now, until)
        held[key.partition] += update is not None
        return update

    monkeypatch.setattr(rate_limiters, "hold_write", counted)
    world.advance(0.1)
    deliveries = world.receive()

    def together(job: Job, pulse: Pulse) -> Finished:
        if deliveries:
            world.handle(deliveries.pop(), together)
        return refuse(job, pulse)

    world.handle(deliveries.pop(), together)
    assert sorted(held.values()) == [1] * rate_shards(rate)


def test_a_longer_hold_that_comes_first_stands() -> None:
    world = limited(Rate(60, per=60, burst=2))
    world.submit(id="job-0")
    world.submit(id="longer")
    first, second = world.receive()

    def refuse(job: Job, pulse: Pulse) -> Finished:
        wait = timedelta(seconds=60)
        return Finished(outcome=Outcome.SNOOZED, retry_after=wait, is_rate_limited=True)

    faults = Faults().interrupt(
        "side_items.write_item", lambda: world.handle(second, refuse), nth=2
    )
    world.handle(first, told_to_wait, world.process(faults).worker)
    world.submit(id="late")
    begun = len(starts(world))
    pass_time(world, 59)
    assert len(starts(world)) == begun


@pytest.mark.parametrize("does_answer", [True, False])
def test_an_outcome_is_committed_though_the_rate_cannot_be_held(
    monkeypatch: pytest.MonkeyPatch, does_answer: bool
) -> None:
    world = limited(Rate(60, per=60, burst=10))
    world.submit(id="job-0")

    def write(*args: object) -> SideItemWrite:
        if not does_answer:
            raise Unavailable("The table did not answer.")
        return refuse_write(*args)

    def refuse(job: Job, pulse: Pulse) -> Finished:
        monkeypatch.setattr(type(world.side_items), "write_item", write)
        return told_to_wait(job, pulse)

    assert world.deliver(refuse) == [Disposition.DONE]
    monkeypatch.undo()
    job = world.job("job-0")
    assert (job.status, job.attempt, job.lease) == (JobStatus.RETRYING, 0, None)
    assert world.telemetry.total("optional_requests_failed") == 1
    pass_time(world, 22)
    assert world.job("job-0").status is JobStatus.SUCCEEDED


# --- windows ---


@pytest.mark.parametrize(("count", "per"), [(1, 5), (3, 10), (100, 20)])
def test_no_period_of_a_sliding_window_has_more_starts(count: int, per: int) -> None:
    world = paced(Rate(count, per=per, exact=True), count=2 * count + 2)
    pass_time(world, 3.5 * per)
    assert len(starts(world)) == 2 * count + 2
    assert most_in(starts(world), timedelta(seconds=per)) <= count


def test_jobs_of_a_window_that_come_back_late_together_do_not_exceed_it() -> None:
    world = paced(Rate(3, per=10, exact=True), count=12)
    world.deliver()
    world.advance(60)
    pass_time(world, 60)
    assert len(starts(world)) == 12
    assert most_in(starts(world), 10 * SECOND) <= 3


def test_a_fixed_window_begins_anew_at_each_multiple_of_its_length() -> None:
    world = limited(Rate(3, per=60, window="fixed"))
    # START is a full minute: the window has ten seconds left.
    world.advance(50)
    for number in range(8):
        world.submit(id=f"job-{number}")
    pass_time(world, 200)
    minutes: dict[int, int] = {}
    for at in starts(world):
        minute = (at - START) // timedelta(minutes=1)
        minutes[minute] = minutes.get(minute, 0) + 1
    assert minutes[0] == 3
    assert max(minutes.values()) == 3
    assert sum(minutes.values()) == 8


@pytest.mark.parametrize("how", [{"exact": True}, {"window": "fixed"}])
def test_a_refusal_holds_a_window_back_too(how: dict[str, Any]) -> None:
    world = limited(Rate(5, per=10, **how))
    world.submit(id="job-0")
    world.deliver(told_to_wait)
    world.submit(id="job-1")
    pass_time(world, 19)
    assert len(starts(world)) == 1
    pass_time(world, 15)
    assert len(starts(world)) == 3
