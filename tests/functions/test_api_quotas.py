"""The routes of quotas, the client and the commands, and what a request beyond one is answered."""

from __future__ import annotations

import pytest

from hourhand.api.app import create_app
from hourhand.client import Invalid, Throttled
from hourhand.domain.jobs.quotas import MAX_QUOTA
from hourhand.handlers import JobContext, Registry, job
from hourhand.memory import START
from hourhand.testing import FakeHourhand
from tests.functions.api_client import ALICE, ApiClient
from tests.functions.cli_rig import Shell
from tests.functions.test_api_audit import search
from tests.world.world import World

EXCEEDED = "urn:hourhand:quota_exceeded"
ARN = "arn:aws:sts::123456789012:assumed-role/batch/session"
HANDLERS = Registry()


@job("greet", registry=HANDLERS)
def greet(_ctx: JobContext, payload: object) -> object:
    return payload


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def api(world: World) -> ApiClient:
    return ApiClient(create_app(world.api))


def test_quotas_are_set_listed_and_removed(api: ApiClient) -> None:
    put = api.send("PUT", "/v1/quotas/tenant/acme", {"accepted_per_minute": 10})
    of_acme = {"kind": "tenant", "name": "acme", "accepted_per_minute": 10, "live": None}
    assert (put.status, put.json) == (200, of_acme)
    of_role = api.send("PUT", f"/v1/quotas/caller/{ARN}", {"live": 5, "accepted_per_minute": None})
    assert (of_role.status, of_role.json["name"]) == (200, ARN)
    listed = api.get("/v1/quotas")
    assert (listed.status, listed.json["quotas"]) == (200, [of_role.json, of_acme])
    assert api.send("DELETE", f"/v1/quotas/caller/{ARN}").status == 204
    assert api.send("DELETE", f"/v1/quotas/caller/{ARN}").status == 404
    assert [one["name"] for one in api.get("/v1/quotas").json["quotas"]] == ["acme"]


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("acme", {}, "accepted_per_minute"),
        ("acme", {"live": None}, "accepted_per_minute"),
        ("acme", {"live": -1}, "live"),
        ("acme", {"live": 1.5}, "live"),
        ("acme", {"live": MAX_QUOTA + 1}, "live"),
        ("acme", {"accepted": 1}, "accepted"),
        ("x" * 257, {"live": 1}, "name"),
    ],
)
def test_a_wrong_quota_is_refused(
    api: ApiClient, name: str, body: dict[str, object], field: str
) -> None:
    answer = api.send("PUT", f"/v1/quotas/tenant/{name}", body)
    assert answer.status == 422
    assert [error["field"] for error in answer.json["errors"]] == [field]


def test_the_audit_shows_each_change_of_a_quota_and_who_made_it(api: ApiClient) -> None:
    of_role = f"/v1/quotas/caller/{'x' * 256}"
    for body in ({"accepted_per_minute": 10, "live": 5}, {"live": 5}, {"live": 5}):
        assert api.send("PUT", "/v1/quotas/tenant/acme", body).status == 200
    assert api.send("DELETE", "/v1/quotas/tenant/acme").status == 204
    assert api.send("DELETE", "/v1/quotas/tenant/acme").status == 404
    assert api.send("PUT", of_role, {"live": 1}).status == 200
    assert api.send("POST", "/v1/handlers/greet/pause").status == 200
    events = search(api, f"caller={ALICE}", limit=1)
    pause, *changes = sorted(events, key=lambda one: one["handler"] or "~")
    assert (pause["action"], pause["handler"]) == ("PAUSED", "greet")
    assert {(one["action"], one["caller"], one["handler"]) for one in changes} == {
        ("CHANGED", ALICE, None)
    }
    reasons = {one["reason"] for one in changes}
    assert reasons >= {
        "quota: accepted_per_minute 10, live 5 (tenant acme)",
        "quota: live 5 (tenant acme)",
        "quota: none (tenant acme)",
    }
    assert (len(events), len(reasons)) == (5, 4)
    assert api.get("/v1/audit?handler=greet").json["events"] == [pause]
    assert api.get("/v1/audit?tenant=acme").json["events"] == []


def test_a_request_beyond_a_quota_is_answered_429_with_the_time_to_wait(
    api: ApiClient, world: World
) -> None:
    api.send("PUT", f"/v1/quotas/caller/{ALICE}", {"accepted_per_minute": 2})
    world.advance(15)
    greet_job = {"handler": "greet"}
    batch = api.send("POST", "/v1/jobs/batch", {"jobs": [greet_job] * 3}).json["results"]
    assert ["job" in one for one in batch] == [True, True, False]
    assert (batch[2]["error"]["type"], batch[2]["error"]["status"]) == (EXCEEDED, 429)
    refused = api.send("POST", "/v1/jobs", greet_job)
    assert (refused.status, refused.headers["retry-after"]) == (429, "45")
    assert refused.json["type"] == EXCEEDED
    graph = api.send("POST", "/v1/graphs", {"nodes": {"a": greet_job}})
    opened = api.send("POST", "/v1/batches", {"jobs": [greet_job]})
    assert (graph.status, opened.status) == (429, 429)
    world.advance(45)
    assert api.send("POST", "/v1/jobs", greet_job).status == 201


def test_an_open_batch_takes_the_jobs_that_are_missing_when_the_quota_has_room(
    api: ApiClient, world: World
) -> None:
    batch = api.send("POST", "/v1/batches", {"open": True, "jobs": [], "tenant": "acme"}).json["id"]
    api.send("PUT", "/v1/quotas/tenant/acme", {"accepted_per_minute": 2})
    world.advance(31)
    members = {"first_index": 0, "jobs": [{"handler": "greet"}] * 3}
    answers = []
    for _ in range(2):
        answers.append(api.send("POST", f"/v1/batches/{batch}/jobs", members).status)
        world.advance(60)
    assert answers == [429, 200]


def test_the_client_and_the_double_know_quotas() -> None:
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        double.client.put_quota("tenant", "acme", accepted_per_minute=1)
        double.client.put_quota("caller", ARN, live=MAX_QUOTA)
        with pytest.raises(Invalid, match="from 0 to 1,000,000,000"):
            double.client.put_quota("caller", ARN, live=MAX_QUOTA + 1)
        double.client.submit("greet", tenant="acme")
        with pytest.raises(Throttled) as refused:
            double.client.submit("greet", tenant="acme")
        assert refused.value.code == "quota_exceeded"
        assert 0 < (refused.value.retry_after_seconds or 0) <= 60
        double.client.delete_quota("caller", ARN)
        assert [one.name for one in double.client.quotas()] == ["acme"]


def test_commands_set_list_and_remove_quotas(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(world, monkeypatch)
    ran = shell.type("quotas", "set", "tenant", "acme", "--accepted-per-minute", "1200")
    assert (ran.code, ran.out.strip()) == (0, "tenant acme  1,200 accepted a minute")
    assert '"live": 7' in shell.type("quotas", "set", "caller", ARN, "--live", "7", "--json").out
    listed = shell.type("quotas", "list").out.splitlines()
    assert listed == [f"caller {ARN}  7 live", "tenant acme  1,200 accepted a minute"]
    assert len(shell.type("quotas", "list", "--json").out.splitlines()) == 2
    assert shell.type("quotas", "remove", "tenant", "acme").code == 0
    assert shell.type("quotas", "remove", "tenant", "acme").code == 3
    assert shell.type("quotas", "set", "tenant", "acme").code == 2
