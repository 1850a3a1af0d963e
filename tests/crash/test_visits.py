"""Visits of a schedule: each nominal time is one job or one reason, whatever dies or changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import adopt
from hourhand.domain.schedules.schedule import JournalEntry, Schedule, SkipReason
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import Applied
from hourhand.testing import Crash
from tests.scenarios.occurrences import check_places
from tests.scenarios.rules import LATE_AFTER, check_rules
from tests.scenarios.steps import worn
from tests.unit.services.schedule_views import recorded
from tests.world.factories import make_content
from tests.world.faults import READS, Call, Faults, When
from tests.world.runs import HandlerKilled, fail_for_good, kill_process, succeed
from tests.world.world import World

MINUTE = timedelta(minutes=1)
NAME = "nightly"


def scheduled(**fields: Any) -> World:
    world = World()
    body: dict[str, Any] = {"expression": "* * * * *", "overlap": "allow", **fields}
    world.put_schedule(NAME, **body)
    return world


def due(**fields: Any) -> World:
    """Return a world whose next tick has something to make: two minutes later than the put."""
    world = scheduled(**fields)
    world.advance(130)
    return world


def under_way() -> World:
    world = scheduled()
    live(world, 2)
    return world


def live(world: World, minutes: int) -> None:
    for _ in range(minutes):
        world.minute()


# --- visits that die, that meet and that are changed --------------------------------------------


def _calls(world: World) -> list[Call]:
    faults = Faults()
    world.tick(world.process(faults).scheduler)
    return faults.calls


def _each_trouble(*, refusals: bool = True) -> Iterator[Callable[[Faults], None]]:
    for call in _calls(due()):
        if call.method in READS:
            # A death beside a read is a death beside the write before it.
            continue
        yield partial(Faults.crash, number=call.number, when=When.AFTER)
        if refusals:
            method = f"{call.port}.{call.method}"
            yield partial(Faults.crash, number=call.number, when=When.BEFORE)
            yield partial(Faults.throttle, method=method, nth=call.nth)
            yield partial(Faults.lose_answer, method=method, nth=call.nth)


def _beside_each_call(
    step: Callable[[World], object],
    *,
    seconds: float = 0,
    may_escape: tuple[type[Exception], ...] = (),
) -> Iterator[World]:
    """Yield a world after a visit, with the step before each call of it in turn."""
    for call in _calls(under_way()):
        if call.method == "read_bucket":
            continue
        world = under_way()
        world.advance(seconds)
        faults = Faults()
        method = f"{call.port}.{call.method}"
        faults.interrupt(method, partial(step, world), nth=call.nth)
        with suppress(*may_escape):
            world.tick(world.process(faults).scheduler)
        yield world


def test_a_visit_that_dies_at_any_call_is_done_again_and_no_time_is_lost_or_late() -> None:
    for fault in _each_trouble():
        world = due()
        faults = Faults()
        fault(faults)
        with suppress(Crash, Unavailable):
            world.tick(world.process(faults).scheduler)
        live(world, 12)
        check_times(world)
        check_starts(world)


@pytest.mark.parametrize("policy", ["skip", "latest", "earliest", "all"])
def test_what_a_dead_visit_made_stands_though_its_times_were_missed_by_the_next(
    policy: str,
) -> None:
    for fault in _each_trouble(refusals=False):
        world = due(misfire={"policy": policy})
        faults = Faults()
        fault(faults)
        with suppress(Crash, Unavailable):
            world.tick(world.process(faults).scheduler)
        # Nobody leads for a while; the workers run on time what was sent.
        for _ in range(20):
            world.advance(60)
            world.deliver()
        live(world, 6)
        check_times(world)


def test_a_scheduler_that_loses_the_race_made_nothing_that_the_winner_did_not_make() -> None:
    def visit(world: World) -> None:
        world.advance(33)
        world.tick()

    for world in _beside_each_call(visit, seconds=40):
        live(world, 12)
        check_times(world)


def _pause_and_resume(world: World) -> None:
    world.pause(NAME)
    world.resume(NAME)


CHANGES: Mapping[str, Callable[[World], object]] = {
    "paused": lambda world: world.pause(NAME),
    "paused and resumed": _pause_and_resume,
    "replaced": lambda world: world.put_schedule(NAME, expression="*/2 * * * *", overlap="allow"),
    "deleted": lambda world: world.delete_schedule(NAME),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_beside_any_call_of_a_visit_takes_effect(change: str) -> None:
    for world in _beside_each_call(CHANGES[change], may_escape=(Unavailable,)):
        changed_at = world.clock.now()
        live(world, 12)
        check_times(world)
        check_wanted(world, changed_at)


def _edit(world: World) -> None:
    rules = ["*/2 * * * *", "30 * * * * *"]
    world.put_schedule(NAME, expression=rules, overlap="allow", misfire="all", payload=2)


def test_an_edit_beside_any_call_of_a_late_visit_takes_no_time_that_it_keeps() -> None:
    for world in _beside_each_call(_edit, seconds=600, may_escape=(Unavailable,)):
        edited_at = world.clock.now()
        live(world, 12)
        check_times(world)
        entries = recorded(world, NAME)
        kept = {START + minute * MINUTE for minute in range(2, 12, 2)}
        for entry in entries:
            if entry.reason is not SkipReason.REPLACED:
                kept = {at for at in kept if not entry.first <= at <= entry.last}
        assert not kept, "an edit gave up times that both rules have"
        new = [entry.first for entry in entries if entry.first.second == 30]
        assert min(new) > edited_at - MINUTE, "an edit made times that came before it"


def test_another_rule_takes_effect_at_once() -> None:
    world = scheduled()
    world.tick()
    world.advance(30)
    world.put_schedule(NAME, expression="30 * * * * *", overlap="allow")
    live(world, 8)
    times = sorted(run.job.occurrence or START for run in world.runs)
    assert {t.second for t in times} == {30}, "a time of the old rule ran"
    assert len(times) >= 7, "times of the new rule were not made"
    check_times(world)


EDITED: Mapping[str, Any] = {"expression": "* * * * *", "overlap": "allow", "payload": "edited"}
MEANWHILE: Mapping[str, Callable[[World, Job], object]] = {
    "a worker runs it": lambda world, _: live(world, 2),
    "a caller changes it": lambda world, job: world.change(job, payload="changed"),
    "a newer edit keeps it": lambda world, _: world.put_schedule(NAME, **EDITED),
    "its full record is filed anew": lambda world, job: world.worker.execution.tools.due.refile(
        world.job(job), "tick"
    ),
}


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_an_adoption_that_comes_late_changes_nothing(meanwhile: str) -> None:
    world = scheduled()
    if "full" in meanwhile:
        worn(world)
    job = next(job for job in world.store.jobs().values() if job.occurrence == START + MINUTE)
    sets = {"payload": make_content('"late"'), "schedule_revision": 9}
    late = adopt(job, now=world.clock.now(), actor="tick", sets=sets, reason="late")
    MEANWHILE[meanwhile](world, job)
    before = world.job(job)
    assert before != job
    assert not isinstance(world.store.transition(late), Applied)
    assert world.job(job) == before


def test_an_edit_that_keeps_the_times_of_jobs_sends_no_message() -> None:
    world = scheduled(expression="* * * * * *")
    assert len(world.queues.messages()) == 300
    for payload in range(6):
        world.put_schedule(NAME, expression="* * * * * *", overlap="allow", payload=payload)
    assert len(world.queues.messages()) == 300
    world.advance(1)
    world.deliver()
    assert [run.job.payload.text for run in world.runs] == ["5"]
    world.delete_schedule(NAME)
    assert len(world.queues.messages()) <= 300


def test_an_edit_that_dies_anywhere_leaves_no_job_late_and_at_most_one_message_more() -> None:
    def edit(world: World, faults: Faults) -> None:
        with suppress(Crash):
            world.put_schedule(NAME, by=world.process(faults).api, **EDITED)

    counted = Faults()
    edit(scheduled(), counted)
    for call in counted.calls:
        world, faults = scheduled(), Faults()
        faults.crash(number=call.number, when=When.AFTER)
        edit(world, faults)
        world.tick()
        assert len(world.queues.messages()) <= 2 * 5
        live(world, 6)
        check_times(world)
        check_starts(world)


def _recreate(world: World) -> None:
    world.delete_schedule(NAME)
    world.put_schedule(NAME, expression="* * * * *", overlap="allow", payload="new")


def test_no_job_of_a_deleted_schedule_runs_though_its_id_is_put_again() -> None:
    for world in _beside_each_call(_recreate, may_escape=(Unavailable,)):
        world.trigger(NAME)
        _recreate(world)
        runs = len(world.runs)
        live(world, 4)
        later = [run.job for run in world.runs[runs:]]
        assert {job.payload.text for job in later} == {'"new"'}
        assert {job.schedule_incarnation for job in later} == {2}


def test_a_pause_stops_what_was_made_ahead_and_what_fell_into_it_is_decided_once() -> None:
    world = scheduled()
    world.tick()
    world.advance(90)
    world.pause(NAME)
    runs = len(world.runs)
    live(world, 8)
    late = [run for run in world.runs[runs:] if (run.job.occurrence or START) > START + MINUTE]
    assert not late, "a paused schedule ran"
    world.resume(NAME)
    live(world, 8)
    check_times(world)
    assert len(world.runs) > runs + 5


# --- runs that overlap --------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["skip", "buffer_one", "buffer_all", "cancel_other"])
def test_a_run_that_lasts_longer_than_its_interval_never_overlaps_another(policy: str) -> None:
    world = scheduled(overlap=policy)

    def slow(job: Job, pulse: Pulse) -> Finished:
        for _ in range(10):
            world.advance(15)
            if pulse.beat(None) == "cancelled":
                break
            world.tick()
            if len(world.runs) < 30:
                world.deliver(succeed)
        return succeed(job, pulse)

    for _ in range(6):
        world.minute(slow)
    world.delete_schedule(NAME)
    world.settle(minutes=60)
    check_rules(world)
    check_places(world)


@pytest.mark.parametrize("policy", ["skip", "buffer_all"])
def test_a_run_that_dies_blocks_nobody_for_longer_than_its_recovery_takes(policy: str) -> None:
    world = scheduled(overlap=policy)
    died: list[str] = []

    def die_first(job: Job, pulse: Pulse) -> Finished:
        if not died:
            died.append(job.id)
            return kill_process(job, pulse)
        return succeed(job, pulse)

    for _ in range(10):
        with suppress(HandlerKilled):
            world.minute(die_first)
    assert len(world.runs) > 5, "a run that died blocks the others"
    world.delete_schedule(NAME)
    world.settle(minutes=60)
    check_rules(world)
    check_places(world)


def test_who_waits_for_a_place_starts_as_soon_as_its_holder_ends() -> None:
    world = scheduled(overlap="buffer_all", expression="*/4 * * * *")

    def long_run(job: Job, pulse: Pulse) -> Finished:
        if world.runs[0].job.id == job.id:
            for _ in range(14):
                world.advance(20)
                pulse.beat(None)
                world.tick()
                world.deliver(succeed)
        return succeed(job, pulse)

    for _ in range(12):
        world.minute(long_run)
    waited: list[float] = []
    for before, after in pairwise(world.runs):
        assert before.ended_at is not None
        assert after.job.occurrence is not None
        waited.append((after.started_at - max(before.ended_at, after.job.occurrence)).seconds)
    assert waited
    assert max(waited) <= 15, f"one that waited for room began {max(waited)} s after there was"


# --- failures that pause ------------------------------------------------------------------------


def _failed() -> World:
    world = scheduled(pause_on_failure=True)
    world.tick()
    world.advance(60)
    world.deliver(fail_for_good)
    assert len(world.runs) == 1
    return world


@pytest.mark.parametrize("when", When)
def test_a_failure_pauses_its_schedule_whoever_dies_and_no_later_job_runs(when: When) -> None:
    for call in _calls(_failed()):
        world = _failed()
        dying = Faults()
        dying.crash(call.number, when)
        with suppress(Crash):
            world.tick(world.process(dying).scheduler)
        runs = len(world.runs)
        live(world, 10)
        schedule = world.schedules.get(NAME)
        assert schedule is not None
        assert schedule.paused_at is not None, "a failure did not pause its schedule"
        assert len(world.runs) == runs, "a job ran after the failure of the one before"


def test_the_next_job_waits_until_the_sweep_has_paused_its_schedule_for_a_failure() -> None:
    world = _failed()
    for _ in range(8):
        world.advance(10)
        world.deliver()
    assert len(world.runs) == 1


# --- what must be true of every time ------------------------------------------------------------


def journal_of(world: World, schedule: Schedule) -> list[JournalEntry]:
    """Return all that is on record of the schedule, oldest first."""
    pages = world.schedules.read_journal(NAME, before=None, limit=100)
    own = [entry for page in pages for entry in page.entries]
    known = {(entry.first, entry.salt) for entry in own}
    own += [entry for entry in schedule.journal if (entry.first, entry.salt) not in known]
    return sorted(own, key=lambda entry: entry.first)


def check_times(world: World) -> None:
    """Each nominal time up to the cursor is on record once; each that was made has one job."""
    for job in world.store.jobs().values():
        # The schedule goes on: of its jobs some are still to run.
        assert job.due_at is not None or job.status.is_final
        is_late = job.due_at is not None and job.due_at < world.clock.now() - 2 * MINUTE
        assert not is_late, f"{job.occurrence} did not run"
    schedule = world.schedules.get(NAME)
    assert schedule is not None
    journal = journal_of(world, schedule)
    jobs = Counter(job.occurrence for job in world.store.jobs().values() if job.occurrence)
    assert all(count == 1 for count in jobs.values()), "a nominal time has two jobs"
    runs = Counter(run.job.occurrence for run in world.runs)
    assert all(count == 1 for count in runs.values()), "an occurrence ran twice"
    for before, after in pairwise(journal):
        assert before.last < after.first, f"two entries for one time: {before}, {after}"
    for entry in journal:
        if entry.reason is None:
            assert entry.first in jobs, f"{entry.first} is told as made, and has no job"
    skipped = [entry for entry in journal if entry.reason is not None]
    for nominal in runs:
        assert nominal is not None
        is_skipped = any(entry.first <= nominal <= entry.last for entry in skipped)
        assert not is_skipped, f"{nominal} is told as skipped, and ran"
    _check_no_gap(world, schedule, journal)


def _check_no_gap(world: World, schedule: Schedule, journal: list[JournalEntry]) -> None:
    """While one rule of every minute was in force, no minute lacks an entry."""
    if schedule.revision > 1 or schedule.deleted_at is not None:
        return
    minute = START + MINUTE
    while minute <= min(schedule.cursor, world.clock.now()):
        told = any(entry.first <= minute <= entry.last for entry in journal)
        assert told, f"{minute} is neither made nor skipped"
        minute += MINUTE


def check_starts(world: World) -> None:
    """Every run began in time, but for what was due before anybody looked."""
    for run in world.runs:
        assert run.job.occurrence is not None
        late = run.started_at - run.job.occurrence
        was_due_before = run.job.occurrence <= START + 3 * MINUTE
        assert was_due_before or late <= LATE_AFTER, f"{run.job.occurrence} began {late} late"


def check_wanted(world: World, changed_at: datetime) -> None:
    """What the change did not want did not run."""
    schedule = world.schedules.get(NAME)
    assert schedule is not None
    later = [r for r in world.runs if r.job.occurrence and r.job.occurrence > changed_at]
    if schedule.paused_at is not None or schedule.deleted_at is not None:
        assert not later, "a schedule that is over ran on"
    elif schedule.made and "*/2" in str(world.schedules.kept_definitions(NAME)):
        minutes = {r.job.occurrence.minute % 2 for r in later if r.job.occurrence}
        assert minutes == {0}, "a time that was replaced ran"
    else:
        assert len(later) >= 10, "times were lost with a change"
