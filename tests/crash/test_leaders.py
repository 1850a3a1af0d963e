"""Leaders that meet, pause, die and come late: duplicates at worst, never a lost or late job."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.ticks.leases import LEADER
from hourhand.domain.ticks.timings import Timings
from hourhand.services.ticks.tick import TickReport
from hourhand.settings import DispatchMode
from hourhand.testing import Crash
from tests.scenarios.steps import die, world_with_jobs_to_dispatch
from tests.world.checks import check_world
from tests.world.faults import Faults
from tests.world.runs import HandlerKilled, kill_process
from tests.world.world import World


def test_two_leaders_at_once_send_twice_and_every_job_runs_once() -> None:
    world = world_with_jobs_to_dispatch()
    faults = Faults()
    slow = world.process(faults).scheduler

    successor: list[TickReport] = []

    def overtake() -> None:
        world.advance(40)
        successor.append(world.tick())
        world.advance(1)

    faults.interrupt("queues.send", overtake)
    assert world.tick(slow).dispatched == 3
    assert [report.dispatched for report in successor] == [3]
    assert len(world.queues.messages()) == 6
    assert world.telemetry.total("marks_refused") == 3
    world.settle()
    check_world(world)
    assert len(world.runs) == 3


def test_a_follower_steps_back_and_says_who_leads() -> None:
    world = world_with_jobs_to_dispatch()
    faults = Faults()
    reports: list[TickReport] = []
    faults.interrupt("jobs.read_bucket", lambda: reports.append(world.tick()))
    leader = world.tick(world.process(faults).scheduler)
    (follower,) = reports
    assert (follower.led, follower.entries, follower.dispatched) == (False, 0, 0)
    assert (follower.holder, follower.epoch) == (leader.holder, leader.epoch)
    assert world.telemetry.total("elections_followed") == 1


def test_a_leader_that_lost_its_lease_stops_and_leaves_its_successors_work_alone() -> None:
    world = world_with_jobs_to_dispatch()
    faults = Faults()
    late = world.process(faults).scheduler
    successor: list[TickReport] = []

    def overtake() -> None:
        world.advance(33)
        successor.append(world.tick())

    faults.interrupt("jobs.read_bucket", overtake, nth=3)
    report = world.tick(late)
    assert successor[0].led
    assert successor[0].epoch == report.epoch + 1
    assert not report.completed
    assert [c.method for c in faults.calls].count("read_bucket") == 3
    assert world.telemetry.total("leases_lost") == 1
    assert world.telemetry.total("watermark_refused") == 1
    assert "release_lease" not in {call.method for call in faults.calls}


def test_a_leader_that_lost_its_lease_does_not_give_up_the_lease_of_another() -> None:
    world = world_with_jobs_to_dispatch()
    faults, holding = Faults(), Faults()
    late, second = world.process(faults).scheduler, world.process(holding).scheduler
    holding.interrupt("jobs.read_bucket", partial(die, holding))

    def overtake() -> None:
        world.advance(33)
        with suppress(Crash):
            world.tick(second)

    faults.interrupt("jobs.read_bucket", overtake, nth=2)
    world.tick(late)
    lease = world.control.read_lease(LEADER)
    assert lease is not None
    assert lease.epoch == 2


def test_a_dead_leaders_lease_is_taken_over_by_the_next_tick() -> None:
    world = world_with_jobs_to_dispatch()
    faults = Faults()
    faults.interrupt("jobs.read_bucket", partial(die, faults))
    with suppress(Crash):
        world.tick(world.process(faults).scheduler)
    assert not world.tick().led
    world.advance(60)
    report = world.tick()
    assert (report.led, report.epoch, report.dispatched) == (True, 2, 3)
    assert world.telemetry.total("hand_offs") == 1


def test_a_hand_off_is_measured_from_the_last_tick_that_ended() -> None:
    world = world_with_jobs_to_dispatch()
    world.tick()
    world.advance(60)
    assert [m for m in world.telemetry.metrics if m.metric == "hand_off_ms"] == []
    world.submit(delay_seconds=100)
    faults = Faults()
    faults.interrupt("jobs.read_bucket", partial(die, faults))
    with suppress(Crash):
        world.tick(world.process(faults).scheduler)
    world.advance(60)
    assert world.tick().led
    (measured,) = [m for m in world.telemetry.metrics if m.metric == "hand_off_ms"]
    assert measured.value == 120_000


def test_a_leader_gives_its_lease_up_where_a_table_does_not_answer() -> None:
    world = world_with_jobs_to_dispatch()
    faults = Faults()
    faults.throttle("control.read_watermark")
    with pytest.raises(Unavailable):
        world.tick(world.process(faults).scheduler)
    assert world.control.read_lease(LEADER) is None


def _lateness_around_a_dead_leader(
    timings: Timings, dispatch: DispatchMode = DispatchMode.SINGLE
) -> list[float]:
    """Let a leader die 50 s into its tick, lose a tick, and let the next be 20 s late.

    One job is due every seven seconds; all were submitted long before. Returns by how many
    seconds each was late.
    """
    world = World(timings=timings, dispatch=dispatch)
    for second in range(900, 1800, 7):
        world.submit(delay_seconds=second)
    faults = Faults()
    dying = world.process(faults).scheduler

    def live(seconds: int) -> None:
        for _ in range(seconds):
            world.deliver()
            world.advance(1)

    for _ in range(15):
        world.tick()
        live(60)
    # Slow, but alive and renewing its lease, until it dies 50 seconds into its tick.
    faults.interrupt("jobs.read_bucket", lambda: live(25), nth=1)
    faults.interrupt("jobs.read_bucket", lambda: live(25), nth=2)
    faults.interrupt("jobs.read_bucket", partial(die, faults), nth=3)
    with suppress(Crash):
        world.tick(dying)
    live(10)
    assert not world.tick().led, "the dead leader's lease is not over yet"
    live(60)
    # This tick was lost; the next one comes 20 seconds late.
    live(80)
    assert world.tick().led
    live(10)
    for _ in range(15):
        world.tick()
        live(60)
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}
    return [(run.started_at - run.job.run_at).total_seconds() for run in world.runs]


@pytest.mark.parametrize("dispatch", [DispatchMode.SINGLE, DispatchMode.ECONOMY])
def test_no_job_seen_ahead_of_time_is_late_when_a_leader_dies(dispatch: DispatchMode) -> None:
    assert max(_lateness_around_a_dead_leader(Timings(), dispatch)) == 0


def test_a_shorter_look_ahead_would_make_jobs_late_when_a_leader_dies() -> None:
    timings = Timings(look_ahead=timedelta(seconds=180))
    assert max(_lateness_around_a_dead_leader(timings)) == pytest.approx(80, abs=7)


def test_after_an_outage_of_a_day_one_tick_finds_everything() -> None:
    world = World()
    world.tick()
    lost = world.submit()
    with suppress(HandlerKilled):
        world.deliver(kill_process)
    for half_hour in range(1, 49):
        world.submit(delay_seconds=1800 * half_hour)
    world.queues.purge()
    world.advance(timedelta(days=1, minutes=1).total_seconds())
    report = world.tick()
    assert report.completed
    assert report.dispatched == 48
    world.deliver()
    assert world.job(lost).attempt == 2
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}


def test_the_first_tick_of_all_finds_what_was_due_since_a_day() -> None:
    world = World(timings=Timings())
    world.submit(delay_seconds=400)
    world.submit()
    world.queues.purge()
    # Deployed with a rule that was disabled, and nobody noticed.
    world.advance(timedelta(hours=23).total_seconds())
    assert world.tick().dispatched == 2
    world.settle()
    check_world(world)


def test_a_leader_gives_its_lease_up_at_its_end_so_that_another_may_lead_at_once() -> None:
    world = World()
    world.tick()
    world.advance(5)
    assert world.tick().led
