"""What people ask of an installation and what befalls its jobs, in small scenes.

Together they make every call that the functions make; each is played again for every fault of the
calls that it is the first to make. A scene ends with everything at rest.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hourhand.domain.jobs.job import EventKind, JobStatus, OnLost
from hourhand.domain.schedules.journal import RING_ENTRIES
from hourhand.domain.schedules.schedule import JournalEntry
from hourhand.ports.schedule_store import JournalPage
from proof.wire.handlers import ledger
from proof.wire.run_scenes import a_batch, a_graph, children, children_in_batches
from proof.wire.stage import ITEM_BYTES, OBJECT_BYTES, Scene, Stage
from tests.world.factories import make_event

OLD_PAGES = 4
OFTEN = {"expression": "*/2 * * * *", "handler": "wire-greet", "payload": "x" * 300}
SHARD_COUNTS = 2
MOST_REPEATS = 12
"""Of a request for many jobs, each of which does what it has time for."""


def a_job(stage: Stage) -> None:
    stage.submit("at-once", "SUCCEEDED")
    stage.submit("at-once", "SUCCEEDED")
    key = stage.name("key")
    keyed = {"handler": "wire-greet", "idempotency_key": key, "tenant": "a"}
    for _ in range(2):
        answer = stage.world.api("POST", "/v1/jobs", keyed)
        stage.ends[answer["id"]] = "SUCCEEDED"
    batch = [{"handler": "wire-greet", "id": stage.name(f"batch-{n}")} for n in range(2)]
    stage.world.api("POST", "/v1/jobs/batch", {"jobs": batch})
    stage.ends.update({str(one["id"]): "SUCCEEDED" for one in batch})
    stage.world.deliver()


def contents(stage: Stage) -> None:
    for name, size in (("text", ITEM_BYTES), ("object", OBJECT_BYTES)):
        stage.submit(name, "SUCCEEDED", payload="x" * size)
        stage.submit(f"long-{name}", "SUCCEEDED", "wire-answer-at-length", payload=size)
    stage.world.deliver()


def failures(stage: Stage) -> None:
    stage.submit("failing", "DEAD", "wire-fail", payload="x" * ITEM_BYTES)
    stage.submit(
        "hopeless", "DEAD", "wire-give-up", payload="x" * OBJECT_BYTES, idempotency_key=None
    )
    stage.submit("keyed", "DEAD", "wire-give-up", tags={"a": "b"})
    for _ in range(2):
        stage.world.deliver()
        stage.world.advance(2)


def a_heartbeat(stage: Stage) -> None:
    ledger.begin()
    stage.submit("long", "SUCCEEDED", "wire-take-long")
    stage.world.deliver()


def later(stage: Stage) -> None:
    for priority in ("high", "low"):
        stage.submit(f"later-{priority}", "SUCCEEDED", delay_seconds=330, priority=priority)
    stage.world.tick()
    stage.world.advance(60)
    stage.world.tick()
    stage.world.advance(280)
    stage.world.deliver()


def lost_and_owed(stage: Stage) -> None:
    """Attempts whose process died, a message that SQS lost, and dead letters not sent yet."""
    world = stage.world
    then = world.now() - timedelta(minutes=2)
    running: dict[str, Any] = {
        "status": JobStatus.RUNNING,
        "lease_until": then,
        "created_at": then,
    }
    waiting: dict[str, Any] = {"status": JobStatus.ENQUEUED, "created_at": then}
    stage.put("lost", "SUCCEEDED", **running)
    stage.put("lost-for-good", "DEAD", on_lost=OnLost.DEAD, **running)
    dead: dict[str, Any] = {
        "status": JobStatus.DEAD,
        "due_at": then,
        "created_at": then,
        "finished_at": then,
        "history": (make_event(kind=EventKind.FAILED, at=then, status=JobStatus.DEAD),),
    }
    stage.put("owed", "DEAD", **dead)
    owed = stage.put("owed-to-the-api", "SUCCEEDED", **dead)
    for size in (ITEM_BYTES, OBJECT_BYTES):
        name = f"owed-with-{size}"
        text = json.dumps("x" * size)
        payload = world.contents.keep_payload(stage.name(name), text, then + timedelta(days=1))
        stage.put(name, "DEAD", payload=payload, **dead)
    stage.put("missed", "SUCCEEDED", **waiting)
    stage.put("too-late", "EXPIRED", expires_at=then + timedelta(minutes=1), **waiting)
    world.api("POST", f"/v1/jobs/{owed}/redrive", {})
    for _ in range(2):
        world.tick()
        world.deliver()
        world.advance(60)


def too_late(stage: Stage) -> None:
    """Jobs that expire: some as a worker receives them, some as a tick finds them."""
    for finder in (stage.world.deliver, stage.world.tick):
        expires_at = (stage.world.now() + timedelta(seconds=30)).isoformat()
        for size in (ITEM_BYTES, OBJECT_BYTES):
            stage.submit(
                f"expires-{finder.__name__}-{size}",
                "EXPIRED",
                delay_seconds=20,
                expires_at=expires_at,
                payload="x" * size,
            )
        stage.world.advance(40)
        finder()


def operations(stage: Stage) -> None:
    world = stage.world
    sizes = (10, ITEM_BYTES, OBJECT_BYTES, OBJECT_BYTES + 1)
    jobs = [
        stage.submit(f"changed-{n}", "SUCCEEDED", delay_seconds=4_000, payload="x" * size)
        for n, size in enumerate(sizes)
    ]
    world.api("PATCH", f"/v1/jobs/{jobs[0]}", {"delay_seconds": 5, "priority": "high"})
    world.api("PATCH", f"/v1/jobs/{jobs[1]}", {"payload": "y" * OBJECT_BYTES})
    world.api("PATCH", f"/v1/jobs/{jobs[2]}", {"payload": "z"})
    for job_id in jobs[1:3]:
        world.api("POST", f"/v1/jobs/{job_id}/run-now", {})
    world.api("POST", f"/v1/jobs/{jobs[3]}/cancel", {})
    world.api("POST", f"/v1/jobs/{jobs[3]}/redrive", {})
    world.advance(6)
    world.deliver()


def many_at_once(stage: Stage) -> None:
    world = stage.world
    tags, tag = {"play": str(stage.number)}, f"play:{stage.number}"
    for n in range(2):
        stage.submit(f"unwanted-{n}", "CANCELLED", delay_seconds=4_000, tags=tags)
    stage.submit("dead", "DEAD", "wire-give-up", tags=tags)
    world.deliver()
    for _ in range(MOST_REPEATS):
        # What failed, or what there was no time for, is left as it was; it is asked for again.
        asked = {"handler": "wire-greet", "status": "PENDING", "tag": tag}
        world.api("POST", "/v1/jobs/cancel", asked)
        if not any(job_id in stage.ends for job_id in world.pending()):
            break
    world.api("POST", "/v1/jobs/redrive", {"handler": "wire-give-up", "tag": tag})
    world.deliver()


def callers(stage: Stage) -> None:
    """Somebody new acts, and an API that does not know them yet tells of it."""
    world = stage.world
    job_id = stage.submit("unwanted", "CANCELLED", delay_seconds=4_000)
    caller = f"arn:aws:iam::111122223333:user/number-{stage.number}"
    world.api("POST", f"/v1/jobs/{job_id}/cancel", {}, caller=caller)
    world.api("GET", f"/v1/jobs/{job_id}/events", by=world.function("api"))


def quotas(stage: Stage) -> None:
    """A tick counts the live jobs of a caller whom the scheduler does not know yet."""
    world, caller = stage.world, f"arn:aws:iam::111122223333:user/bounded-{stage.number}"
    quota = f"/v1/quotas/caller/{caller}"
    world.api("PUT", quota, {"live": 1_000, "accepted_per_minute": 1_000})
    # Until then the API goes by what it read.
    world.advance(40)
    job = world.api("POST", "/v1/jobs", {"handler": "wire-greet"}, caller=caller)
    stage.ends[job["id"]] = "SUCCEEDED"
    world.minute()
    world.api("DELETE", quota)
    world.advance(40)
    world.settle()


def questions(stage: Stage) -> None:
    job_id = stage.submit("asked-of", "DEAD", "wire-give-up", payload="x" * OBJECT_BYTES)
    stage.world.deliver()
    for target in (
        f"jobs/{job_id}",
        f"jobs/{job_id}/events",
        f"jobs/{job_id}/logs",
        "dead-letters/groups",
        "jobs",
        "jobs?status=DEAD",
        "stats",
        "resweep",
        "health",
        "schedules",
        "calendars",
    ):
        stage.world.api("GET", f"/v1/{target}")
    # From an earlier time in each play: a request from a later one would write nothing.
    since = stage.world.now() - timedelta(minutes=30 * stage.number)
    stage.world.api("POST", "/v1/resweep", {"since": since.isoformat()})


def a_schedule(stage: Stage) -> None:
    world = stage.world
    calendar, schedule = stage.name("holidays"), stage.name("often")
    world.api("PUT", f"/v1/calendars/{calendar}", {"exclude": ["2040-01-01"]})
    often = {**OFTEN, "exclude": [calendar], "keep": {"succeeded": 1, "failed": 1}}
    world.api("PUT", f"/v1/schedules/{schedule}", often)
    for _ in range(2):
        world.minute()
    world.api("PUT", f"/v1/calendars/{calendar}", {"exclude": ["2040-01-02"]})
    world.api("PUT", f"/v1/schedules/{schedule}", {**often, "payload": "other"})
    world.minute()
    world.api("POST", f"/v1/schedules/{schedule}/pause", {})
    world.api("POST", f"/v1/schedules/{schedule}/resume", {})
    world.minute()
    _end_schedule(stage, schedule)
    world.api("DELETE", f"/v1/calendars/{calendar}")


def a_long_history(stage: Stage) -> None:
    """More nominal times than a schedule's own item tells of, and pages of long ago."""
    world, schedule = stage.world, stage.name("dense")
    keep = {"succeeded": 1, "failed": 1}
    world.api("PUT", f"/v1/schedules/{schedule}", {**OFTEN, "keep": keep})
    for days in range(1, OLD_PAGES + 1):
        then = world.now() - timedelta(days=days)
        page = JournalPage(entries=(JournalEntry(first=then, last=then),))
        world.schedules.put_journal_page(schedule, page)
    stored = world.schedules.get(schedule)
    assert stored is not None
    past = [world.now() - timedelta(hours=1, minutes=n) for n in range(RING_ENTRIES + 1, 0, -1)]
    written = replace(
        stored,
        sequence=stored.sequence + 1,
        journal=tuple(JournalEntry(first=then, last=then) for then in past),
    )
    world.schedules.write(written, previous=stored.sequence)
    world.advance(240)
    world.tick()
    world.api("DELETE", f"/v1/schedules/{schedule}")


