"""Everything that people ask of an installation, and everything that befalls its jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

from hourhand.domain.jobs.job import JobStatus, OnLost
from hourhand.domain.schedules.journal import RING_ENTRIES
from hourhand.domain.schedules.schedule import JournalEntry
from hourhand.ports.schedule_store import JournalPage
from tests.infra.recorded_cloud import CALLER, RecordedCloud
from tests.world.factories import make_job

ITEM_BYTES = 2_000
OBJECT_BYTES = 300_000
OLD_PAGES = 4
OVERLAPS = ("skip", "buffer_one", "buffer_all", "cancel_other")
OFTEN = {"expression": "* * * * *", "handler": "greet", "payload": "x" * ITEM_BYTES}


def play(cloud: RecordedCloud) -> None:
    """Play all of it."""
    cloud.tick()
    jobs_of_all_kinds(cloud)
    operations(cloud)
    lost_and_owed(cloud)
    paused_handlers(cloud)
    quotas(cloud)
    limited_handlers(cloud)
    durable_runs(cloud)
    children(cloud)
    graphs_and_batches(cloud)
    schedules_and_calendars(cloud)
    shards_in_batches(cloud)
    questions(cloud)


def submit(cloud: RecordedCloud, handler: str = "greet", **body: Any) -> str:
    job: dict[str, Any] = cloud.api("POST", "/v1/jobs", {"handler": handler, **body})
    return str(job["id"])


def status_of(cloud: RecordedCloud, job_id: str) -> str:
    return str(cloud.api("GET", f"/v1/jobs/{job_id}")["status"])


def jobs_of_all_kinds(cloud: RecordedCloud) -> None:
    expected = {
        submit(cloud): "SUCCEEDED",
        submit(cloud, idempotency_key="once", tenant="a"): "SUCCEEDED",
        submit(cloud, id="same", payload="x" * ITEM_BYTES): "SUCCEEDED",
        submit(cloud, payload="x" * OBJECT_BYTES): "SUCCEEDED",
        submit(cloud, "answer-at-length", payload=ITEM_BYTES): "SUCCEEDED",
        submit(cloud, "answer-at-length", payload=OBJECT_BYTES): "SUCCEEDED",
        submit(cloud, "fail", payload="x" * ITEM_BYTES): "DEAD",
        submit(cloud, "give-up", payload="x" * OBJECT_BYTES, idempotency_key="twice"): "DEAD",
        submit(cloud, "take-long"): "SUCCEEDED",
        submit(cloud, delay_seconds=30): "SUCCEEDED",
    }
    for priority in ("high", "medium", "low"):
        expected[submit(cloud, "fail", priority=priority)] = "DEAD"
        expected[submit(cloud, delay_seconds=400, priority=priority)] = "SUCCEEDED"
    # Again, as after a lost answer.
    submit(cloud, id="same", payload="x" * ITEM_BYTES)
    submit(cloud, idempotency_key="once", tenant="a")
    cloud.api("POST", "/v1/jobs/batch", {"jobs": [{"handler": "greet"}, {"handler": "greet"}]})
    batching = cloud.function("api", HOURHAND_DISPATCH="batch")
    cloud.api("POST", "/v1/jobs/batch", {"jobs": [{"handler": "greet"}] * 3}, by=batching)
    cloud.minutes(9)
    assert {job_id: status_of(cloud, job_id) for job_id in expected} == expected
    cloud.api("GET", f"/v1/jobs/{next(iter(expected))}/logs")


def operations(cloud: RecordedCloud) -> None:
    later = [
        submit(cloud, delay_seconds=4_000, payload="x" * size)
        for size in (10, ITEM_BYTES, OBJECT_BYTES, OBJECT_BYTES + 1)
    ]
    cloud.api("PATCH", f"/v1/jobs/{later[0]}", {"delay_seconds": 5, "priority": "high"})
    cloud.api("PATCH", f"/v1/jobs/{later[1]}", {"payload": "y" * OBJECT_BYTES})
    cloud.api("PATCH", f"/v1/jobs/{later[2]}", {"payload": "z"})
    cloud.api("POST", f"/v1/jobs/{later[1]}/run-now", {})
    cloud.api("POST", f"/v1/jobs/{later[3]}/cancel", {})
    cloud.api("POST", f"/v1/jobs/{later[3]}/redrive", {})
    cloud.api("POST", "/v1/jobs/cancel", {"handler": "greet", "status": "PENDING"})
    cloud.api("POST", "/v1/jobs/redrive", {"handler": "give-up", "expected_count": 900})
    cloud.minutes(2)
    cloud.api("POST", "/v1/jobs/discard", {"handler": "give-up", "note": "known"})
    cloud.api("GET", "/v1/jobs?idempotency_key=once&tenant=a")


def lost_and_owed(cloud: RecordedCloud) -> None:
    """Attempts whose process died, a message that SQS lost, and dead letters not sent yet."""
    # Not longer ago than the watermark, or only a deep read would find them.
    then = cloud.now() - timedelta(minutes=2)
    common: dict[str, Any] = {"created_at": then, "handler": "greet"}
    running: dict[str, Any] = {"status": JobStatus.RUNNING, "lease_until": then, **common}
    owed: dict[str, Any] = {"status": JobStatus.DEAD, "due_at": then, **common}
    waiting: dict[str, Any] = {"status": JobStatus.ENQUEUED, **common}
    for job in (
        make_job(id="lost", **running),
        make_job(id="lost-for-good", on_lost=OnLost.DEAD, **running),
        make_job(id="owed-to-the-tick", **owed),
        make_job(id="owed-to-the-api", **owed),
        make_job(id="missed", **waiting),
        make_job(id="too-late", expires_at=then + timedelta(minutes=1), **waiting),
    ):
        cloud.jobs.put(job)
    cloud.api("POST", "/v1/jobs/owed-to-the-api/redrive", {})
    expires_at = (cloud.now() + timedelta(seconds=30)).isoformat()
    large = submit(cloud, delay_seconds=20, expires_at=expires_at, payload="x" * OBJECT_BYTES)
    cloud.advance(40)
    cloud.minutes(3)
    assert status_of(cloud, large) == "EXPIRED"
    cloud.api("POST", "/v1/jobs/lost-for-good/discard", {"note": "seen"})
    ended = ("lost", "lost-for-good", "owed-to-the-tick", "missed", "too-late")
    assert [status_of(cloud, job_id) for job_id in ended] == [
        "SUCCEEDED",
        "DEAD",
        "DEAD",
        "SUCCEEDED",
        "EXPIRED",
    ]


def paused_handlers(cloud: RecordedCloud) -> None:
    """Jobs that wait for the end of a pause: cancelled, expired, resumed, and woken by a tick."""
    expires_at = (cloud.now() + timedelta(seconds=20)).isoformat()
    expiring = submit(cloud, expires_at=expires_at)
    cancelled, resumed = submit(cloud), submit(cloud)
    cloud.api("POST", "/v1/handlers/greet/pause", {"note": "a rehearsal"})
    cloud.deliver()
    assert cloud.api("GET", f"/v1/jobs/{resumed}")["waits_for"]["limit"] == "greet.pause"
    cloud.api("POST", f"/v1/jobs/{cancelled}/cancel", {})
    cloud.advance(25)
    cloud.send_again(expiring)
    cloud.deliver()
    cloud.api("POST", "/v1/handlers/greet/resume", {})
    until = (cloud.now() + timedelta(minutes=2)).isoformat()
    woken = submit(cloud)
    cloud.api("POST", "/v1/handlers/greet/pause", {"until": until})
    cloud.deliver()
    cloud.minutes(7)
    ended = {job_id: status_of(cloud, job_id) for job_id in (expiring, cancelled, resumed, woken)}
    assert list(ended.values()) == ["EXPIRED", "CANCELLED", "SUCCEEDED", "SUCCEEDED"]
    cloud.api("GET", "/v1/audit?handler=greet")


def quotas(cloud: RecordedCloud) -> None:
    """Quotas of a tenant and of a caller, whose live jobs a tick counts."""
    cloud.api("PUT", "/v1/quotas/tenant/acme", {"accepted_per_minute": 100})
    cloud.api("PUT", f"/v1/quotas/caller/{quote(CALLER, safe='')}", {"live": 100})
    job = cloud.api("POST", "/v1/jobs", {"handler": "greet", "tenant": "acme"})["id"]
    cloud.minutes(1)
    cloud.deliver()
    assert status_of(cloud, job) == "SUCCEEDED"
    assert len(cloud.api("GET", "/v1/quotas")["quotas"]) == 2
    cloud.api("DELETE", "/v1/quotas/tenant/acme")
    cloud.api("DELETE", f"/v1/quotas/caller/{quote(CALLER, safe='')}")


def limited_handlers(cloud: RecordedCloud) -> None:
    """Jobs that wait for a slot: cancelled, or started when one is free, or freed by hand."""
    cloud.api("PUT", "/v1/limits/narrow.1", {"max": 0})
    waiting, cancelled = submit(cloud, "narrow"), submit(cloud, "narrow")
    cloud.deliver()
    assert cloud.api("GET", f"/v1/jobs/{waiting}")["waits_for"]["limit"] == "narrow.1"
    assert cloud.api("GET", "/v1/limits/narrow.1")["waiting"] == 2
    cloud.api("POST", f"/v1/jobs/{cancelled}/cancel", {})
    cloud.minutes(3)
    cloud.api("DELETE", "/v1/limits/narrow.1")
    cloud.deliver()
    at_once = submit(cloud, "narrow")
    cloud.deliver()
    ended = [status_of(cloud, job_id) for job_id in (waiting, cancelled, at_once)]
    assert ended == ["SUCCEEDED", "CANCELLED", "SUCCEEDED"]
    cloud.api("GET", "/v1/limits")
    submit(cloud, "paced")
    paced = submit(cloud, "paced")
    cloud.deliver()
    cloud.deliver()
    cloud.api("PUT", "/v1/limits/paced.1", {"max": 60})
    cloud.api("POST", "/v1/limits/paced.1/retime", {})
    cloud.api("POST", f"/v1/jobs/{paced}/cancel", {})
    keeper = submit(cloud, "keep")
    cloud.deliver()
    blocked = submit(cloud, "keep")
    cloud.deliver()
    assert status_of(cloud, blocked) == "ENQUEUED"
    cloud.api("POST", "/v1/limits/keep.1/free", {"job_id": keeper})
    cloud.deliver()
    assert status_of(cloud, blocked) == "DEAD"


def durable_runs(cloud: RecordedCloud) -> None:
    """Runs with results of all sizes that wait; one succeeds, and one fails and is reversed."""
    ends = {"succeed": {"result": "paid"}, "fail": {"error": {"type": "Refused", "message": "no"}}}
    runs = {}
    for end, body in ends.items():
        runs[end] = run = submit(cloud, "order")
        cloud.deliver()
        cloud.api("POST", f"/v1/jobs/{run}/signals/approved", {"payload": "x" * OBJECT_BYTES})
        cloud.deliver()
        steps = cloud.api("GET", f"/v1/jobs/{run}/steps")["steps"]
        token = next(step["result"] for step in steps if step["path"] == "send")
        cloud.api("POST", f"/v1/callbacks/{token}/heartbeat", {})
        cloud.api("POST", f"/v1/callbacks/{token}/{end}", body)
        cloud.minutes(2)
        cloud.api("GET", f"/v1/jobs/{run}/journal")
    ended = {end: status_of(cloud, run) for end, run in runs.items()}
    assert ended == {"succeed": "SUCCEEDED", "fail": "DEAD"}
    reversals = cloud.api("GET", "/v1/jobs?handler=hourhand.compensation")["jobs"]
    assert [job["status"] for job in reversals] == ["SUCCEEDED"]


def children(cloud: RecordedCloud) -> None:
    """A run that waits for its children, and one that fails and cancels them."""
    batching = cloud.function("worker", HOURHAND_DISPATCH="batch")
    runs = [submit(cloud, "spread", payload=fails) for fails in (None, True)]
    for _ in range(3):
        cloud.deliver(by=batching)
    assert [status_of(cloud, run) for run in runs] == ["SUCCEEDED", "DEAD"]


def graphs_and_batches(cloud: RecordedCloud) -> None:
    """A graph that fails and is rerun, a batch with callbacks, and an open one that is filled."""
    large = {"handler": "answer-at-length", "payload": OBJECT_BYTES}
    nodes = {
        "large": large,
        "reader": {"handler": "greet", "payload": {"$result": "large"}, "after": ["large"]},
        "map": {"map": {"over": [1, 2], "handler": "greet"}},
        "dead": {"handler": "give-up"},
        "skipped": {"handler": "greet", "after": ["dead"]},
    }
    cloud.api("POST", "/v1/graphs", {"nodes": nodes, "id": "graph"})
    members = [{"handler": "greet", "payload": "x" * OBJECT_BYTES}, {"handler": "greet"}]
    callbacks = {name: {"handler": "greet"} for name in ("on_success", "on_complete")}
    for batch, is_open in (("batch", False), ("opened", True)):
        body = {"jobs": members, "open": is_open, **callbacks}
        cloud.api("POST", "/v1/batches", {"id": batch, **body})
    for _ in range(5):
        cloud.deliver()
    cloud.api("POST", "/v1/batches/opened/jobs", {"first_index": 2, "jobs": members})
    cloud.api("POST", "/v1/batches/opened/close", {"total": 4})
    cloud.minutes(3)
    graph = cloud.api("GET", "/v1/graphs/graph")
    assert {name: node["status"] for name, node in graph["nodes"].items()} == {
        "large": "SUCCEEDED",
        "reader": "SUCCEEDED",
        "map": "SUCCEEDED",
        "dead": "DEAD",
        "skipped": "SKIPPED",
    }
    for batch in ("batch", "opened"):
        assert cloud.api("GET", f"/v1/batches/{batch}")["status"] == "succeeded"
        cloud.api("GET", f"/v1/jobs/{batch}/children?status=SUCCEEDED")
    cloud.api("POST", "/v1/graphs/graph/rerun", {"from": ["dead"], "dry_run": True})
    cloud.api("POST", "/v1/graphs/graph/rerun", {"from": ["dead"]})
    cloud.minutes(2)
    assert cloud.api("GET", "/v1/graphs/graph")["status"] == "DEAD"


def schedules_and_calendars(cloud: RecordedCloud) -> None:
    cloud.api("PUT", "/v1/calendars/holidays", {"exclude": ["2030-01-01"]})
    often = {**OFTEN, "exclude": ["holidays"], "keep": {"succeeded": 1, "failed": 1}}
    cloud.api("PUT", "/v1/schedules/often", often)
    all_missed = {**OFTEN, "misfire": {"policy": "all", "window_seconds": 86_400}}
    cloud.api("PUT", "/v1/schedules/all-missed", all_missed)
    failing = {**OFTEN, "handler": "give-up", "pause_on_failure": True}
    cloud.api("PUT", "/v1/schedules/failing", failing)
    for overlap in OVERLAPS:
        slow = {**OFTEN, "handler": "fail-slowly", "overlap": overlap}
        cloud.api("PUT", f"/v1/schedules/{overlap}", slow)
    cloud.api("POST", "/v1/schedules/preview", {"schedule": OFTEN})
    cloud.minutes(7)
    assert cloud.api("GET", "/v1/schedules/failing")["status"] == "paused"
    for schedule in ("failing", "all-missed", *OVERLAPS):
        cloud.api("DELETE", f"/v1/schedules/{schedule}")
    a_long_history(cloud, often)
    changes(cloud, often)
    for target in (
        "schedules",
        "schedules/often",
        "schedules/often/occurrences?limit=200",
        "schedules/often/grid",
    ):
        cloud.api("GET", f"/v1/{target}")
    for target in ("calendars", "calendars/holidays"):
        cloud.api("GET", f"/v1/{target}")
    cloud.api("DELETE", "/v1/schedules/often")
    cloud.api("DELETE", "/v1/calendars/holidays")
    cloud.minutes(2)


def a_long_history(cloud: RecordedCloud, often: dict[str, Any]) -> None:
    """Pages of long ago, and no workers for a while; then a change: only pages tell what holds."""
    for days in range(1, OLD_PAGES + 1):
        then = cloud.now() - timedelta(days=days)
        page = JournalPage(entries=(JournalEntry(first=then, last=then),))
        cloud.schedules.put_journal_page("often", page)
    for _ in range(RING_ENTRIES):
        cloud.tick()
        cloud.advance(60)
    cloud.api("PUT", "/v1/schedules/often", {**often, "payload": "changed"})
    cloud.minutes(2)


def changes(cloud: RecordedCloud, often: dict[str, Any]) -> None:
    cloud.api("POST", "/v1/schedules/often/trigger", {})
    first = (cloud.now() - timedelta(days=2)).replace(second=0, microsecond=0)
    asked = {"from": first.isoformat(), "to": (first + timedelta(minutes=9)).isoformat()}
    cloud.api("POST", "/v1/schedules/often/backfill", asked)
    for verb in ("pause", "resume", "cancel"):
        cloud.api("POST", f"/v1/schedules/often/backfills/1/{verb}", {})
    cloud.api("GET", "/v1/schedules/often/backfills")
    cloud.minutes(4)
    cloud.api("PUT", "/v1/calendars/holidays", {"exclude": ["2030-01-02"]})
    cloud.api("PUT", "/v1/schedules/often", {**often, "payload": "other"})
    cloud.minutes(3)
    cloud.api("POST", "/v1/schedules/often/pause", {})
    cloud.api("POST", "/v1/schedules/often/resume", {})


def shards_in_batches(cloud: RecordedCloud) -> None:
    """More than one invocation should do, and marks that are made many at a time."""
    busy = cloud.function("scheduler", HOURHAND_FAN_OUT_ENTRIES="1", HOURHAND_DISPATCH="batch")
    cloud.schedule(busy, {"hourhand_resize": {"shards": 2}})
    cloud.advance(600)
    for _ in range(12):
        submit(cloud, delay_seconds=400)
    cloud.advance(200)
    for _ in range(3):
        cloud.schedule(busy, {"source": "aws.events"})
        cloud.advance(60)
    assert cloud.calls.invocations
    for event in cloud.calls.invocations:
        cloud.schedule(busy, event)


def questions(cloud: RecordedCloud) -> None:
    job_id = submit(cloud)
    # Another process does not remember the callers of this one.
    for target in (
        f"jobs/{job_id}/events",
        "audit?caller=local",
        "audit?from=2026-01-01T00:00:00Z",
    ):
        cloud.api("GET", f"/v1/{target}", by=cloud.function("api"))
    for target in (
        f"jobs/{job_id}",
        f"jobs/{job_id}/events",
        "dead-letters/groups",
        "jobs",
        "jobs?status=DEAD",
        "stats",
        "resweep",
        "handlers",
        "handlers/greet",
        "health",
        "openapi.json",
        "docs",
    ):
        cloud.api("GET", f"/v1/{target}")
    cloud.api("POST", "/v1/resweep", {"since": (cloud.now() - timedelta(hours=2)).isoformat()})
    cloud.minutes(2)
