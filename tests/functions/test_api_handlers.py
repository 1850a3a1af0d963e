"""The routes that pause and resume a handler, and where a pause is shown."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.api.app import create_app
from hourhand.domain.jobs.pauses import MAX_PAUSES, NO_PAUSES
from hourhand.memory import START
from tests.functions.api_client import ALICE, ApiClient
from tests.world.world import World

SINCE = "2026-01-05T09:00:00.000Z"
LATER = "2026-01-05T11:00:00.000Z"


def post(api: ApiClient, verb: str, body: Any = None, name: str = "greet") -> Any:
    return api.post(f"/v1/handlers/{name}/{verb}", {} if body is None else body)


def test_a_pause_is_answered_and_shown_with_its_end_and_note(api: ApiClient) -> None:
    answer = post(api, "pause", {"note": "wrong totals", "until": LATER})
    paused = {"since": SINCE, "until": LATER, "note": "wrong totals"}
    assert (answer.status, answer.json["name"], answer.json["paused"]) == (200, "greet", paused)
    assert api.get("/v1/handlers/greet").json == answer.json
    assert api.get("/v1/handlers").json["handlers"][0]["paused"] == paused


def test_both_fields_may_be_left_out_and_a_second_pause_replaces_them(
    api: ApiClient, world: World
) -> None:
    assert post(api, "pause").json["paused"] == {"since": SINCE, "until": None, "note": None}
    world.advance(60)
    again = post(api, "pause", {"note": "still"}).json["paused"]
    assert again == {"since": SINCE, "until": None, "note": "still"}


def test_a_resume_ends_it_and_again_changes_nothing(api: ApiClient) -> None:
    post(api, "pause")
    for _ in range(2):
        answer = post(api, "resume", {"note": "fixed"})
        assert (answer.status, answer.json["paused"]) == (200, None)


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_an_unknown_handler_is_not_found(api: ApiClient, verb: str) -> None:
    answer = post(api, verb, name="gret")
    assert answer.status == 404
    assert "Did you mean 'greet'" in answer.json["detail"]


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"until": "2026-01-05T08:59:59Z"}, "until", "must be in the future"),
        ({"until": SINCE}, "until", "must be in the future"),
        ({"until": "2026-01-05T11:00:00"}, "until", "offset"),
        ({"until": 5}, "until", ""),
        ({"note": "x" * 10_000}, "note", "at most"),
        ({"reason": "?"}, "reason", ""),
    ],
)
def test_a_bad_pause_names_the_field(api: ApiClient, body: Any, field: str, said: str) -> None:
    answer = post(api, "pause", body)
    assert answer.status == 422
    (error,) = answer.json["errors"]
    assert error["field"] == field
    assert said in error["message"]


def test_a_resume_takes_no_end(api: ApiClient) -> None:
    answer = post(api, "resume", {"until": LATER})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "until")


def test_only_so_many_handlers_are_paused(api: ApiClient, world: World) -> None:
    pauses = NO_PAUSES
    for number in range(MAX_PAUSES):
        pauses = pauses.paused(f"other-{number}", START, until=None, note=None)
    world.control.write_pauses(pauses, previous=0)
    answer = post(api, "pause")
    assert answer.status == 409
    assert "Resume one" in answer.json["detail"]


def test_a_parked_job_shows_since_when_it_waits_and_its_position(
    api: ApiClient, world: World
) -> None:
    jobs = [world.submit() for _ in range(2)]
    post(api, "pause")
    world.advance(1)
    world.deliver()
    shown = [api.get(f"/v1/jobs/{job.id}").json["waits_for"] for job in jobs]
    assert sorted(each.pop("position") for each in shown) == [1, 2]
    waits: dict[str, Any] = {"kind": "slot", "limit": "greet.pause", "key": None}
    waits |= {"since": "2026-01-05T09:00:01.000Z", "max_running": None, "name": None}
    waits |= {"blocked_by": None}
    assert shown == [waits, waits]
    for listed in api.get("/v1/jobs").json["jobs"]:
        assert listed["waits_for"] == {**waits, "position": None}
    api.post(f"/v1/jobs/{jobs[0].id}/cancel", {})
    assert api.get(f"/v1/jobs/{jobs[0].id}").json["waits_for"] is None


def test_a_job_that_was_not_sent_shows_the_pause_once_it_is_due(
    api: ApiClient, world: World
) -> None:
    post(api, "pause")
    job = api.submit(delay_seconds=60)
    assert job["waits_for"] is None
    world.advance(60)
    shown = api.get(f"/v1/jobs/{job['id']}").json["waits_for"]
    assert (shown["limit"], shown["since"]) == ("greet.pause", "2026-01-05T09:01:00.000Z")


def test_a_pause_is_in_the_audit_with_its_caller(world: World) -> None:
    client = ApiClient(create_app(world.api))
    client.template["requestContext"]["authorizer"] = {"iam": {"userArn": ALICE}}
    post(client, "pause", {"note": "wrong totals"})
    world.advance(60)
    post(client, "resume")
    for query in ("handler=greet", f"caller={ALICE}"):
        events = client.get(f"/v1/audit?{query}").json["events"]
        assert [(e["action"], e["handler"], e["caller"], e["reason"]) for e in events] == [
            ("RESUMED", "greet", ALICE, None),
            ("PAUSED", "greet", ALICE, "wrong totals"),
        ]
    assert client.get("/v1/audit?handler=other").json["events"] == []
    assert client.get("/v1/audit?handler=greet&job=a").status == 422
    assert client.get("/v1/audit?handler=greet&tenant=acme").status == 422


def test_the_audit_of_all_pages_through_the_handlers(world: World) -> None:
    world = World(handlers=("a", "b", "c"))
    client = ApiClient(create_app(world.api))
    for name in ("a", "b", "c"):
        post(client, "pause", name=name)
        world.advance(1)
    found: list[str] = []
    cursor = ""
    for _ in range(10):
        page = client.get(f"/v1/audit?from={SINCE}&limit=1{cursor}").json
        found += [event["handler"] for event in page["events"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == ["a", "b", "c"]
