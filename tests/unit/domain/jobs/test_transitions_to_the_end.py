"""How a job ends: what is set, what is owed, and what follows a lost attempt."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.jobs import transitions, waiting
from hourhand.domain.jobs.job import (
    FINAL,
    Content,
    EventKind,
    Job,
    JobStatus,
    OnLost,
    Outcome,
    Progress,
)
from hourhand.domain.jobs.outbox import OutboxTask, outbox_tasks
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.transitions import keep_after_end
from hourhand.domain.jobs.waiting import WaitKind, WaitsFor
from hourhand.domain.ticks.buckets import Entry
from tests.unit.domain.condition_cases import CASES, SOON, Case
from tests.unit.domain.job_samples import (
    IN_BUCKET,
    IN_ITEM,
    NOW,
    OF_A_RUN,
    a_job,
    a_running_job,
    after,
    an_abandoned_job,
)
from tests.unit.domain.move_samples import complete, done, recover
from tests.world.factories import make_job

WEEK = timedelta(days=7)
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


# --- ends ---


@each_case
def test_an_open_job_is_in_the_index_and_a_final_one_leaves_it_with_nothing_owed(
    case: Case,
) -> None:
    written = done(case.build(case.ordinary), case.ordinary)
    assert (written.due_at is None) is (written.shard is None) is (written.keep_until is not None)
    if not written.status.is_final:
        assert (written.due_at is None, written.finished_at) == (False, None)
    elif case.builder == "finish":
        assert written.due_at is None
    else:
        assert (written.due_at is None) is (written.status is not JobStatus.DEAD)
        had_ended = case.builder in {"discard", "supersede", "mark_compensated"}
        ended_at = case.ordinary.finished_at if had_ended else NOW
        assert written.finished_at == ended_at


ENDS = ["complete", "end_cancelled", "recover to CANCELLED", "cancel_waiting", "expire"]


each_end = pytest.mark.parametrize(
    "case", [case for case in CASES if case.name in ENDS], ids=lambda case: case.name
)


@each_end
def test_a_record_with_nothing_owed_is_kept_for_its_retention_after_the_end(case: Case) -> None:
    job = replace(case.ordinary, retention_seconds=600)
    assert done(case.build(job), job).keep_until == after(600)


@each_end
def test_a_job_with_an_object_stays_until_that_is_marked_finished(case: Case) -> None:
    job = replace(case.ordinary, payload=IN_BUCKET)
    ended = done(case.build(job), job)
    assert (ended.due_at, ended.keep_until) == (job.due_at, None)
    gone = done(transitions.finish(ended), ended)
    assert (gone.due_at, gone.shard, gone.keep_until) == (None, None, NOW + WEEK)
    assert (gone.status, gone.history) == (ended.status, ended.history)


def test_a_result_in_the_bucket_is_owed_too() -> None:
    job = a_running_job()
    assert done(complete(job, IN_BUCKET), job).due_at == job.due_at
    assert done(complete(job, IN_ITEM), job).due_at is None


def test_success_keeps_result_and_progress() -> None:
    job = a_running_job()
    result, progress = Content(size_bytes=2, text="42"), Progress(done=1, total=1)
    ended = done(complete(job, result, progress), job)
    assert (ended.result, ended.progress, ended.finished_at) == (result, progress, NOW)


@pytest.mark.parametrize(
    ("retention", "key", "kept"),
    [
        (3600, None, timedelta(hours=1)),
        (3600, "k", timedelta(hours=24)),
        (7 * 86_400, "k", WEEK),
        (0, None, timedelta(0)),
    ],
)
def test_a_key_holds_at_least_a_day_after_the_end(
    retention: int, key: str | None, kept: timedelta
) -> None:
    assert keep_after_end(a_job(retention_seconds=retention, idempotency_key=key)) == kept


def test_a_dead_letter_that_nobody_takes_outlives_every_retention() -> None:
    job = a_running_job(retention_seconds=60)
    dead = done(
        transitions.die(job, now=NOW, actor="w", outcome=Outcome.FAILED, reason="E: x"), job
    )
    assert (dead.due_at, dead.keep_until) == (job.due_at, None)
    assert done(transitions.finish(dead), dead).keep_until == after(60)


# --- recovery ---


@pytest.mark.parametrize(
    ("changes", "status", "kind"),
    [
        ({}, JobStatus.RETRYING, EventKind.LOST),
        ({"attempt": 5, "token": 5}, JobStatus.RETRYING, EventKind.LOST),
        ({"attempt": 6, "token": 6}, JobStatus.DEAD, EventKind.LOST),
        ({"retry": RetryPolicy(max_attempts=1)}, JobStatus.DEAD, EventKind.LOST),
        ({"on_lost": OnLost.DEAD}, JobStatus.DEAD, EventKind.LOST),
        ({"cancel_requested_at": after(-90)}, JobStatus.CANCELLED, EventKind.CANCELLED),
        (
            {"cancel_requested_at": after(-90), "on_lost": OnLost.DEAD, "attempt": 6},
            JobStatus.CANCELLED,
            EventKind.CANCELLED,
        ),
    ],
)
def test_a_lost_attempt_is_followed_by_what_its_job_says(
    changes: dict[str, object], status: JobStatus, kind: EventKind
) -> None:
    job = replace(an_abandoned_job(progress=Progress(done=1)), **changes)  # type: ignore[arg-type]
    recovered = done(recover(job), job)
    assert (recovered.status, recovered.history[-1].kind) == (status, kind)
    assert recovered.progress is None
    is_retried = status is JobStatus.RETRYING
    assert recovered.generation == (2 if is_retried else 1)
    assert recovered.attempt == job.attempt
    assert (recovered.finished_at is None) is is_retried


def test_a_recovered_job_is_sent_now_or_by_the_sweep() -> None:
    job = an_abandoned_job()
    assert done(recover(job), job).enqueued_at == NOW
    unsent = done(recover(job, sends_now=False), job)
    assert (unsent.enqueued_at, unsent.due_at) == (None, SOON.due_at)


LETTER, PAUSE, RELEASE, MARK = (
    OutboxTask.SEND_DEAD_LETTER,
    OutboxTask.PAUSE_SCHEDULE,
    OutboxTask.RELEASE_SLOTS,
    OutboxTask.MARK_OBJECTS,
)
PLAIN = make_job()
PAUSING = replace(PLAIN, schedule_id="nightly", pauses_schedule=True)


@pytest.mark.parametrize(
    ("job", "tasks"),
    [
        (PLAIN, (LETTER,)),
        (PAUSING, (PAUSE, LETTER, RELEASE)),
        (replace(PAUSING, payload=IN_BUCKET), (PAUSE, LETTER, RELEASE, MARK)),
    ],
)
def test_a_dead_job_pauses_its_schedule_before_all_else_that_follows(
    job: Job, tasks: tuple[OutboxTask, ...]
) -> None:
    assert outbox_tasks(job, JobStatus.DEAD) == tasks


@pytest.mark.parametrize("status", sorted(FINAL - {JobStatus.DEAD}))
def test_any_other_end_has_a_task_only_for_objects(status: JobStatus) -> None:
    assert outbox_tasks(PAUSING, status) == ()
    assert outbox_tasks(replace(PAUSING, payload=IN_BUCKET), status) == (MARK,)


def test_a_result_in_the_bucket_is_marked() -> None:
    assert outbox_tasks(PLAIN, JobStatus.SUCCEEDED, IN_BUCKET) == (MARK,)
    assert outbox_tasks(PLAIN, JobStatus.SUCCEEDED, Content(size_bytes=2, text="{}")) == ()


@pytest.mark.parametrize(
    ("waits_for", "tasks"),
    [
        (WaitsFor(WaitKind.SLOT, "0", rank=1), (RELEASE,)),
        (WaitsFor(WaitKind.SLOT, waiting.PAUSE, rank=1), ()),
        (WaitsFor(WaitKind.TIME), ()),
    ],
)
@pytest.mark.parametrize("status", [JobStatus.CANCELLED, JobStatus.EXPIRED])
def test_the_end_of_a_job_that_waited_for_a_slot_releases_its_slots(
    waits_for: WaitsFor, tasks: tuple[OutboxTask, ...], status: JobStatus
) -> None:
    assert outbox_tasks(replace(PLAIN, waits_for=waits_for), status) == tasks


@pytest.mark.parametrize(("due_in", "is_moved"), [(-10, False), (3_600, True)])
def test_a_cancelled_job_that_owes_something_is_in_the_index_for_the_next_sweep(
    due_in: float, is_moved: bool
) -> None:
    entry = Entry(NOW, 3)
    child = a_job(parent=OF_A_RUN, due_at=after(due_in))
    move = transitions.cancel_waiting(child, now=NOW, actor="api", reason="", entry=entry)
    assert move.entry == (entry if is_moved else None)
    plain = a_job(due_at=after(due_in))
    move = transitions.cancel_waiting(plain, now=NOW, actor="api", reason="", entry=entry)
    assert (move.entry, move.leaves_index) == (None, True)


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_child_notifies_its_run_of_every_end(status: JobStatus) -> None:
    tasks = outbox_tasks(a_job(parent=OF_A_RUN), status)
    assert OutboxTask.NOTIFY_PARENT in tasks
    assert OutboxTask.NOTIFY_PARENT not in outbox_tasks(a_job(), status)


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_run_that_began_cancels_its_children_unless_it_succeeded(status: JobStatus) -> None:
    child_run = a_job(parent=OF_A_RUN, run_deadline=after(86_400))
    tasks = outbox_tasks(child_run, status)
    assert (OutboxTask.CANCEL_CHILDREN in tasks) is (status is not JobStatus.SUCCEEDED)
    if status is not JobStatus.SUCCEEDED:
        # They have been asked to stop when the run above is notified.
        order = [OutboxTask.CANCEL_CHILDREN, OutboxTask.NOTIFY_PARENT]
        assert [task for task in tasks if task in order] == order
    never_claimed = outbox_tasks(a_job(), status)
    assert OutboxTask.CANCEL_CHILDREN not in never_claimed


def test_a_child_is_kept_as_long_as_its_run() -> None:
    child = a_job(parent=OF_A_RUN, retention_seconds=60)
    assert child.created_at + keep_after_end(child) == OF_A_RUN.kept_until
    assert keep_after_end(a_job(retention_seconds=60)) == timedelta(seconds=60)
