"""The journal of a run over its life: limits, ends, redrives, and what is gone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand import NotRetryable, Snooze
from hourhand.domain.errors import WrittenByNewer, WrongState
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus, Outcome
from hourhand.domain.jobs.run_times import records_end
from hourhand.domain.runs.records import Record
from hourhand.domain.runs.reversals import COMPENSATION, compensation_id
from hourhand.domain.side_items import SideItemKind
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.runs import journals, records, waits
from hourhand.services.runs.journals import DurableRuns
from tests.world.durable import WEEK, durable, durable_world
from tests.world.world import World


def undo_id(world: World) -> str:
    """Return the id of the compensation of the run's first round."""
    return compensation_id(world.job("run"), 0, 1)


def died_with(world: World) -> str:
    return (world.job("run").last_failure or "").partition(":")[0]


def test_a_journal_beyond_its_limit_ends_the_run_and_is_announced_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "MAX_RECORDS", 5)
    world = durable_world()
    world.submit(id="run")

    def endless(ctx: RunContext) -> None:
        for number in range(10):
            ctx.step(f"s{number}", int)

    world.settle(durable(endless, world.clock))
    assert died_with(world) == "JournalFull"
    told = [line for line in world.telemetry.warnings if "is large" in line.sentence]
    assert len(told) == 1


def test_a_journal_that_is_too_long_to_be_read_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = durable_world()
    world.submit(id="run")

    def handler(ctx: RunContext) -> None:
        ctx.step("a", int)
        ctx.step("b", int)
        ctx.sleep("rest", 60)

    world.deliver(durable(handler, world.clock))
    monkeypatch.setattr(journals, "MAX_RECORDS", 2)
    world.settle(durable(handler, world.clock))
    assert died_with(world) == "JournalFull"
    assert undo_id(world) not in world.store.jobs()


def test_many_signals_that_no_wait_has_returned_are_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "MAX_UNCONSUMED", 1)
    world = durable_world()
    world.submit(id="run")
    for number in range(3):
        world.api.signals.send("run", "s", str(number), "1")
    world.settle(durable(lambda ctx: ctx.wait_for("s"), world.clock))
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert any("many signals" in line.sentence for line in world.telemetry.warnings)


def test_a_result_that_is_gone_ends_the_run_instead_of_repeating_the_step() -> None:
    world = durable_world()
    world.submit(id="run")

    def handler(ctx: RunContext) -> None:
        ctx.step("large", lambda: "x" * 10_000)
        ctx.sleep("rest", 60)

    world.deliver(durable(handler, world.clock))
    [key] = [key for key in world.side_items.items() if key.kind is SideItemKind.VALUE]
    world.side_items._delete(key)
    world.settle(durable(handler, world.clock))
    assert died_with(world) == "JournalExpired"


def test_a_large_signal_is_kept_in_the_bucket() -> None:
    world = durable_world()
    world.submit(id="run")
    world.api.signals.send("run", "s", "1", '"' + "x" * 300_000 + '"')
    world.settle(durable(lambda ctx: len(ctx.wait_for("s")), world.clock))
    assert world.api.queries.job("run").result_text == "300000"


def _fails_once(failures: list[int]) -> Any:
    def handler(ctx: RunContext) -> int:
        ctx.step("good", lambda: "x" * 300_000)
        ctx.step("beside", lambda: "x" * 10_000)
        if not failures:
            failures.append(1)
            raise NotRetryable("no")
        return len(failures)

    return handler


def test_a_redrive_gives_every_record_the_end_of_the_new_deadline() -> None:
    world = durable_world()
    world.submit(id="run")
    handler = durable(_fails_once([]), world.clock)
    world.settle(handler)
    before = records_end(world.job("run"))
    assert before is not None
    world.advance(5 * 86_400)
    world.api.operations.redrive("run", actor="caller")
    assert world.job("run").journal_ends == before
    world.settle(handler, minutes=90)
    job = world.job("run")
    assert job.status is JobStatus.SUCCEEDED
    assert job.journal_ends is None
    end = records_end(job)
    assert end is not None
    assert end >= before + timedelta(days=5)
    kept = {world.side_items.kept_until(key) for key in world.side_items.items()}
    assert kept == {end}
    assert set(world.objects.finished().values()) == {end}


