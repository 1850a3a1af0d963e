"""Killers that look at the clock: nothing may begin early, and nothing late for another's death."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Outgoing
from hourhand.testing import Crash, Faults, When
from proof.mutants.rules import check_rules
from tests.crash.steps import world_with_jobs_to_dispatch
from tests.world.runs import HandlerKilled, fail, kill_process, succeed
from tests.world.world import World

EARLY_STEP = 0.05
"""Seconds between two looks for messages, where fractions of a second count."""


def lateness_of(world: World) -> list[float]:
    """Return by how many seconds each run was late."""
    assert all(run.job.due_at is not None for run in world.runs)
    return [(run.started_at - (run.job.due_at or START)).total_seconds() for run in world.runs]


def a_leader_dies_and_the_next_tick_is_lost() -> None:
    """No job that was seen ahead of time is late for it."""
    world = World()
    for second in range(900, 1500, 7):
        world.submit(delay_seconds=second)
    faults = Faults()
    dying = world.process(faults).scheduler

    def live(seconds: int) -> None:
        for _ in range(seconds):
            world.deliver()
            world.advance(1)

    def die() -> None:
        faults.is_crashed = True
        raise Crash

    for _ in range(13):
        world.tick()
        live(60)
    # Slow, but alive and renewing its lease, until it dies fifty seconds into its tick.
    faults.interrupt("jobs.read_bucket", lambda: live(25), nth=1)
    faults.interrupt("jobs.read_bucket", lambda: live(25), nth=2)
    faults.interrupt("jobs.read_bucket", die, nth=3)
    with suppress(Crash):
        world.tick(dying)
    live(10)
    world.tick()
    live(60)
    # This tick is lost; the next one comes twenty seconds late.
    live(80)
    for _ in range(10):
        world.tick()
        live(60)
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}
    assert max(lateness_of(world)) == 0, f"a job began {max(lateness_of(world))} s late"


def jobs_due_at_fractions_of_a_second() -> None:
    """No job is early, and none is later than its delay was rounded up by."""
    fractions = (0.5, 1.3, 2.9, 30.25, 305.25, 306.9)
    for seconds, rounding in itertools.product(fractions, (0.0, 0.5, 0.999)):
        timings = Timings(first_look_back=timedelta(minutes=15))
        world = World(timings=replace(timings, delay_rounding=timedelta(seconds=rounding)))
        world.submit(delay_seconds=seconds)
        while world.clock.monotonic() < seconds + 3:
            if world.clock.monotonic() % 60 < EARLY_STEP:
                world.tick()
            world.deliver()
            world.advance(EARLY_STEP)
        (late,) = lateness_of(world)
        most = rounding + 2 * EARLY_STEP
        assert 0 <= late < most, f"a job due in {seconds} s began {late} s late"


def a_message_comes_early() -> None:
    """A message that SQS delivers long before its time goes back for the rest, rounded down."""
    world = World()
    world.submit(delay_seconds=30.4)
    (sent,) = world.queues.messages()
    sent.visible_at = START
    for _ in range(int(40 / EARLY_STEP)):
        world.deliver()
        world.advance(EARLY_STEP)
    assert [round(late, 1) <= 0.1 for late in lateness_of(world)] == [True]
    assert sent.receive_count <= 3, "the message went round and round"


def a_job_is_due_between_two_ticks() -> None:
    """Whoever makes it due sends its message: nobody waits for the next tick."""
    world = World()
    world.tick()
    world.advance(5)
    world.submit()
    later = world.submit(delay_seconds=7200)
    world.api.operations.run_now(later.id, actor="caller")
    world.deliver(lambda job, pulse: (fail if job.token == 1 else succeed)(job, pulse))
    for _ in range(40):
        world.advance(0.1)
        world.deliver()
    assert len(world.runs) == 4, "somebody waits for the next tick"
    assert max(lateness_of(world)) <= 0.2, f"a job began {max(lateness_of(world))} s late"


def a_message_is_lost() -> None:
    """It is missed a minute after the job was due, and sent again."""
    world = World()
    world.submit()
    world.queues.purge()
    for _ in range(4):
        world.minute()
    assert lateness_of(world), "the job never began"
    assert max(lateness_of(world)) <= 130, f"the job began {max(lateness_of(world))} s late"


def a_message_older_than_all_others_is_lost() -> None:
    """What was sent before the oldest message there is must have been lost: it is sent again."""
    world = World()
    lost = world.submit()
    world.queues.purge()
    world.advance(1)
    world.submit()
    for _ in range(3):
        world.advance(60)
        world.tick()
    assert len(_sent_for(world, lost)) == 1, "the lost message was not sent again"


def a_message_is_lost_behind_a_backlog() -> None:
    """A queue whose oldest message explains the wait does so for half an hour, not for ever."""
    world = World()
    world.submit()
    world.advance(1)
    lost = world.submit()
    (gone,) = _sent_for(world, lost)
    del world.queues._contents.messages[gone]
    for _ in range(40):
        world.advance(60)
        world.tick()
    assert _sent_for(world, lost), "the lost message was never sent again"


def a_backlog_is_not_made_longer() -> None:
    """While the queue explains the wait, nothing is sent again."""
    world = World()
    for _ in range(5):
        world.submit()
    for _ in range(25):
        world.advance(60)
        world.tick()
    assert len(world.queues.messages()) == 5, "a backlog was made longer"


def messages_are_lost_again_and_again() -> None:
    """The waits double: a job whose messages all vanish costs ever fewer."""
    world = World()
    world.submit()
    for _ in range(60):
        world.queues.purge()
        world.advance(60)
        world.tick()
    sent = sum(change.name == "redispatch_mark" for change in world.store.changes)
    assert 4 <= sent <= 8, f"{sent} messages were sent within an hour"


def a_low_job_waits_for_hours() -> None:
    """It goes to `medium` after an hour, to `high` after two, and keeps its own priority."""
    world = World()
    job = world.submit(priority="low")
    for _ in range(190):
        world.advance(60)
        world.tick()
    raised = {c.after.queue: c.at - START for c in reversed(world.store.changes)}
    assert set(raised) == {"low", "medium", "high"}, "it was not raised"
    assert timedelta(hours=1) <= raised[world.job(job).queue.MEDIUM] <= timedelta(hours=1.6)
    assert timedelta(hours=2) <= raised[world.job(job).queue.HIGH] <= timedelta(hours=2.6)
    assert {m.queue for m in world.queues.messages()} == {"low", "medium", "high"}
    world.settle()
    check_rules(world)
    assert len(world.runs) == 1


def one_entry_of_a_batch_is_refused() -> None:
    """It alone stays unmarked, and the next tick sends it, in time."""
    world = World()
    jobs = [world.submit(delay_seconds=400) for _ in range(3)]
    refused = jobs[1].id
    world.advance(200)

    def refuse(outgoing: Outgoing) -> str | None:
        return "InternalError" if outgoing.message.job_id == refused else None

    world.queues.behaviour.refuses = refuse
    world.tick()
    world.queues.behaviour.refuses = lambda _: None
    assert len(world.queues.messages()) == 2
    world.advance(60)
    world.settle()
    check_rules(world)
    assert max(lateness_of(world)) <= 10, "a refused entry made its job late"


def a_dispatched_job_is_not_sent_at_every_tick() -> None:
    """What is marked as sent is not sent again before it is missed."""
    world = World()
    for _ in range(3):
        world.submit(delay_seconds=400)
    world.advance(150)
    for _ in range(4):
        world.tick()
        world.advance(60)
    assert len(world.queues.messages()) == 3, "a message was sent more than once"


def the_queue_refuses_a_submission() -> None:
    """The next tick sends what the queue did not accept, without the wait for a lost message."""
    world = World()
    world.queues.behaviour.refuses = lambda _: "InternalError"
    world.submit()
    world.queues.behaviour.refuses = lambda _: None
    world.tick()
    world.deliver()
    assert lateness_of(world) == [0], "the message was not sent by the next tick"


def sleeps_end_early() -> None:
    """A worker that is woken too early does not claim: the condition names the time."""
    world = World()
    clock = world.clock.view(timedelta(0))
    worker = world.process(clock=clock).worker
    clock.sleep = lambda seconds: world.advance(seconds / 10)  # type: ignore[method-assign]
    world.submit(delay_seconds=1.9)
    world.advance(1)
    world.deliver(succeed, worker)
    world.settle()
    check_rules(world)
    assert min(lateness_of(world)) >= 0, "a job began before it was due"


def the_answer_to_a_failure_is_lost() -> None:
    """Whoever knows its own write again goes on with what follows: the retry is sent."""
    world = World()
    world.submit()
    faults = Faults()
    faults.lose_answer("jobs.transition", nth=2)
    world.deliver(fail, world.process(faults).worker)
    for _ in range(4):
        world.advance(1)
        world.deliver()
    assert len(world.runs) == 2, "the retry waits for a sweep"
    world.settle()
    check_rules(world)


def a_scheduler_dies_as_it_dispatches() -> None:
    """Whatever it did by then, the next tick makes good before the jobs are due."""
    for number in range(1, _calls_of_a_dispatch() + 1):
        world = world_with_jobs_to_dispatch()
        faults = Faults()
        faults.crash(number, When.AFTER)
        with suppress(Crash):
            world.tick(world.process(faults).scheduler)
        world.advance(60)
        world.settle()
        check_rules(world)
        late = max(lateness_of(world))
        assert late <= 10, f"killed after call {number}: a job began {late} s late"


def _calls_of_a_dispatch() -> int:
    world = world_with_jobs_to_dispatch()
    faults = Faults()
    world.tick(world.process(faults).scheduler)
    return len(faults.calls)


def _sent_for(world: World, job: Job) -> list[str]:
    """Return the messages that are under way for a job, by their ids."""
    return [m.message_id for m in world.queues.messages() if m.message.job_id == job.id]


def a_worker_dies_and_no_scheduler_runs() -> None:
    """A redelivered message claims at once: visibility lasts longer than the lease."""
    world = World()
    world.submit()
    with suppress(HandlerKilled):
        world.deliver(kill_process)
    for _ in range(61):
        world.advance(1)
        world.deliver()
    assert [run.started_at for run in world.runs[1:]] == [START + timedelta(seconds=60)]


def a_message_meets_its_live_owner_who_then_dies() -> None:
    """The refused message is the crash recovery: it comes back when the lease is over."""
    world = World()
    world.submit()
    faults = Faults()
    faults.throttle("queues.hide", nth=2, times=99)
    owner = world.process(faults).worker

    def live_for_a_minute(_job: Job, pulse: Pulse) -> Finished:
        for _ in range(4):
            world.advance(15.5)
            assert pulse.beat(None) == "alive"
        world.deliver()
        raise HandlerKilled

    (delivery,) = world.receive()
    with suppress(HandlerKilled):
        world.handle(delivery, live_for_a_minute, owner)
    assert len(world.runs) == 1
    receives = 0
    while len(world.runs) == 1 and world.clock.monotonic() < 150:
        world.advance(1)
        deliveries = world.receive()
        receives += len(deliveries)
        for each in deliveries:
            world.handle(each, succeed)
    assert len(world.runs) == 2, "nobody ran the job again, for want of its message"
    assert receives <= 2, f"the message came {receives} times before the lease was over"
