"""The routes of calendars: what they ask of the service, and how they tell the answers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hourhand.api.app import create_app
from hourhand.api.routing import Services
from hourhand.domain.errors import WrongState
from tests.functions.api_client import ApiClient
from tests.functions.schedule_fakes import FakeServices

EXCLUDE: list[Any] = [
    "2026-12-25",
    {"from": "2026-12-24", "to": "2026-12-26"},
    {"from": "2026-12-24T18:00:00.000Z", "to": "2026-12-24T20:00:00.000Z"},
    "0 0 * * SUN",
]


@pytest.fixture
def api(services: FakeServices) -> ApiClient:
    return ApiClient(create_app(cast("Services", services)))


def test_a_calendar_comes_back_as_it_was_put(api: ApiClient) -> None:
    body = {"exclude": EXCLUDE, "note": "bank holidays"}
    response = api.send("PUT", "/v1/calendars/holidays", body)
    assert (response.status, response.headers["location"]) == (201, "/v1/calendars/holidays")
    assert response.json == {
        "name": "holidays",
        **body,
        "revision": 1,
        "updated_at": "2026-01-05T09:00:00.000Z",
    }
    assert api.get("/v1/calendars/holidays").json == response.json


def test_a_calendar_put_again_is_not_new(api: ApiClient) -> None:
    api.send("PUT", "/v1/calendars/holidays", {"exclude": EXCLUDE})
    response = api.send("PUT", "/v1/calendars/holidays", {"exclude": []})
    assert (response.status, response.json["exclude"], response.json["note"]) == (200, [], None)


def test_calendars_are_listed_by_name_page_by_page(api: ApiClient) -> None:
    for name in ("c", "a", "b"):
        api.send("PUT", f"/v1/calendars/{name}", {"exclude": []})
    first = api.get("/v1/calendars?limit=2").json
    rest = api.get(f"/v1/calendars?limit=2&cursor={first['next_cursor']}").json
    names = [calendar["name"] for page in (first, rest) for calendar in page["calendars"]]
    assert (names, rest["next_cursor"]) == (["a", "b", "c"], None)


def test_a_calendar_is_deleted_without_a_word(api: ApiClient) -> None:
    api.send("PUT", "/v1/calendars/holidays", {"exclude": []})
    response = api.send("DELETE", "/v1/calendars/holidays")
    assert (response.status, response.text) == (204, "")
    assert api.get("/v1/calendars/holidays").status == 404


def test_a_calendar_in_use_is_a_conflict(
    api: ApiClient, services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, *, actor: str) -> None:
        raise WrongState(f"Calendar {name} is used by schedule nightly.")

    monkeypatch.setattr(services.calendars, "delete", refuse)
    response = api.send("DELETE", "/v1/calendars/holidays")
    assert (response.status, response.json["type"]) == (409, "urn:hourhand:wrong_state")
    assert "nightly" in response.json["detail"]


def test_a_wrong_calendar_names_its_field(api: ApiClient) -> None:
    response = api.send("PUT", "/v1/calendars/holidays", {"exclude": [{"from": "2026-12-25"}]})
    assert (response.status, response.fields) == (422, ["exclude[0].to"])
    assert api.get("/v1/calendars/holidays").status == 404


@pytest.mark.parametrize("name", ["a b", "2026-12-25", "%2e"])
def test_no_other_name_is_taken_and_none_such_is_found(api: ApiClient, name: str) -> None:
    response = api.send("PUT", f"/v1/calendars/{name}", {"exclude": []})
    assert (response.status, response.fields) == (422, ["name"])
    assert api.get(f"/v1/calendars/{name}").status == 404
    assert api.send("DELETE", f"/v1/calendars/{name}").status == 404