def test_a_redrive_after_the_end_of_the_journal_ends_the_run() -> None:
    world = durable_world()
    world.submit(id="run")
    handler = durable(_fails_once([]), world.clock)
    world.settle(handler)
    world.advance(WEEK + 15 * 86_400)
    world.api.operations.redrive("run", actor="caller")
    world.settle(handler, minutes=90)
    assert died_with(world) == "JournalExpired"


def test_a_record_of_a_newer_version_leaves_the_run_to_a_newer_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = durable_world()
    world.submit(id="run")

    def refuse(*_: Any) -> None:
        raise WrittenByNewer("newer", ids=["run"])

    with monkeypatch.context() as patch:
        patch.setattr(journals.DurableRuns, "read", refuse)
        world.deliver(durable(lambda ctx: ctx.step("a", int), world.clock))
    job = world.job("run")
    assert (job.status, job.attempt) == (JobStatus.RETRYING, 0)
    world.settle(durable(lambda ctx: ctx.step("a", int), world.clock))
    assert world.job("run").status is JobStatus.SUCCEEDED


# --- compensation ---


def _saga(reversed_: list[Any], *, fails: bool = True) -> Any:
    def handler(ctx: RunContext) -> None:
        for name in ("first", "second"):
            ctx.step(name, str, name, compensate=lambda *told: reversed_.append(told))
        ctx.step("third", str, "third")
        if fails:
            raise NotRetryable("no")

    return handler


def test_the_steps_of_a_run_that_failed_are_reversed_the_newest_first() -> None:
    world = durable_world()
    reversed_: list[Any] = []
    world.submit(id="run", tenant="acme")
    world.settle(durable(_saga(reversed_), world.clock))
    assert [result for result, _ in reversed_] == ["second", "first"]
    job, undo = world.job("run"), world.job(undo_id(world))
    assert (job.status, job.compensated_round) == (JobStatus.DEAD, 1)
    assert (undo.handler, undo.tenant, undo.status) == (COMPENSATION, "acme", JobStatus.SUCCEEDED)
    assert job.keep_until == records_end(job)


def test_a_run_that_was_redriven_before_its_compensation_is_not_reversed() -> None:
    world = durable_world()
    reversed_: list[Any] = []
    world.submit(id="run")
    world.deliver(durable(_saga(reversed_), world.clock))
    world.api.operations.redrive("run", actor="caller")
    world.settle(durable(_saga(reversed_, fails=False), world.clock))
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert reversed_ == []


def test_a_cancelled_run_is_reversed_and_one_without_such_steps_is_left_alone() -> None:
    world = durable_world()
    reversed_: list[Any] = []

    def handler(ctx: RunContext) -> None:
        if ctx.job_id == "run":
            ctx.step("a", int, compensate=lambda *told: reversed_.append(told))
        ctx.wait_for("never")

    for name in ("run", "plain"):
        world.submit(id=name)
    behave = durable(handler, world.clock)
    world.deliver(behave)
    for name in ("run", "plain"):
        world.api.operations.cancel(name, actor="caller")
    world.settle(behave)
    assert len(reversed_) == 1
    assert world.job("plain").compensated_round is None
    assert len(world.store.jobs()) == 3


def test_a_run_whose_code_cannot_replay_its_journal_is_not_reversed() -> None:
    world = durable_world()
    world.submit(id="run")

    def old(ctx: RunContext) -> None:
        ctx.step("a", int, compensate=lambda *_: None)
        ctx.sleep("rest", 60)

    world.deliver(durable(old, world.clock))
    world.settle(durable(lambda ctx: ctx.sleep("a", 60), world.clock))
    assert died_with(world) == "ReplayMismatch"
    assert set(world.store.jobs()) == {"run"}


def _ended_saga(world: World, reversed_: list[Any]) -> None:
    """Let a run of two steps with reversals end, and leave its compensation to other code."""
    world.submit(id="run")
    world.deliver(durable(_saga(reversed_), world.clock))
    assert world.job("run").status is JobStatus.DEAD
    assert world.job(undo_id(world)).status is JobStatus.ENQUEUED


def test_a_step_that_was_renamed_since_is_reversed_under_its_older_name() -> None:
    world = durable_world()
    reversed_: list[Any] = []
    _ended_saga(world, reversed_)

    def renamed(ctx: RunContext) -> None:
        for name, older in (("primary", ["first"]), ("second", [])):
            ctx.step(name, str, name, compensate=lambda *told: reversed_.append(told), aka=older)

    world.settle(durable(renamed, world.clock))
    assert [result for result, _ in reversed_] == ["second", "first"]
    assert world.job(undo_id(world)).status is JobStatus.SUCCEEDED