def a_pause(stage: Stage) -> None:
    """Jobs that wait for the end of a pause: one expires, a resume sends one, and a tick one."""
    world, pause = stage.world, "/v1/handlers/wire-wait/pause"
    # A worker that cannot read the pauses may start it: no end of it is sure.
    expiring = stage.name("expires-in-a-pause")
    expires_at = (world.now() + timedelta(seconds=30)).isoformat()
    asked = {"id": expiring, "handler": "wire-wait", "expires_at": expires_at}
    world.api("POST", "/v1/jobs", asked)
    resumed = stage.submit("resumed", "SUCCEEDED", "wire-wait")
    world.api("POST", pause, {})
    world.deliver()
    world.api("GET", f"/v1/jobs/{resumed}")
    world.advance(40)
    world.send_again(expiring)
    world.deliver()
    world.api("POST", "/v1/handlers/wire-wait/resume", {})
    world.deliver()
    stage.submit("woken", "SUCCEEDED", "wire-wait")
    world.api("POST", pause, {"until": (world.now() + timedelta(minutes=2)).isoformat()})
    # Until then the worker goes by what it read.
    world.advance(40)
    world.deliver()
    world.settle()
    world.api("GET", "/v1/audit?handler=wire-wait")


def limits(stage: Stage) -> None:
    """Jobs that wait for a slot and for a start time, and two submissions of one unique key."""
    world, limit = stage.world, "/v1/limits/wire-limited.1"
    world.api("PUT", limit, {"max": 0})
    # Until then the worker goes by what it read.
    world.advance(40)
    for name in ("granted", "reserved"):
        stage.submit(name, "SUCCEEDED", "wire-limited", tenant=stage.name("tenant"))
    world.deliver()
    world.api("GET", limit)
    # The second sweep looks at the queue, and at the job that is its first.
    for _ in range(2):
        world.minute()
    world.api("DELETE", limit)
    world.advance(40)
    world.deliver()
    # One job has started. The other waits for its start time, and gets another one.
    world.api("POST", "/v1/limits/wire-limited.2/retime", {"key": stage.name("tenant")})
    world.advance(45)
    world.deliver()
    for _ in range(2):
        keyed = {"handler": "wire-unique", "payload": {"key": stage.name("key")}}
        stage.ends[world.api("POST", "/v1/jobs", keyed)["id"]] = "SUCCEEDED"
    world.deliver()
    world.settle()


