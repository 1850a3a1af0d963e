"""The routes of schedules: what they ask of the services, and how they tell the answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from hourhand.api.app import create_app
from hourhand.api.routing import Services
from hourhand.domain.callers import caller_key
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.schedules.schedule import BackfillOrder, JournalEntry, Reprocess, SkipReason
from hourhand.memory import START
from hourhand.services.schedules.views import ScheduleView
from tests.functions.api_client import ALICE, ApiClient, load_event, read_answer
from tests.functions.schedule_fakes import (
    DEFINITION,
    NEXT,
    FakeServices,
    made,
    make_backfill,
    make_schedule,
    skipped,
)
from tests.world.factories import make_job

LEAST = {"expression": "0 9 * * MON-FRI", "handler": "greet"}
WHOLE: dict[str, Any] = {
    "expression": ["cron(0 9 ? * MON-FRI *)", "@daily"],
    "timezone": "Europe/Berlin",
    "handler": "greet",
    "payload": {"b": 1, "a": [None]},
    "anchor": "2026-01-01T00:00:00.000Z",
    "dst_gap": "shift",
    "dst_fold": "both",
    "exclude": [
        "2026-12-25",
        {"from": "2026-12-24", "to": "2026-12-26"},
        {"from": "2026-12-24T18:00:00.000Z", "to": "2026-12-24T20:00:00.000Z"},
        "* * 1 1 *",
        "holidays",
    ],
    "start_at": "2026-01-01T00:00:00.000Z",
    "end_at": "2027-01-01T00:00:00.000Z",
    "max_occurrences": 1000,
    "jitter_seconds": 1.5,
    "misfire": {"policy": "all", "window_seconds": 3600},
    "overlap": "buffer_all",
    "max_running": 3,
    "buffer_limit": 10,
    "pause_on_failure": True,
    "paused": True,
    "note": "until the migration is done",
    "managed_by": "files:billing",
    "keep": {"succeeded": 5, "failed": 0},
    "priority": "low",
    "timeout_seconds": 60,
    "retention_seconds": 0,
    "on_lost": "dead",
    "retry": {
        "max_attempts": 3,
        "backoff": "fixed",
        "base_seconds": 2,
        "max_delay_seconds": None,
        "jitter": None,
    },
    "tenant": "acme",
    "tags": {"team": "billing"},
}


@pytest.fixture
def api(services: FakeServices) -> ApiClient:
    return ApiClient(create_app(cast("Services", services)))


def put(api: ApiClient, schedule_id: str = "nightly", **fields: Any) -> Any:
    response = api.send("PUT", f"/v1/schedules/{schedule_id}", {**LEAST, **fields})
    assert response.status in {200, 201}, response.text
    return response.json


def test_a_recorded_event_puts_a_schedule(services: FakeServices) -> None:
    app = create_app(cast("Services", services))
    response = read_answer(app(load_event("http_api_put_schedule"), None))
    assert response.status == 201
    assert response.headers["location"] == "/v1/schedules/nightly"
    actor = caller_key(ALICE)
    assert services.schedules.calls == [("put", "nightly", None, None, actor)]


def test_a_recorded_event_of_a_stage_lists_occurrences(services: FakeServices) -> None:
    services.occurrences.records = [skipped(reason=SkipReason.OVERLAP)]
    app = create_app(cast("Services", services))
    response = read_answer(app(load_event("http_api_occurrences"), None))
    assert [occurrence["reason"] for occurrence in response.json["occurrences"]] == ["overlap"]
    assert services.occurrences.limits == [10]


def test_a_schedule_comes_back_with_all_that_was_put(api: ApiClient) -> None:
    told = put(api, **WHOLE)
    assert {name: told[name] for name in WHOLE} == WHOLE
    assert (told["id"], told["status"], told["revision"]) == ("nightly", "paused", 1)
    assert told["paused_at"] == "2026-01-05T09:00:00.000Z"
    assert api.get("/v1/schedules/nightly").json == told


def test_a_dry_run_answers_the_schedule_and_puts_nothing(
    api: ApiClient, services: FakeServices
) -> None:
    response = api.send("PUT", "/v1/schedules/nightly?dry_run=true", {**LEAST, "paused": True})
    assert (response.status, response.json["expression"]) == (200, LEAST["expression"])
    assert services.schedules.calls == [("preview_put", "nightly", True, None)]
    assert services.schedules.views == {}


@pytest.mark.parametrize("query", ["dry_run=yes", "dry_run=1", "dry=true"])
def test_a_query_that_is_not_known_puts_nothing(
    api: ApiClient, services: FakeServices, query: str
) -> None:
    response = api.send("PUT", f"/v1/schedules/nightly?{query}", LEAST)
    assert response.status == 422
    assert services.schedules.calls == []


@pytest.mark.parametrize(
    "managed_by", ["", "files", "files:", "files:a b", "Code", "files:" + "n" * 65, "terraform"]
)
def test_an_origin_is_code_or_named_files(api: ApiClient, managed_by: str) -> None:
    response = api.send("PUT", "/v1/schedules/nightly", {**LEAST, "managed_by": managed_by})
    assert response.status == 422
    assert [error["field"] for error in response.json["errors"]] == ["managed_by"]


def test_a_schedule_can_be_put_again_as_it_was_told(api: ApiClient, services: FakeServices) -> None:
    told = put(api, **WHOLE)
    before = services.schedules.views["nightly"].definition
    put(api, **{name: told[name] for name in WHOLE})
    assert services.schedules.views["nightly"].definition == before


def test_defaults_are_filled_in_and_the_handlers_policies_are_null(api: ApiClient) -> None:
    told = put(api)
    assert told == {
        "id": "nightly",
        "expression": "0 9 * * MON-FRI",
        "timezone": "UTC",
        "anchor": None,
        "dst_gap": "next_valid",
        "dst_fold": "first",
        "exclude": [],
        "start_at": None,
        "end_at": None,
        "max_occurrences": None,
        "jitter_seconds": 0,
        "expires_after_seconds": None,
        "misfire": {"policy": "latest", "window_seconds": 86_400},
        "overlap": "skip",
        "max_running": 1,
        "buffer_limit": 100,
        "pause_on_failure": False,
        "keep": {"succeeded": 100, "failed": 100},
        "handler": "greet",
        "payload": None,
        "priority": None,
        "timeout_seconds": None,
        "retention_seconds": None,
        "on_lost": None,
        "retry": None,
        "tenant": None,
        "tags": {},
        "paused": False,
        "note": None,
        "managed_by": None,
        "status": "active",
        "revision": 1,
        "created_at": "2026-01-05T09:00:00.000Z",
        "updated_at": "2026-01-05T09:00:00.000Z",
        "paused_at": None,
        "next_at": "2026-01-05T10:00:00.000Z",
        "broken_reason": None,
        "behind_seconds": None,
        "on_resume": None,
        "last_occurrence": None,
        "occurrences_made": 0,
        "backfills": [],
    }


def test_without_a_number_an_overlap_that_is_allowed_has_no_limit(api: ApiClient) -> None:
    assert put(api, overlap="allow")["max_running"] is None
    assert put(api, overlap="allow", max_running=3)["max_running"] == 3
    assert put(api, overlap="buffer_one")["max_running"] == 1


def test_a_put_says_whether_the_schedule_is_new(api: ApiClient) -> None:
    first = api.send("PUT", "/v1/schedules/nightly", LEAST)
    again = api.send("PUT", "/v1/schedules/nightly", LEAST)
    assert (first.status, again.status) == (201, 200)
    assert first.headers["location"] == again.headers["location"] == "/v1/schedules/nightly"


def test_a_put_that_says_nothing_of_the_pause_leaves_it(
    api: ApiClient, services: FakeServices
) -> None:
    put(api)
    put(api, paused=False)
    put(api, paused=True, note="n")
    told = [call[2:4] for call in services.schedules.calls]
    assert told == [(None, None), (False, None), (True, "n")]


def test_a_schedule_tells_how_it_stands(api: ApiClient, services: FakeServices) -> None:
    schedule = make_schedule(
        revision=4, made=7, last_made=START, last_fire=NEXT, backfills=("b1",), note="why"
    )
    services.schedules.views["nightly"] = ScheduleView(
        schedule, DEFINITION, None, (make_backfill(note="again"),)
    )
    told = api.get("/v1/schedules/nightly").json
    assert (told["status"], told["next_at"], told["note"]) == ("ended", None, "why")
    assert (told["revision"], told["occurrences_made"]) == (4, 7)
    assert told["last_occurrence"] == "2026-01-05T09:00:00.000Z"
    assert told["backfills"] == [
        {
            "n": 0,
            "id": "b1",
            "status": "running",
            "from": "2026-01-04T09:00:00.000Z",
            "to": "2026-01-05T09:00:00.000Z",
            "overlap": "buffer_all",
            "order": "oldest",
            "max_active": 1,
            "reprocess": "none",
            "note": "again",
            "created_at": "2026-01-05T09:00:00.000Z",
            "total": 24,
            "done": 3,
            "failed": 0,
            "made": 2,
            "skipped": 1,
        }
    ]


def test_a_job_made_ahead_of_its_time_is_not_the_last_one(
    api: ApiClient, services: FakeServices
) -> None:
    hour = timedelta(hours=1)
    journal = (
        JournalEntry(first=START - hour, last=START - hour),
        JournalEntry(first=START, last=START, reason=SkipReason.OVERLAP),
        JournalEntry(first=START + hour / 2, last=START + hour / 2, salt="trigger"),
        JournalEntry(first=NEXT, last=NEXT),
        JournalEntry(first=NEXT + hour, last=NEXT + hour),
    )
    schedule = make_schedule(last_made=NEXT + hour, journal=journal)
    services.schedules.views["nightly"] = ScheduleView(schedule, DEFINITION, NEXT)
    told = api.get("/v1/schedules/nightly").json
    assert (told["last_occurrence"], told["next_at"]) == (
        "2026-01-05T08:00:00.000Z",
        "2026-01-05T10:00:00.000Z",
    )


def test_schedules_are_listed_by_id_page_by_page(api: ApiClient) -> None:
    for name in ("c", "a", "e", "b", "d"):
        put(api, name)
    seen: list[str] = []
    target = "/v1/schedules?limit=2"
    page = api.get(target).json
    while page["next_cursor"] is not None:
        seen += [schedule["id"] for schedule in page["schedules"]]
        page = api.get(f"{target}&cursor={page['next_cursor']}").json
    seen += [schedule["id"] for schedule in page["schedules"]]
    assert seen == ["a", "b", "c", "d", "e"]


def test_a_page_of_large_schedules_comes_back_shorter_and_loses_none(api: ApiClient) -> None:
    names = [f"s{n:02}" for n in range(30)]
    for name in names:
        put(api, name, payload="x" * 255_000)
    page = api.get("/v1/schedules").json
    first = [schedule["id"] for schedule in page["schedules"]]
    assert 10 < len(first) < 30
    rest = api.get(f"/v1/schedules?cursor={page['next_cursor']}").json
    assert [*first, *(schedule["id"] for schedule in rest["schedules"])] == names
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("operation", ["pause", "resume"])
def test_a_schedule_is_paused_and_resumed_with_a_note_or_without(
    api: ApiClient, services: FakeServices, operation: str
) -> None:
    put(api)
    path = f"/v1/schedules/nightly/{operation}"
    for body in (..., {}, {"note": None}, {"note": "by hand"}):
        response = api.post(path, body)
        assert (response.status, response.json["paused"]) == (200, operation == "pause")
    notes = [call[2] for call in services.schedules.calls if call[0] == operation]
    assert notes == [None, None, None, "by hand"]


def test_a_trigger_makes_a_job(api: ApiClient, services: FakeServices) -> None:
    put(api)
    response = api.post("/v1/schedules/nightly/trigger", {"note": "now"})
    assert response.status == 201
    assert response.headers["location"] == "/v1/jobs/triggered"
    assert (response.json["schedule_id"], response.json["payload"]) == ("nightly", None)
    assert response.json["occurrence"] == "2026-01-05T09:00:00.000Z"
    actor, trace = caller_key(ALICE), "69200b1c3a1f5c7e9b2d4f6081a3c5e7"
    assert services.schedules.calls[-1] == ("trigger", "nightly", "now", actor, trace)
    assert api.post("/v1/schedules/nightly/trigger").status == 201


def test_a_schedule_is_deleted_without_a_word(api: ApiClient) -> None:
    put(api)
    response = api.send("DELETE", "/v1/schedules/nightly")
    assert (response.status, response.text) == (204, "")
    assert api.send("DELETE", "/v1/schedules/nightly").status == 404
    assert api.get("/v1/schedules/nightly").status == 404


RANGE = {"from": "2026-01-04T10:00:00+01:00", "to": "2026-01-05T09:00:00Z"}


def test_a_backfill_is_asked_for_and_reported(api: ApiClient, services: FakeServices) -> None:
    wish = {"overlap": "allow", "order": "newest", "max_active": 5, "reprocess": "failed"}
    response = api.post("/v1/schedules/nightly/backfill", {**RANGE, **wish, "note": "again"})
    ((schedule_id, request, actor),) = services.backfills.requests
    assert (schedule_id, actor) == ("nightly", caller_key(ALICE))
    assert (request.start, request.end) == (START - timedelta(days=1), START)
    assert (request.overlap, request.order) == (OverlapPolicy.ALLOW, BackfillOrder.NEWEST)
    assert (request.max_active, request.reprocess) == (5, Reprocess.FAILED)
    assert request.note == "again"
    assert response.status == 200
    assert response.json["backfill"]["overlap"] == "allow"
    assert (response.json["total"], response.json["dry_run"]) == (24, False)
    assert (response.json["first"], response.json["last"]) == (
        "2026-01-04T09:00:00.000Z",
        "2026-01-05T09:00:00.000Z",
    )
    assert response.json["fires"] == [
        {"at": "2026-01-04T09:00:00.000Z"},
        {"at": "2026-01-05T09:00:00.000Z"},
    ]


def test_a_dry_backfill_starts_nothing(api: ApiClient) -> None:
    report = api.post("/v1/schedules/nightly/backfill", {**RANGE, "dry_run": True}).json
    assert (report["backfill"], report["dry_run"]) == (None, True)


def test_a_preview_needs_no_schedule_to_exist(api: ApiClient, services: FakeServices) -> None:
    body = {"schedule": {"expression": "@hourly"}, "count": 3, "after": "2026-01-05T10:00:00+01:00"}
    response = api.post("/v1/schedules/preview", body)
    assert response.status == 200
    assert response.json == {
        "fires": [
            {
                "at": "2026-01-05T10:00:00.000Z",
                "local": "2026-01-05T11:00:00.000+01:00",
                "note": "02:30 does not exist on this day: it fires at 03:00 instead.",
            }
        ],
        "warnings": ["The schedule runs once more, then never again."],
    }
    ((definition, count, after),) = services.previews.asked
    assert (definition.expressions, count, after) == (("@hourly",), 3, START)
    assert services.schedules.calls == []


def test_occurrences_are_told_with_their_jobs_or_the_reasons(
    api: ApiClient, services: FakeServices
) -> None:
    job = make_job(id="o.1", schedule_id="nightly", occurrence=START)
    services.occurrences.records = [
        made(job),
        skipped(24, reason=SkipReason.PAUSED),
        made(None, salt="b1"),
    ]
    page = api.get("/v1/schedules/nightly/occurrences").json
    with_job, run, gone = page["occurrences"]
    assert (with_job["job_id"], with_job["job"]["id"]) == ("o.1", "o.1")
    assert {"payload", "result"}.isdisjoint(with_job["job"])
    assert run == {
        "at": "2026-01-05T09:00:00.000Z",
        "until": "2026-01-06T08:00:00.000Z",
        "count": 24,
        "is_least": False,
        "kind": "schedule",
        "reason": "paused",
        "skipped_first": None,
        "job_id": None,
        "job": None,
    }
    assert (gone["job_id"], gone["job"], gone["kind"]) == ("o.gone", None, "backfill")
    assert len(page["upcoming"]) == 10
    assert page["upcoming"][0] == {"at": "2026-01-05T10:00:00.000Z"}
    assert page["next_cursor"] is None


def test_occurrences_are_walked_by_their_cursor(api: ApiClient, services: FakeServices) -> None:
    services.occurrences.records = [skipped(n, reason=SkipReason.PAUSED) for n in range(1, 6)]
    target = "/v1/schedules/nightly/occurrences?limit=3"
    first = api.get(target).json
    rest = api.get(f"{target}&cursor={first['next_cursor']}").json
    told = [occurrence["count"] for page in (first, rest) for occurrence in page["occurrences"]]
    assert told == [1, 2, 3, 4, 5]


def test_a_page_of_occurrences_with_many_tags_comes_back_shorter(
    api: ApiClient, services: FakeServices
) -> None:
    tags = {chr(0x1F600 + n) * 64: "\U0001f680" * 256 for n in range(20)}
    services.occurrences.records = [made(make_job(tags=tags))] * 300
    page = api.get("/v1/schedules/nightly/occurrences?limit=200").json
    assert 0 < len(page["occurrences"]) < 200
    assert page["next_cursor"] == str(len(page["occurrences"]))


def test_a_schedule_may_be_named_as_a_route_is(api: ApiClient) -> None:
    assert put(api, "preview")["id"] == "preview"
    assert api.get("/v1/schedules/preview").json["id"] == "preview"
    assert api.post("/v1/schedules/preview", {"schedule": {"expression": "@daily"}}).status == 200
