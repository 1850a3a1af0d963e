"""One read that finds what is due and what is stuck, and what is done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.errors import TooLarge, Unavailable
from hourhand.domain.jobs.actions import Action, SweepContext, next_action
from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.domain.jobs.pauses import NO_PAUSES, PUT_OFF_AFTER, PUT_OFF_BY
from hourhand.domain.jobs.transitions import keep_payload
from hourhand.domain.jobs.waiting import WaitKind, WaitsFor
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.times import rfc3339
from hourhand.memory import START, MemoryQueues
from hourhand.ports import Found
from hourhand.ports.queues import Outgoing
from hourhand.services.ticks import sweep as sweep_module
from hourhand.services.ticks.dispatch import InTurn
from hourhand.services.ticks.sweep import Sweep
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import HandlerKilled, fail_for_good, kill_process
from tests.world.world import World

NOW = bucket_of(START)
SECOND = timedelta(seconds=1)


def _sweep(world: World, faults: Faults | None = None, pages: int = 1000) -> Sweep:
    """Return a sweep at the present time that may read so many pages."""
    process = world.process(faults)
    scheduling = process.scheduler.scheduling
    left = iter(range(pages))
    now = world.clock.now()
    return Sweep(
        jobs=scheduling.jobs,
        queues=scheduling.queues,
        dispatcher=scheduling.dispatcher,
        recovery=scheduling.recovery,
        parking=scheduling.parking,
        rechecks=scheduling.rechecks,
        telemetry=world.telemetry,
        judgement=SweepContext(now, now + world.timings.look_ahead, world.timings),
        may_go_on=lambda: next(left, None) is not None,
    )


def _kill(world: World) -> None:
    with pytest.raises(HandlerKilled):
        world.deliver(kill_process)


# --- reading ------------------------------------------------------------------------------------


def test_a_shard_is_read_to_its_last_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module, "PAGE_ENTRIES", 2)
    for n in range(5):
        world.store.put(make_job(id=f"job-{n}"))
    faults = Faults()
    sweep = _sweep(world, faults)
    assert sweep.read_shard(NOW, 0) is True
    assert [call.method for call in faults.calls].count("read_bucket") == 3
    assert (sweep.counts.entries, sweep.counts.dispatched) == (5, 5)


def test_an_empty_shard_shows_nothing(world: World) -> None:
    assert _sweep(world).read_shard(NOW, 0) is False


def test_a_sweep_that_may_not_go_on_says_that_it_did_not_see_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_module, "PAGE_ENTRIES", 2)
    for n in range(5):
        world.store.put(make_job(id=f"job-{n}"))
    sweep = _sweep(world, pages=2)
    assert sweep.read_shard(NOW, 0) is None
    assert sweep.counts.entries == 4


def test_a_shard_without_end_is_left_at_its_bound(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_module, "PAGE_ENTRIES", 1)
    monkeypatch.setattr(sweep_module, "MAX_PAGES", 3)
    for n in range(5):
        world.store.put(make_job(id=f"job-{n}"))
    assert _sweep(world).read_shard(NOW, 0) is None


@pytest.mark.parametrize("method", ["jobs.read_bucket", "jobs.get_many"])
def test_a_shard_that_cannot_be_read_is_told_and_keeps_no_other_waiting(
    world: World, method: str
) -> None:
    world.store.put(make_job())
    faults = Faults()
    faults.throttle(method)
    sweep = _sweep(world, faults)
    assert sweep.read_shard(NOW, 0) is None
    assert sweep.counts.failures == 1
    assert sweep.read_shard(NOW, 0) is True
    assert sweep.counts.dispatched == 1


def test_an_item_that_cannot_be_read_as_a_job_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("damaged", "ours", "gone"):
        world.store.put(make_job(id=name))
    plain = world.store.get_many

    def read_many(job_ids: Sequence[str]) -> Found[str, Job]:
        if "damaged" in job_ids:
            raise ValueError("unknown layout 9")
        return plain([job_id for job_id in job_ids if job_id != "gone"])

    monkeypatch.setattr(world.store, "get_many", read_many)
    sweep = _sweep(world)
    assert sweep.read_shard(NOW, 0) is True
    assert (sweep.counts.dispatched, sweep.counts.failures) == (1, 1)
    (line,) = world.telemetry.logs
    assert line.fields == {"reason": "ValueError: unknown layout 9", "job_id": "damaged"}


def test_a_job_that_cannot_be_dispatched_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bad", "good"):
        world.store.put(make_job(id=name))
    sweep = _sweep(world)
    send = sweep.queues.send

    def refuse_the_bad(outgoing: Sequence[Outgoing]) -> list[str | None]:
        if any(each.message.job_id == "bad" for each in outgoing):
            raise ValueError("a character that SQS does not take")
        return send(outgoing)

    monkeypatch.setattr(world.queues, "send", refuse_the_bad)
    sweep = _sweep(world)
    assert sweep.read_shard(NOW, 0) is True
    assert (sweep.counts.dispatched, sweep.counts.failures) == (1, 1)


def test_a_job_that_cannot_be_repaired_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit(retry={"max_attempts": 1})
    world.submit()

    def refuse(_: MemoryQueues, body: str, *, tenant: str | None) -> None:
        raise TooLarge("the letter is not taken")

    monkeypatch.setattr(MemoryQueues, "send_dead_letter", refuse)
    with pytest.raises(TooLarge):
        world.deliver(fail_for_good)
    world.queues.purge()
    world.advance(70)
    report = world.tick()
    assert (report.failures, report.dispatched) == (1, 1)


def test_a_look_at_a_shard_acts_on_nothing(world: World) -> None:
    world.store.put(make_job(id="job-1"))
    sweep = _sweep(world)
    assert (sweep.peek(NOW, 0), sweep.peek(NOW + 1, 0)) == (True, False)
    assert sweep.counts.entries == 0
    faults = Faults()
    faults.throttle("jobs.read_bucket")
    blind = _sweep(world, faults)
    assert blind.peek(NOW, 0) is None
    assert blind.counts.failures == 1


def test_an_entry_whose_job_is_gone_or_moved_on_is_the_indexs_lag(world: World) -> None:
    for job_id in ("gone", "cancelled"):
        world.store.put(make_job(id=job_id))
    world.store.freeze_index()
    for job_id in ("gone", "cancelled"):
        world.api.operations.cancel(job_id, actor="caller")
    world.store.delete_expired(START + timedelta(days=8))
    world.store.put(make_job(id="cancelled", status=JobStatus.CANCELLED))
    sweep = _sweep(world)
    assert sweep.read_shard(NOW, 0) is True
    assert (sweep.counts.entries, sweep.counts.actions) == (2, {"Leave": 1})


# --- acting -------------------------------------------------------------------------------------


def test_each_job_gets_what_it_needs(world: World) -> None:
    world.submit(id="lost")
    _kill(world)
    world.submit(id="owed")
    faults = Faults()
    faults.throttle("queues.send_dead_letter")
    for delivery in world.receive():
        if delivery.message.job_id == "owed":
            world.handle(delivery, fail_for_good, world.process(faults).worker)
    world.submit(id="waiting")
    world.submit(id="expiring", expires_at=rfc3339(START + timedelta(seconds=1)))
    world.store.put(make_job(id="due"))
    world.store.put(
        make_job(
            id="keeping",
            status=JobStatus.ENQUEUED,
            enqueued_at=START + timedelta(seconds=49),
            payload_kept_until=START + timedelta(days=59),
        )
    )
    world.advance(50)
    sweep = _sweep(world)
    assert sweep.read_shard(NOW, 0) is True
    assert sweep.counts.actions == {
        "Recover": 1,
        "Finish": 1,
        "Leave": 1,
        "Expire": 1,
        "Dispatch": 1,
        "KeepPayload": 1,
    }
    statuses = {i: world.job(i).status for i in ("lost", "owed", "waiting", "expiring", "due")}
    assert statuses == {
        "lost": JobStatus.RETRYING,
        "owed": JobStatus.DEAD,
        "waiting": JobStatus.ENQUEUED,
        "expiring": JobStatus.EXPIRED,
        "due": JobStatus.ENQUEUED,
    }
    assert len(world.queues.dead_letters) == 1


def test_a_payload_that_comes_near_its_end_is_kept_longer(world: World) -> None:
    job = world.submit(payload="x" * 300, delay_seconds=1000)
    world.store.transition(keep_payload(job, kept_until=START + timedelta(days=59)))
    assert job.due_at is not None
    sweep = _sweep(world)
    sweep.read_shard(bucket_of(job.due_at), 0)
    assert sweep.counts.actions == {"KeepPayload": 1}
    assert world.job(job).payload_kept_until == job.due_at + timedelta(days=90 + 7)


def test_a_repair_without_an_answer_is_told_and_the_rest_is_repaired(world: World) -> None:
    for n in range(2):
        world.submit(id=f"job-{n}", expires_at=rfc3339(START + timedelta(seconds=1)))
    world.advance(2)
    faults = Faults()
    faults.throttle("jobs.transition")
    sweep = _sweep(world, faults)
    assert sweep.read_shard(NOW, 0) is True
    assert sweep.counts.failures == 1
    assert {world.job(f"job-{n}").status for n in range(2)} == {
        JobStatus.ENQUEUED,
        JobStatus.EXPIRED,
    }
    assert world.telemetry.total("sweep_failures") == 1


def test_a_dispatch_without_an_answer_is_told(world: World) -> None:
    world.store.put(make_job())
    faults = Faults()
    faults.throttle("queues.send")
    sweep = _sweep(world, faults)
    assert sweep.read_shard(NOW, 0) is True
    assert (sweep.counts.failures, sweep.counts.dispatched) == (1, 0)


def test_the_queues_are_looked_at_once_and_only_where_messages_are_missed(world: World) -> None:
    for n in range(3):
        world.submit(id=f"job-{n}")
    faults = Faults()
    _sweep(world, faults).read_shard(NOW, 0)
    assert "view" not in {call.method for call in faults.calls}
    world.advance(61)
    sweep = _sweep(world, faults)
    sweep.read_shard(NOW, 0)
    assert [call.method for call in faults.calls].count("view") == 1
    assert sweep.counts.actions == {"Leave": 3}, "the queue explains why they wait"


def test_what_is_missed_is_sent_again_where_the_queues_cannot_be_looked_at(world: World) -> None:
    jobs = [world.submit() for _ in range(2)]
    world.store.put(make_job(id="due"))
    world.queues.purge()
    world.advance(61)
    faults = Faults()
    faults.throttle("queues.view")
    sweep = _sweep(world, faults)
    assert sweep.read_shard(NOW, 0) is True
    assert (sweep.counts.dispatched, sweep.counts.failures) == (3, 1)
    assert {m.message.job_id for m in world.queues.messages()} == {*(j.id for j in jobs), "due"}


def test_the_age_of_what_waits_is_told_by_queue(world: World) -> None:
    world.submit(priority="low")
    world.advance(20)
    world.submit(priority="low")
    world.submit(priority="high", delay_seconds=10)
    sweep = _sweep(world)
    sweep.read_shard(NOW, 0)
    assert sweep.counts.oldest_due == {Priority.LOW: timedelta(seconds=20)}


@pytest.mark.parametrize(
    ("age", "moves_to"),
    [
        (PUT_OFF_AFTER, START + PUT_OFF_BY),
        (PUT_OFF_AFTER - SECOND, START - PUT_OFF_AFTER + SECOND),
    ],
)
def test_an_old_entry_of_a_paused_handler_moves_where_its_job_delays_no_others(
    world: World, age: timedelta, moves_to: datetime
) -> None:
    since = START - age
    waits_for = WaitsFor(WaitKind.SLOT, "exports")
    job = make_job(status=JobStatus.ENQUEUED, due_at=since, enqueued_at=since, waits_for=waits_for)
    world.store.put(job)
    sweep = _sweep(world)
    pauses = NO_PAUSES.paused(job.handler, START, until=None, note=None)
    sweep.judgement = replace(sweep.judgement, pauses=pauses)
    assert sweep.read_shard(bucket_of(since), 0) is True
    assert (world.job(job.id).due_at, world.job(job.id).waits_for) == (moves_to, waits_for)
    assert sweep.counts.failures == 0


# --- what a page can do without ------------------------------------------------------------------


class Denied(Exception):
    """An error that no adapter translated, such as botocore's own."""


