"""Callers with tokens: their scopes, their tenants, and what they try beyond both."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from hourhand.api.access import Scope
from hourhand.api.app import ROUTES, create_app
from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.domain.jobs.job import JobStatus
from hourhand.services.schedules import views
from tests.functions.api_client import ApiClient, Response
from tests.world.faults import Faults
from tests.world.runs import fail_for_good
from tests.world.world import World

ACCESS = {(route.method, route.path): route.access for route in ROUTES}
EVERY_SCOPE = " ".join(f"hourhand/{scope}" for scope in Scope)
OURS, THEIRS = "acme", "globex"
HOURLY = {"expression": "@hourly", "handler": "greet"}


def token_client(world: World, *, faults: Faults | None = None, **claims: Any) -> ApiClient:
    """Return a client whose token has these claims."""
    api = world.api if faults is None else world.process(faults).api
    access = replace(api.access, tenant_claim="org")
    client = ApiClient(create_app(replace(api, access=access)))
    claims = {"sub": "auth0|bob", **claims}
    client.template["requestContext"]["authorizer"] = {"jwt": {"claims": claims, "scopes": None}}
    return client


@pytest.fixture
def ours(world: World) -> ApiClient:
    """A caller that may do everything, for one tenant."""
    return token_client(world, scope=EVERY_SCOPE, org=OURS)


def problem_of(response: Response) -> str:
    kind: str = response.json["type"].removeprefix("urn:hourhand:")
    return kind


# --- scopes -----------------------------------------------------------------------------------


BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/jobs"): {"handler": "greet"},
    ("POST", "/v1/jobs/batch"): {"jobs": [{"handler": "greet"}]},
    ("PATCH", "/v1/jobs/{id}"): {"priority": "low"},
    ("POST", "/v1/jobs/cancel"): {"all": True, "dry_run": True},
    ("POST", "/v1/jobs/redrive"): {"all": True, "dry_run": True},
    ("PUT", "/v1/schedules/{id}"): HOURLY,
    ("POST", "/v1/schedules/preview"): {"schedule": HOURLY},
    ("POST", "/v1/schedules/{id}/backfill"): {
        "from": "2026-01-04T00:00:00Z",
        "to": "2026-01-05T00:00:00Z",
        "dry_run": True,
    },
    ("PUT", "/v1/calendars/{name}"): {"exclude": ["2026-12-25"]},
    ("POST", "/v1/resweep"): {"since": "2026-01-05T00:00:00Z"},
}


def send(client: ApiClient, route: tuple[str, str], id_: str = "one") -> Response:
    path = route[1].replace("{id}", id_).replace("{name}", id_).replace("{n}", "1")
    return client.send(route[0], path, BODIES.get(route, ...))


@pytest.mark.parametrize("route", ACCESS, ids=" ".join)
def test_a_token_needs_the_scope_of_each_route(world: World, route: tuple[str, str]) -> None:
    needed = ACCESS[route].scope
    others = " ".join(f"hourhand/{scope}" for scope in Scope if scope is not needed)

    refused = send(token_client(world, scope=others), route)
    allowed = send(token_client(world, scope=f"hourhand/{needed}"), route)

    assert (refused.status, problem_of(refused)) == (403, "forbidden")
    assert f"hourhand/{needed}" in refused.json["detail"]
    assert allowed.status != 403


def test_what_is_refused_leaves_no_record(world: World) -> None:
    client = token_client(world, scope="hourhand/read")

    assert client.post("/v1/jobs", {"handler": "greet", "id": "one"}).status == 403
    assert world.store.get("one") is None
    assert world.control.read_callers([world.api.callers.key_of("probe")])
    assert client.get("/v1/jobs").json["jobs"] == []


def test_an_unknown_route_is_404_for_every_token(world: World) -> None:
    assert token_client(world).get("/v1/nothing").status == 404


# --- one tenant -------------------------------------------------------------------------------


def test_a_submission_is_of_the_callers_tenant(ours: ApiClient, world: World) -> None:
    assert ours.submit()["tenant"] == OURS
    assert ours.submit(tenant=OURS)["tenant"] == OURS
    refused = ours.post("/v1/jobs", {"handler": "greet", "tenant": THEIRS, "id": "mine"})
    assert (refused.status, problem_of(refused), refused.fields) == (403, "forbidden", ["tenant"])
    assert world.store.get("mine") is None


def test_a_batch_is_judged_job_by_job(ours: ApiClient, world: World) -> None:
    jobs = [
        {"handler": "greet", "id": "a"},
        {"handler": "greet", "id": "b", "tenant": THEIRS},
        {"handler": "greet", "id": "c", "tenant": OURS},
        {"handler": "greet", "id": "d", "tenant": None},
        7,
    ]
    results = ours.post("/v1/jobs/batch", {"jobs": jobs}).json["results"]

    assert [r["job"]["tenant"] if "job" in r else r["error"]["status"] for r in results] == [
        OURS, 403, OURS, OURS, 422,
    ]  # fmt: skip
    assert world.store.get("b") is None


FOREIGN = [None, THEIRS, "Acme", "acme "]


@pytest.mark.parametrize("tenant", FOREIGN)
@pytest.mark.parametrize("route", [r for r in ACCESS if "/v1/jobs/{id}" in r[1]], ids=" ".join)
def test_a_job_of_another_tenant_does_not_exist(
    ours: ApiClient, world: World, route: tuple[str, str], tenant: str | None
) -> None:
    for delay in (0, 3600):
        job = world.submit(tenant=tenant, delay_seconds=delay)
        refused, unknown = send(ours, route, job.id), send(ours, route, "k." + "a" * 32)

        assert (refused.status, problem_of(refused)) == (404, "not_found")
        assert refused.json["detail"].replace(job.id, "x") == unknown.json["detail"].replace(
            "k." + "a" * 32, "x"
        )
        assert world.job(job) == job


@pytest.mark.parametrize("route", [r for r in ACCESS if "/v1/jobs/{id}" in r[1]], ids=" ".join)
def test_a_job_of_the_tenant_is_the_callers(
    ours: ApiClient, world: World, route: tuple[str, str]
) -> None:
    job = world.submit(tenant=OURS, delay_seconds=3600)

    assert send(ours, route, job.id).status in {200, 409}


@pytest.mark.parametrize("name", ["idempotency_key", "id"])
def test_a_name_of_another_tenant_answers_no_job(ours: ApiClient, world: World, name: str) -> None:
    """A key is the tenant's own. An id is taken, and what has it is not shown."""
    named: dict[str, Any] = {name: "order-1"}
    theirs = world.submit(tenant=THEIRS, payload={"secret": 1}, **named)
    response = ours.post(
        "/v1/jobs", {"handler": "greet", "payload": {"secret": 1}, name: "order-1"}
    )

    if name == "id":
        assert (response.status, problem_of(response)) == (409, "idempotency_conflict")
    else:
        assert (response.status, response.json["tenant"]) == (201, OURS)
        assert response.json["id"] != theirs.id
    assert world.job(theirs) == theirs


