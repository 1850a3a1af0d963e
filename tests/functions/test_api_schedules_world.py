"""Schedules and calendars by their routes, over the whole system in memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.api_client import ApiClient
from tests.world.world import World

EVERY_TWO_MINUTES = {"expression": "*/2 * * * *", "handler": "greet", "payload": {"n": 1}}
PATH = "/v1/schedules/often"


def put(api: ApiClient, path: str = PATH, **fields: Any) -> Any:
    response = api.send("PUT", path, {**EVERY_TWO_MINUTES, **fields})
    assert response.status in {200, 201}, response.text
    return response.json


def test_a_schedule_makes_jobs_that_run(api: ApiClient, world: World) -> None:
    put(api)
    for _ in range(5):
        world.minute()
    page = api.get(f"{PATH}/occurrences").json
    done = [o for o in page["occurrences"] if o["job"]["status"] == "SUCCEEDED"]
    assert [o["at"] for o in done] == ["2026-01-05T09:04:00.000Z", "2026-01-05T09:02:00.000Z"]
    assert [o["at"] for o in page["upcoming"][:2]] == [
        "2026-01-05T09:06:00.000Z",
        "2026-01-05T09:08:00.000Z",
    ]
    job = api.get(f"/v1/jobs/{done[0]['job_id']}").json
    assert (job["payload"], job["schedule_id"]) == ({"n": 1}, "often")
    assert job["occurrence"] == "2026-01-05T09:04:00.000Z"
    listed = api.get("/v1/jobs?schedule_id=often&status=SUCCEEDED").json["jobs"]
    assert {found["id"] for found in listed} == {o["job_id"] for o in done}


def test_the_next_and_the_last_time_are_told_as_of_now(api: ApiClient, world: World) -> None:
    told = put(api)
    assert (told["last_occurrence"], told["next_at"]) == (None, "2026-01-05T09:02:00.000Z")
    for _ in range(3):
        world.minute()
    told = api.get(PATH).json
    assert (told["last_occurrence"], told["next_at"]) == (
        "2026-01-05T09:02:00.000Z",
        "2026-01-05T09:04:00.000Z",
    )


def test_a_paused_schedule_makes_nothing_until_it_is_resumed(api: ApiClient) -> None:
    put(api)
    paused = api.post(f"{PATH}/pause", {"note": "migration"}).json
    assert (paused["status"], paused["note"], paused["next_at"]) == ("paused", "migration", None)
    assert api.get(f"{PATH}/occurrences").json["upcoming"] == []
    resumed = api.post(f"{PATH}/resume").json
    assert (resumed["status"], resumed["paused_at"]) == ("active", None)
    assert resumed["next_at"] == "2026-01-05T09:02:00.000Z"


def test_a_trigger_is_in_the_history_with_its_job(api: ApiClient, world: World) -> None:
    put(api, expression="@yearly")
    job = api.post(f"{PATH}/trigger", {"note": "to try it"}).json
    world.deliver()
    (occurrence,) = api.get(f"{PATH}/occurrences").json["occurrences"]
    assert (occurrence["kind"], occurrence["job_id"]) == ("trigger", job["id"])
    assert occurrence["job"]["status"] == "SUCCEEDED"


def test_a_backfill_is_seen_in_its_schedule_until_it_is_done(api: ApiClient, world: World) -> None:
    put(api, expression="@hourly")
    asked = {"from": "2026-01-05T06:00:00Z", "to": "2026-01-05T08:00:00Z"}
    dry = api.post(f"{PATH}/backfill", {**asked, "dry_run": True}).json
    assert (dry["total"], dry["backfill"]) == (3, None)
    assert api.get(PATH).json["backfills"] == []
    report = api.post(f"{PATH}/backfill", asked).json
    assert api.get(PATH).json["backfills"] == [report["backfill"]]
    for _ in range(10):
        world.minute()
    assert api.get(PATH).json["backfills"] == []
    past = [o["at"] for o in api.get(f"{PATH}/occurrences").json["occurrences"]]
    assert past == [f"2026-01-05T0{hour}:00:00.000Z" for hour in (8, 7, 6)]


@pytest.mark.parametrize("operation", ["pause", "resume", "trigger", "backfill"])
def test_no_operation_finds_a_schedule_that_is_not_there(api: ApiClient, operation: str) -> None:
    body = {"from": "2026-01-05T06:00:00Z", "to": "2026-01-05T08:00:00Z"}
    response = api.post(f"{PATH}/{operation}", body if operation == "backfill" else {})
    assert (response.status, response.json["type"]) == (404, "urn:hourhand:not_found")


@pytest.mark.parametrize(
    ("range_", "field"),
    [
        ({"from": "2026-01-05T08:00:00Z", "to": "2026-01-05T06:00:00Z"}, "to"),
        ({"from": "2026-01-05T08:00:00Z", "to": "2026-01-05T09:00:01Z"}, "to"),
        ({"from": "2025-12-01T00:00:00Z", "to": "2026-01-05T08:00:00Z"}, "from"),
    ],
)
def test_a_backfill_of_the_wrong_range_is_refused(
    api: ApiClient, range_: dict[str, str], field: str
) -> None:
    put(api)
    response = api.post(f"{PATH}/backfill", range_)
    assert (response.status, response.fields) == (422, [field])


def test_a_preview_tells_what_a_change_of_the_clocks_does(api: ApiClient) -> None:
    schedule = {"expression": "30 2 * * *", "timezone": "Europe/Berlin"}
    body = {"schedule": schedule, "count": 2, "after": "2026-03-28T01:30:00Z"}
    first, second = api.post("/v1/schedules/preview", body).json["fires"]
    assert first["at"] == "2026-03-29T01:00:00.000Z"
    assert first["local"] == "2026-03-29T03:00:00.000+02:00"
    assert "02:30 does not exist" in first["note"]
    assert (second["local"], second["note"]) == ("2026-03-30T02:30:00.000+02:00", None)


def test_a_calendar_is_shared_and_kept_while_it_is(api: ApiClient) -> None:
    api.send("PUT", "/v1/calendars/holidays", {"exclude": ["2026-01-05"]})
    told = put(api, exclude=["holidays"])
    assert told["next_at"] == "2026-01-06T00:00:00.000Z"
    conflict = api.send("DELETE", "/v1/calendars/holidays")
    assert (conflict.status, "often" in conflict.json["detail"]) == (409, True)
    api.send("DELETE", PATH)
    assert api.send("DELETE", "/v1/calendars/holidays").status == 204


def test_a_listing_has_the_newest_runs_only_if_they_are_asked_for(
    api: ApiClient, world: World
) -> None:
    put(api, expression="@yearly")
    job = api.post(f"{PATH}/trigger").json
    world.deliver()
    assert "recent" not in api.get("/v1/schedules").json["schedules"][0]
    (schedule,) = api.get("/v1/schedules?recent=20").json["schedules"]
    (run,) = schedule["recent"]
    assert (run["job_id"], run["status"], run["kind"]) == (job["id"], "SUCCEEDED", "trigger")
    assert (run["count"], run["reason"], run["duration_ms"]) == (1, None, 0)
    refused = api.get("/v1/schedules?recent=21")
    assert (refused.status, refused.fields) == (422, ["recent"])


def test_a_preview_of_a_month_has_its_days_and_the_calendars_that_exclude(api: ApiClient) -> None:
    api.send("PUT", "/v1/calendars/holidays", {"exclude": ["2026-12-25"]})
    schedule = {"expression": "0 6 * * *", "timezone": "Europe/Berlin", "exclude": ["holidays"]}
    body = {"schedule": schedule, "count": 1, "month": "2026-12"}
    days = {day["day"]: day for day in api.post("/v1/schedules/preview", body).json["days"]}
    assert len(days) == 31
    assert days["2026-12-25"] == {
        "day": "2026-12-25",
        "count": 0,
        "is_least": False,
        "first": [],
        "excluded": 1,
        "excluded_by": ["holidays"],
        "clocks_change": False,
    }
    (first,) = days["2026-12-24"]["first"]
    assert (first["at"], first["local"][11:16]) == ("2026-12-24T05:00:00.000Z", "06:00")


@pytest.mark.parametrize("month", ["2026-13", "2026-1", "1970-01", "2201-01", 5, "month"])
def test_a_month_that_is_none_is_refused(api: ApiClient, month: Any) -> None:
    body = {"schedule": {"expression": "@daily"}, "month": month}
    response = api.post("/v1/schedules/preview", body)
    assert (response.status, response.fields) == (422, ["month"])


def test_a_local_anchor_is_of_the_zone_of_the_schedule(api: ApiClient) -> None:
    fortnight = {"expression": "every(2 weeks)", "timezone": "Europe/Berlin", "handler": "greet"}
    told = put(api, **fortnight, anchor="2026-01-05T09:00")
    assert told["anchor"] == "2026-01-05T08:00:00.000Z"
    assert told["next_at"] == "2026-01-19T08:00:00.000Z"
    assert put(api, **fortnight, anchor=told["anchor"])["revision"] == told["revision"]
    asked = {
        "schedule": {**fortnight, "anchor": "2026-03-23T09:00:00"},
        "after": "2026-03-24T00:00:00Z",
    }
    first = api.post("/v1/schedules/preview", {**asked, "count": 1}).json["fires"][0]
    assert first["local"] == "2026-04-06T09:00:00.000+02:00"
    other = put(api, "/v1/schedules/other", expression="every(1 day)")
    assert other["anchor"] == "2026-01-05T09:00:00.000Z"


@pytest.mark.parametrize(
    "fields",
    [
        {"anchor": "2026-01-05T09:00", "timezone": "Mars/Base"},
        {"anchor": "2026-02-30T09:00"},
        {"anchor": "2026-01-05"},
        {"anchor": "1960-01-05T09:00"},
        {"expires_after_seconds": 0},
        {"expires_after_seconds": 31_622_401},
    ],
)
def test_a_wrong_anchor_or_deadline_is_refused(api: ApiClient, fields: dict[str, Any]) -> None:
    body = {**EVERY_TWO_MINUTES, "expression": "every(2 weeks)", **fields}
    response = api.send("PUT", PATH, body)
    assert response.status == 422
    assert set(response.fields) <= set(fields)


def test_a_trigger_takes_a_payload_a_priority_and_a_key(api: ApiClient, world: World) -> None:
    put(api, expression="@yearly", expires_after_seconds=60)
    body = {"payload": {"n": 2}, "priority": "high", "idempotency_key": "order-7"}
    first = api.post(f"{PATH}/trigger", body)
    assert (first.status, first.json["payload"], first.json["priority"]) == (201, {"n": 2}, "high")
    assert first.json["expires_at"] == "2026-01-05T09:01:00.000Z"
    assert api.post(f"{PATH}/trigger", body).json["id"] == first.json["id"]
    other = api.post(f"{PATH}/trigger", {**body, "payload": None})
    assert (other.status, other.json["type"]) == (409, "urn:hourhand:idempotency_conflict")
    assert api.post(f"{PATH}/trigger", {"priority": "urgent"}).fields == ["priority"]
    assert api.post(f"{PATH}/trigger").json["payload"] == {"n": 1}
    assert len(api.get(f"{PATH}/occurrences").json["occurrences"]) == 2
