from __future__ import annotations

import contextlib
from importlib import import_module
from pkgutil import iter_modules

import pytest

from hourhand import ports
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import JobStatus
from hourhand.memory import START, MemoryClock, MemoryJobStore, MemoryObjectStore
from hourhand.ports.durable_run import DurableRun, OpenedRun, OpensRuns
from hourhand.ports.job_store import Applied, JobStore
from hourhand.ports.object_store import ObjectStore
from hourhand.testing import Crash
from tests.world.factories import ACTOR, make_job
from tests.world.faults import READS, Call, Faults, When


@pytest.fixture
def store() -> MemoryJobStore:
    return MemoryJobStore()


def test_without_a_plan_every_call_passes_and_is_on_record(store: MemoryJobStore) -> None:
    faults = Faults()
    jobs, objects = faults.wrap(store, "jobs"), faults.wrap(MemoryObjectStore())
    assert jobs.put(make_job()) == Applied(make_job())
    objects.put("key", "1")
    assert jobs.get("job-1") == make_job()
    assert jobs.get("job-2") is None
    assert faults.calls == [
        Call("jobs", "put", 1, 1),
        Call("MemoryObjectStore", "put", 2, 1),
        Call("jobs", "get", 3, 1),
        Call("jobs", "get", 4, 2),
    ]


def test_ignored_methods_are_not_counted_so_that_every_call_is_a_write(
    store: MemoryJobStore,
) -> None:
    faults = Faults(ignoring=READS)
    jobs = faults.wrap(store, "jobs")
    jobs.get("job-1")
    jobs.put(make_job())
    jobs.read_bucket(0, 0, position=None, limit=1)
    assert [(call.method, call.number) for call in faults.calls] == [("put", 1)]


def test_a_throttled_call_is_not_made(store: MemoryJobStore) -> None:
    faults = Faults()
    jobs = faults.wrap(store)
    faults.throttle("put", nth=2, times=2)
    jobs.put(make_job(id="one"))
    for _ in range(2):
        with pytest.raises(Unavailable, match="put was throttled"):
            jobs.put(make_job(id="two"))
    assert store.get("two") is None
    assert jobs.put(make_job(id="two")) == Applied(make_job(id="two"))


def test_a_call_whose_answer_is_lost_was_made(store: MemoryJobStore) -> None:
    faults = Faults().lose_answer("put")
    with pytest.raises(Unavailable, match="answer of put"):
        faults.wrap(store).put(make_job())
    assert store.get("job-1") == make_job()


def test_a_fault_can_be_meant_for_one_port_alone(store: MemoryJobStore) -> None:
    faults = Faults()
    jobs, objects = faults.wrap(store, "jobs"), faults.wrap(MemoryObjectStore(), "objects")
    faults.throttle("objects.put")
    jobs.put(make_job())
    with pytest.raises(Unavailable):
        objects.put("key", "1")


@pytest.mark.parametrize(("when", "was_made"), [(When.BEFORE, False), (When.AFTER, True)])
def test_a_process_that_dies_beside_a_call_makes_no_further_one(
    store: MemoryJobStore, when: When, was_made: bool
) -> None:
    faults = Faults(ignoring=READS)
    jobs, clock = faults.wrap(store), faults.wrap(MemoryClock())
    faults.crash(2, when)
    jobs.put(make_job(id="one"))
    with pytest.raises(Crash):
        jobs.put(make_job(id="two"))
    assert faults.is_crashed
    assert (store.get("two") is not None) is was_made
    for call in (lambda: jobs.put(make_job(id="three")), lambda: jobs.get("one"), clock.now):
        with pytest.raises(Crash):
            call()
    assert sorted(store.jobs()) == (["one", "two"] if was_made else ["one"])
    assert len(faults.calls) == 2


def test_no_code_for_errors_catches_a_crash(store: MemoryJobStore) -> None:
    jobs = Faults().crash(1, When.BEFORE).wrap(store)

    def carry_on() -> None:
        with contextlib.suppress(Exception):
            jobs.put(make_job())

    with pytest.raises(Crash):
        carry_on()