def test_a_large_body_under_a_name_of_another_tenant_writes_nothing(
    ours: ApiClient, world: World
) -> None:
    theirs = world.submit(tenant=THEIRS, id="order-1")
    response = ours.post("/v1/jobs", {"handler": "greet", "id": "order-1", "payload": "x" * 5_000})

    assert response.status == 409
    details = world.store.get_details(theirs.id)
    assert details is not None
    assert not details.texts


def test_listings_show_the_tenant_alone(ours: ApiClient, world: World) -> None:
    own = {world.submit(tenant=OURS).id for _ in range(3)}
    for tenant in FOREIGN:
        world.submit(tenant=tenant)

    listed = ours.get("/v1/jobs").json["jobs"]
    assert {job["id"] for job in listed} == own
    assert len(ours.get(f"/v1/jobs?tenant={OURS}&status=ENQUEUED").json["jobs"]) == 3
    for other in (THEIRS, "", "%41cme"):
        refused = ours.get(f"/v1/jobs?tenant={other}")
        assert (refused.status, refused.fields) == (403, ["tenant"])
    assert ours.get(f"/v1/jobs?tenant={OURS}&tenant={THEIRS}").status == 422


def test_a_cursor_of_another_caller_goes_on_nowhere(ours: ApiClient, world: World) -> None:
    for tenant in (OURS, THEIRS) * 3:
        world.submit(tenant=tenant)
    everyone = ApiClient(create_app(world.api))
    for query in ("", f"tenant={THEIRS}&"):
        cursor = everyone.get(f"/v1/jobs?{query}limit=1").json["next_cursor"]
        assert cursor is not None
        assert ours.get(f"/v1/jobs?cursor={cursor}").status == 422
    own = ours.get("/v1/jobs?limit=1").json["next_cursor"]
    following = ours.get(f"/v1/jobs?cursor={own}").json["jobs"]
    assert {job["tenant"] for job in following} == {OURS}


