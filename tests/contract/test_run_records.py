"""What durable runs keep beside their job: each kind of record, written and read on every store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus
from hourhand.domain.jobs.retry import Jitter, RetryPolicy
from hourhand.domain.runs.answers import (
    Failure,
    Place,
    RunLost,
    StepOptions,
    Suspension,
    TimedOut,
    Try,
    Value,
)
from hourhand.domain.runs.calls import (
    BeginStep,
    CallbackResult,
    EndStep,
    FailStep,
    OpenCallback,
    PlaceOf,
    RecordedNow,
    SavePlace,
    SleepUntil,
    StartStep,
    VersionOf,
    WaitForSignal,
)
from hourhand.domain.runs.records import (
    INLINE_BYTES,
    Record,
    RecordKind,
    journal_prefix,
    record_key,
    record_of,
)
from hourhand.domain.runs.signals import (
    Signal,
    free_signals,
    mark_consumed,
    put_signal,
    signal_key,
    signal_of,
    signal_prefix,
    take_signal,
)
from hourhand.domain.runs.writes import put_reset
from hourhand.domain.side_items import SideItemKind, SideItemUpdate
from hourhand.domain.times import to_ms
from hourhand.memory import MemoryJobStore, MemoryObjectStore
from hourhand.memory.clock import MemoryClock
from hourhand.memory.randomness import MemoryRandomness
from hourhand.memory.telemetry import RecordingTelemetry
from hourhand.ports.side_item_store import SideItemStore
from hourhand.services.runs.invocation import Invocation
from hourhand.services.runs.journals import DurableRuns
from hourhand.services.runs.results import RunPorts
from tests.contract.fresh import new_id
from tests.world.aspects import NEVER_ASKED
from tests.world.factories import make_job

PLAIN = StepOptions()
STARTED = StepOptions(is_once=True, is_compensated=True, is_private=True)
MINUTE = timedelta(minutes=1)
ERROR = ErrorInfo(type="OSError", message="not now", retryable=True)
TWICE = RetryPolicy(max_attempts=2, base_seconds=60, jitter=Jitter.NONE)
LARGE = f'"{"x" * INLINE_BYTES}"'


class Rig:
    """A run that one owner after the other executes. Its job is in memory, its records are not."""

    def __init__(self, side_items: SideItemStore) -> None:
        self.clock, self.side_items, self.id = MemoryClock(), side_items, new_id()

    def open(self, token: int, resets: Mapping[str, int] | None = None) -> Invocation:
        """Return the invocation of the owner with this token; with ``resets``, of a round 2."""
        jobs, now = MemoryJobStore(), self.clock.now()
        self.job: Job = make_job(
            id=self.id,
            status=JobStatus.RUNNING,
            token=token,
            run_deadline=now + timedelta(days=1),
            round=1 if resets is None else 2,
            reset=None if resets is None else "resets",
        )
        jobs.put(self.job)
        ports = RunPorts(
            jobs=jobs,
            side_items=self.side_items,
            objects=MemoryObjectStore(),
            clock=self.clock,
            randomness=MemoryRandomness(),
            telemetry=RecordingTelemetry(),
            compensations=NEVER_ASKED,
            children=NEVER_ASKED,
        )
        invocation = DurableRuns(ports).open(self.job, lambda: None)
        if resets is None:
            return invocation
        assert self.side_items.write_item(
            put_reset(invocation.scope, "resets", resets, {})
        ).is_applied
        return DurableRuns(ports).open(self.job, lambda: None)

    def stored(self) -> list[Record]:
        """Return the records as they are stored, in the order of their sort keys."""
        items = self.side_items.query_items(self.id, prefix=journal_prefix(0), limit=99)
        return [record_of(item) for item in items]


def begin(run: Invocation, path: str, options: StepOptions = PLAIN) -> Try:
    attempt = run.answer(BeginStep(path, options, fits=True))
    assert isinstance(attempt, Try)
    started = run.answer(StartStep(attempt, options))
    assert isinstance(started, Try)
    return started


def fail(run: Invocation, attempt: Try, options: StepOptions = PLAIN) -> object:
    return run.answer(
        FailStep(attempt, options, ERROR, policy=TWICE, delay=None, counts=True, fits=False)
    )


def test_every_outcome_of_a_step_is_stored_and_replayed(side_item_store: SideItemStore) -> None:
    rig = Rig(side_item_store)
    run = rig.open(1)
    assert run.answer(EndStep(begin(run, "plain"), PLAIN, "1")) == Value("1")
    assert run.answer(EndStep(begin(run, "large"), PLAIN, LARGE)) == Value(LARGE)
    assert run.answer(EndStep(begin(run, "started", STARTED), STARTED, "2")) == Value("2")
    begin(run, "interrupted", STARTED)
    assert isinstance(fail(run, begin(run, "retried")), Suspension)
    assert run.answer(RecordedNow("now")) == rig.clock.now()

    rig.clock.advance(MINUTE.total_seconds() * 2)
    replay = rig.open(2)
    assert replay.answer(BeginStep("plain", PLAIN, fits=True)) == Value("1")
    assert replay.answer(BeginStep("large", PLAIN, fits=True)) == Value(LARGE)
    assert replay.answer(BeginStep("started", STARTED, fits=True)) == Value("2")
    interrupted = replay.answer(BeginStep("interrupted", STARTED, fits=True))
    assert isinstance(interrupted, Failure)
    assert interrupted.error.type == "StepInterrupted"
    second = begin(replay, "retried")
    assert second.number == 2
    assert fail(replay, second) == Failure(ERROR)
    assert replay.answer(RecordedNow("now")) < rig.clock.now()
    kinds = {item.key.kind for item in side_item_store.query_items(rig.id, limit=99)}
    assert kinds == {SideItemKind.STEP, SideItemKind.VALUE}


def test_every_outcome_of_a_wait_is_stored_and_replayed(side_item_store: SideItemStore) -> None:
    rig = Rig(side_item_store)
    run = rig.open(1)

    def wait(run: Invocation, name: str) -> Value | TimedOut | Suspension:
        return run.answer(WaitForSignal(name, name, MINUTE, has_default=True))

    assert isinstance(run.answer(SleepUntil("nap", MINUTE)), Suspension)
    assert isinstance(wait(run, "early"), Suspension)
    assert isinstance(wait(run, "never"), Suspension)
    assert side_item_store.write_item(signal(rig, "early", "id-1")).is_applied
    assert not side_item_store.write_item(signal(rig, "early", "id-1")).is_applied

    rig.clock.advance(MINUTE.total_seconds() * 2)
    for token in (2, 3):
        run = rig.open(token)
        assert run.answer(SleepUntil("nap", MINUTE)) == timedelta(0)
        assert wait(run, "early") == Value('"yes"')
        assert wait(run, "never") == TimedOut()
    assert [record.signal for record in rig.stored()] == ["id-1", None, None]


def signal(rig: Rig, name: str, signal_id: str) -> SideItemUpdate:
    created_ms = to_ms(rig.job.created_at)
    sent = Signal(1, to_ms(rig.clock.now()), signal_id, name, '"yes"', None, created_ms)
    return put_signal(rig.id, sent, rig.clock.now() + timedelta(days=9))


def test_a_signal_is_taken_by_one_branch_and_marked_at_a_restart(
    side_item_store: SideItemStore,
) -> None:
    rig = Rig(side_item_store)
    rig.open(1)
    created_ms = to_ms(rig.job.created_at)
    assert side_item_store.write_item(signal(rig, "go", "id-1")).is_applied

    def read(*ended: str) -> list[Signal]:
        items = side_item_store.query_items(rig.id, prefix=signal_prefix("go"), limit=9)
        signals = map(signal_of, items)
        return free_signals(signals, created_ms=created_ms, taken=set(), ended=ended, path="l/go")

    item = side_item_store.read_item(signal_key(rig.id, "go", "id-1"))
    assert item is not None
    assert item.key.kind is SideItemKind.SIGNAL
    found, until = signal_of(item), rig.clock.now() + timedelta(days=9)
    assert read() == [found]
    assert side_item_store.write_item(take_signal(rig.id, found, "r/go", until)).is_applied
    assert not side_item_store.write_item(take_signal(rig.id, found, "l/go", until)).is_applied
    assert read() == []
    [left] = read("r/go")
    assert side_item_store.write_item(take_signal(rig.id, left, "l/go", until)).is_applied
    assert side_item_store.write_item(take_signal(rig.id, left, "l/go", until)).is_applied
    assert not side_item_store.write_item(take_signal(rig.id, left, "o/go", until)).is_applied
    mark = mark_consumed(rig.id, created_ms, "go", "id-1", 0, rig.clock.now())
    assert side_item_store.write_item(mark).is_applied
    marked = side_item_store.read_item(signal_key(rig.id, "go", "id-1"))
    assert marked is not None
    assert signal_of(marked).segment == 0


def test_a_callback_is_stored_with_its_secret_and_times_out(side_item_store: SideItemStore) -> None:
    rig = Rig(side_item_store)
    run = rig.open(1)
    token = run.answer(OpenCallback("pay", MINUTE, MINUTE))
    assert isinstance(run.answer(CallbackResult("pay")), Suspension)
    assert rig.open(2).answer(OpenCallback("pay", MINUTE, MINUTE)) == token
    rig.clock.advance(MINUTE.total_seconds() * 2)
    run = rig.open(3)
    assert run.answer(OpenCallback("pay", MINUTE, MINUTE)) == token
    over = run.answer(CallbackResult("pay"))
    assert isinstance(over, Failure)
    assert over.error.type == "CallbackTimeout"
    assert [record.secret is not None for record in rig.stored()] == [True]


def test_cursors_and_versions_are_stored(side_item_store: SideItemStore) -> None:
    rig = Rig(side_item_store)
    run = rig.open(1)
    run.answer(SavePlace("rows", Place("100")))
    run.answer(SavePlace("rows", Place("200")))
    assert run.answer(VersionOf("new-way")) == 1
    replay = rig.open(2)
    assert (replay.answer(PlaceOf("rows")), replay.answer(VersionOf("new-way"))) == (
        Place("200"),
        1,
    )
    replay.answer(SavePlace("rows", Place("300", is_done=True)))
    with pytest.raises(RunLost):
        rig.open(3).answer(SavePlace("rows", Place("400")))
    assert [record.count for record in rig.stored()] == [3, 0]


def test_a_reset_record_takes_a_call_out_of_the_round(side_item_store: SideItemStore) -> None:
    rig = Rig(side_item_store)
    run = rig.open(1)
    for path in ("kept", "left/again"):
        run.answer(EndStep(begin(run, path), PLAIN, "1"))
    run = rig.open(2, resets={"left": 2})
    assert run.answer(BeginStep("kept", PLAIN, fits=True)) == Value("1")
    assert run.answer(EndStep(begin(run, "left/again"), PLAIN, "2")) == Value("2")
    reset = record_key(rig.id, 0, RecordKind.RESET, "resets")
    item = side_item_store.read_item(reset)
    assert item is not None
    assert (item.key.kind, item.numbers("resets")) == (SideItemKind.RESET, {"left": 2})
