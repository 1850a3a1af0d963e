"""The jobs of nominal times: made once, adopted by a newer revision, sent if they are due soon."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.groups.overlap import Overlap
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, OnLost, Priority
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.domain.jobs.retry import RetryChanges, RetryPolicy
from hourhand.domain.jobs.transitions import cancel_waiting
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.job_limits import unpack_keys
from hourhand.domain.limits.keys import key_digest
from hourhand.domain.schedules.occurrences import OccurrenceOrder
from hourhand.domain.schedules.schedule import (
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.memory import START, MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.job_store import Refused
from hourhand.services.schedules import occurrence_jobs as module
from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs, is_adoptable, is_standing
from hourhand.testing import Crash
from tests.unit.services.schedule_bench import define
from tests.unit.services.schedule_views import at, job_at, reason_of
from tests.world.factories import make_event, make_job
from tests.world.faults import Faults
from tests.world.world import World


def maker(world: World, faults: Faults | None = None) -> OccurrenceJobs:
    process = world.process(faults or Faults())
    return process.api.schedules.undecided.occurrence_jobs


def schedule_of(revision: int = 1, **fields: Any) -> Schedule:
    standard: dict[str, Any] = {
        "sequence": 1,
        "revision": revision,
        "write_id": "w",
        "definition": "d",
        "created_at": START,
        "updated_at": START,
        "effective_from": START,
        "cursor": START,
        "zone_data": "z",
    }
    return Schedule(id="s", **{**standard, **fields})


def order(minutes: float, revision: int | None = 1, **fields: Any) -> OccurrenceOrder:
    nominal = at(minutes)
    return OccurrenceOrder(**{"nominal": nominal, "run_at": nominal, **fields}, revision=revision)


def make(
    world: World,
    *orders: OccurrenceOrder,
    definition: ScheduleDefinition | None = None,
    revision: int = 1,
    faults: Faults | None = None,
    now: datetime | None = None,
) -> list[Job]:
    return maker(world, faults).make(
        schedule_of(revision),
        definition or define(),
        orders,
        now=now or world.clock.now(),
        actor="tick",
    )


def work(world: World, revision: int = 1) -> None:
    """Let a worker do what is due a minute later, under a revision of the schedule."""
    schedule = schedule_of(revision, sequence=revision, write_id=f"w{revision}")
    world.schedules.write(schedule, previous=None)
    world.advance_to(max(world.clock.now(), at(2)))
    world.deliver()


def cancel(world: World, job: Job, reason: str) -> Job:
    move = cancel_waiting(job, now=world.clock.now(), actor="x", reason=reason)
    world.store.transition(move)
    return world.job(job)


# --- making ---


def test_a_job_has_all_that_its_order_and_its_schedule_say(world: World) -> None:
    overlap = Overlap(group="s", max_running=3)
    definition = define(
        payload_text="[1]",
        priority=Priority.HIGH,
        timeout_seconds=5,
        retention_seconds=60,
        on_lost=OnLost.DEAD,
        retry=RetryChanges(max_attempts=2),
        tenant="t",
        tags={"a": "b"},
        pause_on_failure=True,
    )
    wanted = order(
        2, run_at=at(2.5), previous=at(1), interval_start=at(0.5), overlap=overlap, revision=7
    )
    (job,) = make(world, wanted, definition=definition)
    assert job == world.job(job)
    assert (job.run_at, job.due_at, job.occurrence) == (at(2.5), at(2.5), at(2))
    assert (job.previous_occurrence, job.interval_start) == (at(1), at(0.5))
    assert (job.overlap, job.schedule_id, job.schedule_revision) == (overlap, "s", 7)
    assert (job.payload.text, job.tenant, job.tags) == ("[1]", "t", {"a": "b"})
    assert (job.priority, job.queue, job.timeout_seconds) == (Priority.HIGH, Priority.HIGH, 5)
    assert (job.retention_seconds, job.on_lost) == (60, OnLost.DEAD)
    assert (job.retry, job.pauses_schedule) == (RetryPolicy(max_attempts=2), True)
    assert job.history[0].actor == "tick"
    assert job.trace_id


def test_a_job_has_the_keys_of_its_handlers_limits() -> None:
    limits = (Concurrency(2, key="payload.account"),)
    world = World(handlers=(HandlerInfo(name="greet", limits=limits),))
    (job,) = make(world, order(2), definition=define(payload_text='{"account":7}'))
    assert job.limit_keys is not None
    assert unpack_keys(job.limit_keys).digests == (
        (0, key_digest("greet:concurrency:payload.account", 7)),
    )


def test_what_a_schedule_does_not_state_is_its_handlers(world: World) -> None:
    greet = HandlerInfo(name="greet", policies=HandlerPolicies(timeout_seconds=77))
    world.handlers = MemoryHandlerDirectory(greet)
    (job,) = make(world, order(1))
    assert job.timeout_seconds == 77


def test_a_handler_that_is_gone_is_told_of_and_its_job_made(world: World) -> None:
    (job,) = make(world, order(1), definition=define(handler="gone"))
    assert job.handler == "gone"
    assert [line.fields["handler"] for line in world.telemetry.warnings] == ["gone"]


def test_what_is_due_soon_is_sent_at_once_and_what_is_not_waits_for_the_sweep(
    world: World,
) -> None:
    soon, later = make(world, order(5), order(30))
    assert (soon.status, later.status) == (JobStatus.ENQUEUED, JobStatus.PENDING)
    (sent,) = world.queues.messages()
    assert sent.message.job_id == soon.id
    assert sent.message.needs_admission


def test_no_orders_cost_no_call(world: World) -> None:
    faults = Faults()
    assert make(world, faults=faults) == []
    assert faults.calls == []


def test_a_large_payload_lies_beside_its_job(world: World) -> None:
    (job,) = make(world, order(1), definition=define(payload_text='"' + "x" * 300 + '"'))
    assert job.payload.item is not None
    assert world.store.get_text(job.id, job.payload.item) == '"' + "x" * 300 + '"'
    assert job.payload_kept_until is not None


def test_the_same_order_again_finds_its_job_and_sends_its_message_again(world: World) -> None:
    (first,) = make(world, order(1))
    (again,) = make(world, order(1))
    assert again == first == world.job(first)
    # Who made it may have died before the message went out.
    assert [m.message.job_id for m in world.queues.messages()] == [first.id, first.id]
    assert world.telemetry.total("occurrences_made") == 1


def test_a_job_to_which_something_happened_was_sent_and_is_not_sent_again(world: World) -> None:
    (job,) = make(world, order(1))
    world.change(job, priority="high")
    sent = len(world.queues.messages())
    make(world, order(1))
    assert len(world.queues.messages()) == sent


def test_a_job_whose_maker_stalled_and_died_is_sent_again(world: World) -> None:
    def die() -> None:
        raise Crash

    faults = Faults().interrupt("jobs.put", lambda: world.advance(100))
    faults.interrupt("queues.send", die)
    with pytest.raises(Crash):
        make(world, order(4), faults=faults)
    assert job_at(world, 4).history[-1].kind is EventKind.REFILED
    make(world, order(4))
    assert [m.message.job_id for m in world.queues.messages()] == [job_at(world, 4).id]


def test_jobs_come_in_the_order_of_their_orders(world: World) -> None:
    make(world, order(2))
    jobs = make(world, order(3), order(2), order(1))
    assert [job.occurrence for job in jobs] == [at(3), at(2), at(1)]


def test_a_job_that_ttl_deletes_as_it_is_looked_at_ended_long_ago(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.store, "put", lambda _job: Refused(None))
    (job,) = make(world, order(1))
    assert job.occurrence == at(1)
    assert not world.queues.messages()


def test_a_salted_order_is_another_job(world: World) -> None:
    plain, salted = make(world, order(1), order(1, salt="b", revision=None))
    assert plain.id != salted.id
    assert salted.schedule_revision is None


def test_a_tick_that_decided_long_ago_files_its_jobs_by_the_clock(world: World) -> None:
    decided_at = world.clock.now()
    world.advance(200)
    (job,) = make(world, order(1), now=decided_at)
    assert (job.due_at, job.created_at, job.run_at) == (at(200 / 60), at(200 / 60), at(1))


def test_a_writer_that_stalls_moves_the_entry_of_its_job(world: World) -> None:
    make(world, order(1), faults=Faults().interrupt("jobs.put", lambda: world.advance(100)))
    assert job_at(world, 1).due_at == at(100 / 60)


def test_a_table_that_does_not_answer_is_told_and_what_was_made_stays(world: World) -> None:
    faults = Faults().throttle("jobs.put", nth=2)
    with pytest.raises(Unavailable):
        make(world, order(1), order(2), faults=faults)
    assert len(world.store.jobs()) == 1
    make(world, order(1), order(2))
    assert len(world.store.jobs()) == 2


# --- adopting ---


def test_a_newer_revision_adopts_what_did_not_start(world: World) -> None:
    (old,) = make(world, order(1, run_at=at(1)))
    changed = define(payload_text="2", priority=Priority.LOW, tags={"n": "2"})
    wanted = order(1, revision=2, run_at=at(1.4), previous=at(0.2))
    (adopted,) = make(world, wanted, definition=changed, revision=2)
    assert adopted == world.job(old)
    assert adopted.generation == old.generation + 1
    assert (adopted.schedule_revision, adopted.run_at, adopted.due_at) == (2, at(1.4), at(1.4))
    assert (adopted.payload.text, adopted.priority, adopted.queue) == ("2", "low", "low")
    assert (adopted.tags, adopted.previous_occurrence) == ({"n": "2"}, at(0.2))
    assert reason_of(adopted) == "its schedule changed"
    assert world.telemetry.total("occurrences_adopted") == 1
    work(world, revision=2)
    assert len(world.runs) == 1


@pytest.mark.parametrize("reason", ["paused", "replaced", "deleted"])
def test_what_a_schedule_withdrew_it_may_take_back(world: World, reason: str) -> None:
    (job,) = make(world, order(1))
    cancel(world, job, reason)
    (back,) = make(world, order(1, revision=2), revision=2)
    assert (back.status, back.round, back.schedule_revision) == (JobStatus.ENQUEUED, 2, 2)
    assert (back.run_at, back.finished_at, back.keep_until) == (at(1), None, None)
    work(world, revision=2)
    assert len(world.runs) == 1


@pytest.mark.parametrize("reason", ["overlap", "buffer full", "somebody's own reason"])
def test_what_was_cancelled_for_another_reason_stays_cancelled(world: World, reason: str) -> None:
    (job,) = make(world, order(1))
    cancelled = cancel(world, job, reason)
    assert make(world, order(1, revision=2), revision=2) == [cancelled]
    assert world.job(job) == cancelled


def test_what_began_is_left_alone(world: World) -> None:
    (job,) = make(world, order(1))
    work(world)
    ended = world.job(job)
    assert ended.status is JobStatus.SUCCEEDED
    assert make(world, order(1, revision=2), revision=2) == [ended]


def test_a_backfill_or_trigger_adopts_nothing_and_is_not_adopted(world: World) -> None:
    (own,) = make(world, order(1))
    assert make(world, order(1, revision=None)) == [own]
    (made,) = make(world, order(2, revision=None))
    assert make(world, order(2, revision=2), revision=2) == [made]


def test_an_adoption_that_loses_a_race_looks_again(world: World) -> None:
    (job,) = make(world, order(1))
    faults = Faults().interrupt("jobs.transition", lambda: cancel(world, job, SkipReason.REPLACED))
    (adopted,) = make(world, order(1, revision=2), revision=2, faults=faults)
    assert (adopted.status, adopted.round) == (JobStatus.ENQUEUED, 2)


def test_an_adoption_that_loses_to_a_worker_leaves_it_the_job(world: World) -> None:
    (job,) = make(world, order(1))
    faults = Faults().interrupt("jobs.transition", lambda: work(world))
    (left,) = make(world, order(1, revision=2), revision=2, faults=faults)
    assert left == world.job(job)
    assert left.status is JobStatus.SUCCEEDED


def test_an_adoption_that_loses_for_ever_is_left_to_the_claim(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ADOPTIONS", 2)
    (job,) = make(world, order(1))
    faults = Faults()
    for nth in (1, 2):
        faults.interrupt("jobs.transition", lambda: world.change(job, payload=9), nth=nth)
    (left,) = make(world, order(1, revision=2), revision=2, faults=faults)
    assert left == world.job(job)
    assert left.schedule_revision == 1
    # Its change was announced by whoever made it.
    assert world.telemetry.total("occurrences_adopted") == 0


def test_an_adoption_of_what_is_deleted_meanwhile_makes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(world, order(1))
    monkeypatch.setattr(world.store, "transition", lambda _move: Refused(None))
    (wanted,) = make(world, order(1, revision=2), revision=2)
    assert wanted.schedule_revision == 2


def test_a_job_without_a_history_that_was_cancelled_is_not_adopted() -> None:
    wanted = make_job(schedule_revision=2)
    cancelled = make_job(status=JobStatus.CANCELLED, schedule_revision=1)
    assert not is_adoptable(replace(cancelled, history=()), wanted)
    event = make_event(reason="replaced", status=JobStatus.CANCELLED)
    assert is_adoptable(replace(cancelled, history=(event,)), wanted)
    assert not is_adoptable(replace(cancelled, history=(event,), schedule_revision=2), wanted)


# --- what a visit that died made ---


def test_jobs_that_stand_are_found_by_their_nominal_times(world: World) -> None:
    make(world, order(1), order(2), order(3, salt="b"))
    times = [at(1), at(2), at(3), at(4)]
    assert maker(world).find_made(schedule_of(), times) == {at(1), at(2)}
    assert maker(world).find_made(schedule_of(), []) == frozenset()


@pytest.mark.parametrize(
    ("fields", "stands"),
    [
        ({"schedule_revision": 2}, True),
        ({"schedule_revision": 1}, False),
        ({"schedule_revision": 1, "occurrence": at(-1)}, True),
        ({"schedule_revision": 1, "occurrence": None}, False),
        ({"schedule_revision": None}, True),
        ({"schedule_revision": 1, "token": 1}, True),
    ],
)
def test_a_leftover_of_an_older_revision_that_did_not_start_does_not_stand(
    fields: dict[str, Any], stands: bool
) -> None:
    job = make_job(**{"occurrence": at(1), **fields})
    assert is_standing(job, schedule_of(revision=2)) is stands
