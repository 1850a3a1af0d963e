"""What a batch did not settle for sure is made again, one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.stub import ANY

from hourhand.aws.items import job_to_item
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.values import Item
from hourhand.domain.errors import Unavailable
from hourhand.domain.model import Job, JobStatus
from hourhand.domain.moves import Move, mark_enqueued
from hourhand.ports import Applied, LeftToNewer, Refused
from hourhand.testing import ACTOR, START, make_job
from tests.unit.aws.conftest import Stubbed
from tests.unit.aws.scripted import claim_of

Stub = Callable[[str], Stubbed]


def mark(job: Job) -> Move:
    return mark_enqueued(job, now=START, actor=ACTOR)


def waiting(number: int = 1) -> Job:
    return make_job(id=f"job-{number}", trace_id=None)


def expect_batch(stub: Stubbed, count: int, *answers: dict[str, Any]) -> None:
    stub.script.add_response(
        "batch_execute_statement", {"Responses": list(answers)}, {"Statements": [ANY] * count}
    )


def expect_update(stub: Stubbed, item: Item) -> None:
    stub.script.add_response("update_item", {"Attributes": item})


def store_of(stub: Stubbed) -> DynamoJobStore:
    return DynamoJobStore(stub.client, "jobs", batch_marks=True)


def after(move: Move, job: Job) -> Item:
    return job_to_item(move.apply(job))


def test_each_statement_has_its_own_answer_in_order(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(1), waiting(2)]
    changed = replace(jobs[1], generation=5)
    moves = [mark(job) for job in jobs]
    refusal = {"Code": "ConditionalCheckFailed", "Item": job_to_item(changed)}
    expect_batch(stub, 2, {"Item": after(moves[0], jobs[0])}, {"Error": refusal})
    assert store_of(stub).transition_many(moves) == [
        Applied(moves[0].apply(jobs[0])),
        Refused(changed),
    ]


def test_a_refusal_by_ones_own_write_is_applied(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    move = mark(waiting())
    stored = move.apply(waiting())
    refusal = {"Code": "ConditionalCheckFailed", "Item": job_to_item(stored)}
    expect_batch(stub, 1, {"Error": refusal})
    assert store_of(stub).transition_many([move]) == [Applied(stored)]


@pytest.mark.parametrize(
    "code",
    ["ThrottlingError", "InternalServerError", "ValidationError", "TransactionConflict", "New"],
)
def test_a_statement_that_failed_is_made_alone(stubbed: Stub, code: str) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(1), waiting(2)]
    moves = [mark(job) for job in jobs]
    expect_batch(stub, 2, {"Error": {"Code": code}}, {"Item": after(moves[1], jobs[1])})
    expect_update(stub, after(moves[0], jobs[0]))
    assert store_of(stub).transition_many(moves) == [
        Applied(move.apply(job)) for move, job in zip(moves, jobs, strict=True)
    ]


def test_a_statement_that_failed_after_it_was_applied_is_known_as_ones_own(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    move = mark(waiting())
    expect_batch(stub, 1, {"Error": {"Code": "InternalServerError"}})
    stub.script.add_client_error(
        "update_item",
        "ConditionalCheckFailedException",
        modeled_fields={"Item": after(move, waiting())},
    )
    assert store_of(stub).transition_many([move]) == [Applied(move.apply(waiting()))]


def test_what_a_store_does_not_show_is_read(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(1), waiting(2), waiting(3)]
    moves = [mark(job) for job in jobs]
    other = replace(jobs[1], generation=9)
    refusal = {"Error": {"Code": "ConditionalCheckFailed"}}
    expect_batch(stub, 3, {}, refusal, refusal)
    stub.script.add_response(
        "batch_get_item", {"Responses": {"jobs": [after(moves[0], jobs[0]), job_to_item(other)]}}
    )
    assert store_of(stub).transition_many(moves) == [
        Applied(moves[0].apply(jobs[0])),
        Refused(other),
        Refused(None),
    ]


def test_twenty_five_go_to_a_call(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(number) for number in range(60)]
    moves = [mark(job) for job in jobs]
    items = [{"Item": after(move, job)} for move, job in zip(moves, jobs, strict=True)]
    for start in (0, 25, 50):
        batch = items[start : start + 25]
        expect_batch(stub, len(batch), *batch)
    results = store_of(stub).transition_many(moves)
    assert [r.job.id for r in results if isinstance(r, Applied)] == [job.id for job in jobs]


def test_a_second_move_on_one_job_is_made_after_the_batch(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    job = waiting()
    first = mark(job)
    marked = first.apply(job)
    second = mark(marked)
    expect_batch(stub, 1, {"Item": job_to_item(marked)})
    stub.script.add_client_error(
        "update_item",
        "ConditionalCheckFailedException",
        modeled_fields={"Item": job_to_item(replace(marked, generation=7, history=()))},
    )
    results = store_of(stub).transition_many([first, second])
    assert results[0] == Applied(marked)
    assert isinstance(results[1], Refused)


def test_a_move_that_fits_no_batch_is_made_alone(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    job = make_job(status=JobStatus.ENQUEUED, trace_id=None)
    expect_update(stub, after(claim_of(job), job))
    assert store_of(stub).transition_many([claim_of(job)]) == [Applied(claim_of(job).apply(job))]


def test_a_batch_that_is_throttled_as_a_whole_is_unavailable(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_client_error("batch_execute_statement", "ThrottlingException")
    with pytest.raises(Unavailable, match="BatchExecuteStatement on table jobs"):
        store_of(stub).transition_many([mark(waiting())])


def test_a_job_that_turned_newer_is_told_beside_the_others(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(1), waiting(2)]
    moves = [mark(job) for job in jobs]
    newer = {**job_to_item(jobs[0]), "v": {"N": "99"}}
    refusal = {"Code": "ConditionalCheckFailed", "Item": newer}
    expect_batch(stub, 2, {"Error": refusal}, {"Item": after(moves[1], jobs[1])})
    left, applied = store_of(stub).transition_many(moves)
    assert isinstance(left, LeftToNewer)
    assert left.reason.ids == {"job-1"}
    assert applied == Applied(moves[1].apply(jobs[1]))


def test_what_turned_newer_is_told_where_the_batch_does_not_say_what_stood_there(
    stubbed: Stub,
) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(1), waiting(2)]
    moves = [mark(job) for job in jobs]
    refusal = {"Code": "ConditionalCheckFailed"}
    expect_batch(stub, 2, {"Error": refusal}, {"Error": refusal})
    newer = {**job_to_item(jobs[0]), "v": {"N": "99"}}
    changed = replace(jobs[1], generation=5)
    found = {"Responses": {"jobs": [newer, job_to_item(changed)]}}
    stub.script.add_response("batch_get_item", found)
    left, refused = store_of(stub).transition_many(moves)
    assert isinstance(left, LeftToNewer)
    assert refused == Refused(changed)


def test_a_job_that_turned_newer_is_told_beside_the_others_without_batches(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(1), waiting(2)]
    moves = [mark(job) for job in jobs]
    stub.script.add_client_error(
        "update_item",
        "ConditionalCheckFailedException",
        modeled_fields={"Item": {**job_to_item(jobs[0]), "v": {"N": "99"}}},
    )
    expect_update(stub, after(moves[1], jobs[1]))
    left, applied = DynamoJobStore(stub.client, "jobs").transition_many(moves)
    assert isinstance(left, LeftToNewer)
    assert isinstance(applied, Applied)
