"""Graphs over HTTP: what is accepted, refused, shown and rerun."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.testing import FakeHourhand
from tests.functions.api_client import ApiClient, Response
from tests.functions.graph_rig import CALLS, DIAMOND, FAILING, client_of, new_hourhand, node


@pytest.fixture
def hourhand() -> FakeHourhand:
    return new_hourhand()


@pytest.fixture
def api(hourhand: FakeHourhand) -> ApiClient:
    return client_of(hourhand)


def submitted(hourhand: FakeHourhand, api: ApiClient, nodes: dict[str, Any], **more: Any) -> str:
    """Submit a graph and run all that is due; return its id."""
    response = api.post("/v1/graphs", {"nodes": nodes, **more})
    assert response.status == 201, response.json
    hourhand.run_due()
    return str(response.json["id"])


def nodes_of(api: ApiClient, graph: str) -> dict[str, Any]:
    nodes: dict[str, Any] = api.get(f"/v1/graphs/{graph}").json["nodes"]
    return nodes


def statuses(api: ApiClient, graph: str) -> dict[str, str]:
    return {name: one["status"] for name, one in nodes_of(api, graph).items()}


def code_of(response: Response) -> str:
    code: str = response.json["type"].removeprefix("urn:hourhand:")
    return code


# --- what is accepted -------------------------------------------------------------------------


def test_a_new_graph_shows_its_nodes_before_any_of_them_ran(api: ApiClient) -> None:
    response = api.post("/v1/graphs", {"id": "g", "nodes": DIAMOND, "priority": "high"})
    assert (response.status, response.headers["location"]) == (201, "/v1/graphs/g")
    graph = response.json
    assert (graph["id"], graph["status"], graph["handler"]) == ("g", "ENQUEUED", "hourhand.graph")
    assert {one["status"] for one in graph["nodes"].values()} == {"WAITING"}
    assert graph["nodes"]["d"]["after"] == ["b", "c"]
    assert api.get("/v1/jobs/g").json["priority"] == "high"


def test_the_same_graph_under_an_id_is_the_graph_that_exists(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    submitted(hourhand, api, DIAMOND, id="g")
    again = api.post("/v1/graphs", {"nodes": DIAMOND, "id": "g"})
    assert (again.status, again.json["status"]) == (200, "SUCCEEDED")
    other = api.post("/v1/graphs", {"nodes": {"a": node("a")}, "id": "g"})
    assert (other.status, code_of(other), other.fields) == (409, "idempotency_conflict", ["id"])


def test_a_repeated_graph_is_returned_even_if_it_would_be_refused_by_now(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    nodes = {"a": node("a", expires_at="2026-01-05T09:10:00Z")}
    first = api.post("/v1/graphs", {"nodes": nodes, "id": "g"})
    hourhand.advance(days=1)
    again = api.post("/v1/graphs", {"nodes": nodes, "id": "g"})
    new = api.post("/v1/graphs", {"nodes": nodes, "id": "h"})
    assert (first.status, again.status, new.status) == (201, 200, 422)
    assert new.fields == ["nodes.a.expires_at"]


def test_a_finished_graph_shows_the_job_of_each_node(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    graph = submitted(hourhand, api, DIAMOND)
    shown = api.get(f"/v1/graphs/{graph}").json
    assert (shown["status"], shown["error"]) == ("SUCCEEDED", None)
    assert shown["finished_at"] is not None
    for one in shown["nodes"].values():
        job = api.get(f"/v1/jobs/{one['job_id']}").json
        assert (job["status"], job["parent_id"]) == (one["status"], graph)
        assert (job["started_at"], job["finished_at"]) == (one["started_at"], one["finished_at"])
    assert CALLS[-1] == {"name": "d", "b": {"name": "b"}}


def test_a_failed_graph_shows_why_each_node_did_not_run(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    FAILING.append("b")
    nodes = {
        **DIAMOND,
        "never": node("never", "a", when="all_failed"),
        "map": {"map": {"over": [1, 2, "b"], "handler": "note"}, "after": ["a"]},
    }
    graph = submitted(hourhand, api, nodes)
    shown = api.get(f"/v1/graphs/{graph}").json
    found = shown["nodes"]
    assert (shown["status"], shown["error"]["type"]) == ("DEAD", "GraphFailed")
    assert found["b"]["error"]["message"] == "b is broken"
    assert (found["d"]["status"], found["d"]["reason"]) == ("SKIPPED", "upstream_failed")
    assert (found["never"]["status"], found["never"]["reason"]) == ("SKIPPED", "rule")
    assert (found["a"]["reason"], found["a"]["of"], found["d"]["job_id"]) == (None, None, None)
    assert found["map"]["of"] == {"total": 3, "succeeded": 2, "failed": 1}
    assert found["map"]["error"]["message"] == "1 of 3 jobs failed."
    assert (found["map"]["job_id"], found["map"]["finished_at"]) == (None, None)
    assert found["map"]["started_at"] is not None


def test_a_node_whose_job_could_not_be_submitted_shows_why(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    late = node("late", "slow", expires_at="2026-01-05T09:30:00Z")
    graph = submitted(hourhand, api, {"slow": node("slow", delay_seconds=3600), "late": late})
    hourhand.advance(hours=2)
    shown = api.get(f"/v1/graphs/{graph}").json
    found = shown["nodes"]["late"]
    assert (shown["status"], found["status"], found["job_id"]) == ("DEAD", "DEAD", None)
    assert "expires_at" in found["error"]["message"]


def test_a_map_that_runs_shows_how_far_it_is(hourhand: FakeHourhand, api: ApiClient) -> None:
    item = {"handler": "note", "over": [1, 2], "tolerate": 0.5}
    graph = submitted(hourhand, api, {"m": {"map": item, "delay_seconds": 60}})
    one = nodes_of(api, graph)["m"]
    assert (one["status"], one["of"]["total"], one["error"]) == ("RUNNING", 2, None)


def test_a_map_over_nothing_needs_no_handler(hourhand: FakeHourhand, api: ApiClient) -> None:
    graph = submitted(hourhand, api, {"m": {"map": {"over": [], "handler": "nobody"}}})
    assert nodes_of(api, graph)["m"]["of"] == {"total": 0, "succeeded": 0, "failed": 0}


def test_a_payload_with_references_is_checked_when_its_node_starts(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    wrong = {"n": {"$result": "a"}}
    nodes = {"a": node("a"), "t": {"handler": "typed", "payload": wrong, "after": ["a"]}}
    graph = submitted(hourhand, api, nodes)
    assert statuses(api, graph)["t"] == "DEAD"


# --- what is refused --------------------------------------------------------------------------

MANY = {f"n{number}": {"handler": "note"} for number in range(1_001)}
BAD_GRAPHS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a cycle": ({"a": node("a", "b"), "b": node("b", "a")}, ["nodes.a.after"]),
    "a node after itself": ({"a": node("a", "a")}, ["nodes.a.after"]),
    "an unknown node": ({"a": node("a", "x")}, ["nodes.a.after"]),
    "a node twice before another": (
        {"a": node("a"), "b": node("b", "a", "a")},
        ["nodes.b.after"],
    ),
    "no nodes": ({}, ["nodes"]),
    "more than a thousand nodes": (MANY, ["nodes"]),
    "a name that is none": ({"a b": node("a")}, ["nodes"]),
    "a node that is no object": ({"a": 7}, ["nodes.a"]),
    "an unknown handler": ({"a": {"handler": "nobody"}}, ["nodes.a.handler"]),
    "an unknown handler of a map": (
        {"a": {"map": {"over": [1], "handler": "nobody"}}},
        ["nodes.a.map.handler"],
    ),
    "a built-in handler": ({"a": {"handler": "hourhand.batch"}}, ["nodes.a.handler"]),
    "a unique handler": ({"a": {"handler": "alone"}}, ["nodes.a.handler"]),
    "a debounced handler": ({"a": {"handler": "calm"}}, ["nodes.a.handler"]),
    "an id of a node": ({"a": node("a", id="x")}, ["nodes.a.id"]),
    "a key of a node": ({"a": node("a", idempotency_key="x")}, ["nodes.a.idempotency_key"]),
    "a unique node": ({"a": node("a", unique={"key": "payload"})}, ["nodes.a.unique"]),
    "a debounced node": (
        {"a": node("a", debounce={"key": "payload", "wait_seconds": 5})},
        ["nodes.a.debounce"],
    ),
    "an unknown field": ({"a": node("a", afer=["b"])}, ["nodes.a.afer"]),
    "an unknown field that is null": ({"a": node("a", afer=None)}, ["nodes.a.afer"]),
    "an unknown field of a map that is null": (
        {"a": {"map": {"over": [1], "handler": "note", "afer": None}}},
        ["nodes.a.map.afer"],
    ),
    "a wrong policy": ({"a": node("a", retry={"max_attempts": 0})}, ["nodes.a.retry.max_attempts"]),
    "a limit that is not shared": (
        {"a": node("a", limits=[{"name": "nobodys"}])},
        ["nodes.a.limits[0].name"],
    ),
    "a key that no limit takes": (
        {"a": {"handler": "narrow", "concurrency_key": "x"}},
        ["nodes.a.concurrency_key"],
    ),
    "a time long past": ({"a": node("a", run_at="2020-01-01T00:00:00Z")}, ["nodes.a.run_at"]),
    "another pool": ({"a": node("a", pool="gpu")}, ["nodes.a.pool"]),
    "a payload that the handler cannot take": (
        {"a": {"handler": "typed", "payload": {"n": "many"}}},
        ["nodes.a.payload.n"],
    ),
    "a rule that is none": ({"a": node("a", when="always_never")}, ["nodes.a.when"]),
    "a mode that is none": ({"a": node("a", on_failure="explode")}, ["nodes.a.on_failure"]),
    "a reference to a node that is not before": (
        {"a": node("a"), "b": {"handler": "note", "payload": {"$result": "a"}}},
        ["nodes.b.payload"],
    ),
    "a map with a payload beside it": (
        {"a": {"map": {"over": [1], "handler": "note"}, "payload": 1}},
        ["nodes.a.payload"],
    ),
}


@pytest.mark.parametrize("case", BAD_GRAPHS)
def test_a_bad_graph_is_refused_with_the_field_named(api: ApiClient, case: str) -> None:
    nodes, fields = BAD_GRAPHS[case]
    response = api.post("/v1/graphs", {"nodes": nodes, "id": "g"})
    assert (response.status, response.fields) == (422, fields), response.json
    assert api.get("/v1/jobs/g").status == 404


def test_a_name_that_comes_twice_is_refused(api: ApiClient) -> None:
    text = '{"nodes": {"a": {"handler": "note"}, "a": {"handler": "note"}}}'
    assert api.send("POST", "/v1/graphs", text=text).status == 400


def test_all_problems_of_a_graph_are_named_up_to_twenty(api: ApiClient) -> None:
    nodes = {f"n{number:02}": {"handler": "nobody"} for number in range(30)}
    response = api.post("/v1/graphs", {"nodes": nodes})
    assert response.fields == [f"nodes.n{number:02}.handler" for number in range(20)]


def test_a_misspelt_field_of_a_node_is_explained(api: ApiClient) -> None:
    response = api.post("/v1/graphs", {"nodes": {"a": node("a", afer=["b"], retires=2)}})
    first, second = response.json["errors"]
    assert "Did you mean 'after'?" in first["message"]
    assert "map, after, when, on_failure" in first["message"]
    assert "The fields are" not in second["message"]


def test_a_definition_that_is_too_large_is_refused(api: ApiClient) -> None:
    response = api.post("/v1/graphs", {"nodes": {"a": node("a", payload="x" * 256_001)}})
    assert (response.status, response.fields) == (413, ["nodes"])


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["nodes"]),
        ({"nodes": []}, ["nodes"]),
        ({"nodes": {"a": node("a")}, "id": "a.b"}, ["id"]),
        ({"nodes": {"a": node("a")}, "priority": "urgent"}, ["priority"]),
        ({"nodes": {"a": node("a")}, "handler": "note"}, ["handler"]),
        ([], ["body"]),
    ],
)
def test_a_body_that_is_no_graph_is_refused(api: ApiClient, body: Any, fields: list[str]) -> None:
    response = api.post("/v1/graphs", body)
    assert (response.status, response.fields) == (422, fields)


@pytest.mark.parametrize("route", ["graphs/{id}", "graphs/{id}/rerun"])
@pytest.mark.parametrize("job", ["nothing", "plain", "run", "not%20an%20id"])
def test_what_is_no_graph_is_not_found(
    hourhand: FakeHourhand, api: ApiClient, route: str, job: str
) -> None:
    api.post("/v1/jobs", {"handler": "note", "id": "plain"})
    api.post("/v1/jobs", {"handler": "split", "payload": [], "id": "run"})
    hourhand.run_due()
    path = "/v1/" + route.replace("{id}", job)
    response = api.post(path, {"from": ["a"]}) if "rerun" in path else api.get(path)
    assert (response.status, code_of(response)) == (404, "not_found")


# --- reruns -----------------------------------------------------------------------------------


def test_a_rerun_runs_a_node_and_all_after_it_again(hourhand: FakeHourhand, api: ApiClient) -> None:
    graph = submitted(hourhand, api, DIAMOND)
    before = nodes_of(api, graph)
    CALLS.clear()
    planned = api.post(f"/v1/graphs/{graph}/rerun", {"from": ["b"], "dry_run": True}).json
    assert planned == {"reset": ["b", "d"], "kept": ["a", "c"]}
    assert api.get(f"/v1/graphs/{graph}").json["status"] == "SUCCEEDED"
    done = api.post(f"/v1/graphs/{graph}/rerun", {"from": ["b"]}).json
    assert (done["reset"], done["kept"]) == (planned["reset"], planned["kept"])
    assert done["graph"]["nodes"]["b"]["status"] == "WAITING"
    hourhand.run_due()
    after = nodes_of(api, graph)
    assert [call["name"] for call in CALLS] == ["b", "d"]
    assert after["a"]["job_id"] == before["a"]["job_id"]
    assert after["b"]["job_id"] != before["b"]["job_id"]


def test_a_rerun_repairs_a_graph_that_failed(hourhand: FakeHourhand, api: ApiClient) -> None:
    FAILING.append("b")
    graph = submitted(hourhand, api, DIAMOND)
    FAILING.clear()
    api.post(f"/v1/graphs/{graph}/rerun", {"from": ["b"]})
    hourhand.run_due()
    assert set(statuses(api, graph).values()) == {"SUCCEEDED"}


def test_a_graph_that_was_cancelled_before_it_began_can_be_rerun(
    hourhand: FakeHourhand, api: ApiClient
) -> None:
    api.post("/v1/graphs", {"nodes": DIAMOND, "id": "g"})
    api.post("/v1/jobs/g/cancel")
    done = api.post("/v1/graphs/g/rerun", {"from": ["b"]}).json
    assert (done["reset"], done["graph"]["status"]) == (["b", "d"], "ENQUEUED")
    hourhand.run_due()
    assert set(statuses(api, "g").values()) == {"SUCCEEDED"}


def test_a_graph_that_has_not_ended_cannot_be_rerun(api: ApiClient) -> None:
    api.post("/v1/graphs", {"nodes": DIAMOND, "id": "g"})
    for more in ({}, {"dry_run": True}):
        refused = api.post("/v1/graphs/g/rerun", {"from": ["b"], **more})
        assert (refused.status, code_of(refused)) == (409, "wrong_state")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"from": ["x"]}, ["from"]),
        ({"from": ["b", "x", "y"], "dry_run": True}, ["from", "from"]),
        ({"from": []}, ["from"]),
        ({"from": "b"}, ["from"]),
        ({"from": ["a/b"]}, ["from[0]"]),
        ({}, ["from"]),
        ({"from": ["b"], "fresh": True}, ["fresh"]),
        ({"from": ["b"], "dry_run": "yes"}, ["dry_run"]),
    ],
)
def test_a_bad_rerun_is_refused_with_the_field_named(
    hourhand: FakeHourhand, api: ApiClient, body: dict[str, Any], fields: list[str]
) -> None:
    graph = submitted(hourhand, api, DIAMOND)
    response = api.post(f"/v1/graphs/{graph}/rerun", body)
    assert (response.status, response.fields) == (422, fields)
    assert api.get(f"/v1/graphs/{graph}").json["status"] == "SUCCEEDED"
