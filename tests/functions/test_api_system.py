"""The routes about the system, and what is true of every route."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hourhand.api.app import ROUTES, create_app
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.ports.handler_directory import DeclaredSchedule, HandlerInfo
from hourhand.settings import Settings
from tests.functions.api_client import ApiClient, load_event
from tests.world.world import World


def test_health_says_which_installation_answers_and_null_for_what_is_not_known(
    world: World,
) -> None:
    place = {"installation": "shop", "stage": "prod", "region": "eu-west-1", "account": "123"}
    settings = Settings(installation="shop", stage="prod", region="eu-west-1", account="123")
    here = replace(world.api, settings=settings)
    assert ApiClient(create_app(here)).get("/v1/health").json == {"status": "ok", **place}
    unknown = replace(world.api, settings=Settings())
    assert ApiClient(create_app(unknown)).get("/v1/health").json == {
        "status": "ok",
        "installation": "hourhand",
        **dict.fromkeys(("stage", "region", "account")),
    }


def test_handlers_are_listed_with_the_policies_they_state() -> None:
    policies = HandlerPolicies(timeout_seconds=600)
    handlers = (HandlerInfo(name="slow", description="Takes long.", policies=policies), "greet")
    api = ApiClient(create_app(World(handlers=handlers).api))
    listed = api.get("/v1/handlers").json["handlers"]
    assert [handler["name"] for handler in listed] == ["greet", "slow"]
    assert listed[1] == {
        "name": "slow",
        "description": "Takes long.",
        "payload_schema": None,
        "payload_examples": [],
        "payload_validated": False,
        "policies": {
            "timeout_seconds": 600,
            **dict.fromkeys(("priority", "retry", "on_lost", "retention_seconds")),
        },
        "limits": [],
        "unique": None,
        "debounce": None,
        "run_timeout_seconds": None,
        "schedule": None,
        "paused": None,
    }
    assert api.get("/v1/handlers/slow").json == listed[1]


def test_a_handler_is_shown_with_what_it_takes() -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", "default": "Ada"}}}
    handler = HandlerInfo(
        name="send", payload_schema=schema, payload_examples=({},), payload_check={"type": "any"}
    )
    shown = ApiClient(create_app(World(handlers=(handler,)).api)).get("/v1/handlers/send").json
    assert (shown["payload_schema"], shown["payload_examples"]) == (schema, [{}])
    assert shown["payload_validated"] is True


def test_a_handler_is_shown_with_its_limits() -> None:
    limits = (
        Concurrency(2, key="payload.account", max_waiting=5),
        Rate(100, per=60, name="stripe"),
    )
    handler = HandlerInfo(name="send", limits=limits)
    shown = ApiClient(create_app(World(handlers=(handler,)).api)).get("/v1/handlers/send").json
    assert shown["limits"] == [
        {
            "name": "send.1",
            "kind": "concurrency",
            "max": 2,
            "key": "payload.account",
            "on_full": "wait",
            "max_waiting": 5,
            "holds": "attempt",
            "order": "due",
            "per_seconds": None,
            "burst": None,
        },
        {
            "name": "stripe",
            "kind": "rate",
            "max": 100,
            "key": "handler",
            **dict.fromkeys(("on_full", "max_waiting", "holds", "order")),
            "per_seconds": 60,
            "burst": 10,
        },
    ]


@pytest.mark.parametrize(
    ("expression", "shown"), [("@daily", "@daily"), (("@daily", "@hourly"), ["@daily", "@hourly"])]
)
def test_a_handler_is_shown_with_the_schedule_that_it_declares(
    expression: str | tuple[str, ...], shown: Any
) -> None:
    declared = DeclaredSchedule(expression=expression, timezone="Europe/Berlin")
    world = World(handlers=(HandlerInfo(name="nightly", schedule=declared),))
    handler = ApiClient(create_app(world.api)).get("/v1/handlers/nightly").json
    assert handler["schedule"] == {"expression": shown, "timezone": "Europe/Berlin"}


def test_an_unknown_handler_is_answered_with_the_names_that_exist(api: ApiClient) -> None:
    answer = api.get("/v1/handlers/gret")
    assert (answer.status, answer.json["type"]) == (404, "urn:hourhand:not_found")
    assert "The handler gret is not registered. Did you mean 'greet'" in answer.json["detail"]


def test_stats_tell_queues_lateness_and_the_leader(api: ApiClient, world: World) -> None:
    api.submit(delay_seconds=10)
    api.submit(priority="high")
    world.tick()
    stats = api.get("/v1/stats").json
    waiting = {queue["priority"]: queue["waiting"] for queue in stats["queues"]}
    assert waiting["high"] == 1
    assert stats["epoch"] == 1
    assert stats["last_tick_at"] == "2026-01-05T09:00:00.000Z"
    world.advance(12)
    world.deliver()
    lateness = api.get("/v1/stats").json["lateness"]
    assert (lateness["sample"], lateness["p50_ms"]) == (2, 2000)


def test_a_resweep_is_requested_and_told_of(api: ApiClient, world: World) -> None:
    none = dict.fromkeys(("since", "requested_at", "watermark", "until"))
    assert api.get("/v1/resweep").json == {"state": "none", **none}
    world.tick()
    answer = api.post("/v1/resweep", {"since": "2026-01-05T08:00:00+01:00"})
    told = {
        **none,
        "state": "requested",
        "since": "2026-01-05T07:00:00.000Z",
        "requested_at": "2026-01-05T09:00:00.000Z",
        "watermark": "2026-01-05T08:45:00.000Z",
    }
    assert (answer.status, answer.json) == (200, told)
    world.advance(60)
    world.tick()
    running = {"watermark": "2026-01-05T07:00:00.000Z", "until": "2026-01-05T08:45:00.000Z"}
    assert api.get("/v1/resweep").json == {**told, **running, "state": "running"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "since"),
        ({"since": "35d"}, "since"),
        ({"since": "2026-01-05T10:00:00Z"}, "since"),
        ({"since": "2025-11-20T09:00:00Z"}, "since"),
        ({"since": "2026-01-05T07:00:00Z", "until": "2026-01-05T08:00:00Z"}, "until"),
    ],
)
def test_a_resweep_that_cannot_be_is_refused_by_its_field(
    api: ApiClient, world: World, body: dict[str, Any], field: str
) -> None:
    answer = api.post("/v1/resweep", body)
    assert (answer.status, answer.fields) == (422, [field])
    assert world.control.read_resweep() is None


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/v1", "/v1/", "/v2/jobs", "/jobs", "/v1/jobs/", "/v1/jobs/x/y", "/v1/nothing"),
        *("/v1/schedules/", "/v1/schedules/x/y", "/v1/calendars/", "/v1/jobs/x/cancel/now"),
        *("/v1/jobs\n", "/v1/jobs\x00", "//v1/jobs", "/\ud800"),
    ],
)
def test_an_unknown_route_is_a_problem_of_its_own(api: ApiClient, path: str) -> None:
    for method in ("GET", "POST", "PUT"):
        response = api.send(method, path)
        assert (response.status, response.json["type"]) == (404, "urn:hourhand:not_found")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v1/jobs", "GET, HEAD, OPTIONS, POST"),
        ("DELETE", "/v1/jobs/mine", "GET, HEAD, OPTIONS, PATCH"),
        ("GET", "/v1/jobs/mine/cancel", "OPTIONS, POST"),
        ("BREW", "/v1/health", "GET, HEAD, OPTIONS"),
        ("POST", "/v1/schedules/nightly", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("PATCH", "/v1/calendars/holidays", "DELETE, GET, HEAD, OPTIONS, PUT"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(
    api: ApiClient, method: str, path: str, allow: str
) -> None:
    response = api.send(method, path)
    assert (response.status, response.headers["allow"]) == (405, allow)
    assert response.json["type"] == "urn:hourhand:method_not_allowed"


def test_options_tell_the_methods_of_a_route(api: ApiClient) -> None:
    response = api.send("OPTIONS", "/v1/jobs")
    assert (response.status, response.text) == (204, "")
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"


def test_head_is_get_without_a_body(api: ApiClient) -> None:
    assert (api.send("HEAD", "/v1/stats").status, api.send("HEAD", "/v1/stats").text) == (200, "")
    assert api.send("HEAD", "/v1/jobs/nobody").status == 404


def test_no_answer_may_be_kept_by_a_cache_or_taken_for_another_type(api: ApiClient) -> None:
    for path in ("/v1/health", "/v1/jobs", "/v1/nothing"):
        headers = api.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


class _Broken:
    """A service each of whose methods fails with words that nobody else may read."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*_args: Any, **_kwargs: Any) -> Any:
            raise RuntimeError("secret words")

        return fail


def test_a_failure_of_our_own_tells_nothing_of_the_inside_and_is_logged(world: World) -> None:
    broken = replace(world.api, queries=_Broken())  # type: ignore[arg-type]
    response = ApiClient(create_app(broken)).get("/v1/stats")
    assert (response.status, response.json["type"]) == (500, "urn:hourhand:internal_error")
    assert "secret" not in response.text
    (line,) = world.telemetry.logs
    assert line.fields["error"] == "RuntimeError"
    assert "test_api_system.py" in line.fields["at"][-1]
    assert "secret" not in repr(line)


@pytest.mark.parametrize("absent", ["headers", "rawQueryString", "body", "isBase64Encoded"])
def test_an_event_may_lack_what_a_request_lacked(world: World, absent: str) -> None:
    event = load_event("http_api_jwt")
    event["rawQueryString"] = ""
    event.pop(absent, None)
    assert create_app(world.api)(event, None)["statusCode"] == 200


def test_paths_name_each_route_once() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
