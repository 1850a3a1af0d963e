"""What callers did is found again: by job, by schedule, by caller and by time."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.app import create_app
from hourhand.api.requests.filters import AuditRequest
from hourhand.domain.schedules.changes import DELETED_KEPT
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.services import audit
from hourhand.services.cursors import seal
from tests.functions.api_client import ALICE, ApiClient
from tests.functions.test_api_access import EVERY_SCOPE, OURS, THEIRS, token_client
from tests.world.faults import Faults
from tests.world.world import World

BOB = "arn:aws:iam::123456789012:user/bob"
HOURLY = {"expression": "@hourly", "handler": "greet"}


def client_of(world: World, arn: str | None) -> ApiClient:
    client = ApiClient(create_app(world.api))
    context = client.template["requestContext"]
    context["authorizer"] = {} if arn is None else {"iam": {"userArn": arn}}
    return client


def search(client: ApiClient, query: str = "", *, limit: int = 50) -> list[dict[str, Any]]:
    """Return all events of a search, page by page."""
    events: list[dict[str, Any]] = []
    cursor = ""
    for _ in range(1_000):
        response = client.get(f"/v1/audit?limit={limit}&{query}{cursor}")
        assert response.status == 200, response.text
        page = response.json
        assert [e["at"] for e in page["events"]] == sorted(
            (e["at"] for e in page["events"]), reverse=True
        )
        events += page["events"]
        if page["next_cursor"] is None:
            return events
        cursor = f"&cursor={page['next_cursor']}"
    raise AssertionError("the search does not end")


def told(events: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return caller, action and the job's or schedule's id of each event."""
    return [(e["caller"], e["action"], e["job_id"] or e["schedule_id"]) for e in events]


@pytest.fixture
def alice(world: World) -> ApiClient:
    return client_of(world, ALICE)


@pytest.fixture
def bob(world: World) -> ApiClient:
    return client_of(world, BOB)


def test_the_events_of_a_job_are_listed_newest_first(
    alice: ApiClient, bob: ApiClient, world: World
) -> None:
    alice.submit(id="other")
    alice.submit(id="one", delay_seconds=3600)
    world.advance(1)
    bob.patch("/v1/jobs/one", {"priority": "low"})
    world.advance(1)
    client_of(world, None).post("/v1/jobs/one/cancel")

    assert told(search(alice, "job=one")) == [
        ("local", "CANCELLED", "one"),
        (BOB, "CHANGED", "one"),
        (ALICE, "SUBMITTED", "one"),
    ]
    assert told(search(alice, f"job=one&caller={BOB}")) == [(BOB, "CHANGED", "one")]
    (event,) = search(alice, f"job=one&caller={BOB}")
    assert event == {
        "at": rfc3339(START + timedelta(seconds=1)),
        "caller": BOB,
        "actor": "bob",
        "action": "CHANGED",
        "job_id": "one",
        "schedule_id": None,
        "handler": "greet",
        "reason": None,
    }


def test_what_components_did_is_not_listed(alice: ApiClient, world: World) -> None:
    alice.submit(id="one")
    world.settle()

    assert told(search(alice, "job=one")) == [(ALICE, "SUBMITTED", "one")]


def test_a_schedule_remembers_all_that_callers_did(
    alice: ApiClient, bob: ApiClient, world: World
) -> None:
    path = "/v1/schedules/one"
    alice.send("PUT", path, {**HOURLY, "note": "first"})
    steps: list[tuple[str, str, Any]] = [
        ("POST", f"{path}/pause", {"note": "migration"}),
        ("POST", f"{path}/resume", ...),
        ("PUT", path, {**HOURLY, "note": "only the note"}),
        ("PUT", path, {**HOURLY, "priority": "low"}),
        ("POST", f"{path}/trigger", {"note": "by hand"}),
        (
            "POST",
            f"{path}/backfill",
            {"from": "2026-01-04T00:00:00Z", "to": "2026-01-04T02:30:00Z", "note": "again"},
        ),
        ("DELETE", path, ...),
    ]
    for method, target, body in steps:
        world.advance(1)
        assert bob.send(method, target, body).status < 300

    for limit in (1, 2, 50):
        events = search(alice, "schedule=one", limit=limit)
        assert [(e["action"], e["reason"]) for e in events] == [
            ("DELETED", None),
            ("BACKFILL_STARTED", "again"),
            ("TRIGGERED", "by hand"),
            ("PUT", None),
            ("PUT", "only the note"),
            ("RESUMED", None),
            ("PAUSED", "migration"),
            ("PUT", "first"),
        ]
        assert {e["caller"] for e in events[:-1]} == {BOB}
        assert (events[-1]["caller"], events[-1]["schedule_id"]) == (ALICE, "one")
    triggered = [e for e in search(alice, f"caller={BOB}") if e["action"] == "SUBMITTED"]
    assert {e["schedule_id"] for e in triggered} == {"one"}


