"""Two owners of a run, one of which lost its lease: one record of each call, and both read it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand import NotRetryable, Retry, StepFailed
from hourhand.domain.errors import AlreadyCompleted, NotFound
from hourhand.domain.jobs.job import ErrorInfo, JobStatus
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
    EndStep,
    FailStep,
    OpenBranch,
    OpenCallback,
    PlaceOf,
    RecordedNow,
    ResultOf,
    SavePlace,
    SleepUntil,
    StartStep,
    WaitForSignal,
)
from hourhand.domain.runs.records import INLINE_BYTES, RecordKind, RecordOutcome
from hourhand.domain.runs.tokens import read_token
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.services.runs import waits
from hourhand.services.runs.invocation import Invocation
from hourhand.services.runs.waits import set_deadline
from tests.world.durable import durable, durable_world
from tests.world.runs import HandlerKilled
from tests.world.world import World

PLAIN, ONCE, UNDONE = StepOptions(), StepOptions(is_once=True), StepOptions(is_compensated=True)
ERROR = ErrorInfo(type="OSError", message="no")


class Owners:
    """The journal of one run as two workers have it open; the second one owns the run."""

    def __init__(self, before: Any = None) -> None:
        self.world: World = durable_world()
        self.opened: list[Any] = []
        self.world.submit(id="run")
        self._open(before)
        self.world.advance(60)
        self._open(None)
        self.zombie: Invocation = self.opened[0]
        self.owner: Invocation = self.opened[1]

    def _open(self, before: Any) -> None:
        def handler(ctx: RunContext) -> None:
            self.opened.append(branch_of(ctx).run)
            if before is not None:
                before(branch_of(ctx).run)
            raise HandlerKilled

        with pytest.raises(HandlerKilled):
            self.world.deliver(durable(handler, self.world.clock))


def begun(run: Invocation, options: StepOptions = PLAIN) -> Try:
    attempt = run.answer(BeginStep("a", options, fits=True))
    assert isinstance(attempt, Try)
    started = run.answer(StartStep(attempt, options))
    assert isinstance(started, Try)
    return started


def failed(run: Invocation, attempt: Try, options: StepOptions = PLAIN, seconds: float = 60) -> Any:
    return run.answer(
        FailStep(
            attempt,
            options,
            ERROR,
            policy=Retry(max_attempts=3),
            delay=timedelta(seconds=seconds),
            counts=True,
            fits=True,
        )
    )


def test_the_first_record_of_a_step_stands_and_both_owners_get_it() -> None:
    owners = Owners()
    first, second = begun(owners.zombie), begun(owners.owner)
    assert owners.zombie.answer(EndStep(first, PLAIN, '"zombie"')) == Value('"zombie"')
    assert owners.owner.answer(EndStep(second, PLAIN, '"owner"')) == Value('"zombie"')


def test_a_success_stands_beside_the_failed_try_of_a_zombie() -> None:
    owners = Owners()
    first, second = begun(owners.zombie), begun(owners.owner)
    assert isinstance(failed(owners.zombie, first), Suspension)
    assert owners.owner.answer(EndStep(second, PLAIN, "1")) == Value("1")


def test_a_zombie_neither_adds_nor_hides_an_attempt() -> None:
    owners = Owners()
    first, second = begun(owners.zombie), begun(owners.owner)
    assert isinstance(failed(owners.zombie, first), Suspension)
    with pytest.raises(RunLost):
        failed(owners.owner, second)
    record = owners.owner.journal.stored(RecordKind.STEP, "a")
    assert record is not None
    assert (record.outcome, record.count) == (RecordOutcome.RETRYING, 1)


def test_a_failure_that_a_zombie_recorded_is_that_of_the_owner() -> None:
    owners = Owners()
    first, second = begun(owners.zombie), begun(owners.owner)
    error = ErrorInfo(type="OSError", message="no", retryable=False)
    last = {"policy": Retry(), "delay": None, "counts": True, "fits": True}
    assert owners.zombie.answer(FailStep(first, PLAIN, error, **last)) == Failure(error)  # type: ignore[arg-type]
    assert owners.owner.answer(EndStep(second, PLAIN, "1")) == Failure(error)


@pytest.mark.parametrize("options", [ONCE, UNDONE], ids=["once", "compensate"])
def test_a_zombie_that_records_a_start_does_not_call_the_function(options: StepOptions) -> None:
    owners = Owners()
    attempt = owners.zombie.answer(BeginStep("a", options, fits=True))
    assert isinstance(attempt, Try)
    with pytest.raises(RunLost):
        owners.zombie.answer(StartStep(attempt, options))


def test_the_outcome_of_a_start_that_another_owner_replaced_is_refused() -> None:
    started: list[Try] = []
    owners = Owners(before=lambda run: started.append(begun(run, UNDONE)))
    second = begun(owners.owner, UNDONE)
    with pytest.raises(RunLost):
        owners.zombie.answer(EndStep(started[0], UNDONE, "1"))
    assert owners.owner.answer(EndStep(second, UNDONE, "2")) == Value("2")
    assert owners.zombie.answer(EndStep(started[0], UNDONE, "1")) == Value("2")


def test_a_step_that_runs_once_stays_interrupted_whatever_its_zombie_returns() -> None:
    started: list[Try] = []
    owners = Owners(before=lambda run: started.append(begun(run, ONCE)))
    interrupted = owners.owner.answer(BeginStep("a", ONCE, fits=True))
    assert isinstance(interrupted, Failure)
    assert interrupted.error.type == "StepInterrupted"
    assert owners.zombie.answer(EndStep(started[0], ONCE, "1")) == interrupted


def test_a_step_whose_zombie_ended_it_meanwhile_is_not_interrupted() -> None:
    started: list[Try] = []
    owners = Owners(before=lambda run: started.append(begun(run, ONCE)))
    owners.zombie.answer(EndStep(started[0], ONCE, "1"))
    assert owners.owner.answer(BeginStep("a", ONCE, fits=True)) == Value("1")


def test_a_start_is_not_interrupted_by_its_own_invocation() -> None:
    owners = Owners()
    begun(owners.owner, ONCE)
    with pytest.raises(RunLost):
        owners.owner.answer(BeginStep("a", ONCE, fits=True))


def test_a_retry_of_a_step_with_a_start_is_recorded_also_in_place() -> None:
    owners = Owners()
    again = failed(owners.owner, begun(owners.owner, UNDONE), UNDONE, seconds=1)
    assert isinstance(again, Try)
    assert again.number == 2
    started = owners.owner.answer(StartStep(again, UNDONE))
    assert isinstance(started, Try)
    assert owners.owner.answer(EndStep(started, UNDONE, "1")) == Value("1")


def test_both_owners_sleep_until_the_time_that_was_recorded_first() -> None:
    owners = Owners()
    first = owners.zombie.answer(SleepUntil("rest", timedelta(seconds=600)))
    owners.world.advance(60)
    assert owners.owner.answer(SleepUntil("rest", timedelta(seconds=600))) == first


def test_both_owners_have_the_token_the_time_and_the_deadline_that_were_recorded_first() -> None:
    owners = Owners()
    assert owners.zombie.answer(OpenCallback("cb", None, None)) == owners.owner.answer(
        OpenCallback("cb", None, None)
    )
    first = owners.zombie.answer(RecordedNow("now"))
    owners.world.advance(60)
    assert owners.owner.answer(RecordedNow("now")) == first
    waits = owners.zombie.answer(WaitForSignal("s", "s", timedelta(60), has_default=True))
    assert owners.owner.answer(WaitForSignal("s", "s", timedelta(9), has_default=True)) == waits


def test_a_wait_that_another_owner_ended_meanwhile_returns_the_same() -> None:
    owners = Owners()
    owners.world.api.signals.send("run", "s", "1", "1")
    first = owners.zombie.answer(WaitForSignal("s", "s", timedelta(60), has_default=True))
    owners.world.api.signals.send("run", "s", "0", "0")
    assert owners.owner.answer(WaitForSignal("s", "s", timedelta(60), has_default=True)) == first
    assert first == Value("1")
    late = Owners()
    minute = timedelta(minutes=1)
    late.zombie.answer(WaitForSignal("s", "s", minute, has_default=True))
    late.world.advance(61)
    assert late.zombie.answer(WaitForSignal("s", "s", minute, has_default=True)) == TimedOut()
    late.world.api.signals.send("run", "s", "1", "1")
    assert late.owner.answer(WaitForSignal("s", "s", minute, has_default=True)) == TimedOut()


def test_a_deadline_that_meets_a_signal_that_another_owner_took_returns_it() -> None:
    owners = Owners()
    owners.world.api.signals.send("run", "s", "1", "1")
    assert isinstance(waits._next_signal(owners.zombie, "s", "s"), object)
    owners.zombie.answer(WaitForSignal("s", "s", timedelta(60), has_default=True))
    until = owners.owner.ports.clock.now() + timedelta(60)
    record = set_deadline(owners.owner, "s", "gs", until, 0)
    assert record.is_settled


def test_an_owner_does_not_move_the_cursor_of_a_newer_one() -> None:
    owners = Owners()
    owners.owner.answer(SavePlace("rows", Place("10")))
    with pytest.raises(RunLost):
        owners.zombie.answer(SavePlace("rows", Place("5")))
    assert owners.owner.answer(PlaceOf("rows")) == Place("10")


def test_two_branches_never_return_one_signal_in_whatever_order_owners_run_them() -> None:
    owners = Owners()
    owners.world.api.signals.send("run", "s", "1", '"first"')
    owners.world.advance(1)
    owners.world.api.signals.send("run", "s", "2", '"second"')
    right = owners.zombie.answer(WaitForSignal("right/s", "s", None, has_default=False))
    left = owners.owner.answer(WaitForSignal("left/s", "s", None, has_default=False))
    assert (right, left) == (Value('"first"'), Value('"second"'))
    assert owners.owner.answer(WaitForSignal("right/s", "s", None, has_default=False)) == right


def test_a_run_and_its_branch_never_return_one_signal_in_whatever_order_owners_run_them() -> None:
    owners = Owners()
    owners.world.api.signals.send("run", "s", "1", '"first"')
    owners.world.advance(1)
    owners.world.api.signals.send("run", "s", "2", '"second"')
    owners.owner.answer(OpenBranch("left"))
    root = owners.owner.answer(WaitForSignal("s", "s", None, has_default=False))
    left = owners.zombie.answer(WaitForSignal("left/s", "s", None, has_default=False))
    assert (root, left) == (Value('"first"'), Value('"second"'))


def test_a_signal_that_a_branch_took_too_late_is_returned_by_the_next_wait() -> None:
    owners = Owners()
    minute = timedelta(seconds=60)
    for run in (owners.zombie, owners.owner):
        waits = run.answer(WaitForSignal("left/s", "s", minute, has_default=True))
        assert isinstance(waits, Suspension)
    owners.world.advance(61)
    ended = owners.owner.answer(WaitForSignal("left/s", "s", minute, has_default=True))
    owners.world.api.signals.send("run", "s", "1", '"late"')
    too_late = owners.zombie.answer(WaitForSignal("left/s", "s", minute, has_default=True))
    assert (ended, too_late) == (TimedOut(), TimedOut())
    following = owners.owner.answer(WaitForSignal("left/s.2", "s", minute, has_default=True))
    assert following == Value('"late"')


def test_two_owners_that_repeat_one_failed_try_count_it_once() -> None:
    owners = Owners(before=lambda run: failed(run, begun(run)))
    first, second = begun(owners.zombie), begun(owners.owner)
    assert (first.number, second.number) == (2, 2)
    assert isinstance(failed(owners.zombie, first), Suspension)
    with pytest.raises(RunLost):
        failed(owners.owner, second)
    record = owners.owner.journal.stored(RecordKind.STEP, "a")
    assert record is not None
    assert record.count == 2


def test_the_start_of_a_zombie_does_not_replace_that_of_the_owner() -> None:
    owners = Owners()
    late = owners.zombie.answer(BeginStep("a", UNDONE, fits=True))
    assert isinstance(late, Try)
    second = begun(owners.owner, UNDONE)
    with pytest.raises(RunLost):
        owners.zombie.answer(StartStep(late, UNDONE))
    ended: object = None
    with suppress(RunLost):
        ended = owners.owner.answer(EndStep(second, UNDONE, "2"))
    assert ended == Value("2")


def test_a_zombie_does_not_replace_the_value_behind_a_record() -> None:
    owners = Owners()
    first, second = begun(owners.zombie), begun(owners.owner)
    large, other = f'"{"a" * INLINE_BYTES}"', f'"{"b" * INLINE_BYTES}"'
    assert owners.owner.answer(EndStep(second, PLAIN, large)) == Value(large)
    assert owners.zombie.answer(EndStep(first, PLAIN, other)) == Value(large)
    assert owners.owner.answer(ResultOf("a")) == Value(large)


def test_an_iteration_that_is_over_stays_over() -> None:
    owners = Owners()
    owners.zombie.answer(SavePlace("rows", Place("7", is_done=True)))
    with pytest.raises(RunLost):
        owners.owner.answer(SavePlace("rows", Place("5")))
    assert owners.owner.answer(PlaceOf("rows")) == Place("7", is_done=True)


def test_two_waits_of_a_run_take_two_signals() -> None:
    owners = Owners()
    for signal_id in ("1", "2"):
        owners.world.api.signals.send("run", "s", signal_id, signal_id)
        owners.world.advance(1)
    paths = ("s", "s.2")
    returned = [owners.owner.answer(WaitForSignal(p, "s", None, has_default=False)) for p in paths]
    assert returned == [Value("1"), Value("2")]


def test_a_signal_that_is_sent_again_under_its_id_keeps_its_first_payload() -> None:
    owners = Owners()
    for text in ("1", "2"):
        owners.world.api.signals.send("run", "s", "same", text)
    assert owners.owner.answer(WaitForSignal("s", "s", None, has_default=False)) == Value("1")
    assert isinstance(
        owners.owner.answer(WaitForSignal("s.2", "s", None, has_default=False)), Suspension
    )


def test_a_callback_that_was_completed_takes_no_other_outcome() -> None:
    owners = Owners()
    token = owners.owner.answer(OpenCallback("cb", None, None))
    callbacks = owners.world.api.callbacks
    callbacks.succeed(token, "1")
    callbacks.succeed(token, "1")
    with pytest.raises(AlreadyCompleted):
        callbacks.succeed(token, "2")
    with pytest.raises(AlreadyCompleted):
        callbacks.fail(token, ERROR)
    with pytest.raises(AlreadyCompleted):
        callbacks.heartbeat(token)


def test_the_secret_of_a_callback_decides_not_its_path() -> None:
    owners = Owners()
    found = read_token(owners.owner.answer(OpenCallback("cb", None, None)))
    assert found is not None
    forged = replace(found, secret=bytes(len(found.secret)))
    with pytest.raises(NotFound):
        owners.world.api.callbacks.succeed(str(forged), "1")


def test_a_step_that_a_redrive_reset_runs_again_and_the_others_do_not() -> None:
    world = durable_world()
    calls: list[str] = []

    def handler(ctx: RunContext) -> Any:
        return [ctx.step(name, lambda name=name: calls.append(name)) for name in ("a", "b")]

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    world.api.run_redrives.redrive_from("run", ["b"], actor="caller")
    world.settle(durable(handler, world.clock))
    assert calls == ["a", "b", "b"]


def test_a_step_that_failed_runs_again_after_a_redrive_alone() -> None:
    world = durable_world()
    calls: list[str] = []

    def breaks() -> None:
        calls.append("a")
        raise OSError("no")

    def handler(ctx: RunContext) -> None:
        with suppress(StepFailed):
            ctx.step("a", breaks, retry=Retry(max_attempts=1))
        ctx.sleep("rest", 60)
        raise NotRetryable("no")

    behave = durable(handler, world.clock)
    world.submit(id="run")
    world.settle(behave)
    assert calls == ["a"]
    world.api.operations.redrive("run", actor="caller")
    world.settle(behave)
    assert calls == ["a", "a"]


def test_no_call_is_made_after_the_run_was_suspended() -> None:
    world = durable_world()
    calls: list[str] = []

    def handler(ctx: RunContext) -> None:
        try:
            ctx.sleep("rest", 60)
        finally:
            ctx.step("late", calls.append, "late")

    behave = durable(handler, world.clock)
    world.submit(id="run")
    world.deliver(behave)
    assert calls == []
    world.settle(behave)
    assert calls == ["late"]


def test_a_run_whose_deadline_passed_does_not_go_on() -> None:
    world = durable_world()
    calls: list[str] = []

    def handler(ctx: RunContext) -> None:
        calls.append("began")
        ctx.wait_for("never")

    world.submit(id="run")
    world.deliver(durable(handler, world.clock))
    world.advance(8 * 86_400)
    world.settle(durable(handler, world.clock))
    assert calls == ["began"]
    assert "RunTimeout" in (world.job("run").last_failure or "")


def test_a_signal_that_comes_as_the_run_suspends_is_returned_at_once() -> None:
    world, late = durable_world(), ["1"]

    def handler(ctx: RunContext) -> Any:
        try:
            return ctx.wait_for("s")
        finally:
            for signal_id in late:
                late.remove(signal_id)
                world.api.signals.send("run", "s", signal_id, '"late"')

    world.submit(id="run")
    world.settle(durable(handler, world.clock), minutes=2)
    assert world.api.queries.job("run").result_text == '"late"'


def test_a_signal_to_a_run_that_waits_is_returned_at_once() -> None:
    world = durable_world()
    behave = durable(lambda ctx: ctx.wait_for("s"), world.clock)
    world.submit(id="run")
    world.deliver(behave)
    world.api.signals.send("run", "s", "1", '"now"')
    world.deliver(behave)
    assert world.api.queries.job("run").result_text == '"now"'


def test_a_step_that_was_started_is_reversed_when_its_run_is_cancelled() -> None:
    world = durable_world()
    reversed_: list[Any] = []

    def killed() -> None:
        raise HandlerKilled

    def handler(ctx: RunContext) -> None:
        ctx.step("a", killed, compensate=lambda *told: reversed_.append(told))

    behave = durable(handler, world.clock)
    world.submit(id="run")
    with pytest.raises(HandlerKilled):
        world.deliver(behave)
    world.api.operations.cancel("run", actor="caller")
    world.advance(120)
    world.settle(behave)
    assert world.job("run").status is JobStatus.CANCELLED
    assert [result for result, _ in reversed_] == [None]


# --- deployments ---


def test_code_that_was_replaced_ends_no_run_that_the_newer_code_wrote() -> None:
    world = durable_world()
    world.submit(id="run")
    old = durable(lambda ctx: ctx.sleep("a", 60), world.clock)

    def newer(ctx: RunContext) -> int:
        told: int = ctx.step("a", int)
        ctx.sleep("rest", 60)
        return told

    world.deliver(durable(newer, world.clock))
    world.advance(60)
    world.deployment.lives = False
    world.deliver(old)
    handed_back = world.job("run")
    assert (handed_back.status, handed_back.attempt) == (JobStatus.RETRYING, 0)
    assert handed_back.due_at == world.clock.now() + timedelta(seconds=60)
    assert handed_back.history[-1].reason == "does not fit replaced code"
    world.deployment.lives = True
    world.settle(durable(newer, world.clock))
    assert world.job("run").status is JobStatus.SUCCEEDED