def test_a_compensation_names_steps_that_the_code_does_not_reverse_and_can_be_redriven() -> None:
    world = durable_world()
    reversed_: list[Any] = []
    _ended_saga(world, reversed_)

    def without_first(ctx: RunContext) -> None:
        ctx.step("second", str, "second", compensate=lambda *told: reversed_.append(told))

    world.settle(durable(without_first, world.clock))
    assert world.job(undo_id(world)).status is JobStatus.DEAD
    assert "NotReversed: The replay of the run came to no step first." in str(
        world.job(undo_id(world)).last_failure
    )
    world.api.operations.redrive(undo_id(world), actor="caller")
    world.settle(durable(_saga(reversed_), world.clock))
    assert [result for result, _ in reversed_] == ["second", "first"]
    assert world.job(undo_id(world)).status is JobStatus.SUCCEEDED


def test_a_compensation_reverses_nothing_while_the_code_does_not_fit_the_journal() -> None:
    world = durable_world()
    reversed_: list[Any] = []
    _ended_saga(world, reversed_)

    def other(ctx: RunContext) -> None:
        ctx.step("first", str, "first", compensate=lambda *told: reversed_.append(told))
        ctx.sleep("second", 60)

    world.settle(durable(other, world.clock))
    assert str(world.job(undo_id(world)).last_failure).startswith("ReplayMismatch")
    assert reversed_ == []


def test_a_compensation_does_not_call_a_handler_that_is_not_durable_any_more() -> None:
    world = durable_world()
    _ended_saga(world, [])
    called: list[object] = []

    def plain(ctx: RunContext) -> None:
        called.append(ctx)

    world.settle(durable(plain, world.clock, run_timeout_seconds=None))
    assert str(world.job(undo_id(world)).last_failure).startswith("ReplayMismatch")
    assert called == []


@pytest.mark.parametrize("lives", [True, None], ids=["live", "not known"])
def test_code_that_is_not_known_to_be_replaced_ends_a_run_that_it_does_not_fit(
    lives: bool | None,
) -> None:
    world = durable_world()
    world.deployment.lives = lives
    world.submit(id="run")
    world.deliver(durable(lambda ctx: [ctx.step("a", int), ctx.sleep("rest", 60)], world.clock))
    world.settle(durable(lambda ctx: ctx.sleep("a", 60), world.clock))
    assert died_with(world) == "ReplayMismatch"


def test_an_error_of_a_step_ends_a_run_whose_code_was_replaced() -> None:
    world = durable_world()
    world.deployment.lives = False
    world.submit(id="run")
    world.settle(durable(_saga([]), world.clock))
    assert died_with(world) == "NotRetryable"


def test_the_payload_of_a_run_that_began_is_not_changed_and_its_time_is() -> None:
    world = durable_world()
    world.submit(id="run", delay_seconds=600)
    world.change("run", payload={"n": 1})
    world.change("run", delay_seconds=0)
    behave = durable(lambda ctx: ctx.sleep("rest", 7_200), world.clock)
    world.deliver(behave)
    with pytest.raises(WrongState, match="has begun"):
        world.change("run", payload={"n": 2})
    world.api.operations.run_now("run", actor="caller")
    world.deliver(behave)
    assert world.job("run").status is JobStatus.PENDING
    world.settle(behave, minutes=150)
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_an_invocation_that_made_progress_is_listed_as_an_attempt_however_it_ends() -> None:
    world = durable_world()
    world.submit(id="run")

    def handler(ctx: RunContext) -> None:
        ctx.step("a", int)
        assert ctx.cancelled.wait(0) is False
        world.clock.sleep(20)
        attempt.beat(None)
        raise Snooze(60)

    attempt: Any = None

    def behave(job: Job, pulse: Pulse) -> Finished:
        nonlocal attempt
        attempt = pulse
        return durable(handler, world.clock)(job, pulse)

    world.deliver(behave)
    job = world.job("run")
    assert (job.status, job.attempt) == (JobStatus.RETRYING, 0)
    [listed] = world.api.queries.job("run").attempts
    assert (listed.number, listed.outcome) == (1, Outcome.SNOOZED)