def test_the_same_put_again_leaves_no_event(alice: ApiClient, bob: ApiClient) -> None:
    for client in (alice, bob):
        client.send("PUT", "/v1/schedules/one", HOURLY)
        client.post("/v1/schedules/one/resume")

    assert told(search(alice, "schedule=one")) == [(ALICE, "PUT", "one")]


def test_what_ticks_do_with_a_schedule_changes_no_event(alice: ApiClient, world: World) -> None:
    alice.send("PUT", "/v1/schedules/one", {**HOURLY, "expression": "* * * * *"})
    before = search(alice, "schedule=one")
    for _ in range(5):
        world.minute()
    alice.send("PUT", "/v1/calendars/holidays", {"exclude": ["2030-01-01"]})
    world.minute()

    assert search(alice, "schedule=one") == before


def test_a_search_for_a_caller_reads_every_history(
    alice: ApiClient, bob: ApiClient, world: World
) -> None:
    for number in range(12):
        client = (alice, bob)[number % 2]
        client.submit(id=f"job-{number}", delay_seconds=7200)
        client.send("PUT", f"/v1/schedules/s{number}", HOURLY)
        client.post(f"/v1/schedules/s{number}/pause")
        world.advance(1)
    for limit in (1, 3, 50):
        events = search(alice, f"caller={BOB}", limit=limit)
        assert {e["caller"] for e in events} == {BOB}
        named = {(e["action"], e["job_id"] or e["schedule_id"]) for e in events}
        numbers = range(1, 12, 2)
        assert named >= {("SUBMITTED", f"job-{n}") for n in numbers}
        assert named >= {(a, f"s{n}") for n in numbers for a in ("PUT", "PAUSED")}
        assert len(events) == len({json.dumps(e) for e in events})
    assert search(alice, "caller=nobody") == []
    assert search(alice, "caller=local") == []


def test_all_callers_that_begin_alike_are_found(world: World, alice: ApiClient) -> None:
    sessions = [f"arn:aws:sts::1:assumed-role/Ci/{number}" for number in range(3)]
    for number, arn in enumerate((*sessions, BOB, None)):
        client_of(world, arn).submit(id=f"job-{number}")
        client_of(world, arn).send("PUT", f"/v1/schedules/s{number}", HOURLY)

    for limit in (1, 50):
        found = search(alice, "caller=arn:aws:sts::1:assumed-role/Ci/*&", limit=limit)
        assert {e["caller"] for e in found} == set(sessions)
        assert {f"job-{n}" for n in range(3)} <= {e["job_id"] for e in found}
    assert {e["caller"] for e in search(alice, "caller=*")} == {*sessions, BOB, "local"}
    assert search(alice, "caller=arn:aws:sts::1:assumed-role/Cd*") == []


def test_a_search_fails_rather_than_misses_callers(world: World, alice: ApiClient) -> None:
    alice.submit(id="one")
    process = world.process(Faults().throttle("control.read_callers"))
    client = ApiClient(create_app(process.api))

    assert client.get("/v1/audit?caller=arn*").status == 503
    assert client.get("/v1/audit?caller=arn*").status == 200


def test_a_search_is_bounded_by_time(alice: ApiClient, world: World) -> None:
    alice.send("PUT", "/v1/schedules/one", HOURLY)
    alice.submit(id="early", delay_seconds=90_000)
    world.advance(60)
    alice.post("/v1/jobs/early/cancel")
    alice.post("/v1/schedules/one/pause")
    world.advance(60)
    alice.submit(id="late", delay_seconds=90_000)

    def found(start: int | None, end: int | None) -> set[tuple[str, str]]:
        at = {"from": start, "to": end}
        query = "&".join(
            f"{name}={rfc3339(START + timedelta(seconds=seconds))}"
            for name, seconds in at.items()
            if seconds is not None
        )
        return {(action, id_) for _, action, id_ in told(search(alice, query))}

    first = {("PUT", "one"), ("SUBMITTED", "early")}
    second = {("CANCELLED", "early"), ("PAUSED", "one")}
    third = {("SUBMITTED", "late")}
    assert found(None, None) == first | second | third
    assert found(60, None) == second | third
    assert found(None, 60) == first
    assert found(60, 120) == second
    assert found(61, 120) == set()


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("job=one&schedule=one", ["schedule"]),
        ("from=2026-01-05T00:00:00Z&to=2026-01-05T00:00:00Z", ["to"]),
        ("from=yesterday", ["from"]),
        ("limit=0", ["limit"]),
        ("limit=201", ["limit"]),
        ("caller=", ["caller"]),
        ("cursor=nonsense", ["cursor"]),
        ("since=1", ["since"]),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(
    alice: ApiClient, query: str, fields: list[str]
) -> None:
    response = alice.get(f"/v1/audit?{query}")

    assert (response.status, response.fields) == (422, fields)


