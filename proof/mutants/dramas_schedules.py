"""Killers that look at schedules: each nominal time is one job or one reason, whoever dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.schedule import JournalEntry, Schedule
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.testing import READS, Call, Crash, Faults, When
from proof.mutants.rules import LATE_AFTER, check_rules
from tests.crash.test_occurrences import check_places
from tests.world.runs import HandlerKilled, fail_for_good, kill_process, succeed
from tests.world.world import World

MINUTE = timedelta(minutes=1)
NAME = "nightly"


def visits_die() -> None:
    """A visit that dies at any call is done again: no time is lost, none is made twice, or late."""
    for fault in _each_trouble(_visited):
        world = _visited()
        faults = Faults()
        fault(faults)
        with suppress(Crash, Unavailable):
            world.tick(world.process(faults).scheduler)
        _live(world, 12)
        check_times(world)
        _check_punctual(world)


def visits_die_before_an_outage() -> None:
    """What a dead visit made stands, though its times were missed by the time of the next one."""
    for policy in ("skip", "latest", "earliest", "all"):
        for fault in _each_trouble(_visited, refusals=False):
            world = _world(misfire={"policy": policy})
            world.advance(130)
            faults = Faults()
            fault(faults)
            with suppress(Crash, Unavailable):
                world.tick(world.process(faults).scheduler)
            # Nobody leads for a while; the workers run on time what was sent.
            for _ in range(20):
                world.advance(60)
                world.deliver()
            _live(world, 6)
            check_times(world)


def two_schedulers_visit() -> None:
    """Whoever loses the race made nothing that the winner did not make."""
    for interrupt in _beside_each_call():
        world = _visited_again()
        world.advance(40)
        faults = Faults()
        scheduler = world.process(faults).scheduler
        interrupt(faults, partial(_visit_by_another, world))
        world.tick(scheduler)
        _live(world, 12)
        check_times(world)


def _visit_by_another(world: World) -> None:
    world.advance(33)
    world.tick()


def changes_meet_a_visit() -> None:
    """A pause, a resume, another rule, a deletion beside any call of a visit."""
    for change in CHANGES.values():
        for interrupt in _beside_each_call():
            world = _visited_again()
            faults = Faults()
            scheduler = world.process(faults).scheduler
            interrupt(faults, partial(change, world))
            with suppress(Unavailable):
                world.tick(scheduler)
            changed_at = world.clock.now()
            _live(world, 12)
            check_times(world)
            _check_wanted(world, changed_at)


def _pause(world: World) -> object:
    return world.pause(NAME)


def _pause_and_resume(world: World) -> object:
    world.pause(NAME)
    return world.resume(NAME)


def _replace(world: World) -> object:
    return world.put_schedule(NAME, expression="*/2 * * * *", overlap="allow")


def _delete(world: World) -> object:
    world.delete_schedule(NAME)
    return None


CHANGES: dict[str, Callable[[World], object]] = {
    "paused": _pause,
    "paused and resumed": _pause_and_resume,
    "replaced": _replace,
    "deleted": _delete,
}


def another_rule_takes_effect_at_once() -> None:
    """Times within the look-ahead, made by the old rule, are decided anew by the new one."""
    world = _world()
    world.tick()
    world.advance(30)
    world.put_schedule(NAME, expression="30 * * * * *", overlap="allow")
    _live(world, 8)
    times = sorted(run.job.occurrence or START for run in world.runs)
    assert {t.second for t in times} == {30}, "a time of the old rule ran"
    assert len(times) >= 7, "times of the new rule were not made"
    check_times(world)


def a_run_lasts_longer_than_its_interval() -> None:
    """Under `skip` the next times are skipped, under `buffer_all` they wait, never two at once."""
    for policy in ("skip", "buffer_one", "buffer_all", "cancel_other"):
        world = _world(overlap=policy)

        def slow(job: Job, pulse: Pulse, world: World = world) -> Finished:
            for _ in range(10):
                world.advance(15)
                if pulse.beat(None) == "cancelled":
                    break
                world.tick()
                if len(world.runs) < 30:
                    world.deliver(slow_inside)
            return succeed(job, pulse)

        def slow_inside(job: Job, pulse: Pulse) -> Finished:
            return succeed(job, pulse)

        for _ in range(6):
            world.minute(slow)
        world.delete_schedule(NAME)
        world.settle(minutes=60)
        check_rules(world)
        check_places(world)


def a_run_dies_and_others_wait() -> None:
    """It blocks nobody for longer than its own recovery takes."""
    for policy in ("skip", "buffer_all"):
        world = _world(overlap=policy)
        died: list[str] = []

        def die_first(job: Job, pulse: Pulse, died: list[str] = died) -> Finished:
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


def who_waits_is_called() -> None:
    """As soon as a run ends, whoever waits for its place starts."""
    world = _world(overlap="buffer_all", expression="*/4 * * * *")
    waited: list[float] = []

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
    for before, after in pairwise(world.runs):
        assert before.ended_at is not None
        assert after.job.occurrence is not None
        waited.append((after.started_at - max(before.ended_at, after.job.occurrence)).seconds)
    assert waited
    assert max(waited) <= 15, f"one that waited for room began {max(waited)} s after there was"


def a_failure_pauses_its_schedule() -> None:
    """Whoever dies as it sees to that: the schedule is paused, and no later job has run."""
    probe = _failed()
    faults = Faults()
    probe.tick(probe.process(faults).scheduler)
    for number in range(1, len(faults.calls) + 1):
        for when in When:
            world = _failed()
            dying = Faults()
            dying.crash(number, when)
            with suppress(Crash):
                world.tick(world.process(dying).scheduler)
            runs = len(world.runs)
            _live(world, 10)
            schedule = world.schedules.get(NAME)
            assert schedule is not None
            assert schedule.paused_at is not None, "a failure did not pause its schedule"
            assert len(world.runs) == runs, "a job ran after the failure of the one before"


def _failed() -> World:
    world = _world(pause_on_failure=True)
    world.tick()
    world.advance(60)
    world.deliver(fail_for_good)
    assert len(world.runs) == 1
    return world


def a_job_comes_while_its_schedule_is_still_to_be_paused() -> None:
    """Until the sweep has paused the schedule for a failure, the next job waits."""
    world = _world(pause_on_failure=True)
    world.tick()
    world.advance(60)
    world.deliver(fail_for_good)
    for _ in range(8):
        world.advance(10)
        world.deliver()
    assert len(world.runs) == 1, "a job ran after the failure of the one before"


def a_schedule_is_paused() -> None:
    """What it made ahead of time does not run; what fell into the pause is dealt with once."""
    world = _world()
    world.tick()
    world.advance(90)
    world.pause(NAME)
    runs = len(world.runs)
    _live(world, 8)
    late = [run for run in world.runs[runs:] if (run.job.occurrence or START) > START + MINUTE]
    assert not late, "a paused schedule ran"
    world.resume(NAME)
    _live(world, 8)
    check_times(world)
    assert len(world.runs) > runs + 5


# --- the tools ----------------------------------------------------------------------------------


def _world(**fields: Any) -> World:
    world = World()
    body: dict[str, Any] = {"expression": "* * * * *", "overlap": "allow", **fields}
    world.put_schedule(NAME, **body)
    return world


def _visited() -> World:
    """Return a world whose next tick has something to make: two minutes later than the put."""
    world = _world()
    world.advance(130)
    return world


def _visited_again() -> World:
    world = _world()
    _live(world, 2)
    return world


def _calls(make: Callable[[], World]) -> list[Call]:
    world = make()
    faults = Faults()
    world.tick(world.process(faults).scheduler)
    return faults.calls


def _each_trouble(
    make: Callable[[], World], *, refusals: bool = True
) -> Iterator[Callable[[Faults], None]]:
    for call in _calls(make):
        if call.method in READS:
            # A death beside a read is a death beside the write before it.
            continue
        yield partial(Faults.crash, number=call.number, when=When.AFTER)
        if refusals:
            method = f"{call.port}.{call.method}"
            yield partial(Faults.crash, number=call.number, when=When.BEFORE)
            yield partial(Faults.throttle, method=method, nth=call.nth)
            yield partial(Faults.lose_answer, method=method, nth=call.nth)


def _beside_each_call() -> Iterator[Callable[[Faults, Callable[[], object]], None]]:
    """Yield what steps in before each call of a visit, and after its last."""
    calls = [call for call in _calls(_visited_again) if call.method != "read_bucket"]
    for call in calls:
        yield partial(_step_in, call=call)


def _step_in(faults: Faults, step: Callable[[], object], *, call: Call) -> None:
    faults.interrupt(f"{call.port}.{call.method}", step, nth=call.nth)


def _live(world: World, minutes: int) -> None:
    for _ in range(minutes):
        world.minute()


def journal_of(world: World) -> list[JournalEntry]:
    """Return all that is on record of the schedule, oldest first."""
    schedule = world.schedules.get(NAME)
    assert schedule is not None
    pages = world.schedules.read_journal(NAME, before=None, limit=100)
    own = [entry for page in pages for entry in page.entries]
    known = {(entry.first, entry.salt) for entry in own}
    own += [entry for entry in schedule.journal if (entry.first, entry.salt) not in known]
    return sorted(own, key=lambda entry: entry.first)


def check_times(world: World) -> None:
    """Each nominal time up to the cursor is on record once; each that was made has one job."""
    check_rules_but_for_what_is_to_come(world)
    schedule = world.schedules.get(NAME)
    assert schedule is not None
    journal = journal_of(world)
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


def check_rules_but_for_what_is_to_come(world: World) -> None:
    """As `check_rules`, for a world whose schedule goes on: of its jobs some are still to run."""
    for job in world.store.jobs().values():
        if job.due_at is None:
            assert job.status.is_final
        else:
            assert job.due_at >= world.clock.now() - 2 * MINUTE, f"{job.occurrence} did not run"


def _check_punctual(world: World) -> None:
    for run in world.runs:
        assert run.job.occurrence is not None
        if run.job.occurrence <= START + 3 * MINUTE:
            # It was due before anybody looked.
            continue
        late = run.started_at - run.job.occurrence
        assert late <= LATE_AFTER, f"{run.job.occurrence} began {late} late"


def _check_wanted(world: World, changed_at: datetime) -> None:
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
