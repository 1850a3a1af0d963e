"""The records that guard execution: who may begin, and who may note a result."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hourhand.domain.jobs.job import Content
from hourhand.ports.idempotency_store import IdempotencyRecord, IdempotencyStore
from tests.world.factories import make_record

DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def record(now: datetime) -> IdempotencyRecord:
    """A record in progress, under a key that no other test uses."""
    return make_record(key=f"key-{now:%Y%m%d}", token=3, keep_until=now + DAY)


def done(record: IdempotencyRecord, text: str = '{"sent": true}') -> IdempotencyRecord:
    return replace(record, is_done=True, result=Content(size_bytes=len(text.encode()), text=text))


def standing(
    store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> IdempotencyRecord | None:
    """Return what another job that comes with the same key is shown."""
    return store.begin(replace(record, job_id="some-other-job"), now=now)


def test_the_first_attempt_under_a_key_begins(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> None:
    assert idempotency_store.begin(record, now=now) is None
    assert standing(idempotency_store, record, now) == record


def test_another_job_cannot_begin_while_one_is_in_progress(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> None:
    idempotency_store.begin(record, now=now)
    other = replace(record, job_id="job-2", token=99)
    assert idempotency_store.begin(other, now=now) == record
    assert idempotency_store.finish(done(other)) is False
    assert standing(idempotency_store, record, now) == record


@pytest.mark.parametrize("step", [0, 1, 5])
def test_a_later_attempt_of_the_same_job_takes_over(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime, step: int
) -> None:
    idempotency_store.begin(record, now=now)
    later = replace(record, token=record.token + step, inputs_hash="changed")
    assert idempotency_store.begin(later, now=now) is None
    assert standing(idempotency_store, record, now) == later


def test_an_older_attempt_of_the_same_job_cannot_take_over(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> None:
    idempotency_store.begin(record, now=now)
    older = replace(record, token=record.token - 1)
    assert idempotency_store.begin(older, now=now) == record


def test_nobody_begins_once_a_result_is_noted(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> None:
    idempotency_store.begin(record, now=now)
    assert idempotency_store.finish(done(record)) is True
    assert idempotency_store.begin(record, now=now) == done(record)
    assert idempotency_store.begin(replace(record, token=9), now=now) == done(record)
    assert standing(idempotency_store, record, now) == done(record)


@pytest.mark.parametrize(
    "result",
    [
        Content(size_bytes=4, text="null"),
        Content(size_bytes=90_000, item="result.a1"),
        Content(size_bytes=900_000, key="result/job/a1"),
    ],
    ids=["inline", "beside the job", "in the bucket"],
)
def test_a_result_is_given_back_wherever_it_lies(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime, result: Content
) -> None:
    idempotency_store.begin(record, now=now)
    finished = replace(record, is_done=True, result=result, keep_until=now + 2 * DAY)
    assert idempotency_store.finish(finished) is True
    assert standing(idempotency_store, record, now) == finished


def test_a_result_whose_answer_was_lost_can_be_noted_again(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> None:
    idempotency_store.begin(record, now=now)
    assert idempotency_store.finish(done(record)) is True
    assert idempotency_store.finish(done(record)) is True
    assert standing(idempotency_store, record, now) == done(record)


def test_a_result_is_not_noted_after_another_attempt_took_over(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> None:
    idempotency_store.begin(record, now=now)
    later = replace(record, token=record.token + 1)
    idempotency_store.begin(later, now=now)
    assert idempotency_store.finish(done(record)) is False
    assert standing(idempotency_store, record, now) == later


def test_a_result_is_not_noted_where_nothing_was_begun(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> None:
    assert idempotency_store.finish(done(record)) is False
    assert idempotency_store.begin(record, now=now) is None


@pytest.mark.parametrize("is_done", [False, True], ids=["in progress", "done"])
def test_a_record_whose_time_is_over_stands_in_nobodys_way(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime, is_done: bool
) -> None:
    idempotency_store.begin(record, now=now)
    if is_done:
        idempotency_store.finish(done(record))
    other = replace(record, job_id="job-2", token=1, keep_until=now + 9 * DAY)
    stands = done(record) if is_done else record
    assert idempotency_store.begin(other, now=now + DAY) == stands
    assert idempotency_store.begin(other, now=now + DAY + MILLISECOND) is None
    assert standing(idempotency_store, record, now + 2 * DAY) == other


@pytest.mark.parametrize("is_done", [False, True], ids=["in progress", "done"])
@pytest.mark.parametrize("token", [1, 3, 9])
def test_a_record_of_an_earlier_job_of_the_same_id_gives_way(
    idempotency_store: IdempotencyStore,
    record: IdempotencyRecord,
    now: datetime,
    is_done: bool,
    token: int,
) -> None:
    idempotency_store.begin(record, now=now)
    if is_done:
        idempotency_store.finish(done(record))
    next_job = replace(record, token=token, job_created_at=record.job_created_at + MILLISECOND)
    assert idempotency_store.begin(next_job, now=now) is None
    assert standing(idempotency_store, record, now) == next_job
    assert idempotency_store.finish(done(next_job)) is True
    assert standing(idempotency_store, record, now) == done(next_job)


@pytest.mark.parametrize("is_done", [False, True], ids=["in progress", "done"])
def test_an_attempt_of_an_earlier_job_of_the_same_id_neither_begins_nor_notes_a_result(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime, is_done: bool
) -> None:
    earlier = replace(record, job_created_at=record.job_created_at - MILLISECOND)
    idempotency_store.begin(record, now=now)
    if is_done:
        idempotency_store.finish(done(record))
    stands = done(record) if is_done else record
    assert idempotency_store.begin(earlier, now=now) == stands
    assert idempotency_store.begin(replace(earlier, token=9), now=now) == stands
    assert idempotency_store.finish(done(earlier, '"old"')) is False
    assert standing(idempotency_store, record, now) == stands


def test_a_record_of_an_earlier_job_of_another_id_stands(
    idempotency_store: IdempotencyStore, record: IdempotencyRecord, now: datetime
) -> None:
    idempotency_store.begin(record, now=now)
    later = record.job_created_at + MILLISECOND
    other = replace(record, job_id="job-2", token=9, job_created_at=later)
    assert idempotency_store.begin(other, now=now) == record