@pytest.mark.parametrize("kind", ["job", "schedule"])
def test_what_is_not_kept_is_404(alice: ApiClient, kind: str) -> None:
    assert alice.get(f"/v1/audit?{kind}=unknown").status == 404


def forged(cursor: str, **changes: Any) -> str:
    """Return a cursor with other parts, as a caller could write it."""
    parts = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))[1:-1]
    names = ("phase", "name", "ms", "sequence")
    request = AuditRequest.parse({"tenant": OURS})
    return seal([changes.get(n, p) for n, p in zip(names, parts, strict=True)], request.fingerprint)


def test_a_caller_of_one_tenant_finds_what_was_done_with_its_own(
    world: World, alice: ApiClient
) -> None:
    ours = token_client(world, scope=EVERY_SCOPE, org=OURS)
    for number in range(6):
        tenant = (OURS, THEIRS, None)[number % 3]
        alice.submit(id=f"job-{number}", tenant=tenant, delay_seconds=7200)
        alice.send("PUT", f"/v1/schedules/s{number}", {**HOURLY, "tenant": tenant})

    for limit in (1, 50):
        found = {id_ for _, _, id_ in told(search(ours, limit=limit))}
        assert {"job-0", "job-3", "s0", "s3"} <= found
        assert not found & {f"{kind}{n}" for kind in ("job-", "s") for n in (1, 2, 4, 5)}
    for query in ("job=job-1", "job=job-2", "schedule=s1", "schedule=s2"):
        assert ours.get(f"/v1/audit?{query}").status == 404, query
    assert ours.get(f"/v1/audit?tenant={THEIRS}").status == 403
    cursor = ours.get("/v1/audit?limit=1").json["next_cursor"]
    moved: list[dict[str, Any]] = [
        {"phase": "s", "name": "s1"},
        {"phase": "s", "name": "s1", "ms": 1, "sequence": 9},
    ]
    for changes in moved:
        page = ours.get(f"/v1/audit?cursor={forged(cursor, **changes)}").json
        assert {e["schedule_id"] for e in page["events"]} <= {"s3"}
    broken: list[dict[str, Any]] = [
        {"phase": "x"},
        {"name": "a.b"},
        {"ms": -1},
        {"ms": 10**15},
        {"sequence": -1},
    ]
    for changes in broken:
        assert ours.get(f"/v1/audit?cursor={forged(cursor, **changes)}").status == 422, changes


def test_no_cursor_names_a_schedule_of_another_tenant(
    world: World, alice: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "SCHEDULES_A_READ", 2)
    ours = token_client(world, scope=EVERY_SCOPE, org=OURS)
    for number in range(20):
        alice.send(
            "PUT",
            f"/v1/schedules/s{number:02}",
            {**HOURLY, "tenant": OURS if number % 7 == 6 else THEIRS},
        )
    cursor, names = "", set()
    while True:
        page = ours.get(f"/v1/audit?limit=1{cursor}").json
        if page["next_cursor"] is None:
            break
        padded = page["next_cursor"] + "=" * (-len(page["next_cursor"]) % 4)
        _, phase, name, *_ = json.loads(base64.urlsafe_b64decode(padded))
        names |= {name} if phase == "s" else set()
        cursor = f"&cursor={page['next_cursor']}"

    assert names <= {"", "s06", "s13"}