@pytest.mark.parametrize(
    "body", [{"all": True}, {"handler": "greet"}, {"tenant": OURS}, {"status": "PENDING"}]
)
def test_a_bulk_cancel_reaches_the_tenant_alone(
    ours: ApiClient, world: World, body: dict[str, Any]
) -> None:
    own = world.submit(tenant=OURS, delay_seconds=3600)
    others = [world.submit(tenant=tenant, delay_seconds=3600) for tenant in FOREIGN]

    result = ours.post("/v1/jobs/cancel", body).json

    assert (result["matched"], result["changed"]) == (1, 1)
    assert world.job(own).status is JobStatus.CANCELLED
    assert [world.job(job) for job in others] == others


def test_a_bulk_redrive_reaches_the_tenant_alone(ours: ApiClient, world: World) -> None:
    jobs = [world.submit(tenant=t, retry={"max_attempts": 1}) for t in (OURS, THEIRS)]
    world.settle(fail_for_good)

    assert ours.post("/v1/jobs/redrive", {"all": True}).json["changed"] == 1
    assert [world.job(job).status is JobStatus.DEAD for job in jobs] == [False, True]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        # A tenant that the caller did not name is no filter that the caller chose.
        ({}, 422),
        ({"dry_run": True}, 422),
        ({"all": False}, 422),
        ({"tenant": THEIRS}, 403),
        ({"all": True, "tenant": THEIRS}, 403),
        ([], 422),
        ("all", 422),
    ],
)
def test_a_bulk_operation_must_still_say_what_it_means(
    ours: ApiClient, world: World, body: Any, status: int
) -> None:
    jobs = [world.submit(tenant=t, delay_seconds=3600) for t in (OURS, THEIRS)]

    assert ours.post("/v1/jobs/cancel", body).status == status
    assert [world.job(job) for job in jobs] == jobs


# --- schedules of one tenant ------------------------------------------------------------------


def put_schedule(world: World, id_: str, tenant: str | None) -> None:
    everyone = ApiClient(create_app(world.api))
    assert everyone.send("PUT", f"/v1/schedules/{id_}", {**HOURLY, "tenant": tenant}).status < 300


OF_SCHEDULES = [r for r in ACCESS if "/v1/schedules/{id}" in r[1]]


@pytest.mark.parametrize("tenant", FOREIGN)
@pytest.mark.parametrize("route", OF_SCHEDULES, ids=" ".join)
def test_a_schedule_of_another_tenant_does_not_exist(
    ours: ApiClient, world: World, route: tuple[str, str], tenant: str | None
) -> None:
    put_schedule(world, "one", tenant)
    before, jobs = world.schedules.get("one"), world.store.jobs()

    response = send(ours, route)

    # Ids are everybody's: that one is taken shows, and nothing else does.
    assert response.status == (409 if route[0] == "PUT" else 404)
    assert tenant is None or tenant not in response.text
    assert world.schedules.get("one") == before
    assert world.store.jobs() == jobs


@pytest.mark.parametrize("route", OF_SCHEDULES, ids=" ".join)
def test_a_schedule_of_the_tenant_is_the_callers(
    ours: ApiClient, world: World, route: tuple[str, str]
) -> None:
    put_schedule(world, "one", OURS)
    wanted = BackfillInput.parse(
        {**BODIES["POST", "/v1/schedules/{id}/backfill"], "dry_run": False}
    )
    world.api.backfills.start("one", wanted, actor="caller")

    assert send(ours, route).status < 300


def test_the_id_of_a_deleted_schedule_of_another_tenant_stays_taken(
    ours: ApiClient, world: World
) -> None:
    put_schedule(world, "one", THEIRS)
    world.delete_schedule("one")

    assert send(ours, ("PUT", "/v1/schedules/{id}")).status == 409
    assert send(ours, ("GET", "/v1/schedules/{id}/occurrences")).status == 404


STEPS_OF_A_PUT = ["schedules.get", "schedules.put_definition", "schedules.write"]