@pytest.mark.parametrize("error", [Denied("AccessDenied"), KeyError("Values"), TimeoutError()])
def test_an_optional_request_that_fails_in_any_way_ends_no_page(
    world: World, error: Exception
) -> None:
    lost = world.submit()
    world.store.put(make_job(id="due"))
    world.queues.purge()
    world.advance(61)
    faults = Faults()
    faults.fail("queues.view", error)
    sweep = _sweep(world, faults)
    assert sweep.read_shard(NOW, 0) is True
    assert {m.message.job_id for m in world.queues.messages()} == {lost.id, "due"}
    assert (sweep.counts.dispatched, sweep.counts.failures) == (2, 1)
    assert world.telemetry.total("sweep_failures") == 1
    (line,) = world.telemetry.warnings
    assert line.fields["reason"].startswith(type(error).__name__)


def test_a_job_about_which_no_decision_can_be_made_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"job-{n}" for n in range(5)]
    for name in names:
        world.store.put(make_job(id=name))

    def decide(job: Job, judgement: SweepContext) -> Action:
        if job.id == "job-2":
            raise OverflowError("date value out of range")
        return next_action(job, judgement)

    monkeypatch.setattr(sweep_module, "next_action", decide)
    sweep = _sweep(world)
    assert sweep.read_shard(NOW, 0) is True
    sent = {m.message.job_id for m in world.queues.messages()}
    assert sent == {*names} - {"job-2"}
    assert (sweep.counts.dispatched, sweep.counts.failures) == (4, 1)
    (line,) = world.telemetry.warnings
    assert line.fields == {"reason": "OverflowError: date value out of range", "job_id": "job-2"}


