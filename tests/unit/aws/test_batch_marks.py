"""What a batch did not settle for sure is made again, one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.stub import ANY

from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import hot_key, job_to_item
from hourhand.aws.layout.values import Item
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import Transition, mark_enqueued
from hourhand.memory import START, RecordingTelemetry
from tests.unit.aws.conftest import Stubbed
from tests.unit.aws.scripted import claim_of
from tests.world.factories import ACTOR, make_job

Stub = Callable[[str], Stubbed]


def mark(job: Job) -> Transition:
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


def after(move: Transition, job: Job) -> Item:
    return job_to_item(move.apply(job))


def test_each_statement_has_its_own_answer_in_order(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(1), waiting(2)]
    changed = replace(jobs[1], generation=5)
    moves = [mark(job) for job in jobs]
    refusal = {"Code": "ConditionalCheckFailed", "Item": job_to_item(changed)}
    expect_batch(stub, 2, {}, {"Error": refusal})
    assert store_of(stub).transition_many(moves) == [True, False]


def test_a_refusal_by_ones_own_write_is_applied(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    move = mark(waiting())
    stored = move.apply(waiting())
    refusal = {"Code": "ConditionalCheckFailed", "Item": job_to_item(stored)}
    expect_batch(stub, 1, {"Error": refusal})
    assert store_of(stub).transition_many([move]) == [True]


@pytest.mark.parametrize(
    "code",
    ["ThrottlingError", "InternalServerError", "ValidationError", "TransactionConflict", "New"],
)
def test_a_statement_that_failed_is_made_alone(stubbed: Stub, code: str) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(1), waiting(2)]
    moves = [mark(job) for job in jobs]
    expect_batch(stub, 2, {"Error": {"Code": code}}, {})
    expect_update(stub, after(moves[0], jobs[0]))
    assert store_of(stub).transition_many(moves) == [True, True]


def test_a_statement_that_failed_after_it_was_applied_is_known_as_ones_own(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    move = mark(waiting())
    expect_batch(stub, 1, {"Error": {"Code": "InternalServerError"}})
    stub.script.add_client_error(
        "update_item",
        "ConditionalCheckFailedException",
        modeled_fields={"Item": after(move, waiting())},
    )
    assert store_of(stub).transition_many([move]) == [True]


def test_what_a_store_does_not_show_is_read(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(number) for number in range(4)]
    moves = [mark(job) for job in jobs]
    other = replace(jobs[1], generation=9)
    refusal = {"Error": {"Code": "ConditionalCheckFailed"}}
    expect_batch(stub, 4, {}, refusal, refusal, refusal)
    own = after(moves[3], jobs[3])
    stub.script.add_response(
        "batch_get_item",
        {"Responses": {"jobs": [job_to_item(other), own]}},
        {
            "RequestItems": {
                "jobs": {"Keys": [hot_key(j.id) for j in jobs[1:]], "ConsistentRead": True}
            }
        },
    )
    assert store_of(stub).transition_many(moves) == [True, False, False, True]


def test_twenty_five_go_to_a_call(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [waiting(number) for number in range(60)]
    refusal = {"Code": "ConditionalCheckFailed", "Item": job_to_item(replace(jobs[30], round=2))}
    for size in (25, 25, 10):
        answers: list[dict[str, Any]] = [{} for _ in range(size)]
        expect_batch(stub, size, *answers)
    results = store_of(stub).transition_many([mark(job) for job in jobs])
    assert results == [True] * 60
    expect_batch(stub, 25, *[{} for _ in range(25)])
    expect_batch(stub, 10, *[{} for _ in range(5)], {"Error": refusal}, *[{} for _ in range(4)])
    results = store_of(stub).transition_many([mark(job) for job in jobs[:35]])
    assert [number for number, made in enumerate(results) if not made] == [30]


def test_a_second_move_on_one_job_is_made_after_the_batch(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    job = waiting()
    first = mark(job)
    marked = first.apply(job)
    second = mark(marked)
    expect_batch(stub, 1, {})
    stub.script.add_client_error(
        "update_item",
        "ConditionalCheckFailedException",
        modeled_fields={"Item": job_to_item(replace(marked, generation=7, history=()))},
    )
    assert store_of(stub).transition_many([first, second]) == [True, False]


def test_a_move_that_fits_no_batch_is_made_alone(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    job = make_job(status=JobStatus.ENQUEUED, trace_id=None)
    expect_update(stub, after(claim_of(job), job))
    assert store_of(stub).transition_many([claim_of(job)]) == [True]


def test_a_batch_that_is_throttled_as_a_whole_is_unavailable(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_client_error("batch_execute_statement", "ThrottlingException")
    with pytest.raises(Unavailable, match="BatchExecuteStatement on table jobs"):
        store_of(stub).transition_many([mark(waiting())])


@pytest.mark.parametrize("answer", [{}, {"Responses": []}])
def test_a_batch_that_is_not_answered_in_full_is_unavailable(
    stubbed: Stub, answer: dict[str, Any]
) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_response("batch_execute_statement", answer)
    with pytest.raises(Unavailable, match="may have been done or not"):
        store_of(stub).transition_many([mark(waiting())])


def count_newer(telemetry: RecordingTelemetry) -> list[list[str]]:
    """Return the ids of what was left to a newer version, for each line of the log."""
    lines = [line.fields["ids"] for line in telemetry.warnings]
    assert telemetry.total("items_newer") == sum(map(len, lines))
    return lines


@pytest.mark.parametrize("says_what_stood_there", [True, False])
def test_jobs_that_turned_newer_are_logged_together_and_the_others_marked(
    stubbed: Stub, says_what_stood_there: bool
) -> None:
    stub, telemetry = stubbed("dynamodb"), RecordingTelemetry()
    jobs = [waiting(1), waiting(2), waiting(3), waiting(4)]
    newer = [{**job_to_item(job), "v": {"N": "99"}} for job in jobs[:2]]
    changed = job_to_item(replace(jobs[2], generation=5))
    refusal: dict[str, Any] = {"Code": "ConditionalCheckFailed"}
    if says_what_stood_there:
        refusals = [{"Error": {**refusal, "Item": item}} for item in (*newer, changed)]
        expect_batch(stub, 4, *refusals, {})
    else:
        expect_batch(stub, 4, *[{"Error": refusal}] * 3, {})
        stub.script.add_response("batch_get_item", {"Responses": {"jobs": [*newer, changed]}})
    store = DynamoJobStore(stub.client, "jobs", batch_marks=True, telemetry=telemetry)
    assert store.transition_many([mark(job) for job in jobs]) == [False, False, False, True]
    assert count_newer(telemetry) == [["job-1", "job-2"]]


def test_a_job_that_turned_newer_is_logged_and_the_others_marked_without_batches(
    stubbed: Stub,
) -> None:
    stub, telemetry = stubbed("dynamodb"), RecordingTelemetry()
    jobs = [waiting(1), waiting(2)]
    moves = [mark(job) for job in jobs]
    stub.script.add_client_error(
        "update_item",
        "ConditionalCheckFailedException",
        modeled_fields={"Item": {**job_to_item(jobs[0]), "v": {"N": "99"}}},
    )
    expect_update(stub, after(moves[1], jobs[1]))
    store = DynamoJobStore(stub.client, "jobs", telemetry=telemetry)
    assert store.transition_many(moves) == [False, True]
    assert count_newer(telemetry) == [["job-1"]]
