"""Killers that look at what the sweep sees: no job is ever where it does not look."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks import watermark
from hourhand.domain.ticks.buckets import bucket_end, bucket_of
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START
from hourhand.ports.job_store import IndexPage
from hourhand.services.ticks import sweep
from hourhand.testing import Faults, make_job
from proof.mutants.rules import check_rules
from tests.crash.steps import BESIDE, payload_near_its_end, undecidable
from tests.world.checks import assert_nothing_is_out_of_sight
from tests.world.runs import HandlerKilled, kill_process
from tests.world.world import World


def low_of(world: World) -> int:
    """Return the watermark."""
    state = world.control.read_watermark()
    assert state is not None
    return state.low


def ticks(world: World, minutes: int, *, every: float = 60) -> Callable[[], None]:
    """Return what lets minutes pass with a tick in each."""

    def pass_by() -> None:
        for _ in range(minutes):
            world.advance(every)
            world.tick()

    return pass_by


def stuck_jobs_stay_in_sight() -> None:
    """Buckets in which something is left join the open set; the watermark goes on."""
    for lag in (0, 40):
        world = World(index_lag=timedelta(seconds=lag), max_receives=1000)
        stuck = set()
        for minute in range(40):
            job = world.submit(delay_seconds=minute % 7 * 20)
            if minute % 9 == 0:
                stuck.add(job.id)
            world.tick()
            assert_nothing_is_out_of_sight(world)
            world.advance(45)
            for delivery in world.receive():
                if delivery.message.job_id not in stuck:
                    world.handle(delivery)
            world.advance(15)
        assert bucket_of(world.clock.now()) - low_of(world) <= 4, "the watermark stands still"
        world.settle(minutes=240)
        world.advance(lag)
        check_rules(world)


def open_buckets_are_closed_once_they_are_empty() -> None:
    """Else they would be read for ever."""
    world = World()
    job = world.submit()
    ticks(world, 15)()
    state = world.control.read_watermark()
    assert state is not None
    assert set(state.open) == {bucket_of(START)}, "the bucket of a stuck job is not open"
    world.api.operations.cancel(job.id, actor="caller")
    ticks(world, 15)()
    state = world.control.read_watermark()
    assert state is not None
    assert not state.open, "an empty bucket is still open"


def a_writer_is_late_and_the_index_lags() -> None:
    """Within the bounds that are stated, whenever the ticks come, nothing is passed by."""
    for second_look in (46, 47, 48, 52, 60, 70):
        for first_look in (0, 1, 3, 6, 30, 59, 61):
            _late_writer(Timings().index_lag, first_look, second_look)


def an_index_lags_longer_than_is_stated() -> None:
    """Two looks, a gap apart: that makes good for nearly twice the lag."""
    for second_look in (10, 20, 48, 60):
        for first_look in (30, 61, 62, 75, 90):
            _late_writer(timedelta(seconds=95), first_look, second_look)


def _late_writer(lag: timedelta, first_look: float, second_look: float) -> None:
    """File a job five seconds late, in a bucket that ended; tick so and so long after its end."""
    world = World(index_lag=lag)
    ticks(world, 4)()
    end = bucket_end(bucket_of(world.clock.now()))
    world.advance_to(end - timedelta(milliseconds=100))
    faults = Faults()
    looked: list[float] = []

    def stand_still() -> None:
        if first_look < 4.5:
            world.advance_to(end + timedelta(seconds=first_look))
            world.tick()
            looked.append(first_look)
        world.advance_to(end + timedelta(seconds=4.8))

    faults.interrupt("jobs.put", stand_still)
    world.submit(by=world.process(faults).api)
    world.queues.purge()
    looks = [first_look, first_look + second_look, first_look + second_look + 61]
    for after_end in looks[len(looked) :]:
        world.advance_to(max(world.clock.now(), end + timedelta(seconds=after_end)))
        world.tick()
        world.queues.purge()
        assert_nothing_is_out_of_sight(world)


def a_bucket_cannot_be_read() -> None:
    """What was not read to its end proves nothing about what is in it."""
    world = World()
    ticks(world, 3)()
    world.submit()
    world.queues.purge()
    unreadable = bucket_of(world.clock.now())
    answer = world.store.read_bucket

    def read_bucket(bucket: int, shard: int, **options: Any) -> IndexPage:
        if bucket == unreadable:
            raise Unavailable("This bucket does not answer.")
        return answer(bucket, shard, **options)

    world.store.read_bucket = read_bucket  # type: ignore[method-assign]
    ticks(world, 20)()
    assert_nothing_is_out_of_sight(world)
    world.store.read_bucket = answer  # type: ignore[method-assign]
    world.settle(minutes=30)
    check_rules(world)


def a_bucket_has_many_pages() -> None:
    """Every page is read, to the last."""
    sweep.PAGE_ENTRIES = 2
    world = World()
    for _ in range(7):
        world.submit()
    world.queues.purge()
    world.advance(61)
    world.tick()
    assert len(world.queues.messages()) == 7, "a page was not read"
    world.settle()
    check_rules(world)


def an_installation_waits_a_day_for_its_first_tick() -> None:
    """What was due meanwhile is found by it."""
    world = World(timings=Timings())
    world.submit(delay_seconds=400)
    world.submit()
    world.queues.purge()
    world.advance(timedelta(hours=23).total_seconds())
    world.settle(minutes=3)
    check_rules(world)


def a_job_lies_behind_the_sweep() -> None:
    """The deep re-read of the last day comes round every six hours."""
    world = World()
    ticks(world, 10)()
    due_at = world.clock.now() - timedelta(hours=5)
    world.store.put(make_job(id="misfiled", run_at=due_at, created_at=due_at))
    for _ in range(6 * 60 + 2):
        world.advance(60)
        world.tick()
        world.deliver()
    assert world.job("misfiled").status is JobStatus.SUCCEEDED, "it was not found in six hours"


def an_old_open_bucket_loses_a_message() -> None:
    """It is read again, less and less often, but always."""
    world = World()
    world.submit()
    for _ in range(100):
        world.queues.purge()
        world.advance(60)
        world.tick()
    for _ in range(35):
        world.minute()
    assert len(world.runs) == 1, "an open bucket was not read again in half an hour"


def a_backlog_of_open_buckets_is_not_read_every_minute() -> None:
    """Old open buckets are read less often as they age: a backlog must not cost a read each."""
    world = World(max_receives=1000)
    for minute in range(90):
        world.submit()
        ticks(world, 1)()
        assert minute < 90
    answer, reads = world.store.read_bucket, 0

    def read_bucket(bucket: int, shard: int, **options: Any) -> IndexPage:
        nonlocal reads
        reads += 1
        return answer(bucket, shard, **options)

    # Those that are read side by side are counted, too: the store reads them one by one.
    world.store.read_bucket = read_bucket  # type: ignore[method-assign]
    for _ in range(10):
        world.advance(60)
        world.tick()
    assert reads < 10 * 40, f"{reads / 10} reads a tick"


def an_odd_job_lies_among_others() -> None:
    """A job about which nothing can be decided is left and told; the others of its page are sent.

    Its time has no zone, so that it cannot be compared with any other.
    """
    world = World()
    jobs = [world.submit(id=f"job-{n}", delay_seconds=400) for n in range(5)]
    world.advance(200)
    with undecidable(world, "job-2"):
        world.tick()
    sent = [world.job(job).is_sent for job in jobs]
    assert sent == [True, True, False, True, True], "an odd job holds up its neighbours"
    world.telemetry.logs.clear()
    world.telemetry.metrics.clear()
    world.settle()
    check_rules(world)


def what_is_optional_is_refused() -> None:
    """Ages of queues, the time of SQS, the number of the dead: a tick does without any of them."""
    for error in (OSError("AccessDenied"), KeyError("Values"), Unavailable()):
        world = World()
        jobs = [world.submit() for _ in range(3)]
        world.queues.purge()
        world.advance(61)
        faults = Faults()
        for method in ("queues.view", "queues.probe_time", "jobs.count_dead"):
            faults.fail(method, error, times=99)
        try:
            world.tick(world.process(faults).scheduler)
        except type(error) as raised:
            raise AssertionError("what is optional ends the tick") from raised
        again = [world.job(job).enqueued_at == world.clock.now() for job in jobs]
        assert again == [True] * 3, "what is optional ends the page"


def a_worker_and_its_message_are_lost() -> None:
    """Nothing but the sweep knows of the job then: it recovers it by its lease."""
    world = World()
    world.submit()
    with suppress(HandlerKilled):
        world.deliver(kill_process)
    world.queues.purge()
    world.settle()
    check_rules(world)
    assert len(world.runs) == 2


def a_job_waits_longer_than_its_payload_is_kept() -> None:
    """What lies beside a job that waits is renewed by whoever reads the job."""
    world = World()
    job = world.submit(payload=BESIDE, delay_seconds=330)
    payload_near_its_end(world)
    before = world.job(job).payload_kept_until
    world.tick()
    after = world.job(job).payload_kept_until
    assert before is not None
    assert after is not None
    assert after > before, "the payload of a job that waits is not kept longer"


def a_job_is_put_off_as_its_payload_is_renewed() -> None:
    """Whoever renews it for an earlier time does not let it end, or say that it ends, sooner."""
    for method in ("jobs.extend_text", "jobs.transition"):
        world = World()
        job = world.submit(payload=BESIDE, delay_seconds=330)
        payload_near_its_end(world)
        faults = Faults()
        faults.interrupt(method, partial(_put_off_by_a_year, world, job))
        world.tick(world.process(faults).scheduler)
        after = world.job(job)
        assert after.payload_kept_until is not None
        assert after.payload_kept_until > after.run_at, "the job forgets how long its payload lasts"
        (text,) = world.store.kept_texts(job.id).values()
        assert text.keep_until > after.run_at, "the payload ends before the job begins"


def _put_off_by_a_year(world: World, job: Job) -> None:
    world.change(job, delay_seconds=timedelta(days=365).total_seconds())


def jobs_are_back_below_the_watermark() -> None:
    """After a restore: a resweep reads from its time on, finds what is there, and ends."""
    world = World()
    ticks(world, 30)()
    job = _restored(world, minutes_ago=25)
    ticks(world, 5)()
    assert not world.job(job).is_sent, "it was found without a resweep: this shows nothing"
    world.api.resweeps.request(world.clock.now() - timedelta(minutes=40))
    ticks(world, 2)()
    assert_nothing_is_out_of_sight(world)
    assert world.job(job).is_sent, "a job below the watermark was not found"
    world.settle(minutes=30)
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.api.resweeps.progress().state == "done", "the resweep never ends"


def the_index_shows_late_what_is_back_below_the_watermark() -> None:
    """A bucket is closed by two looks after the request, not by one and one of before."""
    world = World(index_lag=timedelta(seconds=40))
    ticks(world, 30)()
    world.advance(45)
    world.api.resweeps.request(world.clock.now() - timedelta(minutes=40))
    job = _restored(world, minutes_ago=25)
    ticks(world, 1, every=5)()
    ticks(world, 6)()
    assert_nothing_is_out_of_sight(world)
    assert world.job(job).is_sent, "a bucket was closed that the index showed late"


def a_job_is_lost_while_a_long_resweep_is_under_way() -> None:
    """What becomes older than the last minutes meanwhile does not wait until it is done."""
    watermark.MAX_BACKLOG_PER_SWEEP = 60
    world = World()
    ticks(world, 30)()
    world.api.resweeps.request(world.clock.now() - timedelta(days=1))
    ticks(world, 2)()
    job = world.submit(retry={"max_attempts": 3})
    for _ in range(15):
        world.queues.purge()
        ticks(world, 1)()
    assert world.api.resweeps.progress().state == "running", "it is over: this shows nothing"
    before = world.store.moves_of(job.id).count("redispatch_mark")
    for _ in range(25):
        world.queues.purge()
        ticks(world, 1)()
    after = world.store.moves_of(job.id).count("redispatch_mark")
    assert world.api.resweeps.progress().state == "running", "it is over: this shows nothing"
    assert after > before, "a lost job waits for the end of a resweep"


def an_older_bucket_has_many_pages() -> None:
    """Of several that are read side by side each is read to its last page."""
    sweep.PAGE_ENTRIES = 2
    world = World(timings=Timings(first_look_back=timedelta(hours=1)))
    for minute in range(4):
        for _ in range(1 + 2 * minute):
            world.submit(delay_seconds=400)
        world.advance(60)
    # No tick until they are all older than the minutes that are read one by one.
    world.advance(400 + 12 * 60)
    world.tick()
    left = [job.id for job in world.unfinished() if not job.is_sent]
    assert not left, f"{len(left)} jobs of older buckets were not read"


def _restored(world: World, *, minutes_ago: float) -> Job:
    """Put a job back that was due then, as a restore does."""
    due_at = world.clock.now() - timedelta(minutes=minutes_ago)
    job = make_job(id="restored", created_at=due_at, run_at=due_at, due_at=due_at, handler="greet")
    world.store.put(job)
    return job
