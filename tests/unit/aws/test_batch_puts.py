"""New jobs twenty-five to a call; what a batch did not settle for sure is put by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.stub import ANY

from hourhand.aws.batches import insert_of
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import hot_key, job_to_item
from hourhand.domain.errors import PutOff, Unavailable, WrittenByNewer
from hourhand.domain.jobs.job import Job
from hourhand.ports.job_store import Applied, Refused
from tests.unit.aws.conftest import Stubbed
from tests.world.factories import make_job

Stub = Callable[[str], Stubbed]

EXISTS = {"Error": {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}}


def new(number: int = 1) -> Job:
    return make_job(id=f"job-{number}", trace_id=None)


def store_of(stub: Stubbed) -> DynamoJobStore:
    return DynamoJobStore(stub.client, "jobs", batch_marks=True)


def expect_batch(stub: Stubbed, jobs: list[Job], *answers: dict[str, Any]) -> None:
    statements = [insert_of(job_to_item(job), "jobs") for job in jobs]
    stub.script.add_response(
        "batch_execute_statement", {"Responses": list(answers)}, {"Statements": statements}
    )


def expect_get(stub: Stubbed, job_id: str, item: Any) -> None:
    asked = {"TableName": "jobs", "Key": hot_key(job_id), "ConsistentRead": True}
    stub.script.add_response("get_item", {"Item": item} if item else {}, asked)


def test_a_statement_names_every_attribute_of_its_item() -> None:
    item = {"p": {"S": "job-1"}, "s": {"S": "J"}, "g": {"N": "1"}}
    assert insert_of(item, "jobs") == {
        "Statement": "INSERT INTO \"jobs\" VALUE {'p': ?, 's': ?, 'g': ?}",
        "Parameters": [{"S": "job-1"}, {"S": "J"}, {"N": "1"}],
    }


def test_each_job_has_its_own_answer_in_order(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [new(number) for number in range(3)]
    other = replace(jobs[1], generation=7)
    expect_batch(stub, jobs, {}, EXISTS, {})
    expect_get(stub, "job-1", job_to_item(other))
    assert store_of(stub).put_many(jobs) == [Applied(jobs[0]), Refused(other), Applied(jobs[2])]


def test_what_is_gone_again_when_it_is_looked_at_is_nobodys(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    expect_batch(stub, [new()], EXISTS)
    expect_get(stub, "job-1", None)
    assert store_of(stub).put_many([new()]) == [Refused(None)]


@pytest.mark.parametrize(
    ("code", "retries", "stored"),
    [
        ("ThrottlingError", 0, False),
        ("ProvisionedThroughputExceeded", 0, False),
        # boto3 made the call twice: the first one may have put it.
        ("ThrottlingError", 1, None),
        ("InternalServerError", 0, None),
    ],
)
def test_a_job_that_is_put_off_is_left_to_the_caller(
    stubbed: Stub, code: str, retries: int, stored: bool | None
) -> None:
    stub = stubbed("dynamodb")
    jobs = [new(1), new(2)]
    answer = {
        "Responses": [{"Error": {"Code": code}}, {}],
        "ResponseMetadata": {"RetryAttempts": retries},
    }
    stub.script.add_response("batch_execute_statement", answer)
    put_off, applied = store_of(stub).put_many(jobs)
    assert isinstance(put_off, PutOff)
    assert (put_off.stored, put_off.job_id) == (stored, "job-1")
    assert applied == Applied(jobs[1])


def test_a_job_that_failed_otherwise_in_its_batch_is_put_alone(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [new(1), new(2)]
    expect_batch(stub, jobs, {"Error": {"Code": "New"}}, {})
    stub.script.add_response("put_item", {})
    assert store_of(stub).put_many(jobs) == [Applied(job) for job in jobs]


def test_a_second_job_of_one_id_is_put_after_the_batch(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    first, second = new(), replace(new(), handler="other")
    expect_batch(stub, [first], {})
    stub.script.add_client_error(
        "put_item",
        "ConditionalCheckFailedException",
        modeled_fields={"Item": job_to_item(first)},
    )
    assert store_of(stub).put_many([first, second]) == [Applied(first), Refused(first)]


def test_twenty_five_go_to_a_call(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [new(number) for number in range(60)]
    for start in (0, 25, 50):
        together = jobs[start : start + 25]
        expect_batch(stub, together, *[{} for _ in together])
    assert store_of(stub).put_many(jobs) == [Applied(job) for job in jobs]


def test_a_call_that_fails_is_the_answer_to_its_own_jobs_alone(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [new(number) for number in range(30)]
    stub.script.add_client_error("batch_execute_statement", "ThrottlingException")
    expect_batch(stub, jobs[25:], *[{} for _ in range(5)])
    results = store_of(stub).put_many(jobs)
    put_off = [result for result in results if isinstance(result, PutOff)]
    assert [each.stored for each in put_off] == [False] * 25
    assert results[25:] == [Applied(job) for job in jobs[25:]]


@pytest.mark.parametrize("answer", [{}, {"Responses": []}, {"Responses": [{}, {}, {}]}])
def test_a_batch_that_is_not_answered_in_full_is_no_answer(
    stubbed: Stub, answer: dict[str, Any]
) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_response("batch_execute_statement", answer)
    results = store_of(stub).put_many([new(1), new(2)])
    assert [each.stored for each in results if isinstance(each, PutOff)] == [None, None]


def test_what_cannot_be_looked_at_is_no_answer_to_the_others(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [new(number) for number in range(3)]
    expect_batch(stub, jobs, {}, EXISTS, EXISTS)
    stub.script.add_client_error("get_item", "ThrottlingException")
    expect_get(stub, "job-2", {**job_to_item(jobs[2]), "v": {"N": "99"}})
    applied, unread, newer = store_of(stub).put_many(jobs)
    assert applied == Applied(jobs[0])
    assert isinstance(unread, Unavailable)
    assert isinstance(newer, WrittenByNewer)


def test_without_batches_jobs_are_put_one_by_one(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [new(1), new(2)]
    stub.script.add_client_error("put_item", "ThrottlingException")
    stub.script.add_response("put_item", {}, {"TableName": "jobs", "Item": ANY, **ANYTHING})
    throttled, applied = DynamoJobStore(stub.client, "jobs").put_many(jobs)
    assert isinstance(throttled, Unavailable)
    assert applied == Applied(jobs[1])


ANYTHING = {"ConditionExpression": ANY, "ReturnValuesOnConditionCheckFailure": ANY}


def test_no_jobs_are_no_calls(stubbed: Stub) -> None:
    assert store_of(stubbed("dynamodb")).put_many([]) == []
