"""A job's item and what is kept beside it: given back as it was given, on every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.side_items import text_key
from hourhand.domain.conditions import OneOf
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Attempt, ErrorInfo, Job, JobStatus, Outcome
from hourhand.domain.jobs.transitions import Transition
from hourhand.memory import MemoryJobStore
from hourhand.ports.job_store import Applied, JobDetails, JobStore, Refused, WriteResult
from tests.contract.fresh import new_id
from tests.contract.job_strategies import conditions, jobs
from tests.examples import examples as limited_to
from tests.world.factories import ACTOR, make_job

WEEK = timedelta(days=7)

# The store outlives the examples: each of them takes an id of its own. Nothing is shrunk, since
# that takes minutes on a slow store, and an example that fails on one store alone says enough.
examples = limited_to(
    40,
    few=10,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@examples
@given(job=jobs())
def test_every_field_of_a_job_is_given_back(job_store: JobStore, job: Job) -> None:
    job = replace(job, id=new_id())
    assert job_store.put(job) == Applied(job)
    assert job_store.get(job.id) == job


@examples
@given(data=st.data())
def test_a_condition_holds_in_the_store_exactly_when_its_clauses_hold_for_the_job(
    job_store: JobStore, data: st.DataObject
) -> None:
    job = replace(data.draw(jobs()), id=new_id())
    job_store.put(job)
    expect = dict(enumerate(data.draw(st.lists(conditions(job), min_size=1, max_size=3))))
    move = Transition(
        name="probe",
        job_id=job.id,
        expect={str(number): clause for number, clause in expect.items()},
        sets={"trace_id": "moved"},
    )
    moved = replace(job, trace_id="moved")
    expected = Applied(moved) if move.is_allowed(job) else Refused(job)
    assert job_store.transition(move) == expected


@examples
@given(before=jobs(), after=jobs())
def test_a_move_can_set_and_clear_every_field(job_store: JobStore, before: Job, after: Job) -> None:
    """Only what identifies a job and files it in the listing never changes."""
    before = replace(before, id=new_id())
    fixed = {"id", "handler", "created_at", "status", "due_at", "shard", "history"}
    fixed |= {"schedule_id", "occurrence"}
    names = [name for name in Job.__dataclass_fields__ if name not in fixed]
    job_store.put(before)
    move = Transition(
        name="probe",
        job_id=before.id,
        expect={"status": OneOf("status", frozenset({before.status}))},
        sets={name: getattr(after, name) for name in names},
    )
    assert job_store.transition(move) == Applied(move.apply(before))
    assert job_store.get(before.id) == move.apply(before)


def test_a_second_put_under_one_id_is_refused_and_shows_the_first(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    other = replace(job, handler="other", tags={"a": "b"})
    assert job_store.put(other) == Refused(job)
    assert job_store.get(job.id) == job


def test_a_put_under_the_id_of_a_final_job_is_refused_too(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), status=JobStatus.SUCCEEDED, created_at=now)
    job_store.put(job)
    assert job_store.put(make_job(id=job.id, created_at=now)) == Refused(job)


def test_a_job_that_does_not_exist_is_none(job_store: JobStore) -> None:
    assert job_store.get(new_id()) is None
    assert job_store.get_details("no-such-job") is None


def test_a_job_is_read_with_its_failures_and_without_its_texts(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    job_store.put_text(job.id, "payload", "x" * 1000, now + WEEK)
    error = ErrorInfo(type="ValueError", message="no", traceback="line 7")
    failure = Attempt(
        number=1, token=1, worker="w-1", started_at=now, outcome=Outcome.FAILED, error=error
    )
    job_store.put_failure(job.id, failure, now + WEEK)
    assert job_store.get_details(job.id, with_texts=False) == JobDetails(
        job=job, failures={1: failure}
    )
    whole = job_store.get_details(job.id)
    assert whole is not None
    assert whole.texts == {"payload": "x" * 1000}
    assert job_store.get_details(new_id(), with_texts=False) is None


def test_many_jobs_are_read_at_once_and_missing_ones_left_out(
    job_store: JobStore, now: datetime
) -> None:
    stored = [make_job(id=new_id(), created_at=now) for _ in range(120)]
    for job in stored:
        job_store.put(job)
    ids = [job.id for job in stored] + [new_id() for _ in range(5)]
    assert job_store.get_many([*ids, ids[0]]) == {job.id: job for job in stored}


def test_many_puts_are_each_judged_alone_and_answered_in_order(
    job_store: JobStore, now: datetime
) -> None:
    jobs = [make_job(id=new_id(), created_at=now, generation=n + 1) for n in range(60)]
    for job in jobs[::3]:
        job_store.put(replace(job, handler="earlier"))
    expected: list[WriteResult] = [
        Refused(replace(job, handler="earlier")) if number % 3 == 0 else Applied(job)
        for number, job in enumerate(jobs)
    ]
    assert job_store.put_many(jobs) == expected
    stored = [result.current if isinstance(result, Refused) else result.job for result in expected]
    assert job_store.get_many([job.id for job in jobs]) == {job.id: job for job in stored if job}


def test_of_two_puts_of_one_id_the_first_counts(job_store: JobStore, now: datetime) -> None:
    first = make_job(id=new_id(), created_at=now)
    second, other = replace(first, handler="other"), make_job(id=new_id(), created_at=now)
    results = job_store.put_many([first, other, second])
    assert results == [Applied(first), Applied(other), Refused(first)]


def test_every_kind_of_job_can_be_put_beside_others(job_store: JobStore, now: datetime) -> None:
    jobs = [make_job(id=new_id(), created_at=now, status=status) for status in JobStatus]
    assert job_store.put_many(jobs) == [Applied(job) for job in jobs]
    assert job_store.get_many([job.id for job in jobs]) == {job.id: job for job in jobs}


def test_many_moves_are_each_judged_alone_and_answered_in_order(
    job_store: JobStore, now: datetime
) -> None:
    stored = [make_job(id=new_id(), created_at=now) for _ in range(60)]
    batch: list[Transition] = []
    expected: list[bool] = []
    left: dict[str, Job] = {}
    for number, job in enumerate(stored):
        mark = transitions.mark_enqueued(job, now=now, actor=ACTOR)
        batch.append(mark)
        match number % 4:
            case 0:
                job_store.put(job)
                left[job.id] = mark.apply(job)
            case 1:
                left[job.id] = replace(job, generation=2)
                job_store.put(left[job.id])
            case 2:
                pass
            case _:
                job_store.put(job)
                job_store.transition(mark)
                left[job.id] = mark.apply(job)
        expected.append(number % 4 in {0, 3})
    assert job_store.transition_many(batch) == expected
    assert job_store.get_many([job.id for job in stored]) == left


def test_nothing_asked_is_nothing_answered(job_store: JobStore) -> None:
    assert job_store.get_many([]) == {}
    assert job_store.put_many([]) == []
    assert job_store.transition_many([]) == []


# --- beside the job -----------------------------------------------------------------------------


def test_details_show_the_texts_and_failures_beside_a_job(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    error = ErrorInfo(type="ValueError", message="no such user", traceback="Traceback ...\n  ä")
    final = ErrorInfo(type="NotRetryable", message="", retryable=False)
    job_store.put_text(job.id, "payload.a1", '{"a": "é\\u0000"}', now + WEEK)
    job_store.put_text(job.id, "result.b2", "[]", now + WEEK)
    failed = Attempt(
        number=1,
        token=3,
        worker="w-1",
        started_at=now,
        finished_at=now + WEEK,
        outcome=Outcome.FAILED,
        error=error,
    )
    gave_up = Attempt(
        number=2,
        token=12,
        worker="w-2",
        started_at=None,
        outcome=Outcome.TIMED_OUT,
        error=final,
    )
    job_store.put_failure(job.id, failed, now + WEEK)
    job_store.put_failure(job.id, gave_up, now + WEEK)
    assert job_store.get_details(job.id) == JobDetails(
        job=job,
        texts={"payload.a1": '{"a": "é\\u0000"}', "result.b2": "[]"},
        failures={3: failed, 12: gave_up},
    )


def test_details_of_a_job_with_nothing_beside_it_are_the_job(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    assert job_store.get_details(job.id) == JobDetails(job=job)


def test_details_show_nothing_of_a_job_whose_id_begins_alike(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    longer = make_job(id=job.id + "-longer", created_at=now)
    job_store.put(job)
    job_store.put(longer)
    job_store.put_text(longer.id, "payload.a1", "1", now + WEEK)
    assert job_store.get_details(job.id) == JobDetails(job=job)


@pytest.mark.parametrize("size", [1_000, 256_000])
def test_a_large_text_is_given_back(job_store: JobStore, now: datetime, size: int) -> None:
    job_id = new_id()
    text = '"' + "ü" * (size // 2 - 1) + '"'
    assert len(text.encode()) == size
    job_store.put_text(job_id, "payload.a1", text, now + WEEK)
    assert job_store.get_text(job_id, "payload.a1") == text


def test_many_large_texts_beside_one_job_are_all_given_back(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    texts = {f"result.{n}": f'"{n}' + "x" * 250_000 + '"' for n in range(8)}
    for item, text in texts.items():
        job_store.put_text(job.id, item, text, now + WEEK)
    assert job_store.get_details(job.id) == JobDetails(job=job, texts=texts)


def test_a_text_can_be_kept_before_its_job_is_put(job_store: JobStore, now: datetime) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put_text(job.id, "payload.a1", "1", now + WEEK)
    assert job_store.get(job.id) is None
    assert job_store.get_details(job.id) is None
    assert job_store.put(job) == Applied(job)
    assert job_store.get_details(job.id) == JobDetails(job=job, texts={"payload.a1": "1"})


def test_a_text_that_is_kept_longer_stays_as_it_is(job_store: JobStore, now: datetime) -> None:
    job_id = new_id()
    job_store.put_text(job_id, "payload.a1", "1", now + WEEK)
    job_store.extend_text(job_id, "payload.a1", now + 2 * WEEK)
    assert job_store.get_text(job_id, "payload.a1") == "1"


def _end_of_text(store: JobStore, job_id: str, item: str) -> datetime:
    """Return until when a text is kept."""
    if not isinstance(store, DynamoJobStore):
        return cast("MemoryJobStore", store).kept_texts(job_id)[item].keep_until
    kept = store._records.client.get_item(TableName=store.table, Key=text_key(job_id, item))["Item"]
    return datetime.fromtimestamp(int(kept["x"]["N"]), UTC)


@pytest.mark.parametrize("ends", [(1, 2), (2, 1), (2, 2)], ids=str)
def test_a_text_that_is_kept_twice_has_the_later_end(
    job_store: JobStore, now: datetime, ends: tuple[int, int]
) -> None:
    job_id = new_id()
    for weeks in ends:
        job_store.put_text(job_id, "payload.a1", "1", now + weeks * WEEK)
    assert job_store.get_text(job_id, "payload.a1") == "1"
    assert _end_of_text(job_store, job_id, "payload.a1") == now + 2 * WEEK


def test_a_failure_that_is_kept_twice_is_the_later_one(job_store: JobStore, now: datetime) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    earlier = Attempt(number=1, token=1, worker="of a deleted job", started_at=now)
    own = Attempt(number=1, token=1, worker="w-1", started_at=now)
    job_store.put_failure(job.id, earlier, now + 2 * WEEK)
    job_store.put_failure(job.id, own, now + WEEK)
    details = job_store.get_details(job.id)
    assert details is not None
    assert details.failures[1].worker == "w-1"


def test_keeping_a_text_longer_that_is_gone_does_nothing(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    job_store.extend_text(job.id, "payload.a1", now + WEEK)
    assert job_store.get_text(job.id, "payload.a1") is None
    assert job_store.get_details(job.id) == JobDetails(job=job)


def test_a_failure_put_again_is_one_failure(job_store: JobStore, now: datetime) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    error = ErrorInfo(type="OSError", message="disk full")
    failure = Attempt(number=1, token=1, worker="w-1", started_at=now, error=error)
    for _ in range(2):
        job_store.put_failure(job.id, failure, now + WEEK)
    assert job_store.get_details(job.id) == JobDetails(job=job, failures={1: failure})
