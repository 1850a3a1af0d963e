from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.stub import ANY

from hourhand.aws.batches import (
    FIRST_WAIT_SECONDS,
    KEYS_PER_BATCH,
    LONGEST_WAIT_SECONDS,
    MAX_BATCH_TRIES,
    wait_seconds,
)
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import hot_key, job_to_item
from hourhand.aws.layout.side_items import MAX_MESSAGE_BYTES, MAX_TRACEBACK_BYTES
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Attempt, ErrorInfo, JobStatus
from hourhand.memory import START
from hourhand.ports.job_store import Applied, IndexPage, JobDetails, Refused
from tests.unit.aws.conftest import Installation, Stubbed
from tests.unit.aws.scripted import claim_of
from tests.world.factories import make_job

Stub = Callable[[str], Stubbed]
WEEK = timedelta(days=7)


def refuse(stub: Stubbed, operation: str, item: Any = None) -> None:
    fields = {"Item": item} if item is not None else {}
    stub.script.add_client_error(
        operation, "ConditionalCheckFailedException", modeled_fields=fields
    )


def test_a_claim_whose_answer_was_lost_is_known_by_its_own_id(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    job = make_job(status=JobStatus.ENQUEUED, trace_id=None)
    mine = claim_of(job, "claim-mine")
    refuse(stub, "update_item", job_to_item(mine.apply(job)))
    store = DynamoJobStore(stub.client, "jobs")
    assert store.transition(mine) == Applied(mine.apply(job))


def test_a_move_whose_answer_was_damaged_on_its_way_is_unavailable(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_response("update_item", {})
    with pytest.raises(Unavailable, match="UpdateItem on table jobs was answered without"):
        DynamoJobStore(stub.client, "jobs").transition(claim_of(make_job(), "claim-mine"))


def test_a_claim_that_lost_the_race_shows_the_winner_s(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    job = make_job(status=JobStatus.ENQUEUED, trace_id=None)
    won = claim_of(job, "claim-other").apply(job)
    refuse(stub, "update_item", job_to_item(won))
    store = DynamoJobStore(stub.client, "jobs")
    assert store.transition(claim_of(job, "claim-mine")) == Refused(won)


@pytest.mark.parametrize("exists", [True, False])
def test_where_a_store_shows_no_item_it_is_read_consistently(stubbed: Stub, exists: bool) -> None:
    stub = stubbed("dynamodb")
    job = make_job(status=JobStatus.SUCCEEDED, trace_id=None)
    read = {"TableName": "jobs", "Key": hot_key("job-1"), "ConsistentRead": True}
    found = {"Item": job_to_item(job)} if exists else {}
    store = DynamoJobStore(stub.client, "jobs")
    refuse(stub, "update_item")
    stub.script.add_response("get_item", found, read)
    expected = Refused(job if exists else None)
    assert store.transition(claim_of(make_job(status=JobStatus.ENQUEUED))) == expected
    refuse(stub, "put_item")
    stub.script.add_response("get_item", found, read)
    assert store.put(make_job()) == expected


def test_keys_left_unprocessed_are_asked_for_again_after_a_wait(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [make_job(id=f"job-{n}", trace_id=None) for n in range(3)]
    keys = [hot_key(job.id) for job in jobs]
    items = [job_to_item(job) for job in jobs]
    for asked, answered, left in ((keys, items[:1], keys[1:]), (keys[1:], items[1:], [])):
        stub.script.add_response(
            "batch_get_item",
            {
                "Responses": {"jobs": answered},
                "UnprocessedKeys": {"jobs": {"Keys": left}} if left else {},
            },
            {"RequestItems": {"jobs": {"Keys": asked, "ConsistentRead": True}}},
        )
    waits: list[float] = []
    store = DynamoJobStore(stub.client, "jobs", sleep=waits.append)
    assert store.get_many([job.id for job in jobs]) == {job.id: job for job in jobs}
    assert len(waits) == 1


def test_keys_that_any_call_leaves_are_asked_for_again(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    jobs = [make_job(id=f"job-{n}", trace_id=None) for n in range(KEYS_PER_BATCH + 2)]
    first, last = jobs[:KEYS_PER_BATCH], jobs[KEYS_PER_BATCH:]
    for asked, left in ((first, first[:1]), (last, last[:1]), ([first[0], last[0]], [])):
        found = [job_to_item(job) for job in asked if job not in left]
        keys = {"jobs": {"Keys": [hot_key(job.id) for job in left]}} if left else {}
        stub.script.add_response(
            "batch_get_item",
            {"Responses": {"jobs": found}, "UnprocessedKeys": keys},
            {
                "RequestItems": {
                    "jobs": {"Keys": [hot_key(job.id) for job in asked], "ConsistentRead": True}
                }
            },
        )
    store = DynamoJobStore(stub.client, "jobs", sleep=lambda _: None)
    assert store.get_many([job.id for job in jobs]) == {job.id: job for job in jobs}


def test_keys_that_are_never_processed_end_in_an_error_that_says_so(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    for _ in range(MAX_BATCH_TRIES):
        stub.script.add_response(
            "batch_get_item",
            {"Responses": {}, "UnprocessedKeys": {"jobs": {"Keys": [hot_key("job-1")]}}},
        )
    waits: list[float] = []
    store = DynamoJobStore(stub.client, "jobs", sleep=waits.append)
    with pytest.raises(Unavailable, match="left 1 keys unread after 8 tries"):
        store.get_many(["job-1"])
    assert len(waits) == MAX_BATCH_TRIES - 1


def test_an_answer_without_items_or_keys_is_no_answer(stubbed: Stub) -> None:
    """As botocore has it of one that was cut off."""
    stub = stubbed("dynamodb")
    stub.script.add_response("batch_get_item", {})
    with pytest.raises(Unavailable, match="was answered without Responses"):
        DynamoJobStore(stub.client, "jobs").get_many(["job-1"])


def test_a_hundred_keys_go_to_a_call_and_none_twice(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    ids = [f"job-{n}" for n in range(KEYS_PER_BATCH + 1)]
    for count in (KEYS_PER_BATCH, 1):
        stub.script.add_response(
            "batch_get_item",
            {"Responses": {"jobs": []}},
            {"RequestItems": {"jobs": {"Keys": [ANY] * count, "ConsistentRead": True}}},
        )
    assert DynamoJobStore(stub.client, "jobs").get_many(ids + ids) == {}


@pytest.mark.parametrize("tries", range(1, 12))
def test_waits_double_up_to_a_bound_and_never_coincide_for_sure(tries: int) -> None:
    longest = min(FIRST_WAIT_SECONDS * 2 ** (tries - 1), LONGEST_WAIT_SECONDS)
    waits = [wait_seconds(tries) for _ in range(20)]
    assert all(longest / 2 <= wait <= longest for wait in waits)
    assert len(set(waits)) > 1


def test_a_text_is_never_kept_shorter(installation: Installation) -> None:
    client, table = installation.dynamodb, installation.settings.jobs_table
    store = DynamoJobStore(client, table)
    store.put_text("job-1", "payload.a1", "1", START + 2 * WEEK)
    store.extend_text("job-1", "payload.a1", START + WEEK)
    key = {"p": {"S": "job-1"}, "s": {"S": "C#payload.a1"}}
    ends = int(client.get_item(TableName=table, Key=key)["Item"]["x"]["N"])
    assert ends == (START + 2 * WEEK).timestamp()
    store.extend_text("job-1", "payload.a1", START + 3 * WEEK)
    ends = int(client.get_item(TableName=table, Key=key)["Item"]["x"]["N"])
    assert ends == (START + 3 * WEEK).timestamp()


def test_an_error_of_any_size_and_any_characters_is_kept(installation: Installation) -> None:
    store = DynamoJobStore(installation.dynamodb, installation.settings.jobs_table)
    job = make_job()
    store.put(job)
    error = ErrorInfo(
        type="E",
        message="m" * 1_000_000 + "\ud800",
        traceback="\ud800" + "ü" * 500_000 + "the line that raised",
    )
    failed = Attempt(number=1, token=1, worker="w-1", started_at=START, error=error)
    store.put_failure("job-1", failed, START)
    details = store.get_details("job-1")
    assert details is not None
    kept = details.failures[1].error
    assert kept is not None
    assert kept.message == "m" * MAX_MESSAGE_BYTES
    assert kept.traceback is not None
    assert kept.traceback.endswith("the line that raised")
    assert len(kept.traceback.encode()) <= MAX_TRACEBACK_BYTES


def test_details_of_many_pages_are_read_to_the_end(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    job = make_job(trace_id=None)
    text = {"p": {"S": "job-1"}, "s": {"S": "C#payload.a1"}, "i": {"S": "1"}}
    stub.script.add_response("query", {"Items": [text], "LastEvaluatedKey": hot_key("job-1")})
    stub.script.add_response(
        "query",
        {"Items": [job_to_item(job)]},
        {
            "TableName": "jobs",
            "KeyConditionExpression": "p = :job AND s BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":job": {"S": "job-1"},
                ":first": {"S": "C#"},
                ":last": {"S": "J"},
            },
            "ScanIndexForward": False,
            "ConsistentRead": True,
            "ExclusiveStartKey": hot_key("job-1"),
        },
    )
    details = DynamoJobStore(stub.client, "jobs").get_details("job-1")
    assert details == JobDetails(job=job, texts={"payload.a1": "1"})


def test_of_buckets_that_are_read_side_by_side_one_that_fails_spoils_no_other(
    stubbed: Stub,
) -> None:
    stub = stubbed("dynamodb")
    entry = {"p": {"S": "job-1"}, "k": {"N": "1000"}}
    stub.script.add_response("query", {"Items": [entry]})
    stub.script.add_client_error("query", "ThrottlingException")
    # What is in none of our forms, and an answer that was damaged on its way.
    stub.script.add_response("query", {"Items": [{"p": {"S": "job-2"}}]})
    stub.script.add_response("query", {"Items": [{**entry, "k": {"N": "later"}}]})
    stub.script.add_response("query", {})
    stub.script.add_response("query", {"Items": [], "LastEvaluatedKey": {"p": {"S": "job-9"}}})
    pages = DynamoJobStore(stub.client, "jobs").read_buckets([(n, 0) for n in range(6)], limit=7)
    assert pages[0] is not None
    assert [found.job_id for found in pages[0].entries] == ["job-1"]
    assert pages[1:5] == [None] * 4
    assert pages[5] == IndexPage((), {"p": {"S": "job-9"}})
