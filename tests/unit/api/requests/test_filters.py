"""Filters of listings and bulk operations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hourhand.api.requests.filters import (
    BulkDiscard,
    BulkRequest,
    GroupsRequest,
    ListRequest,
    LogRequest,
)
from hourhand.api.requests.runs import StepsRequest
from hourhand.domain.errors import InvalidInput
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.log import ListOrder
from hourhand.domain.jobs.searches import JobFilter

WHOLE = {
    "status": "DEAD",
    "handler": "greet",
    "schedule_id": "nightly",
    "tenant": "acme",
    "tag": "customer:4:2",
    "error_type": "TimeoutError",
    "error_group": "abcdefghij27",
    "created_after": "2026-11-01T00:00:00Z",
    "created_before": "2026-11-21T01:00:00+01:00",
}


def test_every_filter_is_taken() -> None:
    filters = ListRequest.parse(WHOLE).filters
    assert filters.status is JobStatus.DEAD
    assert (filters.handler, filters.schedule_id, filters.tenant) == ("greet", "nightly", "acme")
    assert filters.tag == ("customer", "4:2")
    assert (filters.error_type, filters.error_group) == ("TimeoutError", "abcdefghij27")
    assert filters.created_after == datetime(2026, 11, 1, tzinfo=UTC)
    assert filters.created_before == datetime(2026, 11, 21, tzinfo=UTC)
    assert not filters.is_empty


def test_a_page_holds_50_jobs_unless_asked_otherwise() -> None:
    query = ListRequest.parse({})
    assert (query.limit, query.cursor) == (50, None)
    assert query.filters == JobFilter()
    assert query.filters.is_empty


@pytest.mark.parametrize("limit", ["1", "200"])
def test_a_page_may_hold_1_to_200_jobs(limit: str) -> None:
    assert ListRequest.parse({"limit": limit}).limit == int(limit)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": "0"}, "at least 1"),
        ({"limit": "201"}, "at most 200"),
        ({"limit": "-1"}, "from 1 to 200"),
        ({"limit": ""}, "from 1 to 200"),
        ({"limit": "5.0"}, "from 1 to 200"),
        ({"limit": "\u0665"}, "from 1 to 200"),
        ({"limit": "9" * 5000}, "from 1 to 200"),
        ({"status": "dead"}, "'PENDING'"),
        ({"status": ""}, "'PENDING'"),
        ({"handler": ""}, "at least 1"),
        ({"tenant": "t" * 129}, "at most 128"),
        ({"tag": "customer"}, "key:value"),
        ({"tag": ":42"}, "key:value"),
        ({"tag": "k" * 65 + ":v"}, "key:value"),
        ({"tag": "k:" + "v" * 257}, "key:value"),
        ({"error_type": ""}, "at least 1"),
        ({"error_type": "E" * 101}, "at most 100"),
        ({"error_group": "abc"}, "must match"),
        ({"error_group": "ABCDEFGHIJ27"}, "must match"),
        ({"error_group": "abcdefghij27\n"}, "must match"),
        ({"created_after": "2026-11-21"}, "RFC 3339"),
        ({"created_before": "2026-11-21T00:00:00"}, "must have an offset"),
        ({"cursor": ""}, "at least 1"),
        ({"cursor": "c" * 1001}, "at most 1000"),
        ({"order": "asc"}, "is not a known field"),
        ({"discarded": "yes"}, "must be true or false"),
        ({"discarded": "True"}, "must be true or false"),
        ({"idempotency_key": ""}, "at least 1"),
        ({"idempotency_key": "k" * 257}, "at most 256"),
    ],
)
def test_a_wrong_query_field_is_named(query: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ListRequest.parse(query)
    (fault,) = caught.value.errors
    assert fault.field == next(iter(query))
    assert message in fault.message


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False)])
def test_discarded_is_true_or_false(text: str, *, value: bool) -> None:
    query = ListRequest.parse({"discarded": text})
    assert query.discarded is query.filters.discarded is value
    assert query.filters.is_empty is not value
    assert query.filters == BulkRequest.parse({"all": True, "discarded": value}).filters


def test_a_key_is_asked_for_with_its_tenant_alone() -> None:
    query = {"idempotency_key": "order-4711", "tenant": "acme", "limit": "1"}
    assert ListRequest.parse(query).idempotency_key == "order-4711"
    assert ListRequest.parse(query).tenant == "acme"


@pytest.mark.parametrize(
    "others", [*({name: value} for name, value in WHOLE.items() if name != "tenant"),
               {"discarded": "true"}, {"cursor": "abc"}, {"status": "DEAD", "handler": "greet"}]
)  # fmt: skip
def test_other_filters_beside_a_key_are_refused_by_name(others: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        ListRequest.parse({"idempotency_key": "order-4711", **others})
    assert [fault.field for fault in caught.value.errors] == sorted(others)
    assert "takes no filter but tenant" in caught.value.errors[0].message


def test_equal_filters_share_a_fingerprint_whatever_they_came_in() -> None:
    filters = ListRequest.parse(WHOLE).filters
    assert ListRequest.parse({**WHOLE, "limit": "3"}).filters.fingerprint == (filters.fingerprint)
    assert BulkRequest.parse({**WHOLE, "dry_run": True}).filters == filters
    assert BulkRequest.parse(WHOLE).filters.fingerprint == filters.fingerprint


@pytest.mark.parametrize("field", WHOLE)
def test_any_other_filter_has_another_fingerprint(field: str) -> None:
    fewer = {name: value for name, value in WHOLE.items() if name != field}
    whole = ListRequest.parse(WHOLE).filters
    assert ListRequest.parse(fewer).filters.fingerprint != whole.fingerprint


def test_no_two_tags_can_be_confused() -> None:
    first = ListRequest.parse({"tag": "a:b"}).filters
    assert ListRequest.parse({"tag": 'a:"b'}).filters.fingerprint != first.fingerprint
    assert ListRequest.parse({"handler": "a:b"}).filters.fingerprint != first.fingerprint


@pytest.mark.parametrize(
    "raw",
    [{}, {"all": False}, {"handler": None}, {"dry_run": True}, {"discarded": False}],
)
def test_a_bulk_operation_without_a_filter_is_refused_unless_all_is_meant(
    raw: dict[str, Any],
) -> None:
    with pytest.raises(InvalidInput) as caught:
        BulkRequest.parse(raw)
    assert [fault.field for fault in caught.value.errors] == ["all"]


def test_all_jobs_are_meant_only_by_saying_so() -> None:
    request = BulkRequest.parse({"all": True})
    assert request.filters.is_empty


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"all": "yes"}, "all"),
        ({"all": 1}, "all"),
        ({"all": True, "dry_run": "no"}, "dry_run"),
        ({"everything": True}, "everything"),
        ({"status": 5}, "status"),
        ({"tag": ["a", "b"]}, "tag"),
        ({"all": True, "limit": 5}, "limit"),
        ({"discarded": "true"}, "discarded"),
        ({"all": True, "expected_count": -1}, "expected_count"),
        ({"all": True, "expected_count": "3"}, "expected_count"),
        ({"all": True, "expected_count": True}, "expected_count"),
        ({"all": True, "note": "why"}, "note"),
        ({"idempotency_key": "order-4711"}, "idempotency_key"),
        ([], "body"),
    ],
)
def test_a_wrong_field_of_a_bulk_request_is_named(raw: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        BulkRequest.parse(raw)
    assert [fault.field for fault in caught.value.errors] == [field]


def test_a_bulk_discard_may_have_a_note() -> None:
    assert BulkDiscard.parse({"all": True, "note": "known"}).note == "known"
    with pytest.raises(InvalidInput) as caught:
        BulkDiscard.parse({"all": True, "note": "n" * 1001})
    assert [fault.field for fault in caught.value.errors] == ["note"]
    with pytest.raises(InvalidInput):
        BulkDiscard.parse({"note": "known"})


def test_groups_are_of_dead_jobs_alone() -> None:
    query = GroupsRequest.parse({"handler": "greet", "limit": "7"})
    unresolved = JobFilter(handler="greet", status=JobStatus.DEAD, discarded=False)
    assert query.filters == unresolved
    assert (query.limit, query.cursor) == (7, None)
    assert GroupsRequest.parse({"status": "DEAD"}).limit == 1000


def test_a_log_is_read_from_the_oldest_line_on_unless_asked_otherwise() -> None:
    query = LogRequest.parse({})
    assert (query.order, query.limit, query.cursor) == (ListOrder.OLDEST, 100, None)
    assert LogRequest.parse({"order": "newest", "limit": "1000"}).order is ListOrder.NEWEST


@pytest.mark.parametrize(
    ("model", "query", "message"),
    [
        (GroupsRequest, {"status": "RUNNING"}, "must be DEAD"),
        (GroupsRequest, {"limit": "1001"}, "at most 1,000"),
        (GroupsRequest, {"limit": "0"}, "at least 1"),
        (GroupsRequest, {"order": "newest"}, "is not a known field"),
        (LogRequest, {"order": "latest"}, "'oldest' or 'newest'"),
        (LogRequest, {"limit": "1001"}, "at most 1,000"),
        (StepsRequest, {"order": "latest"}, "'oldest' or 'newest'"),
        (LogRequest, {"limit": "many"}, "from 1 to 1000"),
        (LogRequest, {"status": "DEAD"}, "is not a known field"),
        (LogRequest, {"cursor": ""}, "at least 1"),
    ],
)
def test_a_wrong_field_of_groups_of_a_log_or_of_steps_is_named(
    model: type[GroupsRequest] | type[LogRequest] | type[StepsRequest],
    query: dict[str, str],
    message: str,
) -> None:
    with pytest.raises(InvalidInput) as caught:
        model.parse(query)
    (fault,) = caught.value.errors
    assert fault.field == next(iter(query))
    assert message in fault.message
