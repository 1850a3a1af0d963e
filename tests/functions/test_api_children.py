"""Child jobs, steps and grids over HTTP, and what a caller of one tenant may see and submit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hourhand.api.access import Scope
from hourhand.api.app import create_app
from hourhand.testing import FakeHourhand
from tests.functions.api_client import ApiClient, Response
from tests.functions.graph_rig import FAILING, client_of, new_hourhand
from tests.world.world import World


@pytest.fixture
def hourhand() -> FakeHourhand:
    return new_hourhand()


@pytest.fixture
def api(hourhand: FakeHourhand) -> ApiClient:
    return client_of(hourhand)


def run(hourhand: FakeHourhand, api: ApiClient, items: list[Any]) -> None:
    api.post("/v1/jobs", {"handler": "split", "payload": items, "id": "run"})
    hourhand.run_due()


def children(api: ApiClient, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/v1/jobs/run/children{query}").json
    return found


# --- children ---------------------------------------------------------------------------------


def test_children_are_listed_in_the_order_of_their_calls(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    FAILING.append(1)
    run(hourhand, api, [0, 1, 2])
    found = children(api)
    assert [(one["path"], one["index"], one["status"]) for one in found["children"]] == [
        ("head", 0, "SUCCEEDED"),
        ("parts", 0, "SUCCEEDED"),
        ("parts", 1, "DEAD"),
        ("parts", 2, "SUCCEEDED"),
    ]
    assert {one["parent_id"] for one in found["children"]} == {"run"}
    assert (found["total"], found["succeeded"], found["failed"]) == (4, 3, 1)


def test_children_in_one_state_are_listed_with_the_counts_of_all(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    FAILING.append(1)
    run(hourhand, api, [0, 1, 2])
    found = children(api, "?status=DEAD")
    assert [one["index"] for one in found["children"]] == [1]
    assert (found["total"], found["failed"]) == (4, 1)
    assert children(api, "?status=RUNNING")["children"] == []


def test_children_of_one_call_are_listed_by_its_path(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    run(hourhand, api, [0, 1])
    found = children(api, "?path=parts")
    assert [(one["path"], one["index"]) for one in found["children"]] == [
        ("parts", 0),
        ("parts", 1),
    ]
    assert children(api, "?path=nothing")["children"] == []


def test_children_come_in_pages(hourhand: FakeHourhand, api: ApiClient) -> None:
    run(hourhand, api, list(range(5)))
    places: list[tuple[str, int]] = []
    query = "?limit=4"
    for _ in range(2):
        page = children(api, query)
        places += [(one["path"], one["index"]) for one in page["children"]]
        query = f"?limit=4&cursor={page['next_cursor']}"
    assert places == [("head", 0), *(("parts", n) for n in range(5))]
    assert page["next_cursor"] is None


def test_a_page_of_children_with_many_tags_comes_back_shorter(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    # A control character takes six bytes in JSON.
    tags = {f"{n:02}": "\x01" * 256 for n in range(20)}
    api.post("/v1/batches", {"id": "run", "jobs": [], "open": True})
    for first in (0, 75):
        jobs = [{"handler": "note", "tags": tags}] * 75
        api.post("/v1/batches/run/jobs", {"first_index": first, "jobs": jobs})
    page = children(api, "?limit=150")
    assert len(page["children"]) == 75
    assert page["next_cursor"] is not None
    assert page["total"] == 150


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?status=dead", "status"),
        ("?limit=0", "limit"),
        ("?limit=201", "limit"),
        ("?cursor=forged", "cursor"),
        ("?path=a%20b", "path"),
        ("?handler=note", "handler"),
    ],
)
def test_a_bad_listing_of_children_is_refused_with_the_field_named(
    hourhand: FakeHourhand, api: ApiClient, query: str, field: str
) -> None:
    run(hourhand, api, [])
    response = api.get(f"/v1/jobs/run/children{query}")
    assert (response.status, response.fields) == (422, [field])


def test_a_job_that_is_no_durable_run_has_no_listing_of_children(api: ApiClient) -> None:
    api.post("/v1/jobs", {"handler": "note", "id": "plain"})
    refused = api.get("/v1/jobs/plain/children")
    assert (refused.status, refused.json["type"]) == (409, "urn:hourhand:not_durable")
    assert api.get("/v1/jobs/nothing/children").status == 404
    assert api.get("/v1/jobs/not%20an%20id/children").status == 404


def test_steps_show_children_and_maps_with_their_counts(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    FAILING.append(1)
    run(hourhand, api, [0, 1])
    head, parts = api.get("/v1/jobs/run/steps").json["steps"]
    (first, *_) = children(api)["children"]
    assert (head["kind"], head["job_id"]) == ("child", first["id"])
    assert head["of"] == {"total": 1, "succeeded": 1, "failed": 0}
    assert (parts["kind"], parts["job_id"]) == ("map", None)
    assert parts["of"] == {"total": 2, "succeeded": 1, "failed": 1}


def test_a_job_of_no_run_has_no_parent(api: ApiClient) -> None:
    assert api.submit(handler="note")["parent_id"] is None


# --- grids ------------------------------------------------------------------------------------


def put_schedule(hourhand: FakeHourhand, api: ApiClient, handler: str) -> None:
    schedule = {"expression": "@hourly", "handler": handler, "overlap": "allow"}
    assert api.send("PUT", "/v1/schedules/s", schedule).status == 201
    hourhand.advance(hours=3, minutes=1)


def test_a_grid_shows_the_last_runs_by_the_nodes_of_their_graphs(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    put_schedule(hourhand, api, "etl")
    runs = api.get("/v1/schedules/s/grid").json["runs"]
    assert [one["occurrence"] for one in runs] == [
        f"2026-01-05T{hour}:00:00.000Z" for hour in (12, 11, 10)
    ]
    for one in runs:
        assert one["status"] == "SUCCEEDED"
        assert {n: node["status"] for n, node in one["nodes"].items()} == {
            "extract": "SUCCEEDED",
            "load": "SUCCEEDED",
        }
        assert one["nodes"]["load"]["of"] == {"total": 2, "succeeded": 2, "failed": 0}
        assert "handler" not in one["nodes"]["load"]
    assert len(api.get("/v1/schedules/s/grid?runs=2").json["runs"]) == 2


def test_a_run_that_is_no_graph_has_no_nodes(hourhand: FakeHourhand, api: ApiClient) -> None:
    put_schedule(hourhand, api, "note")
    runs = api.get("/v1/schedules/s/grid").json["runs"]
    assert [(one["status"], one["nodes"]) for one in runs] == [("SUCCEEDED", {})] * 3


@pytest.mark.parametrize("query", ["?runs=0", "?runs=101", "?runs=x", "?limit=3"])
def test_a_bad_grid_is_refused(hourhand: FakeHourhand, api: ApiClient, query: str) -> None:
    put_schedule(hourhand, api, "note")
    assert api.get(f"/v1/schedules/s/grid{query}").status == 422


@pytest.mark.parametrize("schedule", ["nothing", "not%20an%20id"])
def test_the_grid_of_an_unknown_schedule_is_not_found(api: ApiClient, schedule: str) -> None:
    assert api.get(f"/v1/schedules/{schedule}/grid").status == 404


# --- one tenant -------------------------------------------------------------------------------

OURS, THEIRS = "acme", "globex"
GREET = {"handler": "greet"}
GRAPH = {"nodes": {"a": GREET}}


@pytest.fixture
def ours(world: World) -> ApiClient:
    """A caller that may do everything, for one tenant."""
    access = replace(world.api.access, tenant_claim="org")
    client = ApiClient(create_app(replace(world.api, access=access)))
    scope = " ".join(f"hourhand/{one}" for one in Scope)
    claims = {"sub": "bob", "scope": scope, "org": OURS}
    client.template["requestContext"]["authorizer"] = {"jwt": {"claims": claims, "scopes": None}}
    return client


@pytest.fixture
def all_tenants(world: World) -> ApiClient:
    return ApiClient(create_app(world.api))


def is_forbidden(response: Response) -> bool:
    return (response.status, response.fields) == (403, ["tenant"])


def test_graphs_and_batches_are_of_the_callers_tenant(ours: ApiClient) -> None:
    for path, body in (("graphs", GRAPH), ("batches", {"jobs": [GREET]})):
        for tenant in ({}, {"tenant": OURS}, {"tenant": None}):
            made = ours.post(f"/v1/{path}", {**body, **tenant})
            assert made.status == 201
            assert ours.get(f"/v1/jobs/{made.json['id']}").json["tenant"] == OURS
        assert is_forbidden(ours.post(f"/v1/{path}", {**body, "tenant": THEIRS}))


@pytest.mark.parametrize("tenant", [THEIRS, ["acme"], 7])
def test_no_job_of_a_graph_or_a_batch_is_of_another_tenant(ours: ApiClient, tenant: Any) -> None:
    foreign = {**GREET, "tenant": tenant}
    bodies: list[tuple[str, Any]] = [
        ("graphs", {"nodes": {"a": GREET, "b": foreign}}),
        ("batches", {"jobs": [GREET, foreign]}),
        ("batches", {"jobs": [], "on_failure": foreign}),
        ("batches", {"jobs": [foreign], "open": True}),
    ]
    assert all(is_forbidden(ours.post(f"/v1/{path}", body)) for path, body in bodies)
    ours.post("/v1/batches", {"id": "b", "jobs": [], "open": True})
    added = ours.post("/v1/batches/b/jobs", {"first_index": 0, "jobs": [foreign]})
    assert is_forbidden(added)
    own = {**GREET, "tenant": OURS}
    assert ours.post("/v1/batches/b/jobs", {"first_index": 0, "jobs": [own]}).status == 200


@pytest.mark.parametrize("body", [[], 7, {"nodes": 7}, {"jobs": 7}, {"jobs": [7], "nodes": [7]}])
def test_a_body_of_another_shape_is_refused_as_for_every_caller(ours: ApiClient, body: Any) -> None:
    for path in ("graphs", "batches"):
        assert ours.post(f"/v1/{path}", body).status == 422


@pytest.mark.parametrize("tenant", [None, THEIRS])
@pytest.mark.parametrize(
    ("method", "route", "body"),
    [
        ("GET", "graphs/g", ...),
        ("POST", "graphs/g/rerun", {"from": ["a"]}),
        ("GET", "batches/b", ...),
        ("POST", "batches/b/jobs", {"first_index": 0, "jobs": [GREET]}),
        ("POST", "batches/b/close", ...),
        ("GET", "jobs/b/children", ...),
        ("GET", "schedules/s/grid", ...),
    ],
)
def test_what_is_of_another_tenant_does_not_exist(
    ours: ApiClient, all_tenants: ApiClient, tenant: str | None, method: str, route: str, body: Any
) -> None:
    of = {"tenant": tenant}
    all_tenants.post("/v1/graphs", {**GRAPH, "id": "g", **of})
    all_tenants.post("/v1/batches", {"id": "b", "jobs": [], "open": True, **of})
    all_tenants.send("PUT", "/v1/schedules/s", {"expression": "@daily", **GREET, **of})
    assert ours.send(method, f"/v1/{route}", body).status == 404
    assert all_tenants.send(method, f"/v1/{route}", body).status != 404


def test_an_id_of_another_tenant_is_taken_and_shows_nothing(
    ours: ApiClient, all_tenants: ApiClient
) -> None:
    all_tenants.post("/v1/graphs", {**GRAPH, "id": "g", "tenant": THEIRS})
    refused = ours.post("/v1/graphs", {**GRAPH, "id": "g"})
    assert (refused.status, refused.fields) == (409, ["id"])


def test_a_child_to_which_its_run_gave_another_tenant_is_left_out(
    ours: ApiClient, all_tenants: ApiClient
) -> None:
    jobs = [GREET, {**GREET, "tenant": THEIRS}]
    all_tenants.post("/v1/batches", {"id": "b", "jobs": jobs, "open": True, "tenant": OURS})
    assert [c["index"] for c in all_tenants.get("/v1/jobs/b/children").json["children"]] == [0, 1]
    assert [c["index"] for c in ours.get("/v1/jobs/b/children").json["children"]] == [0]


def test_a_run_from_when_a_schedule_had_another_tenant_is_left_out(
    ours: ApiClient, all_tenants: ApiClient, world: World
) -> None:
    daily = {"expression": "* * * * *", **GREET, "overlap": "allow"}
    all_tenants.send("PUT", "/v1/schedules/s", {**daily, "tenant": THEIRS})
    for _ in range(3):
        world.minute()
    assert all_tenants.get("/v1/schedules/s/grid").json["runs"] != []
    all_tenants.send("PUT", "/v1/schedules/s", {**daily, "tenant": OURS})
    assert ours.get("/v1/schedules/s/grid").json == {"runs": []}