def test_a_run_whose_handler_was_removed_while_it_slept_goes_on_once_it_is_back() -> None:
    world = durable_world()
    calls: list[str] = []

    def handler(ctx: RunContext) -> str:
        ctx.step("first", calls.append, "first")
        ctx.sleep("rest", 600)
        ctx.step("second", calls.append, "second")
        return "done"

    behave = durable(handler, world.clock)
    world.submit(id="run", retry={"max_attempts": 1})
    world.deliver(behave)
    removed = ErrorInfo(type="UnknownHandler", message="There is no handler greet.")
    world.settle(lambda *_: Finished(outcome=Outcome.FAILED, error=removed))
    assert world.job("run").status is JobStatus.DEAD
    world.api.operations.redrive("run", actor="caller")
    world.settle(behave)
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert calls == ["first", "second"]


def test_a_step_that_was_removed_while_the_run_slept_is_left_over() -> None:
    world = durable_world()
    calls: list[str] = []

    def before(ctx: RunContext) -> None:
        ctx.step("gone", calls.append, "gone")
        ctx.sleep("rest", 600)

    def after(ctx: RunContext) -> str:
        ctx.sleep("rest", 600)
        ctx.step("new", calls.append, "new")
        return "done"

    world.submit(id="run")
    world.deliver(durable(before, world.clock))
    world.settle(durable(after, world.clock))
    assert world.api.queries.job("run").result_text == '"done"'
    assert calls == ["gone", "new"]


def test_a_unique_run_that_succeeded_is_not_run_again_in_part() -> None:
    world = durable_world()
    run = world.submit(unique={"key": "payload", "until": "end"}, payload=7)
    world.settle(durable(lambda ctx: ctx.step("a", int), world.clock))
    assert world.job(run).status is JobStatus.SUCCEEDED
    with pytest.raises(WrongState, match="gave up its unique key"):
        world.api.run_redrives.redrive_from(run.id, ["a"], actor="caller")
    with pytest.raises(WrongState, match="gave up its unique key"):
        world.api.run_redrives.redrive_fresh(run.id, actor="caller")


def test_a_restart_lets_the_object_of_the_payload_before_expire() -> None:
    world = durable_world()
    large = "x" * 300_000

    def handler(ctx: RunContext) -> None:
        if branch_of(ctx).run.segment == 0:
            ctx.restart(f"{large} again")
        ctx.wait_for("go")

    behave = durable(handler, world.clock)
    world.submit(id="run", payload=large)
    before = world.job("run").payload.key
    world.deliver(behave)
    world.deliver(behave)
    now = world.job("run").payload.key
    assert before is not None
    assert now is not None
    assert {*world.objects.finished()} == {before}
    world.api.signals.send("run", "go", "1", "1")
    world.settle(behave)
    assert {*world.objects.finished()} == {before, now}


def test_a_run_with_an_idempotency_key_that_succeeded_runs_again_in_part() -> None:
    world = durable_world()
    calls: list[str] = []

    def handler(ctx: RunContext) -> int:
        ctx.step("a", calls.append, "a")
        return len(calls)

    job = world.submit(idempotency_key="key")
    behave = durable(handler, world.clock)
    world.settle(behave)
    world.api.run_redrives.redrive_from(job.id, ["a"], actor="caller")
    world.settle(behave)
    assert world.api.queries.job(job.id).result_text == "2"


def test_a_step_that_failed_may_become_another_kind_of_call_in_the_next_round() -> None:
    world = durable_world()
    world.submit(id="run")

    def failing() -> None:
        raise NotRetryable("no")

    world.settle(durable(lambda ctx: ctx.step("a", failing), world.clock))
    world.api.operations.redrive("run", actor="caller")
    world.settle(durable(lambda ctx: ctx.sleep("a", 60), world.clock))
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_a_step_may_take_as_long_as_its_handler_though_the_journal_took_long_to_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = durable_world()
    read = DurableRuns.read

    def slow(self: DurableRuns, job: Job) -> list[Record]:
        world.clock.advance(2)
        return read(self, job)

    monkeypatch.setattr(DurableRuns, "read", slow)
    world.submit(id="run", timeout_seconds=120)
    world.settle(durable(lambda ctx: ctx.step("a", int, timeout=120), world.clock))
    assert world.job("run").status is JobStatus.SUCCEEDED