def from_long_ago(stage: Stage) -> None:
    """Jobs from before a schedule's change, of which only the pages of its journal tell."""
    world, schedule = stage.world, stage.name("changed")
    world.api("PUT", f"/v1/schedules/{schedule}", {**OFTEN, "expression": "0 0 1 1 *"})
    noted = world.now().replace(microsecond=0) - timedelta(days=1)
    page = JournalPage(entries=(JournalEntry(first=noted, last=noted),))
    world.schedules.put_journal_page(schedule, page)
    then = world.now() - timedelta(minutes=2)
    for name, end, nominal in (
        ("noted", "SUCCEEDED", noted),
        ("passed-over", "CANCELLED", noted + timedelta(hours=1)),
    ):
        stage.put(
            name,
            end,
            status=JobStatus.ENQUEUED,
            created_at=then,
            schedule_id=schedule,
            schedule_revision=0,
            occurrence=nominal,
        )
    world.tick()
    world.deliver()
    # A job whose message is still to come again would be withdrawn with its schedule.
    world.settle()
    world.api("DELETE", f"/v1/schedules/{schedule}")


def extra_runs(stage: Stage) -> None:
    world, schedule = stage.world, stage.name("extra")
    all_missed = {"policy": "all", "window_seconds": 86_400}
    yearly = {**OFTEN, "expression": "0 0 1 1 *", "misfire": all_missed}
    world.api("PUT", f"/v1/schedules/{schedule}", yearly)
    world.api("POST", f"/v1/schedules/{schedule}/trigger", {})
    first = world.now().replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    asked = {
        "from": (first - timedelta(days=1)).isoformat(),
        "to": (first + timedelta(days=1)).isoformat(),
    }
    world.api("POST", f"/v1/schedules/{schedule}/backfill", asked)
    for _ in range(2):
        world.minute()
    world.api("GET", f"/v1/schedules/{schedule}/occurrences?limit=200")
    world.api("DELETE", f"/v1/schedules/{schedule}")