def test_a_call_has_an_end(world: World, alice: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_READS", 1)
    monkeypatch.setattr(audit, "LISTING_CHUNK", 2)
    monkeypatch.setattr(audit, "SCHEDULES_A_READ", 2)
    monkeypatch.setattr(audit, "MAX_EVENTS_A_SCHEDULE", 2)
    monkeypatch.setattr(audit, "EVENTS_A_READ", 2)
    for number in range(5):
        alice.submit(id=f"job-{number}", delay_seconds=7200)
    for number in range(5):
        alice.send("PUT", f"/v1/schedules/s{number}", HOURLY)
        alice.post(f"/v1/schedules/s{number}/pause")
        alice.post(f"/v1/schedules/s{number}/resume")

    assert alice.get("/v1/audit").json["histories_read"] == 2
    assert len([e for e in search(alice) if e["job_id"] and e["job_id"].startswith("job")]) == 5
    assert len([e for e in search(alice) if e["job_id"] is None]) == 15
    local = client_of(world, None)
    local.post("/v1/schedules/s0/pause")
    page = alice.get(f"/v1/audit?schedule=s0&caller={ALICE}").json
    assert (len(page["events"]), page["next_cursor"] is None) == (1, False)
    assert len(search(alice, f"schedule=s0&caller={ALICE}")) == 3


def test_a_call_reads_a_bounded_number_of_schedules(
    alice: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MAX_READS", 1)
    monkeypatch.setattr(audit, "SCHEDULES_A_READ", 2)
    for number in range(5):
        alice.send("PUT", f"/v1/schedules/s{number}", {**HOURLY, "paused": True})

    assert alice.get("/v1/audit").json["histories_read"] == 2
    assert len(search(alice)) == 5


def test_a_search_that_takes_long_goes_on_in_another_call(
    world: World, alice: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MAX_SECONDS_A_CALL", -1.0)
    monkeypatch.setattr(audit, "LISTING_CHUNK", 1)
    for number in range(3):
        alice.submit(id=f"job-{number}", delay_seconds=7200)
        alice.send("PUT", f"/v1/schedules/s{number}", {**HOURLY, "tenant": THEIRS})

    assert alice.get("/v1/audit").json["histories_read"] == 1
    assert {id_ for _, _, id_ in told(search(alice))} >= {
        f"{kind}{n}" for kind in ("job-", "s") for n in range(3)
    }
    ours = token_client(world, scope=EVERY_SCOPE, org=OURS)
    cursor = ""
    while True:
        response = ours.get(f"/v1/audit?{cursor}")
        if response.status == 503:
            break
        cursor = f"cursor={response.json['next_cursor']}"


def test_an_event_survives_a_death_before_the_schedule_is_written(
    world: World, alice: ApiClient
) -> None:
    """The event that the item has is kept beside it first, and is told once all the same."""
    alice.send("PUT", "/v1/schedules/one", HOURLY)
    stored = world.schedules.get("one")
    assert stored is not None
    assert stored.last_event is not None
    world.schedules.put_event("one", stored.last_event)

    assert told(search(alice, "schedule=one")) == [(ALICE, "PUT", "one")]
    alice.post("/v1/schedules/one/pause")
    assert [action for _, action, _ in told(search(alice, "schedule=one"))] == ["PAUSED", "PUT"]


def test_a_long_note_is_shortened_in_the_event(alice: ApiClient) -> None:
    alice.send("PUT", "/v1/schedules/one", {**HOURLY, "note": "é" * 1_000})
    (event,) = search(alice, "schedule=one")

    assert len(event["reason"].encode()) <= 200
    assert event["reason"].endswith("...")
    assert alice.get("/v1/schedules/one").json["note"] == "é" * 1_000


def test_an_old_job_is_not_lost_to_a_clock_that_was_ahead(world: World, alice: ApiClient) -> None:
    job = world.submit(delay_seconds=3600)
    world.store.put(
        replace(
            job,
            id="ahead",
            created_at=START + timedelta(minutes=5),
            history=(replace(job.history[0], actor="local"),),
        )
    )

    assert ("local", "SUBMITTED", "ahead") in told(search(alice))


# --- what is gone, and what cannot be read ----------------------------------------------------


def test_a_search_goes_on_after_a_schedule_that_is_gone_by_now(
    world: World, alice: ApiClient
) -> None:
    for name in ("a", "b"):
        alice.send("PUT", f"/v1/schedules/{name}", HOURLY)
        alice.post(f"/v1/schedules/{name}/pause")
    cursor = next(iter(_cursors(alice, "from=2026-01-01T00:00:00Z&", phase="s", name="a")))
    alice.send("DELETE", "/v1/schedules/a")
    world.schedules.delete_expired(START + timedelta(days=31))

    page = alice.get(f"/v1/audit?from=2026-01-01T00:00:00Z&cursor={cursor}").json
    assert {event["schedule_id"] for event in page["events"]} == {"b"}


def test_an_index_that_lags_names_no_schedule_that_is_gone(world: World, alice: ApiClient) -> None:
    alice.send("PUT", "/v1/schedules/a", HOURLY)
    alice.send("DELETE", "/v1/schedules/a")
    world.schedules.freeze_index()
    world.schedules.delete_expired(START + timedelta(days=31))

    assert [e for e in search(alice) if e["job_id"] is None] == []


@pytest.mark.parametrize("is_deleted", [False, True], ids=["", "deleted before"])
def test_a_tenant_sees_nothing_from_before_it_had_a_schedule(
    world: World, alice: ApiClient, is_deleted: bool
) -> None:
    theirs = token_client(world, scope=EVERY_SCOPE, org=THEIRS, sub="them")
    ours = token_client(world, scope=EVERY_SCOPE, org=OURS, sub="us")
    path = "/v1/schedules/one"
    theirs.send("PUT", path, HOURLY)
    world.advance(1)
    theirs.post(f"{path}/pause", {"note": "their secret"})
    if is_deleted:
        theirs.send("DELETE", path)
    world.advance(1)
    alice.send("PUT", path, {**HOURLY, "tenant": OURS})
    world.advance(1)
    ours.post(f"{path}/trigger")
    for limit in (1, 50):
        for query in ("schedule=one", "", f"from={rfc3339(START)}"):
            found = [e for e in told(search(ours, query, limit=limit)) if e[2] == "one"]
            assert found == [("us", "TRIGGERED", "one"), (ALICE, "PUT", "one")]
    assert ours.get(path).json["note"] is None
    assert len(search(alice, "schedule=one")) == 4 + is_deleted


def test_a_schedule_that_its_tenant_puts_again_after_a_deletion_keeps_its_events(
    world: World,
) -> None:
    ours = token_client(world, scope=EVERY_SCOPE, org=OURS)
    for _ in range(2):
        ours.send("PUT", "/v1/schedules/one", HOURLY)
        world.advance(1)
        ours.send("DELETE", "/v1/schedules/one")
        world.advance(1)
    ours.send("PUT", "/v1/schedules/one", HOURLY)
    actions = [e["action"] for e in search(ours, "schedule=one")]
    assert actions == ["PUT", "DELETED", "PUT", "DELETED", "PUT"]


def test_an_id_that_was_forgotten_shows_its_next_tenant_no_event_of_the_last_one(
    world: World, alice: ApiClient
) -> None:
    path = "/v1/schedules/one"
    alice.send("PUT", path, {**HOURLY, "tenant": THEIRS, "note": "their secret"})
    alice.send("DELETE", path)
    world.advance(DELETED_KEPT.total_seconds() + 1)
    world.schedules.delete_expired(world.clock.now())
    ours = token_client(world, scope=EVERY_SCOPE, org=OURS, sub="us")

    assert ours.send("PUT", path, HOURLY).status == 201
    assert told(search(ours, "schedule=one")) == [("us", "PUT", "one")]


def test_a_schedule_whose_definition_is_gone_is_of_no_tenant(
    world: World, alice: ApiClient
) -> None:
    alice.send("PUT", "/v1/schedules/a", {**HOURLY, "tenant": OURS})
    alice.send("DELETE", "/v1/schedules/a")
    stored = world.schedules.get("a")
    assert stored is not None
    world.schedules.retire_definition("a", stored.definition, START)
    world.schedules.delete_expired(START + timedelta(days=1))
    ours = token_client(world, scope=EVERY_SCOPE, org=OURS)

    assert ours.get("/v1/audit?schedule=a").status == 404
    assert search(ours) == []
    assert ours.send("PUT", "/v1/schedules/a", HOURLY).status == 409


def _cursors(client: ApiClient, query: str, *, phase: str, name: str) -> Iterator[str]:
    """Yield the cursors of a search that stop within the history of a schedule."""
    cursor: str | None = ""
    while cursor is not None:
        given = f"&cursor={cursor}" if cursor else ""
        cursor = client.get(f"/v1/audit?{query}limit=1{given}").json["next_cursor"]
        if cursor is not None:
            padded = cursor + "=" * (-len(cursor) % 4)
            parts = json.loads(base64.urlsafe_b64decode(padded))
            if parts[1:3] == [phase, name] and parts[4]:
                yield cursor
