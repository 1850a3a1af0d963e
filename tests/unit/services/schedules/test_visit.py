"""The visit: decide, make, store; in this order, by anybody, however often it dies in between."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.groups.overlap import Overlap
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.waiting import put_waiter
from hourhand.domain.limits.job_limits import overlap_limit
from hourhand.domain.limits.slot_writes import limit_partition
from hourhand.domain.schedules.journal import RING_ENTRIES
from hourhand.domain.schedules.occurrences import MAX_CATCH_UP
from hourhand.domain.schedules.schedule import (
    Backfill,
    JournalEntry,
    Keep,
    Schedule,
    ScheduleDefinition,
)
from hourhand.memory import START
from hourhand.services.schedules.backfills import BackfillWork
from hourhand.services.schedules.visit import Materialiser
from hourhand.testing import Crash
from tests.unit.services.schedule_views import (
    MINUTELY,
    at,
    job_at,
    job_minutes,
    reason_of,
    recorded,
    statuses,
    stored,
    told,
)
from tests.world.faults import Faults, When
from tests.world.world import World

LOOK_AHEAD = timedelta(seconds=300)


def put(world: World, **body: Any) -> Schedule:
    """Put a minutely schedule as one that is not visited yet; return it."""
    faults = Faults().throttle("jobs.put")
    body = {"expression": MINUTELY, **body}
    world.put_schedule("s", by=world.process(faults).api, **body)
    return stored(world)


def materialiser(world: World, faults: Faults | None = None) -> Materialiser:
    return world.process(faults or Faults()).api.schedules.effects.materialiser


def definition_of(world: World) -> ScheduleDefinition:
    return world.api.schedule_views.get("s").definition


def visit(
    world: World, schedule: Schedule | None = None, by: Materialiser | None = None
) -> Schedule:
    """Visit the schedule as it stands, or as somebody read it."""
    now = world.clock.now()
    return (
        (by or materialiser(world))
        .visit(
            schedule or stored(world),
            definition_of(world),
            now=now,
            horizon=now + LOOK_AHEAD,
            actor="tick",
        )
        .schedule
    )


# --- one visit ---


def test_a_visit_makes_the_jobs_and_then_stores_that_it_did(world: World) -> None:
    put(world)
    faults = Faults()
    after = visit(world, by=materialiser(world, faults))
    assert after == stored(world)
    assert job_minutes(world) == [1, 2, 3, 4, 5]
    calls = [call.method for call in faults.calls if call.method in {"put", "write"}]
    assert calls == ["put"] * 5 + ["write"]


def test_nothing_to_decide_costs_no_write(world: World) -> None:
    put(world)
    before = visit(world)
    faults = Faults()
    assert visit(world, by=materialiser(world, faults)) == before
    assert "write" not in {call.method for call in faults.calls}


def test_a_paused_schedule_is_left_alone(world: World) -> None:
    put(world)
    world.pause("s")
    before = stored(world)
    assert visit(world) == before == stored(world)


def test_skips_are_counted_once(world: World) -> None:
    put(world)
    world.advance(600)
    visit(world)
    assert world.telemetry.total("occurrences_skipped") == 8
    assert world.telemetry.total("occurrences_missed") == 8
    visit(world)
    assert world.telemetry.total("occurrences_skipped") == 8
    assert world.telemetry.total("occurrences_missed") == 8


@pytest.mark.parametrize("window_seconds", [86_400, 60], ids=["", "longer than the window"])
def test_a_time_that_is_excluded_or_was_paused_is_not_missed(
    world: World, window_seconds: int
) -> None:
    put(world, misfire={"window_seconds": window_seconds})
    world.pause("s")
    world.advance(600)
    world.resume("s")
    visit(world)
    assert world.telemetry.total("occurrences_skipped") > 0
    assert world.telemetry.total("occurrences_missed") == 0


@pytest.mark.parametrize("method", ["jobs.put", "jobs.get_many", "schedules.write"])
def test_a_store_that_does_not_answer_is_told_and_the_schedule_is_still_due(
    world: World, method: str
) -> None:
    before = put(world)
    world.advance(600)
    faults = Faults().throttle(method)
    with pytest.raises(Unavailable):
        visit(world, by=materialiser(world, faults))
    assert stored(world) == before
    visit(world)
    assert told(world)[0] == (1, 8, "misfire")


def test_a_queue_that_does_not_answer_is_left_to_the_sweep(world: World) -> None:
    put(world)
    visit(world, by=materialiser(world, Faults().throttle("queues.send", times=9)))
    assert [why for _, _, why in told(world)] == ["job"] * 5
    assert set(statuses(world).values()) == {"PENDING"}


# --- two visits ---


def test_whoever_loses_the_race_made_no_job_that_the_winner_did_not_make(world: World) -> None:
    put(world)
    faults = Faults().interrupt("schedules.write", lambda: visit(world))
    after = visit(world, by=materialiser(world, faults))
    assert after == stored(world)
    assert job_minutes(world) == [1, 2, 3, 4, 5]
    # Whoever finds a job on which nothing happened yet cannot know that it was sent.
    assert len({message.message.job_id for message in world.queues.messages()}) == 5
    assert world.telemetry.total("schedule_visits_outdated") == 1


def test_a_visit_from_what_was_read_long_ago_changes_nothing(world: World) -> None:
    old = put(world)
    visit(world)
    world.advance(60)
    visit(world)
    before = stored(world), world.store.jobs()
    assert visit(world, old) == before[0]
    assert (stored(world), world.store.jobs()) == before


def test_a_visit_of_a_schedule_that_is_gone_makes_nothing_that_runs(world: World) -> None:
    put(world)
    faults = Faults()

    def forget() -> None:
        gone = replace(stored(world), sequence=99, keep_until=START)
        world.schedules.write(gone, previous=stored(world).sequence)
        world.schedules.delete_expired(at(1))

    faults.interrupt("schedules.write", forget)
    before = stored(world)
    by, definition = materialiser(world, faults), definition_of(world)
    after = by.visit(before, definition, now=START, horizon=at(5), actor="tick")
    assert after.schedule == before
    world.advance(300)
    world.deliver()
    assert not world.runs
    assert set(statuses(world).values()) == {"CANCELLED"}


def test_what_a_visit_made_as_the_schedule_was_paused_does_not_run(world: World) -> None:
    put(world)
    faults = Faults().interrupt("schedules.write", lambda: world.pause("s"))
    visit(world, by=materialiser(world, faults))
    world.advance(300)
    world.deliver()
    assert not world.runs
    assert set(statuses(world).values()) == {"CANCELLED"}


# --- visits that die ---


@pytest.mark.parametrize("policy", ["latest", "all", "earliest", "skip"])
@pytest.mark.parametrize(
    "outage",
    [
        5,
        pytest.param(0, marks=pytest.mark.exhaustive),
        pytest.param(30, marks=pytest.mark.exhaustive),
    ],
)
def test_a_visit_that_dies_anywhere_is_made_good_by_a_later_one(policy: str, outage: int) -> None:
    def prepare() -> tuple[World, Faults, Materialiser]:
        world, faults = World(), Faults()
        put(world, misfire={"policy": policy})
        world.advance(600)
        return world, faults, materialiser(world, faults)

    world, faults, by = prepare()
    visit(world, by=by)
    for number in range(1, len(faults.calls) + 1):
        for when in When:
            world, faults, by = prepare()
            faults.crash(number, when)
            with pytest.raises(Crash):
                visit(world, by=by)
            world.advance(outage * 60)
            world.deliver()
            for _ in range(4):
                visit(world)
            check_record(world, f"{number} {when}")


def test_no_death_of_a_visit_makes_an_occurrence_late() -> None:
    def prepare() -> tuple[World, Faults, Materialiser]:
        world, faults = World(), Faults()
        put(world)
        return world, faults, materialiser(world, faults)

    world, faults, by = prepare()
    visit(world, by=by)
    for number in range(1, len(faults.calls) + 1):
        for when in When:
            world, faults, by = prepare()
            faults.crash(number, when)
            with pytest.raises(Crash):
                visit(world, by=by)
            world.advance(50)
            for _ in range(7):
                world.minute()
            late = [job.lateness_ms for job in world.store.jobs().values() if job.token]
            assert len(late) >= 6, f"{number} {when}"
            assert set(late) == {0}, f"{number} {when}"


def check_record(world: World, what: str) -> None:
    """Each minute up to the cursor is told of once, and as a job exactly where there is one."""
    entries = recorded(world)
    covered: list[float] = []
    for minute, count, _ in told(world):
        covered += [minute + n for n in range(count)]
    assert covered == [float(n + 1) for n in range(len(covered))], what
    assert stored(world).cursor == at(covered[-1]), what
    jobs = [m for m, _, why in told(world) if why == "job"]
    assert jobs == job_minutes(world), what
    assert stored(world).made == len(jobs), what
    assert len(entries) == len({entry.first for entry in entries})


def test_an_occurrence_that_a_dead_visit_made_counts_for_the_most_that_there_may_be(
    world: World,
) -> None:
    put(world, max_occurrences=3)
    faults = Faults().throttle("schedules.write")
    with pytest.raises(Unavailable):
        visit(world, by=materialiser(world, faults))
    world.advance(1800)
    visit(world)
    assert job_minutes(world) == [1, 2, 3]
    assert told(world) == [(1, 1, "job"), (2, 1, "job"), (3, 1, "job")]
    assert stored(world).next_at is None


# --- catching up ---


def put_waiting(world: World, first: int, count: int) -> None:
    """Put the waiter records of so many jobs of the schedule."""
    partition = limit_partition(overlap_limit(Overlap(group="s")).digest16)
    for n in range(first, first + count):
        world.side_items.write_item(put_waiter(partition, n, f"job-{n}", 1, at(9999)))


def test_nothing_is_caught_up_while_as_many_jobs_wait_as_may(world: World) -> None:
    put(world, misfire={"policy": "all"}, buffer_limit=9)
    world.advance(6000)
    put_waiting(world, 0, 8)
    visit(world)
    assert job_minutes(world) == list(range(1, MAX_CATCH_UP + 1))
    put_waiting(world, 8, 1)
    visit(world)
    assert len(job_minutes(world)) == MAX_CATCH_UP
    assert stored(world).next_at == world.clock.now()


# --- the record ---


def test_old_entries_go_to_pages_and_none_is_lost(world: World) -> None:
    put(world)
    for _ in range(120):
        visit(world)
        world.advance(60)
    assert len(stored(world).journal) <= RING_ENTRIES + 7
    assert told(world) == [(m, 1, "job") for m in range(1, 125)]


def test_a_page_whose_schedule_was_not_stored_is_no_second_record(world: World) -> None:
    put(world)
    for _ in range(60):
        faults = Faults().throttle("schedules.write")
        with pytest.raises(Unavailable):
            visit(world, by=materialiser(world, faults))
        visit(world)
        world.advance(60)
    assert told(world) == [(m, 1, "job") for m in range(1, 65)]


def test_pages_beyond_what_a_history_tells_of_are_forgotten(world: World) -> None:
    put(world, keep={"succeeded": 20, "failed": 0})
    for _ in range(300):
        visit(world)
        world.advance(60)
    pages = world.schedules.read_journal("s", before=None, limit=100)
    assert len(pages) == 3
    assert sum(len(page.entries) for page in pages) >= 20
    assert definition_of(world).keep == Keep(succeeded=20, failed=0)


# --- a visit that stands still ---


def _missed_meanwhile(world: World) -> None:
    """Let another scheduler count as missed what this one is about to make."""
    world.advance(900)
    world.tick()


def test_a_visit_that_stood_still_makes_no_job_for_what_was_recorded_as_missed(
    world: World,
) -> None:
    misfire = {"policy": "all", "window_seconds": 60}
    world.put_schedule("s", expression="10 9 * * *", misfire=misfire)
    world.advance(400)
    faults = Faults().interrupt("side_items.count_items", lambda: _missed_meanwhile(world))
    world.tick(world.process(faults).scheduler)
    world.settle()
    assert job_minutes(world) == []
    assert told(world) == [(10, 1, "window")]


def test_a_job_made_by_a_visit_that_stood_still_at_its_put_ends_with_the_recorded_reason(
    world: World,
) -> None:
    world.put_schedule("s", expression="10 9 * * *", misfire={"policy": "skip"})
    world.advance(400)
    faults = Faults().interrupt("jobs.put", lambda: _missed_meanwhile(world))
    world.tick(world.process(faults).scheduler)
    world.settle()
    job = job_at(world, 10)
    assert (job.status, job.token, reason_of(job)) == (JobStatus.CANCELLED, 0, "misfire")
    (row,) = world.api.occurrences.history("s", limit=10, cursor=None).entries
    assert (row.entry.reason, row.job_id) == ("misfire", None)


# --- backfills ---


@dataclass
class Steps:
    """Works off one nominal time a visit."""

    seen: list[tuple[str, int]] = field(default_factory=list)

    def step(
        self, schedule: Schedule, definition: ScheduleDefinition, backfill: Backfill, **_: Any
    ) -> tuple[Backfill, tuple[JournalEntry, ...]]:
        assert schedule.id == "s"
        assert definition.handler == "greet"
        self.seen.append((backfill.id, backfill.position))
        return replace(backfill, position=backfill.position + 1), ()


def working_off(world: World, steps: Steps) -> Materialiser:
    return replace(materialiser(world), backfills=cast("BackfillWork", steps))


def with_backfills(world: World, *backfills: str, total: int = 2, definition: str = "") -> None:
    before = stored(world)
    for backfill_id in backfills:
        backfill = Backfill(
            id=backfill_id,
            schedule_id="s",
            sequence=1,
            write_id="w",
            definition=definition or before.definition,
            start=at(-9),
            end=at(-1),
            total=total,
            created_at=START,
        )
        world.schedules.write_backfill(backfill, previous=None)
    sequence = before.sequence + 1
    after = replace(before, sequence=sequence, write_id="x", backfills=(*backfills, "gone"))
    world.schedules.write(after, previous=before.sequence)


def test_a_schedule_with_a_backfill_to_work_off_stays_due(world: World) -> None:
    put(world)
    with_backfills(world, "b", "c")
    steps = Steps()
    after = visit(world, by=working_off(world, steps))
    assert steps.seen == [("b", 0), ("c", 0)]
    assert (after.backfills, after.next_at) == (("b", "c"), START)
    assert job_minutes(world) == [1, 2, 3, 4, 5]


def test_a_backfill_waits_for_the_next_visit_where_this_one_has_no_time_left(
    world: World,
) -> None:
    put(world)
    with_backfills(world, "b")
    steps = Steps()
    visitor = working_off(world, steps)
    schedule, now = stored(world), world.clock.now()
    definition = world.schedules.get_definitions([("s", schedule.definition)])
    begun = visitor.begin(
        schedule,
        definition["s", schedule.definition],
        now=now,
        horizon=now + timedelta(seconds=300),
        actor="tick",
    )
    after = visitor.finish(begun, now=now, actor="tick", may_go_on=lambda: False)
    assert (steps.seen, after.backfills, after.next_at) == ([], ("b", "gone"), schedule.next_at)


def test_a_backfill_that_is_done_is_dropped(world: World) -> None:
    put(world)
    with_backfills(world, "b", total=1)
    after = visit(world, by=working_off(world, Steps()))
    assert (after.backfills, after.next_at) == ((), at(6))
    done = Steps()
    with_backfills(world, "d", total=0)
    assert visit(world, by=working_off(world, done)).backfills == ()
    assert done.seen == []


def test_backfills_are_visited_while_a_schedule_is_paused(world: World) -> None:
    put(world)
    world.pause("s")
    with_backfills(world, "b")
    steps = Steps()
    after = visit(world, by=working_off(world, steps))
    assert (steps.seen, after.next_at) == ([("b", 0)], START)
    assert stored(world) == after


def test_a_backfill_without_its_definition_ends_and_is_told_of(world: World) -> None:
    put(world)
    with_backfills(world, "b", definition="expired")
    assert visit(world).backfills == ()
    (line,) = [one for one in world.telemetry.warnings if "backfill" in one.sentence]
    assert line.fields == {"schedule_id": "s", "backfill_id": "b"}