def test_a_process_can_die_within_a_batch(store: MemoryJobStore) -> None:
    jobs = [make_job(id=f"job-{n}") for n in range(3)]
    for job in jobs:
        store.put(job)
    faults = Faults().crash_within("transition_many", 2)
    with pytest.raises(Crash, match="after 2 items"):
        faults.wrap(store).transition_many(
            [transitions.mark_enqueued(job, now=START, actor=ACTOR) for job in jobs]
        )
    states = [job.status for job in store.jobs().values()]
    assert states == [JobStatus.ENQUEUED, JobStatus.ENQUEUED, JobStatus.PENDING]


@pytest.mark.parametrize("when", When)
def test_another_actor_can_step_in_beside_a_call(store: MemoryJobStore, when: When) -> None:
    faults = Faults()
    jobs = faults.wrap(store)
    faults.interrupt("put", lambda: store.put(make_job(handler="other")), when=when)
    result = jobs.put(make_job())
    assert isinstance(result, Applied) is (when is When.AFTER)
    left = store.get("job-1")
    assert left is not None
    assert left.handler == ("greet" if when is When.AFTER else "other")


def test_time_can_pass_within_a_call(store: MemoryJobStore) -> None:
    clock = MemoryClock()
    Faults().interrupt("put", lambda: clock.advance(6)).wrap(store).put(make_job())
    assert clock.monotonic() == 6


def test_several_faults_can_meet_in_one_call(store: MemoryJobStore) -> None:
    clock = MemoryClock()
    faults = Faults().interrupt("put", lambda: clock.advance(6)).lose_answer("put")
    with pytest.raises(Unavailable):
        faults.wrap(store).put(make_job())
    assert clock.monotonic() == 6
    assert store.get("job-1") is not None


def test_what_is_not_a_call_passes_through() -> None:
    faults = Faults().crash(1, When.BEFORE)
    assert faults.wrap(MemoryClock()).skew == MemoryClock().skew
    assert faults.calls == []


PORTS = {"jobs": JobStore, "objects": ObjectStore}


@pytest.mark.parametrize("method", ["put", "jobs.put", "objects.put", "transition"])
def test_a_fault_of_a_method_that_a_port_has_is_taken(method: str) -> None:
    faults = Faults()
    faults.throttle(method)
    faults.allow_only(PORTS)
    faults.throttle(method)


@pytest.mark.parametrize("method", ["puts", "objects.transition", "keys.begin", "jobs", "__init__"])
def test_a_fault_that_no_call_would_meet_is_refused(method: str) -> None:
    earlier, later = Faults(), Faults()
    earlier.lose_answer(method)
    with pytest.raises(ValueError, match=f"No port has a method {method}"):
        earlier.allow_only(PORTS)
    later.allow_only(PORTS)
    with pytest.raises(ValueError, match=f"No port has a method {method}"):
        later.interrupt(method, lambda: None)


WRITES = {
    *("put", "put_many", "transition", "transition_many"),
    *("put_text", "extend_text", "put_failure"),
    *("mark_finished", "mark_live", "begin", "finish"),
    *("acquire_lease", "renew_lease", "release_lease"),
    *("write_shard_map", "write_watermark", "write_tick", "write_resweep"),
    *("write_pauses", "write_overrides"),
    *("create_secret", "keep_caller", "put_event"),
    *("send", "hide", "send_dead_letter", "invoke", "publish"),
    *("write", "put_definition", "retire_definition", "put_journal_page"),
    *("delete_journal_pages", "write_backfill", "write_walk"),
    "write_item",
    *("put_calendar", "delete_calendar"),
}
INNER = {
    *("run", "beat", "lease_ends_at", "open_run", "take_start", "keep_cursor"),
    *(
        name
        for name in {**vars(DurableRun), **vars(OpenedRun), **vars(OpensRuns)}
        if name[0] != "_"
    ),
}
"""Between the services and a handler: no store or queue is behind them."""

IN_TURN = {"read", "mark", "go_on"}
"""Of the pipeline, as is `send`: what is wrapped are the stores and queues that it calls."""


def test_every_method_of_every_port_is_known_as_a_read_or_a_write() -> None:
    methods = {
        method
        for module in iter_modules(ports.__path__)
        for port in vars(import_module(f"hourhand.ports.{module.name}")).values()
        if isinstance(port, type) and getattr(port, "_is_protocol", False)
        for method in vars(port)
        if not method.startswith("_")
    }
    assert methods == READS | WRITES | INNER | IN_TURN