def overlaps(stage: Stage) -> None:
    world = stage.world
    names = {overlap: stage.name(overlap) for overlap in ("buffer_all", "cancel_other")}
    for overlap, schedule in names.items():
        slow = {**OFTEN, "handler": "wire-fail-slowly", "overlap": overlap}
        world.api("PUT", f"/v1/schedules/{schedule}", slow)
    failing = stage.name("pausing")
    once = {**OFTEN, "handler": "wire-give-up", "pause_on_failure": True}
    world.api("PUT", f"/v1/schedules/{failing}", once)
    for _ in range(4):
        world.minute()
    for schedule in (*names.values(), failing):
        world.api("DELETE", f"/v1/schedules/{schedule}")


def _end_schedule(stage: Stage, schedule: str) -> None:
    world = stage.world
    answer = world.api("GET", f"/v1/schedules/{schedule}/occurrences?limit=200")
    stage.windows.append((schedule, answer))
    world.api("DELETE", f"/v1/schedules/{schedule}")


def shards_in_batches(stage: Stage) -> None:
    """More than one invocation should do, and marks that are made many at a time."""
    world = stage.world
    busy = world.busy_scheduler()
    for _ in range(3):
        before = world.events.ticks_failed
        world.tick(busy, {"hourhand_resize": {"shards": SHARD_COUNTS + stage.number % 2}})
        if world.events.ticks_failed == before:
            break
    world.advance(600)
    for n in range(6):
        stage.submit(f"shard-{n}", "SUCCEEDED", delay_seconds=400)
    world.advance(200)
    for _ in range(2):
        world.tick(busy)
        for event in world.wire.take_invocations():
            world.tick(busy, event)
        world.advance(60)
    world.advance(150)
    world.deliver()


def puts_in_batches(stage: Stage) -> None:
    """More jobs than one call of DynamoDB takes, some of them twice; repeated until all are in."""
    world = stage.world
    jobs = [{"handler": "wire-greet", "id": stage.name(f"row-{n}")} for n in range(27)]
    stage.ends.update({str(job["id"]): "SUCCEEDED" for job in jobs})
    for _ in range(MOST_REPEATS):
        asked = {"jobs": [*jobs, jobs[0], jobs[26]]}
        answer = world.api("POST", "/v1/jobs/batch", asked, by=world.batching("api"))
        if not any("error" in result for result in answer["results"]):
            break
        world.advance(2)
    world.deliver()


SCENES = (
    Scene("a job", a_job),
    Scene("contents", contents),
    Scene("failures", failures),
    Scene("a heartbeat", a_heartbeat),
    Scene("too late", too_late),
    Scene("operations", operations),
    Scene("many at once", many_at_once),
    Scene("callers", callers),
    Scene("quotas", quotas),
    Scene("questions", questions),
    Scene("later", later),
    Scene("lost and owed", lost_and_owed),
    Scene("a pause", a_pause),
    Scene("limits", limits),
    Scene("from long ago", from_long_ago),
    Scene("extra runs", extra_runs),
    Scene("a long history", a_long_history),
    Scene("a schedule", a_schedule),
    Scene("overlaps", overlaps),
    Scene("children", children),
    Scene("a graph", a_graph),
    Scene("a batch", a_batch),
    Scene("shards in batches", shards_in_batches, needs_batches=True),
    Scene("puts in batches", puts_in_batches, needs_batches=True),
    Scene("children in batches", children_in_batches, needs_batches=True),
)