def test_a_look_at_a_shard_that_fails_in_any_way_keeps_no_other_waiting(world: World) -> None:
    faults = Faults()
    faults.fail("jobs.read_bucket", Denied("AccessDenied"))
    sweep = _sweep(world, faults)
    assert sweep.peek(NOW, 0) is None
    assert sweep.counts.failures == 1


def test_a_page_that_cannot_be_read_holds_up_no_later_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_module, "PAGE_ENTRIES", 2)
    for n in range(5):
        world.store.put(make_job(id=f"job-{n}"))
    faults = Faults()
    faults.throttle("jobs.get_many")
    sweep = _sweep(world, faults)
    assert sweep.read_shard(NOW, 0) is None, "it counts as read to its end"
    assert (sweep.counts.dispatched, sweep.counts.failures) == (3, 1)
    assert sweep.read_shard(NOW, 0) is True
    assert sweep.counts.dispatched == 5


class MarksFail(InTurn):
    """A pipeline that marks nothing, and tells so where it goes on, as one that retries does."""

    def mark(self, *_: object) -> None:
        return

    def go_on(self, most_left: int) -> None:
        if most_left > 0:
            raise Unavailable("the table is throttled")


def test_marks_that_fail_hold_up_no_later_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_module, "PAGE_ENTRIES", 2)
    for n in range(5):
        world.store.put(make_job(id=f"job-{n}"))
    sweep = _sweep(world)
    pipeline = MarksFail(sweep.jobs, sweep.queues)
    sweep.dispatcher = replace(sweep.dispatcher, pipeline=pipeline)
    assert sweep.read_shard(NOW, 0) is True
    assert sweep.counts.entries == 5
    assert len(world.queues.messages()) == 5, "what was read is sent, whatever marks became of"
    assert (sweep.counts.failures, sweep.counts.sent_all) == (3, False)


