"""What every Hourhand does, on the local cloud as deployed: each function is one rule.

They run side by side on one system, each with jobs of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from tests.acceptance.system import System

Scenario = Callable[[System], None]

LARGE_CHARACTERS = 300_000
"""Beyond what an item holds, so that it goes to the bucket."""

DELAY_SECONDS = 5.4


def outcomes(job: dict[str, Any]) -> list[str]:
    return [attempt["outcome"] for attempt in job["attempts"]]


def an_immediate_job_goes_all_the_way(system: System) -> None:
    job = system.run(handler="echo", payload={"grüße": [1, None]})
    assert job["result"] == {"grüße": [1, None]}
    assert outcomes(job) == ["SUCCEEDED"]
    assert job["lateness_ms"] >= 0
    assert system.events(job["id"])[0]["kind"] == "SUBMITTED"
    assert len(system.runs(job["id"])) == 1


def a_delayed_job_starts_no_earlier_than_its_time(system: System) -> None:
    job = system.run(handler="echo", delay_seconds=DELAY_SECONDS)
    assert job["lateness_ms"] >= 0
    assert job["started_at"] >= job["run_at"]
    assert len(system.runs(job["id"])) == 1


def a_job_beyond_the_look_ahead_is_sent_by_the_tick(system: System) -> None:
    ahead = system.look_ahead + timedelta(seconds=5)
    job = system.submit(handler="echo", delay_seconds=ahead.total_seconds())
    assert job["status"] == "PENDING"
    system.reach(job["id"], "ENQUEUED", "RUNNING", "SUCCEEDED")
    kinds = [(event["kind"], event["actor"]) for event in system.events(job["id"])]
    assert kinds[0][0] == "SUBMITTED"
    assert kinds[1] == ("ENQUEUED", "tick")
    system.operate(job["id"], "run-now")
    system.reach(job["id"], "SUCCEEDED")
    assert len(system.runs(job["id"])) == 1


def a_failing_job_is_tried_again(system: System) -> None:
    job = system.run(handler="fail-until", payload=3)
    assert outcomes(job) == ["FAILED", "FAILED", "SUCCEEDED"]
    assert job["result"] == 3
    first = job["attempts"][0]["error"]
    assert (first["type"], first["message"]) == (
        "ConnectionError",
        "attempt 1 found nobody there",
    )
    assert len(system.runs(job["id"])) == 3


def a_job_out_of_attempts_is_dead(system: System) -> None:
    retry = {"max_attempts": 2, "backoff": "fixed", "base_seconds": 0.1}
    job = system.run(ends="DEAD", handler="fail-until", payload=9, retry=retry)
    assert outcomes(job) == ["FAILED", "FAILED"]
    assert "found nobody there" in job["error"]["traceback"]
    assert len(system.runs(job["id"])) == 2


def a_job_that_is_not_retryable_is_dead_at_once_and_can_be_redriven(system: System) -> None:
    job = system.run(ends="DEAD", handler="refuse", tags={"group": unique("refused")})
    assert outcomes(job) == ["FAILED"]
    assert job["error"]["retryable"] is False
    # Encoded, since a signature covers what was meant.
    query = urlencode({"status": "DEAD", "tag": f"group:{job['tags']['group']}"})
    listed = system.api.get(f"/v1/jobs?{query}").body["jobs"]
    assert [found["id"] for found in listed] == [job["id"]]
    system.operate(job["id"], "redrive")
    system.wait(lambda: len(system.runs(job["id"])) == 2 or None, "a second run")
    again = system.reach(job["id"], "DEAD")
    assert outcomes(again) == ["FAILED", "FAILED"]


def a_poison_job_is_dead_by_the_tick_once_its_attempts_are_lost(system: System) -> None:
    retry = {"max_attempts": 1}
    job = system.run(ends="DEAD", handler="die-until", payload=9, retry=retry)
    assert outcomes(job) == ["LOST"]
    assert len(system.runs(job["id"])) == 1


def a_job_whose_process_died_is_run_by_another(system: System) -> None:
    job = system.run(handler="die-until", payload=2)
    assert outcomes(job) == ["LOST", "SUCCEEDED"]
    assert len(system.runs(job["id"])) == 2


def a_waiting_job_is_cancelled_and_never_runs(system: System) -> None:
    job = system.submit(handler="echo", delay_seconds=3)
    assert system.operate(job["id"], "cancel")["status"] == "CANCELLED"
    # Its message comes all the same; so does that of a later job, which proves that it has come.
    system.run(handler="echo", delay_seconds=5)
    assert system.job(job["id"])["status"] == "CANCELLED"
    assert system.runs(job["id"]) == []


def a_running_job_is_told_to_stop(system: System) -> None:
    job_id = system.submit(handler="wait-to-be-told", payload=120, timeout_seconds=150)["id"]
    system.reach(job_id, "RUNNING")
    assert system.operate(job_id, "cancel")["cancel_requested_at"] is not None
    assert outcomes(system.reach(job_id, "CANCELLED")) == ["CANCELLED"]


def the_same_idempotency_key_is_the_same_job(system: System) -> None:
    body = {"handler": "echo", "payload": 1, "idempotency_key": unique("order")}
    first = system.submit(**body)
    again = system.api.post("/v1/jobs", body)
    assert (again.status, again.body["id"]) == (200, first["id"])
    assert system.api.post("/v1/jobs", {**body, "payload": 2}).status == 409
    system.reach(first["id"], "SUCCEEDED")
    assert len(system.runs(first["id"])) == 1


def large_contents_are_kept_whole(system: System) -> None:
    text = "ü" * LARGE_CHARACTERS
    job = system.run(handler="echo", payload=text)
    assert job["payload"] == text
    assert job["result"] == text


def a_waiting_job_can_be_changed(system: System) -> None:
    job = system.submit(handler="echo", delay_seconds=200, payload="before")
    change = {"payload": "after", "delay_seconds": 0.5, "priority": "high"}
    changed = system.api.patch(f"/v1/jobs/{job['id']}", change)
    assert (changed.status, changed.body["priority"]) == (200, "high")
    assert system.reach(job["id"], "SUCCEEDED")["result"] == "after"
    assert len(system.runs(job["id"])) == 1


def a_batch_is_judged_job_by_job(system: System) -> None:
    good = {"handler": "echo", "payload": 1}
    jobs = [good, {"handler": "unheard-of"}, {**good, "priority": "high"}]
    results = system.api.post("/v1/jobs/batch", {"jobs": jobs}).body["results"]
    assert [next(iter(result)) for result in results] == ["job", "error", "job"]
    for result in (results[0], results[2]):
        system.reach(result["job"]["id"], "SUCCEEDED")


def a_run_has_children_and_returns_their_results(system: System) -> None:
    job = system.run(handler="collect", payload=[3, 7])
    assert job["result"] == [7, 3, 7]


def a_graph_runs_its_nodes_in_their_order(system: System) -> None:
    nodes = {
        "first": {"handler": "echo", "payload": 4},
        "then": {"handler": "echo", "after": ["first"], "payload": {"of": {"$result": "first"}}},
    }
    graph = system.api.post("/v1/graphs", {"nodes": nodes})
    assert graph.status == 201, graph.body
    system.reach(graph.body["id"], "SUCCEEDED")
    ran = system.api.get(f"/v1/graphs/{graph.body['id']}").body["nodes"]
    assert system.job(ran["then"]["job_id"])["result"] == {"of": 4}


def jobs_are_cancelled_in_bulk(system: System) -> None:
    group = unique("bulk")
    jobs = [
        system.submit(handler="echo", delay_seconds=200, tags={"group": group}) for _ in range(3)
    ]
    body = {"tag": f"group:{group}"}
    # A listing may show a job a moment after it was made.
    system.wait(
        lambda: (
            system.api.post("/v1/jobs/cancel", {**body, "dry_run": True}).body["matched"] == 3
            or None
        ),
        "all three in the listing",
    )
    done = system.api.post("/v1/jobs/cancel", body).body
    assert (done["changed"], done["failed"]) == (3, [])
    assert {system.job(job["id"])["status"] for job in jobs} == {"CANCELLED"}


def a_schedule_fires_until_it_is_deleted(system: System) -> None:
    schedule_id = unique("often")
    path = f"/v1/schedules/{schedule_id}"
    body = {"handler": "echo", "expression": system.rate, "overlap": "allow"}
    assert system.api.put(path, body).status == 201
    triggered = system.api.post(f"{path}/trigger", {}).body
    assert system.reach(triggered["id"], "SUCCEEDED")["schedule_id"] == schedule_id
    fired = system.wait(lambda: first_fired(system, schedule_id), f"{schedule_id} has fired")
    assert fired["reason"] is None
    job = system.reach(fired["job_id"], "SUCCEEDED")
    assert job["occurrence"] == fired["at"]
    assert system.api.delete(path).status == 204
    assert system.api.get(path).status == 404


def first_fired(system: System, schedule_id: str) -> dict[str, Any] | None:
    """Return the oldest occurrence whose nominal time has come."""
    page = system.api.get(f"/v1/schedules/{schedule_id}/occurrences?limit=200").body
    rows = [row for row in page["occurrences"] if row["kind"] == "schedule"]
    return rows[-1] if rows else None


def a_calendar_leaves_out_its_days(system: System) -> None:
    name = unique("holidays")
    assert system.api.put(f"/v1/calendars/{name}", {"exclude": ["2031-01-01"]}).status == 201
    schedule = {"handler": "echo", "expression": "cron(0 9 * * ? *)", "exclude": [name]}
    ask = {"schedule": schedule, "count": 2, "after": "2030-12-31T00:00:00Z"}
    fires = system.api.post("/v1/schedules/preview", ask).body["fires"]
    assert [fire["at"][:10] for fire in fires] == ["2030-12-31", "2031-01-02"]
    assert system.api.delete(f"/v1/calendars/{name}").status == 204


def what_is_refused_is_a_problem_that_names_the_field(system: System) -> None:
    answer = system.api.post("/v1/jobs", {"handler": "unheard-of"})
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == ["handler"]
    assert system.api.get("/v1/jobs/unheard-of").status == 404


def handlers_and_stats_are_told(system: System) -> None:
    names = {handler["name"] for handler in system.api.get("/v1/handlers").body["handlers"]}
    assert {"echo", "fail-until", "refuse"} <= names
    assert system.api.get("/v1/health").status == 200
    system.run(handler="echo")
    stats = system.wait(lambda: ticked(system), "a tick")
    assert stats["epoch"] >= 1
    assert stats["lateness"]["sample"] >= 1
    assert abs(stats["skew_ms"] or 0) < 5_000


def ticked(system: System) -> dict[str, Any] | None:
    stats = system.api.get("/v1/stats").body
    return stats if stats["last_tick_at"] is not None else None


def unique(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:12]}"


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        # The slowest first.
        a_poison_job_is_dead_by_the_tick_once_its_attempts_are_lost,
        a_job_whose_process_died_is_run_by_another,
        a_schedule_fires_until_it_is_deleted,
        a_job_beyond_the_look_ahead_is_sent_by_the_tick,
        a_running_job_is_told_to_stop,
        an_immediate_job_goes_all_the_way,
        a_delayed_job_starts_no_earlier_than_its_time,
        a_failing_job_is_tried_again,
        a_job_out_of_attempts_is_dead,
        a_job_that_is_not_retryable_is_dead_at_once_and_can_be_redriven,
        a_waiting_job_is_cancelled_and_never_runs,
        the_same_idempotency_key_is_the_same_job,
        large_contents_are_kept_whole,
        a_waiting_job_can_be_changed,
        a_batch_is_judged_job_by_job,
        a_run_has_children_and_returns_their_results,
        a_graph_runs_its_nodes_in_their_order,
        jobs_are_cancelled_in_bulk,
        a_calendar_leaves_out_its_days,
        what_is_refused_is_a_problem_that_names_the_field,
        handlers_and_stats_are_told,
    )
}
