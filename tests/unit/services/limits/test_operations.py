"""What callers see of limits, and the numbers that they set while jobs run."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable, WrongState
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.domain.schedules.schedule import EVENT_NOTE_BYTES, ScheduleEventKind
from hourhand.memory import START, MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.limits import operations, wait_queues
from hourhand.services.limits.aspect import LimitsAspect
from hourhand.services.limits.operations import (
    JobOfLimit,
    LimitReport,
    LimitService,
)
from tests.world.faults import Faults
from tests.world.limits import holders, limited, running, while_one_runs
from tests.world.runs import fail, succeed
from tests.world.world import World


def service(world: World) -> LimitService:
    return world.api.limits


def service_of(world: World) -> LimitService:
    """Return the service of a process that began after a change of the handlers."""
    return world.process().api.limits


def lowered(number: int | None, **keys: int | None) -> LimitChanges:
    return LimitChanges(sets_max=True, max=number, keys=keys)


def test_a_limit_without_keys_shows_its_holders_and_waiters() -> None:
    world = limited(Concurrency(1))
    for name in ("first", "second", "third"):
        world.submit(id=name)

    def look() -> None:
        shown = service(world).show("greet.1")
        assert (shown.max, shown.running, shown.waiting) == (1, 1, 2)
        assert shown.holders == (JobOfLimit("first", START),)
        # A park at the instant of the submission is marked by an earlier time.
        since = START - timedelta(milliseconds=1)
        assert shown.waiters == (JobOfLimit("second", since), JobOfLimit("third", since))
        assert shown.oldest_waiting_at == since
        [listed] = service(world).list(None, 10)[0]
        assert (listed.running, listed.waiting, listed.oldest_waiting_at) == (1, 2, since)
        assert (listed.holders, listed.waiters) == (None, None)

    while_one_runs(world, look)
    # A lazy limit keeps its last holder, which has ended.
    world.settle()
    assert service(world).show("greet.1").running == 0


@pytest.mark.parametrize("most", [1, 3])
def test_a_slot_that_a_dead_worker_did_not_free_counts_for_a_lease_at_most(most: int) -> None:
    """The worker died between the end and the release, and the queue was purged."""
    world = limited(Concurrency(most))
    world.submit(id="one")
    [delivery] = world.receive()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LimitsAspect, "after_move", lambda *_: None)
        world.handle(delivery)
    world.queues.purge()
    assert world.job("one").status is JobStatus.SUCCEEDED
    world.advance(60)
    world.tick()
    assert holders(world) == {"one": 1}
    assert service(world).show("greet.1").running == 0
    assert service(world).list(None, 10)[0][0].running == 0


def test_of_a_limit_with_keys_only_a_named_key_is_counted() -> None:
    world = limited(Concurrency(1, key="payload.account", name="stripe"))
    world.submit(id="one", payload={"account": 42})
    world.submit(id="two", payload={"account": 42})

    def look() -> None:
        shown = service(world).show("stripe")
        assert (shown.running, shown.waiting, shown.holders) == (None, None, None)
        shown = service(world).show("stripe", "42")
        assert (shown.key, shown.running, shown.waiting) == ("42", 1, 1)
        assert service(world).show("stripe", "43").running == 0
        [listed] = service(world).list(None, 10)[0]
        assert listed.running is None

    while_one_runs(world, look)


def test_a_long_id_is_shown_whole() -> None:
    world = limited(Concurrency(3))
    world.submit(id="x" * 90)

    def look() -> None:
        assert service(world).show("greet.1").holders == (JobOfLimit("x" * 90, START),)

    while_one_runs(world, look)


def test_a_raised_number_grants_waiting_jobs_at_once() -> None:
    world = limited(Concurrency(1))
    for name in ("first", "second", "third"):
        world.submit(id=name)

    def look() -> None:
        shown, granted = service(world).change("greet.1", lowered(2), "caller")
        assert (shown.max, granted) == (2, 1)
        [delivery] = world.receive()
        assert delivery.message.job_id == "second"

    while_one_runs(world, look)


@pytest.mark.parametrize(("at_once", "seconds", "granted_at_once"), [(2, 0, 2), (9, 15, 1)])
def test_a_change_grants_what_it_has_time_for_and_the_sweep_the_rest(
    monkeypatch: pytest.MonkeyPatch, at_once: int, seconds: float, granted_at_once: int
) -> None:
    world = limited(Concurrency(1))
    names = ("later-1", "later-2", "later-3")
    for name in ("first", *names):
        world.submit(id=name)
    first, *others = world.receive()
    faults = Faults().interrupt("queues.send", lambda: world.advance(seconds))
    slow = world.process(faults).api.limits

    def look(job: Job, pulse: Pulse) -> Finished:
        for delivery in others:
            world.handle(delivery)
        with monkeypatch.context() as patch:
            # One job a round, so that the bounds are looked at between two of them.
            patch.setattr(wait_queues, "MAX_GRANTS", 1)
            patch.setattr(operations, "GRANTED_AT_ONCE", at_once)
            _, granted = slow.change("greet.1", lowered(4), "caller")
        assert granted == granted_at_once
        assert {*holders(world)} == {"first", *names[:granted]}
        for _ in range(6):
            world.advance(20)
            pulse.beat(None)
            world.tick()
        assert {*holders(world)} == {"first", *names}
        assert {delivery.message.job_id for delivery in world.receive()} == {*names}
        return succeed(job, pulse)

    world.handle(first, look)


def test_a_limit_of_0_starts_nothing_and_what_runs_goes_on() -> None:
    world = limited(Concurrency(5))
    world.submit(id="first")

    def look() -> None:
        service(world).change("greet.1", lowered(0), "caller")
        # The worker knows it once what it has read is old.
        world.advance(31)
        world.submit(id="late")
        world.deliver()
        assert running(world) == ["first"]
        assert world.job("late").waits_for is not None
        assert service(world).list(None, 10)[0][0].max == 0

    while_one_runs(world, look)
    assert world.job("late").waits_for is not None
    shown, granted = service(world).restore("greet.1", "caller")
    assert (shown.max, granted) == (5, 1)
    world.deliver()
    assert world.job("late").status.is_final


def test_a_key_has_a_number_of_its_own() -> None:
    world = limited(Concurrency(5, key="tenant", name="stripe"))
    service(world).change("stripe", LimitChanges(keys={"acme": 0}), "caller")
    world.submit(id="held", tenant="acme")
    world.submit(id="free", tenant="globex")
    world.deliver()
    assert world.job("free").status.is_final
    assert world.job("held").waits_for is not None
    assert service(world).show("stripe", "acme").max == 0
    assert service(world).show("stripe", "globex").max == 5
    _, granted = service(world).change("stripe", LimitChanges(keys={"acme": None}), "caller")
    assert granted == 1
    world.deliver()
    assert world.job("held").status.is_final


def test_handlers_share_a_limit_at_different_positions() -> None:
    shared = Concurrency(1, name="stripe", holds="job")
    world = World(
        handlers=(
            HandlerInfo(name="greet", limits=(shared,)),
            HandlerInfo(name="other", limits=(Concurrency(9), shared)),
        )
    )
    world.submit(id="first")
    world.submit(id="second", handler="other")

    def look() -> None:
        assert world.job("second").waits_for is not None
        [own, stripe] = service(world).list(None, 10)[0]
        assert (own.declared.name, stripe.declared.name) == ("other.1", "stripe")
        assert stripe.declared.handlers == ("greet", "other")
        assert (stripe.running, stripe.waiting) == (1, 1)

    while_one_runs(world, look)
    # The end of a job of one handler wakes the job of the other, without a tick.
    world.deliver()
    assert world.job("second").status.is_final


def test_limits_are_listed_in_pages() -> None:
    world = World(
        handlers=(
            HandlerInfo(name="b", limits=(Concurrency(1), Concurrency(2))),
            HandlerInfo(name="a", limits=(Concurrency(3),)),
        )
    )

    def names(reports: tuple[LimitReport, ...]) -> list[str]:
        return [report.declared.name for report in reports]

    first, after = service(world).list(None, 2)
    assert names(first) == ["a.1", "b.1"]
    second, end = service(world).list(after, 2)
    assert (names(second), end) == (["b.2"], None)


def test_an_unknown_limit_is_answered_with_the_names_that_exist() -> None:
    with pytest.raises(NotFound, match=r"Did you mean 'greet.1'\?.* Limits: greet.1"):
        service(limited(Concurrency(1))).show("gret.1")
    with pytest.raises(NotFound, match="Limits: none"):
        service(limited()).show("stripe")


def test_a_limit_with_a_single_key_takes_no_keys() -> None:
    limits = service(limited(Concurrency(1)))
    with pytest.raises(InvalidInput) as refused:
        limits.show("greet.1", "acme")
    assert refused.value.errors[0].field == "key"
    with pytest.raises(InvalidInput) as refused:
        limits.change("greet.1", LimitChanges(keys={"acme": 1}), "caller")
    assert refused.value.errors[0].field == "overrides"


def test_a_shared_limit_takes_keys_for_a_submission_may_give_one() -> None:
    limits = service(limited(Concurrency(3, name="stripe")))
    limits.change("stripe", LimitChanges(keys={"acme": 1}), "caller")
    assert (limits.show("stripe", "acme").max, limits.show("stripe").max) == (1, 3)


def test_a_number_that_the_limit_cannot_have_names_the_field() -> None:
    limits = service(limited(Concurrency(1, key="tenant")))
    changes = LimitChanges(sets_max=True, max=1_001, keys={"acme": 1_001, "globex": 1})
    with pytest.raises(InvalidInput) as refused:
        limits.change("greet.1", changes, "caller")
    assert [error.field for error in refused.value.errors] == ["max", "overrides.acme"]


def test_a_rate_with_an_exact_window_takes_no_number_above_that_of_its_declaration() -> None:
    limits = service(limited(Rate(5, per=60, exact=True)))
    with pytest.raises(InvalidInput) as refused:
        limits.change("greet.1", LimitChanges(sets_max=True, max=101), "caller")
    assert "must be from 1 to 100" in refused.value.errors[0].message


@pytest.mark.parametrize(
    ("limit", "number", "named"),
    [
        (Rate(5, per=60, name="bank"), 0, True),
        (Rate(5, per=60, name="bank"), 2_000_000, False),
        (Concurrency(5, name="bank"), 2_000, False),
    ],
)
def test_a_rate_that_is_to_be_paused_names_the_handlers_to_pause(
    limit: Limit, number: int, named: bool
) -> None:
    handlers = [HandlerInfo(name=name, limits=(limit,)) for name in ("charge", "refund")]
    limits = service(World(handlers=tuple(handlers)))
    with pytest.raises(InvalidInput) as refused:
        limits.change("bank", LimitChanges(sets_max=True, max=number), "caller")
    message = refused.value.errors[0].message
    assert ("a rate cannot be paused. Pause its handlers instead: charge, refund" in message) is (
        named
    )


def test_a_deployment_that_adds_a_limit_before_another_moves_no_number() -> None:
    tenant = Concurrency(5, key="tenant")
    world = limited(tenant)
    changes = LimitChanges(sets_max=True, max=0, keys={"acme": 1})
    service(world).change("greet.1", changes, "caller")
    limits = (Rate(100, per=60), Concurrency(2), tenant)
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=limits))
    after = service_of(world)
    assert [after.show(f"greet.{n}").max for n in (1, 2, 3)] == [100, 2, 0]
    assert after.show("greet.3").override.keys == {"acme": 1}
    after.restore("greet.3", "caller")
    assert after.show("greet.3").max == 5


def test_what_runs_counts_after_a_deployment_that_adds_a_limit_before_another() -> None:
    world = limited(Concurrency(1))
    world.submit(id="old")

    def look() -> None:
        limits = (Rate(100, per=60), Concurrency(1))
        world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=limits))
        deployed = world.process()
        world.submit(id="new", by=deployed.api)
        for delivery in world.receive():
            world.handle(delivery, succeed, deployed.worker)
        assert running(world) == ["old"]
        assert world.job("new").waits_for is not None
        assert deployed.api.limits.show("greet.2").running == 1

    while_one_runs(world, look)


def test_of_two_changes_at_once_none_is_lost() -> None:
    world = limited(Concurrency(1, key="tenant"))
    limits = service(world)
    world.control.write_overrides(
        limits.overrides.fresh().changed("greet:concurrency:tenant", lowered(3), ()), previous=0
    )
    limits.change("greet.1", LimitChanges(keys={"acme": 2}), "caller")
    assert limits.show("greet.1").override.max == 3
    assert limits.show("greet.1").override.keys == {"acme": 2}


def test_a_record_that_changes_too_often_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    world = limited(Concurrency(1))
    monkeypatch.setattr(world.control, "write_overrides", lambda *_, **__: False)
    with pytest.raises(Unavailable, match="changed too often"):
        service(world).change("greet.1", lowered(2), "caller")


def test_changes_are_kept_for_the_audit_with_each_handler_of_the_limit() -> None:
    shared = Concurrency(5, key="tenant", name="stripe")
    world = World(handlers=tuple(HandlerInfo(name=n, limits=(shared,)) for n in ("a", "b")))
    limits = service(world)
    changes = LimitChanges(sets_max=True, max=3, keys={"acme": 10, "globex": None})
    for _ in range(2):
        limits.change("stripe", changes, "caller")
    limits.change("stripe", lowered(None, **{"x" * 250: 1}), "caller")
    limits.restore("stripe", "another")
    limits.restore("stripe", "another")
    for handler in ("a", "b"):
        restored, long, first = world.schedules.read_events(
            f"handler.{handler}", before=None, limit=10
        )
        assert (first.kind, first.at, first.actor) == (ScheduleEventKind.CHANGED, START, "caller")
        assert first.note == "stripe: max 3, acme 10, globex restored"
        assert long.note.startswith("stripe: max restored, xxx")
        assert len(long.note.encode()) == EVENT_NOTE_BYTES
        assert (restored.note, restored.actor) == ("stripe: all numbers restored", "another")


def test_a_pause_and_a_change_of_one_instant_are_both_kept() -> None:
    world = limited(Concurrency(1))
    world.pause_handler()
    service(world).change("greet.1", lowered(2), "caller")
    events = world.schedules.read_events("handler.greet", before=None, limit=10)
    assert {event.kind for event in events} == {
        ScheduleEventKind.PAUSED,
        ScheduleEventKind.CHANGED,
    }


# --- slots that are kept until success ---


def test_a_dead_job_keeps_its_slot_until_it_is_redriven_to_success() -> None:
    world = limited(Concurrency(1, holds="success"))
    first = world.submit(id="first", retry={"max_attempts": 1})
    world.deliver(fail)
    second = world.submit(id="second")
    world.deliver()
    for _ in range(3):
        world.minute()
    assert world.job(first).status is JobStatus.DEAD
    assert world.job(second).waits_for is not None
    world.api.operations.redrive("first", actor="caller")
    world.deliver()
    assert world.job(first).status is JobStatus.SUCCEEDED
    world.deliver()
    assert world.job(second).status is JobStatus.SUCCEEDED


def behind_dead_jobs(size: int) -> tuple[World, Job]:
    """Return a world whose slots DEAD jobs keep, ``dead-0`` and so on, and the job that waits."""
    world = limited(Concurrency(size, holds="success"))
    for number in range(size):
        world.submit(id=f"dead-{number}", retry={"max_attempts": 1})
    world.deliver(fail)
    late = world.submit(id="late")
    world.deliver()
    assert world.job(late).waits_for is not None
    return world, late


@pytest.mark.parametrize("size", [1, 3, 21])
def test_the_slot_of_a_dead_job_is_freed_on_request(size: int) -> None:
    world, late = behind_dead_jobs(size)
    for _ in range(2):
        shown = service(world).free("greet.1", "dead-0", "caller")
        assert shown.running == size
    world.deliver()
    assert world.job(late).status is JobStatus.SUCCEEDED
    assert service(world).show("greet.1").running == size - 1
    # The second call freed nothing, so there is one event.
    (event,) = world.schedules.read_events("handler.greet", before=None, limit=10)
    assert (event.kind, event.actor) == (ScheduleEventKind.FREED, "caller")
    assert event.note == "greet.1: the slot of dead-0"


@pytest.mark.parametrize("size", [1, 3, 21])
def test_a_job_that_is_discarded_gives_its_slot_to_the_next(size: int) -> None:
    world, late = behind_dead_jobs(size)
    world.api.operations.discard("dead-0", actor="caller")
    world.deliver()
    assert world.job(late).status is JobStatus.SUCCEEDED
    assert "dead-0" not in holders(world)


def test_slots_that_are_freed_at_one_instant_are_all_kept_for_the_audit() -> None:
    world = limited(Concurrency(3, holds="success"))
    names = [f"dead-{number}" for number in range(3)]
    for name in names:
        world.submit(id=name, retry={"max_attempts": 1})
    world.deliver(fail)
    for name in names:
        service(world).free("greet.1", name, "caller")
    events = world.schedules.read_events("handler.greet", before=None, limit=10)
    assert {event.note for event in events} == {f"greet.1: the slot of {name}" for name in names}


def test_only_the_slot_of_a_dead_job_that_has_the_limit_is_freed() -> None:
    world = limited(Concurrency(1, holds="success"), Concurrency(2, name="stripe"))
    world.submit(id="waiting", delay_seconds=60)
    with pytest.raises(WrongState, match="is ENQUEUED; only a DEAD job"):
        service(world).free("greet.1", "waiting", "caller")
    with pytest.raises(NotFound, match="no job gone"):
        service(world).free("greet.1", "gone", "caller")
    world.handlers = MemoryHandlerDirectory(
        HandlerInfo(name="greet"), HandlerInfo(name="other", limits=(Concurrency(1),))
    )
    with pytest.raises(WrongState, match=r"has no concurrency limit other\.1"):
        service_of(world).free("other.1", "waiting", "caller")
