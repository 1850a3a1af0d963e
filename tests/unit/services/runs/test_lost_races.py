"""What a run does where another worker, a request or a deletion came between two of its calls."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from hourhand import NotRetryable
from hourhand.domain.errors import (
    Compensated,
    InvalidInput,
    NotFound,
    TooLarge,
    Unavailable,
    WrongState,
)
from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.domain.jobs.log import ListOrder
from hourhand.domain.jobs.run_times import records_end
from hourhand.domain.jobs.transitions import keep_journal
from hourhand.domain.runs.answers import NOW, RunLost, Suspension, Try, Value
from hourhand.domain.runs.calls import (
    BeginStep,
    CallbackResult,
    EndStep,
    OpenCallback,
    PathOf,
    WaitForSignal,
)
from hourhand.domain.runs.records import RecordKind, record_key
from hourhand.domain.side_items import SideItem, SideItemUpdate
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import Refused
from hourhand.ports.side_item_store import SideItemWrite
from hourhand.services.jobs import execution as execution_module
from hourhand.services.jobs.attempt import HAND_BACK_DELAY, RunningAttempt
from hourhand.services.jobs.due import DueJobs, make_transition
from hourhand.services.jobs.execution import Disposition
from hourhand.services.runs import (
    compensation,
    completions,
    journals,
    redrives,
    steps,
    waits,
)
from hourhand.services.runs.callbacks import CallbackService
from hourhand.services.runs.journals import DurableRuns
from tests.crash.test_run_records import PLAIN, UNDONE, Owners, begun, failed
from tests.world.durable import durable, durable_world
from tests.world.faults import Faults
from tests.world.runs import HandlerKilled, RecordedRunner
from tests.world.world import World


def deleted(world: World, kind: RecordKind, path: str) -> None:
    """Let TTL delete a record."""
    key = record_key("run", 0, kind, path)
    assert world.side_items.write_item(SideItemUpdate(key=key, deletes=True)).is_applied


def ended(handler: Any) -> World:
    """Return the world of a run that came to its end."""
    world = durable_world()
    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    return world


def breaks(ctx: RunContext) -> None:
    ctx.step("a", int, compensate=lambda _result, _key: None)
    raise NotRetryable("no")


def test_a_worker_that_lost_the_run_does_not_suspend_it() -> None:
    world = durable_world()

    def lose(ctx: RunContext) -> None:
        world.advance(60)
        world.deliver(durable(lambda run: run.wait_for("s"), world.clock))
        ctx.sleep("rest", 600)

    world.submit(id="run")
    world.deliver(durable(lose, world.clock))
    waits_for = world.job("run").waits_for
    assert waits_for is not None
    assert waits_for.name == "s"


# --- steps ---


def test_a_step_with_aliases_is_found_under_its_own_name_first() -> None:
    owners = Owners()
    owners.owner.answer(EndStep(begun(owners.owner), PLAIN, "1"))
    assert owners.owner.answer(PathOf("a", ("old",))) == "a"


def test_a_step_whose_retry_is_not_due_waits_again() -> None:
    owners = Owners(before=lambda run: failed(run, begun(run), seconds=600))
    assert isinstance(owners.owner.answer(BeginStep("a", PLAIN, fits=True)), Suspension)


def test_a_failed_try_of_a_step_that_another_owner_ended_returns_its_result() -> None:
    owners = Owners()
    first, second = begun(owners.zombie), begun(owners.owner)
    owners.zombie.answer(EndStep(first, PLAIN, "1"))
    assert failed(owners.owner, second) == Value("1")


def test_a_record_that_changes_too_often_loses_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MAX_REWRITES", 1)
    owners = Owners()
    first, second = begun(owners.zombie), begun(owners.owner)
    failed(owners.zombie, first)
    with pytest.raises(RunLost):
        owners.owner.answer(EndStep(second, PLAIN, "1"))


def test_a_start_that_was_deleted_loses_the_run() -> None:
    owners = Owners()
    attempt = begun(owners.owner, UNDONE)
    deleted(owners.world, RecordKind.STEP, "a")
    with pytest.raises(RunLost):
        owners.owner.answer(EndStep(attempt, UNDONE, "1"))


def test_a_retry_of_a_step_that_is_due_runs_at_once() -> None:
    owners = Owners(before=lambda run: failed(run, begun(run), seconds=30))
    assert isinstance(owners.owner.answer(BeginStep("a", PLAIN, fits=True)), Try)


# --- waits ---


def test_a_deadline_meets_the_signal_that_another_owner_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owners = Owners()
    owners.world.api.signals.send("run", "s", "1", "1")
    owners.zombie.answer(WaitForSignal("s", "s", None, has_default=False))
    monkeypatch.setattr(waits, "_next_signal", lambda *_: None)
    waited = owners.owner.answer(WaitForSignal("s", "s", timedelta(60), has_default=True))
    assert waited == Value("1")


def test_a_signal_that_another_branch_took_meanwhile_is_not_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owners = Owners()
    owners.world.api.signals.send("run", "s", "1", "1")
    stale = owners.world.side_items.query_items("run", prefix="S#s#", limit=9)
    owners.zombie.answer(WaitForSignal("right/s", "s", None, has_default=False))
    monkeypatch.setattr(owners.world.side_items, "query_items", lambda *_, **__: stale)
    waited = owners.owner.answer(WaitForSignal("left/s", "s", None, has_default=False))
    assert isinstance(waited, Suspension)


def test_a_callback_that_was_deleted_loses_the_run() -> None:
    owners = Owners()
    owners.owner.answer(OpenCallback("cb", timedelta(seconds=60), None))
    deleted(owners.world, RecordKind.CALLBACK, "cb")
    owners.world.advance(120)
    with pytest.raises(RunLost):
        owners.owner.answer(CallbackResult("cb"))


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_completion_of_a_callback_that_changes_meanwhile_is_refused(
    monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    owners = Owners()
    token = owners.owner.answer(OpenCallback("cb", None, None))
    item = owners.world.side_items.read_item(record_key("run", 0, RecordKind.CALLBACK, "cb"))
    refused = SideItemWrite(is_applied=False, item=None if is_gone else item)
    monkeypatch.setattr(CallbackService, "_write", lambda *_: refused)
    with pytest.raises(NotFound if is_gone else Unavailable):
        owners.world.api.callbacks.succeed(token, "1")


def test_a_signal_to_a_run_that_changes_too_often_is_not_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(completions, "MAX_LOST_RACES", 0)
    world = durable_world()
    world.submit(id="run")
    with pytest.raises(Unavailable, match="changed too often"):
        world.api.signals.send("run", "s", "1", "1")


def test_a_signal_that_is_too_large_is_refused() -> None:
    world = durable_world()
    world.submit(id="run")
    with pytest.raises(TooLarge):
        world.api.signals.send("run", "s", "1", f'"{"x" * 2_600_000}"')


def test_a_run_with_a_flag_and_little_time_left_goes_on_in_another_invocation() -> None:
    world = durable_world()
    late = ["1"]

    def handler(ctx: RunContext) -> Any:
        try:
            return ctx.wait_for("s")
        finally:
            for signal_id in late:
                late.remove(signal_id)
                world.clock.advance(280)
                world.api.signals.send("run", "s", signal_id, '"late"')

    world.submit(id="run")
    behave = durable(handler, world.clock)
    (delivery,) = world.receive()
    runner = RecordedRunner(behave, world.store, world.clock, world.runs)
    ends_at = world.clock.monotonic() + 400
    execution = world.worker.execution
    left = execution.handle(delivery, runner, lambda: ends_at - world.clock.monotonic())
    world.queues.delete(delivery)
    assert left is Disposition.DONE
    assert (world.job("run").status, world.job("run").waits_for) == (JobStatus.PENDING, None)
    world.settle(behave)
    assert world.api.queries.job("run").result_text == '"late"'


def test_a_run_whose_step_still_runs_is_due_once_its_process_has_ended() -> None:
    world = durable_world()
    world.submit(id="run")

    def overruns(_job: Job, pulse: Pulse) -> Finished:
        pulse.open_run()
        return Finished(outcome=Outcome.SUSPENDED, suspension=NOW, still_runs=True)

    world.deliver(overruns)
    assert world.job("run").status is JobStatus.PENDING
    assert world.job("run").due_at == world.clock.now() + HAND_BACK_DELAY


def test_a_run_is_replayed_in_place_so_often_and_then_in_another_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution_module, "MAX_REPLAYS_IN_PLACE", 1)
    world = durable_world()

    def handler(ctx: RunContext) -> list[Any]:
        seen = []
        for name in ("a", "b", "c"):
            try:
                seen.append(ctx.wait_for(name))
            finally:
                if ctx.suspending:
                    world.api.signals.send("run", name, "1", f'"{name}"')
        return seen

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert world.api.queries.job("run").result_text == '["a","b","c"]'
    assert world.job("run").token == 2


def test_a_run_that_is_lost_before_its_flag_is_cleared_is_not_replayed_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = durable_world()
    invocations: list[int] = []

    def handler(ctx: RunContext) -> Any:
        invocations.append(1)
        try:
            return ctx.wait_for("s")
        finally:
            world.api.signals.send("run", "s", "1", '"there"')

    suspend = RunningAttempt.suspend

    def suspend_and_stall(*args: Any) -> Any:
        suspended = suspend(*args)
        world.advance(200)
        world.tick()
        return suspended

    world.submit(id="run")
    behave = durable(handler, world.clock)
    with monkeypatch.context() as patched:
        patched.setattr(RunningAttempt, "suspend", suspend_and_stall)
        (delivery,) = world.receive()
        assert world.handle(delivery, behave) is Disposition.KEEP
    assert len(invocations) == 1
    world.settle(behave)
    assert world.api.queries.job("run").result_text == '"there"'


def test_a_completer_whose_wake_was_refused_reads_the_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(lambda ctx: ctx.wait_for("s"), world.clock))
    move, refused = DueJobs.move, [Refused(None)]

    def refused_once(*args: Any, **options: Any) -> Any:
        return refused.pop() if refused else move(*args, **options)

    monkeypatch.setattr(DueJobs, "move", refused_once)
    world.api.signals.send("run", "s", "1", "1")
    assert world.job("run").status is JobStatus.ENQUEUED


def test_a_run_that_is_cancelled_as_it_restarts_ends_in_its_segment() -> None:
    world = durable_world()

    def handler(ctx: RunContext) -> None:
        world.api.operations.cancel("run", actor="caller")
        ctx.restart({"n": 1})

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert (world.job("run").status, world.job("run").segment) == (JobStatus.CANCELLED, 0)


# --- redrives and views ---


def test_a_run_that_does_not_exist_has_no_plan_and_no_steps() -> None:
    world = durable_world()
    with pytest.raises(NotFound):
        world.api.run_redrives.plan("absent", ["a"])
    with pytest.raises(NotFound):
        world.api.run_views.steps("absent", limit=9, cursor=None)


def test_a_reversed_run_is_not_redriven_from_a_call_and_fresh_once_that_succeeded() -> None:
    world = ended(breaks)
    with pytest.raises(Compensated, match="fresh: true"):
        world.api.run_redrives.redrive_from("run", ["a"], actor="caller")
    assert world.api.run_redrives.redrive_fresh("run", actor="caller").segment == 1


def test_a_run_that_another_request_redrives_meanwhile_is_not_redriven_from_a_call() -> None:
    world = ended(lambda ctx: ctx.step("a", int))
    faults = Faults().interrupt(
        "side_items.write_item",
        lambda: world.api.run_redrives.redrive_fresh("run", actor="another"),
    )
    with pytest.raises(WrongState, match="changed during the request"):
        world.process(faults).api.run_redrives.redrive_from("run", ["a"], actor="caller")
    assert (world.job("run").segment, world.job("run").reset) == (1, None)


def test_a_run_that_is_marked_as_compensated_during_the_request_is_redriven_fresh() -> None:
    reversed_: list[Any] = []

    def handler(ctx: RunContext) -> None:
        ctx.step("a", int, compensate=lambda *told: reversed_.append(told))
        raise NotRetryable("no")

    world = durable_world()
    behave = durable(handler, world.clock)
    world.submit(id="run")
    world.deliver(behave)
    faults = Faults().interrupt("side_items.write_item", lambda: world.deliver(behave))
    world.process(faults).api.run_redrives.redrive_fresh("run", actor="caller")
    assert (world.job("run").segment, len(reversed_)) == (1, 1)


def test_a_run_that_is_redriven_fresh_as_its_reversal_began_is_reversed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reversed_: list[Any] = []

    def handler(ctx: RunContext) -> None:
        ctx.step("a", int, compensate=lambda *told: reversed_.append(told))
        if branch_of(ctx).run.segment == 0:
            raise NotRetryable("no")

    def redriven_before(jobs: Any, job: Job, build: Any) -> Any:
        world.api.run_redrives.redrive_fresh("run", actor="caller")
        return make_transition(jobs, job, build)

    monkeypatch.setattr(compensation, "make_transition", redriven_before)
    world = durable_world()
    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert (world.job("run").status, len(reversed_)) == (JobStatus.SUCCEEDED, 1)


def test_a_run_that_was_redriven_as_its_reversal_began_is_not_reversed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compensation, "make_transition", lambda *_: Refused(None))
    assert ended(breaks).job("run").compensated_round is None


def test_a_run_that_another_worker_marked_for_the_same_reversal_is_reversed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def marked_by_another(jobs: Any, job: Job, build: Any) -> Refused:
        make_transition(jobs, job, build)
        return Refused(jobs.get(job.id))

    monkeypatch.setattr(compensation, "make_transition", marked_by_another)
    reversed_: list[Any] = []

    def handler(ctx: RunContext) -> None:
        ctx.step("a", int, compensate=lambda *told: reversed_.append(told))
        raise NotRetryable("no")

    assert ended(handler).job("run").compensated_round == 1
    assert len(reversed_) == 1


def test_a_step_whose_only_try_was_interrupted_is_reversed_without_a_result() -> None:
    world = durable_world()
    reversed_: list[Any] = []
    dies = [HandlerKilled]

    def effect() -> None:
        for death in dies:
            dies.remove(death)
            raise death

    def handler(ctx: RunContext) -> None:
        ctx.step("a", effect, once=True, compensate=lambda *told: reversed_.append(told))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    with pytest.raises(HandlerKilled):
        world.deliver(behave)
    world.advance(60)
    world.settle(behave)
    assert (world.job("run").last_failure or "").startswith("StepInterrupted")
    assert [result for result, _ in reversed_] == [None]


def test_a_run_whose_journal_became_too_long_to_be_read_is_not_reversed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def handler(ctx: RunContext) -> None:
        ctx.step("a", int, compensate=lambda *_: None)
        monkeypatch.setattr(journals, "MAX_RECORDS", 0)
        raise NotRetryable("no")

    assert set(ended(handler).store.jobs()) == {"run"}


def test_a_journal_that_is_too_long_to_be_read_has_no_plan_and_no_reversal_and_is_begun_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = ended(lambda ctx: [ctx.step(name, int) for name in ("a", "b")])
    monkeypatch.setattr(journals, "MAX_RECORDS", 1)
    with pytest.raises(WrongState, match="more than 1 records"):
        world.api.run_redrives.plan("run", ["a"])
    with pytest.raises(WrongState, match="more than 1 records"):
        world.api.run_views.steps("run", limit=9, cursor=None)
    assert world.api.run_redrives.redrive_fresh("run", actor="caller").segment == 1
    monkeypatch.setattr(journals, "MAX_RECORDS", 0)
    assert ended(lambda _: breaks_at_once()).job("run").status is JobStatus.DEAD


def breaks_at_once() -> None:
    raise NotRetryable("no")


def test_more_resets_than_a_record_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrives, "MAX_RESETS", 0)
    world = ended(lambda ctx: ctx.step("a", int))
    with pytest.raises(InvalidInput, match="would reset more than 0 paths"):
        world.api.run_redrives.redrive_from("run", ["a"], actor="caller")


def test_a_fresh_redrive_keeps_the_signals_that_were_returned_from_its_waits() -> None:
    world = durable_world()

    def handler(ctx: RunContext) -> Any:
        said = ctx.wait_for("s", timeout=60, default="nothing")
        if branch_of(ctx).run.segment == 0:
            raise NotRetryable("no")
        return said

    behave = durable(handler, world.clock)
    world.submit(id="run")
    world.api.signals.send("run", "s", "1", '"first"')
    world.settle(behave)
    world.api.run_redrives.redrive_fresh("run", actor="caller")
    world.settle(behave)
    assert world.api.queries.job("run").result_text == '"nothing"'


def test_the_steps_of_a_run_say_how_its_waits_and_rows_are() -> None:
    world = durable_world()

    def handler(ctx: RunContext) -> None:
        ctx.sleep("nap", 1)
        ctx.wait_for("s", timeout=60, default=None)
        for row in ctx.iterate("rows", list(range(4)), every=2):
            if row == 3:
                ctx.branch("inner").wait_for("never")

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    world.advance(61)
    world.deliver(behave)
    steps = world.api.run_views.steps("run", limit=9, cursor=None).steps
    assert [(step.path, step.status, step.signal) for step in steps] == [
        ("nap", "succeeded", None),
        ("s", "failed", "s"),
        ("rows", "running", None),
        ("never", "waiting", "never"),
    ]


def test_a_cursor_of_steps_is_of_one_order() -> None:
    world = ended(lambda ctx: [ctx.step(name, int) for name in ("a", "b", "c")])
    views = world.api.run_views
    newest = views.steps("run", limit=2, cursor=None, order=ListOrder.NEWEST)
    assert [step.path for step in newest.steps] == ["c", "b"]
    rest = views.steps("run", limit=2, cursor=newest.next_cursor, order=ListOrder.NEWEST)
    assert ([step.path for step in rest.steps], rest.next_cursor) == (["a"], None)
    with pytest.raises(InvalidInput, match="cursor"):
        views.steps("run", limit=2, cursor=newest.next_cursor)


def test_the_second_wait_for_a_signal_is_shown_under_a_path_of_its_own() -> None:
    world = durable_world()
    world.submit(id="run")
    behave = durable(lambda ctx: [ctx.wait_for("s"), ctx.wait_for("s")], world.clock)
    world.deliver(behave)
    world.api.signals.send("run", "s", "1", "1")
    world.deliver(behave)
    steps = world.api.run_views.steps("run", limit=9, cursor=None).steps
    assert [(step.path, step.status) for step in steps] == [("s", "succeeded"), ("s.2", "waiting")]


def test_a_sleep_of_a_run_that_was_cancelled_never_succeeds() -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(lambda ctx: ctx.sleep("nap", 60), world.clock))
    world.api.operations.cancel("run", actor="caller")
    world.advance(120)
    [step] = world.api.run_views.steps("run", limit=9, cursor=None).steps
    assert (step.path, step.status) == ("nap", "waiting")


def test_a_result_that_is_too_large_to_be_shown_is_omitted() -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(lambda ctx: len(ctx.step("a", str, "a" * 5000)), world.clock))
    [step] = world.api.run_views.steps("run", limit=9, cursor=None).steps
    assert (step.status, step.result_text, step.omits_result) == ("succeeded", None, True)


def redriven(world: World) -> None:
    """Redrive a run from one of its two steps, and let it go on."""
    handler = durable(lambda ctx: [ctx.step(name, int) for name in ("a", "b")], world.clock)
    world.api.run_redrives.redrive_from("run", ["b"], actor="caller")
    assert records_end(world.job("run")) == world.job("run").journal_ends
    world.settle(handler)


def test_a_redriven_run_with_more_items_than_can_be_prolonged_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = ended(lambda ctx: [ctx.step(name, int) for name in ("a", "b")])
    monkeypatch.setattr(journals, "PAGE", 1)
    monkeypatch.setattr(journals, "MAX_PAGES", 1)
    redriven(world)
    assert (world.job("run").last_failure or "").startswith("JournalFull")


def test_a_run_that_is_lost_as_its_records_are_prolonged_prolongs_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = ended(lambda ctx: [ctx.step(name, int) for name in ("a", "b")])
    calls: list[Job] = []

    def keep_journal_of_zombie(job: Job) -> Any:
        calls.append(job)
        return keep_journal(job if len(calls) > 1 else replace(job, token=99))

    monkeypatch.setattr(journals, "keep_journal", keep_journal_of_zombie)
    redriven(world)
    assert len(calls) == 2
    assert world.job("run").journal_ends is None


def test_every_item_of_a_redriven_run_is_prolonged_page_by_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journals, "PAGE", 1)
    world = ended(lambda ctx: [ctx.step(name, int) for name in ("a", "b")])
    world.advance(86_400)
    world.api.run_redrives.redrive_from("run", ["b"], actor="caller")
    world.settle(durable(lambda ctx: [ctx.step(name, int) for name in ("a", "b")], world.clock))
    assert world.job("run").journal_ends is None


def test_a_worker_keeps_its_lease_while_it_prolongs_many_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journals, "PAGE", 1)
    world = ended(lambda ctx: [ctx.step(name, int) for name in ("a", "b", "c", "d")])
    world.api.run_redrives.redrive_from("run", ["b"], actor="caller")
    prolong = DurableRuns._prolong_item
    begun: list[Any] = []

    def slow(self: DurableRuns, item: SideItem, keep_until: datetime) -> None:
        world.clock.advance(20)
        prolong(self, item, keep_until)

    def handler(ctx: RunContext) -> None:
        job = world.job("run")
        begun.append(job.attempt)
        assert job.lease is not None
        assert job.lease.until > world.clock.now()

    monkeypatch.setattr(DurableRuns, "_prolong_item", slow)
    world.settle(durable(handler, world.clock))
    assert (world.job("run").status, len(begun)) == (JobStatus.SUCCEEDED, 1)


def test_a_worker_that_loses_its_run_stops_prolonging_its_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journals, "PAGE", 1)
    world = ended(lambda ctx: [ctx.step(name, int) for name in ("a", "b", "c")])
    world.api.run_redrives.redrive_from("run", ["b"], actor="caller")
    prolong = DurableRuns._prolong_item
    prolonged: list[SideItem] = []

    def slow(self: DurableRuns, item: SideItem, keep_until: datetime) -> None:
        prolonged.append(item)
        if len(prolonged) == 1:
            world.clock.advance(300)
            world.tick()
        prolong(self, item, keep_until)

    monkeypatch.setattr(DurableRuns, "_prolong_item", slow)
    world.deliver(durable(lambda _ctx: None, world.clock))
    assert len(prolonged) == 1
    assert world.job("run").journal_ends is not None