@pytest.mark.parametrize("step", STEPS_OF_A_PUT)
@pytest.mark.parametrize("is_deleted", [False, True], ids=["", "deleted again"])
def test_a_put_takes_no_schedule_that_another_tenant_put_meanwhile(
    world: World, step: str, is_deleted: bool
) -> None:
    def put_theirs() -> None:
        put_schedule(world, "one", THEIRS)
        if is_deleted:
            world.delete_schedule("one")

    faults = Faults().interrupt(step, put_theirs)
    ours = token_client(world, faults=faults, scope=EVERY_SCOPE, org=OURS)
    response = ours.send("PUT", "/v1/schedules/one", {**HOURLY, "payload": "of ours"})

    assert (response.status, problem_of(response)) == (409, "wrong_state")
    assert world.api.schedule_views.is_of_tenant("one", THEIRS)


@pytest.mark.parametrize("change", [{"note": "of ours"}, {"priority": "low"}, {"paused": True}])
def test_a_put_changes_no_schedule_that_was_given_to_another_tenant_meanwhile(
    world: World, change: dict[str, Any]
) -> None:
    put_schedule(world, "one", OURS)
    faults = Faults().interrupt("schedules.write", lambda: put_schedule(world, "one", THEIRS))
    ours = token_client(world, faults=faults, scope=EVERY_SCOPE, org=OURS)

    assert ours.send("PUT", "/v1/schedules/one", {**HOURLY, **change}).status == 409
    assert world.api.schedule_views.is_of_tenant("one", THEIRS)
    assert world.api.schedule_views.get("one").schedule.is_live


def test_a_dry_put_shows_no_schedule_of_another_tenant(ours: ApiClient, world: World) -> None:
    put_schedule(world, "one", THEIRS)

    assert ours.send("PUT", "/v1/schedules/one?dry_run=true", HOURLY).status == 409
    assert ours.send("PUT", "/v1/schedules/two?dry_run=true", HOURLY).status == 200


def test_a_schedule_is_put_for_the_callers_tenant(ours: ApiClient, world: World) -> None:
    created = ours.send("PUT", "/v1/schedules/one", HOURLY)
    assert (created.status, created.json["tenant"]) == (201, OURS)
    refused = ours.send("PUT", "/v1/schedules/one", {**HOURLY, "tenant": THEIRS})
    assert (refused.status, refused.fields) == (403, ["tenant"])
    refused = ours.send("PUT", "/v1/schedules/two", {**HOURLY, "tenant": THEIRS})
    assert refused.status == 403
    assert world.schedules.get("two") is None
    assert ours.send("PUT", "/v1/schedules/.bad.", HOURLY).status == 422
    triggered = ours.post("/v1/schedules/one/trigger")
    assert (triggered.status, triggered.json["tenant"]) == (201, OURS)


def test_schedules_of_other_tenants_are_not_listed(ours: ApiClient, world: World) -> None:
    names = {f"s{number}": (OURS, *FOREIGN)[number % 5] for number in range(20)}
    for name, tenant in names.items():
        put_schedule(world, name, tenant)

    listed, cursor = [], ""
    while True:
        page = ours.get(f"/v1/schedules?limit=3{cursor}").json
        listed += [schedule["id"] for schedule in page["schedules"]]
        if page["next_cursor"] is None:
            break
        padded = page["next_cursor"] + "=" * (-len(page["next_cursor"]) % 4)
        position = json.loads(base64.urlsafe_b64decode(padded))[1]
        assert names.get(position, OURS) == OURS, "a cursor names another tenant's schedule"
        cursor = f"&cursor={page['next_cursor']}"

    assert sorted(listed) == sorted(name for name, tenant in names.items() if tenant == OURS)


def test_a_list_that_passes_over_too_many_schedules_ends_in_time(
    ours: ApiClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "SCHEDULES_A_PAGE", 1)
    put_schedule(world, "a", THEIRS)
    put_schedule(world, "b", OURS)
    assert [s["id"] for s in ours.get("/v1/schedules").json["schedules"]] == ["b"]
    monkeypatch.setattr(views, "MAX_SECONDS_A_SEARCH", 0.0)

    response = ours.get("/v1/schedules")
    assert (response.status, problem_of(response)) == (503, "unavailable")


def test_a_tenant_without_schedules_has_an_empty_list(ours: ApiClient, world: World) -> None:
    put_schedule(world, "a", THEIRS)

    assert ours.get("/v1/schedules").json == {"schedules": [], "next_cursor": None}