# --- what is still under way at its end ---------------------------------------------------------


class Ending:
    """A pipeline whose calls end with its errors, one at each look."""

    def __init__(self, errors: int) -> None:
        self.errors = errors
        self.looks: list[int] = []

    def go_on(self, most_left: int) -> None:
        self.looks.append(most_left)
        if len(self.looks) <= self.errors:
            raise Denied(f"error {len(self.looks)}")


@pytest.mark.parametrize(("errors", "looks"), [(0, 1), (2, 3), (sweep_module.MAX_SETTLES, 1000)])
def test_a_sweep_ends_when_all_has_ended_and_tells_each_failure(
    world: World, errors: int, looks: int
) -> None:
    sweep = _sweep(world)
    pipeline: Any = Ending(errors)
    sweep.dispatcher = replace(sweep.dispatcher, pipeline=pipeline)
    sweep.settle()
    assert pipeline.looks == [0] * looks
    assert sweep.counts.failures == errors
    assert sweep.counts.sent_all is (errors == 0)


def test_a_tick_whose_lease_cannot_be_kept_lets_all_end_that_is_under_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[Sweep] = []

    def settle(sweep: Sweep) -> None:
        settled.append(sweep)

    monkeypatch.setattr(Sweep, "settle", settle)

    def fail(*_: object) -> bool | None:
        raise Unavailable

    monkeypatch.setattr(Sweep, "read_shard", fail)
    with pytest.raises(Unavailable):
        world.tick()
    assert len(settled) == 1
