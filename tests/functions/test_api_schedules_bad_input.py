"""Whatever a caller sends about schedules: a 4xx that names what is wrong, and never a 500."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hourhand.api.app import create_app
from hourhand.api.routing import Services
from tests.functions.api_client import ApiClient
from tests.functions.schedule_fakes import FakeServices

PATH = "/v1/schedules/nightly"
LEAST = {"expression": "0 9 * * MON-FRI", "handler": "greet"}


@pytest.fixture
def api(services: FakeServices) -> ApiClient:
    return ApiClient(create_app(cast("Services", services)))


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"handler": "greet"}, 422, "expression"),
        ({**LEAST, "expression": ["@daily", "0 25 * * *"]}, 422, "expression[1]"),
        ({**LEAST, "pool": "gpu"}, 422, "pool"),
        ({**LEAST, "payload": "x" * 256_000}, 413, "payload"),
        ([LEAST], 422, "body"),
    ],
)
def test_a_wrong_schedule_names_its_field_and_is_not_put(
    api: ApiClient, services: FakeServices, body: Any, status: int, field: str
) -> None:
    response = api.send("PUT", PATH, body)
    assert (response.status, response.fields) == (status, [field])
    assert services.schedules.views == {}


def test_a_schedule_in_a_schedule_names_the_whole_place(api: ApiClient) -> None:
    body = {"schedule": {"expression": ["@daily", "x"]}}
    response = api.post("/v1/schedules/preview", body)
    assert (response.status, response.fields) == (422, ["schedule.expression[1]"])


@pytest.mark.parametrize(
    "schedule_id", ["k.abc", "a" * 101, "%2e%2e", "..", "\ud800", "a b", '"', "\x00", "é"]
)
def test_no_other_id_is_taken_and_none_such_is_found(
    api: ApiClient, services: FakeServices, schedule_id: str
) -> None:
    path = f"/v1/schedules/{schedule_id}"
    response = api.send("PUT", path, LEAST)
    assert (response.status, response.fields) == (422, ["id"])
    answers = [
        api.get(path),
        api.send("DELETE", path),
        api.get(f"{path}/occurrences"),
        api.post(f"{path}/backfill", {}),
        *(api.post(f"{path}/{operation}") for operation in ("pause", "resume", "trigger")),
    ]
    assert {answer.status for answer in answers} == {404}
    assert services.schedules.calls == []


@pytest.mark.parametrize("operation", ["pause", "resume", "trigger"])
def test_a_wrong_note_changes_nothing(
    api: ApiClient, services: FakeServices, operation: str
) -> None:
    api.send("PUT", PATH, LEAST)
    assert api.post(f"{PATH}/{operation}", {"note": 5}).status == 422
    assert [call[0] for call in services.schedules.calls] == ["put"]


def test_a_body_is_required_where_it_says_what_to_do(api: ApiClient) -> None:
    for method, path in (
        ("PUT", PATH),
        ("POST", f"{PATH}/backfill"),
        ("POST", "/v1/schedules/preview"),
        ("PUT", "/v1/calendars/holidays"),
    ):
        response = api.send(method, path)
        assert (response.status, response.json["type"]) == (400, "urn:hourhand:bad_request")


def test_a_route_that_takes_no_body_or_query_refuses_them(api: ApiClient) -> None:
    api.send("PUT", PATH, LEAST)
    assert api.send("DELETE", PATH, {"force": True}).fields == ["force"]
    assert api.send("DELETE", f"{PATH}?force=1").fields == ["force"]
    assert api.send("PUT", f"{PATH}?dry_run=1", LEAST).fields == ["dry_run"]
    assert api.get(f"{PATH}?full=1").fields == ["full"]
    assert api.get(PATH).status == 200


@pytest.mark.parametrize("listing", ["schedules", "calendars"])
@pytest.mark.parametrize(
    "query", ["limit=201", "cursor=%00", "cursor=bm9uc2Vuc2U", "status=active"]
)
def test_a_wrong_query_names_its_field(api: ApiClient, listing: str, query: str) -> None:
    response = api.get(f"/v1/{listing}?{query}")
    assert (response.status, response.fields) == (422, [query.partition("=")[0]])


def test_a_cursor_is_good_for_its_own_listing_alone(api: ApiClient) -> None:
    for name in ("a", "b"):
        api.send("PUT", f"/v1/schedules/{name}", LEAST)
    cursor = api.get("/v1/schedules?limit=1").json["next_cursor"]
    assert api.get(f"/v1/schedules?cursor={cursor}").status == 200
    assert api.get(f"/v1/calendars?cursor={cursor}").fields == ["cursor"]
    assert api.get(f"/v1/jobs?cursor={cursor}").fields == ["cursor"]
