from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.stub import ANY

from hourhand.aws.batches import MAX_BATCH_TRIES
from hourhand.aws.layout.schedules import (
    backfill_to_item,
    calendar_key,
    calendar_to_item,
    definition_key,
    definition_to_item,
    page_to_item,
    schedule_key,
    schedule_to_item,
)
from hourhand.aws.schedule_store import (
    MAX_JOURNAL_READS,
    DynamoCalendarStore,
    DynamoScheduleStore,
)
from hourhand.domain.errors import Unavailable
from hourhand.domain.schedules.schedule import (
    Backfill,
    Calendar,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    Walk,
)
from hourhand.memory import START
from hourhand.ports.schedule_store import JournalPage, Outdated, Written
from tests.unit.aws.conftest import Installation, Stubbed

Stub = Callable[[str], Stubbed]
HOUR = timedelta(hours=1)
DEFINITION = ScheduleDefinition(expressions=("@daily",), handler="greet")
SCHEDULE = Schedule(
    id="nightly",
    sequence=2,
    revision=1,
    write_id="mine",
    definition="d1",
    created_at=START,
    updated_at=START,
    effective_from=START,
    cursor=START,
    zone_data="2026a",
)
BACKFILL = Backfill(
    id="b1",
    schedule_id="nightly",
    sequence=2,
    write_id="mine",
    definition="d1",
    start=START,
    end=START,
    total=1,
    created_at=START,
)
CALENDAR = Calendar(name="holidays", revision=2, exclude=(), updated_at=START)


def refuse(stub: Stubbed, item: Any = None) -> None:
    fields = {"Item": item} if item is not None else {}
    stub.script.add_client_error(
        "update_item", "ConditionalCheckFailedException", modeled_fields=fields
    )


def page_of(number: int) -> JournalPage:
    at = START + number * HOUR
    return JournalPage(entries=(JournalEntry(first=at, last=at),))