def test_jobs_that_a_schedule_made_for_another_tenant_are_not_shown(
    ours: ApiClient, world: World
) -> None:
    put_schedule(world, "one", THEIRS)
    world.trigger("one")
    world.advance(1)
    put_schedule(world, "one", OURS)
    world.trigger("one")

    occurrences = ours.get("/v1/schedules/one/occurrences").json["occurrences"]

    shown = [o["job"] for o in occurrences if o["kind"] == "trigger"]
    assert [job and job["tenant"] for job in shown] == [OURS, None]


def test_newest_runs_show_no_job_of_another_tenant(ours: ApiClient, world: World) -> None:
    put_schedule(world, "one", THEIRS)
    theirs = world.trigger("one")
    world.deliver()
    world.advance(1)
    put_schedule(world, "one", OURS)
    world.trigger("one")
    world.deliver()
    put_schedule(world, "two", THEIRS)
    world.trigger("two")

    (listed,) = ours.get("/v1/schedules?recent=5").json["schedules"]
    everyone = ApiClient(create_app(world.api)).get("/v1/schedules?recent=5").json["schedules"]

    shown = [(run["status"], run["duration_ms"]) for run in listed["recent"]]
    assert shown == [("SUCCEEDED", 0), (None, None)]
    assert [run["status"] for run in everyone[0]["recent"]] == ["SUCCEEDED"] * 2
    assert world.store.get(theirs.id) is not None


# --- the whole installation -------------------------------------------------------------------


@pytest.mark.parametrize(
    "route",
    [
        ("PUT", "/v1/calendars/{name}"),
        ("DELETE", "/v1/calendars/{name}"),
        ("POST", "/v1/resweep"),
    ],
    ids=" ".join,
)
def test_a_caller_of_one_tenant_changes_nothing_for_all(
    ours: ApiClient, world: World, route: tuple[str, str]
) -> None:
    world.put_calendar("one", ["2026-12-25"])
    refused = send(ours, route)

    assert (refused.status, problem_of(refused)) == (403, "forbidden")
    assert "concerns the whole installation" in refused.json["detail"]
    calendar = world.schedules.get_calendar("one")
    assert calendar is not None
    assert calendar.revision == 1


def test_a_caller_of_one_tenant_reads_what_all_share(ours: ApiClient, world: World) -> None:
    world.put_calendar("one", ["2026-12-25"])
    for path in ("/v1/stats", "/v1/handlers", "/v1/calendars", "/v1/calendars/one", "/v1/resweep"):
        assert ours.get(path).status == 200, path


# --- who it was -------------------------------------------------------------------------------


def test_the_events_of_a_job_name_their_callers(world: World) -> None:
    alice = ApiClient(create_app(world.api))
    alice.template["requestContext"]["authorizer"] = {
        "iam": {"userArn": "arn:aws:sts::123456789012:assumed-role/Admin/alice@example.com"}
    }
    bob = token_client(world, scope=EVERY_SCOPE)
    local = ApiClient(create_app(world.api))
    local.template["requestContext"].pop("authorizer")

    job_id = alice.submit(delay_seconds=3600)["id"]
    bob.patch(f"/v1/jobs/{job_id}", {"priority": "low"})
    local.post(f"/v1/jobs/{job_id}/run-now")
    world.settle()

    events = bob.get(f"/v1/jobs/{job_id}/events").json["events"]
    assert [(e["kind"], e["actor"], e["caller"]) for e in events if e["kind"] != "CLAIMED"] == [
        (
            "SUBMITTED",
            "Admin-alice-example-com",
            "arn:aws:sts::123456789012:assumed-role/Admin/alice@example.com",
        ),
        ("CHANGED", "auth0-bob", "auth0|bob"),
        ("RUN_NOW", "local", "local"),
        ("SUCCEEDED", events[-1]["actor"], None),
    ]
    assert [e["caller"] for e in events if e["kind"] == "CLAIMED"] == [None]


def test_a_caller_whose_record_is_missing_is_shown_by_its_key(world: World, api: ApiClient) -> None:
    job = world.submit()
    forgotten = replace(job.history[0], actor="@forgotte")
    world.store.put(replace(job, id="other", history=(forgotten,)))

    (event,) = api.get("/v1/jobs/other/events").json["events"]

    assert (event["actor"], event["caller"]) == ("unknown-forgotte", "unknown:forgotte")