def test_a_write_is_one_update_under_a_condition_on_sequence_and_version(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    values = {f":{n}": v for n, v in schedule_to_item(SCHEDULE).items() if n not in {"p", "s"}}
    expected = {
        "TableName": "schedules",
        "Key": schedule_key("nightly"),
        "UpdateExpression": ANY,
        "ExpressionAttributeNames": ANY,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    not_newer = "(attribute_not_exists(v) OR v <= :known)"
    values[":known"] = {"N": "1"}
    after_one = {
        "ConditionExpression": f"q = :previous AND {not_newer}",
        "ExpressionAttributeValues": {**values, ":previous": {"N": "1"}},
    }
    stub.script.add_response("update_item", {}, {**expected, **after_one})
    first = {
        "ConditionExpression": f"attribute_not_exists(p) AND {not_newer}",
        "ExpressionAttributeValues": values,
    }
    stub.script.add_response("update_item", {}, {**expected, **first})
    store = DynamoScheduleStore(stub.client, "schedules")
    assert store.write(SCHEDULE, previous=1) == Written()
    assert store.write(SCHEDULE, previous=None) == Written()


def test_a_write_keeps_what_a_later_release_added_and_removes_what_is_no_more(
    installation: Installation,
) -> None:
    client, table = installation.dynamodb, installation.settings.schedules_table
    store = DynamoScheduleStore(client, table)
    first = replace(SCHEDULE, sequence=1, next_at=START, note="a note", journal=(), paused_at=START)
    store.write(first, previous=None)
    client.update_item(
        TableName=table,
        Key=schedule_key("nightly"),
        UpdateExpression="SET added = :later",
        ExpressionAttributeValues={":later": {"S": "by a later release"}},
    )
    assert store.write(SCHEDULE, previous=1) == Written()
    item = client.get_item(TableName=table, Key=schedule_key("nightly"))["Item"]
    assert item == {**schedule_to_item(SCHEDULE), "added": {"S": "by a later release"}}


@pytest.mark.parametrize("stands", [None, "mine", "theirs"])
def test_where_a_store_shows_no_item_it_is_read_consistently(
    stubbed: Stub, stands: str | None
) -> None:
    stub = stubbed("dynamodb")
    standing = replace(SCHEDULE, write_id=stands) if stands else None
    refuse(stub)
    stub.script.add_response(
        "get_item",
        {"Item": schedule_to_item(standing)} if standing else {},
        {"TableName": "schedules", "Key": schedule_key("nightly"), "ConsistentRead": True},
    )
    answer = DynamoScheduleStore(stub.client, "schedules").write(SCHEDULE, previous=1)
    assert answer == (Written() if stands == "mine" else Outdated(standing))


def test_a_lost_race_costs_no_read(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    theirs = replace(SCHEDULE, write_id="theirs")
    refuse(stub, schedule_to_item(theirs))
    answer = DynamoScheduleStore(stub.client, "schedules").write(SCHEDULE, previous=1)
    assert answer == Outdated(theirs)


@pytest.mark.parametrize("stands", [None, "mine", "theirs"])
def test_a_refused_backfill_stands_only_where_it_was_one_s_own(
    stubbed: Stub, stands: str | None
) -> None:
    stub = stubbed("dynamodb")
    refuse(stub, backfill_to_item(replace(BACKFILL, write_id=stands)) if stands else None)
    store = DynamoScheduleStore(stub.client, "schedules")
    assert store.write_backfill(BACKFILL, previous=1) is (stands == "mine")


def test_a_throttled_write_is_unavailable_and_names_the_table(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_client_error("update_item", "ThrottlingException")
    with pytest.raises(Unavailable, match="UpdateItem on table schedules was throttled"):
        DynamoScheduleStore(stub.client, "schedules").write_walk(Walk(sequence=1), previous=0)


def test_definitions_left_unprocessed_are_asked_for_again_after_a_wait(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    keys = [definition_key("nightly", name) for name in ("d1", "d2", "d3")]
    items = [definition_to_item("nightly", name, DEFINITION) for name in ("d1", "d2", "d3")]
    for asked, answered, left in ((keys, items[:1], keys[1:]), (keys[1:], items[1:], [])):
        unprocessed = {"schedules": {"Keys": left}} if left else {}
        stub.script.add_response(
            "batch_get_item",
            {"Responses": {"schedules": answered}, "UnprocessedKeys": unprocessed},
            {"RequestItems": {"schedules": {"Keys": asked, "ConsistentRead": True}}},
        )
    waits: list[float] = []
    store = DynamoScheduleStore(stub.client, "schedules", sleep=waits.append)
    names = [("nightly", name) for name in ("d1", "d2", "d3")]
    assert store.get_definitions([*names, names[0]]) == dict.fromkeys(names, DEFINITION)
    assert len(waits) == 1


def test_calendars_that_are_never_processed_end_in_an_error_that_says_so(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    for _ in range(MAX_BATCH_TRIES):
        left = {"schedules": {"Keys": [calendar_key("holidays")]}}
        stub.script.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": left})
    store = DynamoCalendarStore(stub.client, "schedules", sleep=lambda _seconds: None)
    with pytest.raises(Unavailable, match="table schedules left 1 keys unread after 8 tries"):
        store.get_calendars(["holidays"])


def test_a_calendar_that_differs_in_anything_is_another_s(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    store = DynamoCalendarStore(stub.client, "schedules")
    refuse(stub, calendar_to_item(CALENDAR))
    assert store.put_calendar(CALENDAR, previous=1) is True
    refuse(stub, calendar_to_item(replace(CALENDAR, note="theirs")))
    assert store.put_calendar(CALENDAR, previous=1) is False
    refuse(stub)
    assert store.put_calendar(CALENDAR, previous=1) is False


def test_a_journal_is_read_from_page_to_page_up_to_the_limit(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    key = {"p": {"S": "s.nightly"}, "s": {"S": "j.1"}}
    for number, limit, position in ((5, 2, key), (4, 1, None)):
        answer: dict[str, Any] = {"Items": [page_to_item("nightly", page_of(number))]}
        expected: dict[str, Any] = {
            "TableName": "schedules",
            "KeyConditionExpression": "p = :schedule AND s BETWEEN :first AND :last",
            "ExpressionAttributeValues": ANY,
            "ScanIndexForward": False,
            "ConsistentRead": True,
            "Limit": limit,
        }
        if position is not None:
            answer["LastEvaluatedKey"] = position
        else:
            expected["ExclusiveStartKey"] = key
        stub.script.add_response("query", answer, expected)
    store = DynamoScheduleStore(stub.client, "schedules")
    assert store.read_journal("nightly", before=None, limit=2) == (page_of(5), page_of(4))


def test_a_journal_without_end_is_read_only_so_far(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    key = {"p": {"S": "s.nightly"}, "s": {"S": "j.1"}}
    for _ in range(MAX_JOURNAL_READS):
        stub.script.add_response("query", {"Items": [], "LastEvaluatedKey": key})
    store = DynamoScheduleStore(stub.client, "schedules")
    assert store.read_journal("nightly", before=START, limit=2) == ()


def test_a_retired_definition_has_an_end_and_one_that_is_put_again_has_none(
    installation: Installation,
) -> None:
    client, table = installation.dynamodb, installation.settings.schedules_table
    store = DynamoScheduleStore(client, table)

    def end() -> Any:
        return client.get_item(TableName=table, Key=definition_key("nightly", "d1"))["Item"].get(
            "x"
        )

    store.put_definition("nightly", "d1", DEFINITION)
    assert end() is None
    store.retire_definition("nightly", "d1", START + HOUR)
    assert int(end()["N"]) == (START + HOUR).timestamp()
    store.put_definition("nightly", "d1", DEFINITION)
    assert end() is None
