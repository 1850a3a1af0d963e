"""Calls every operation of the API by a client that was generated from its OpenAPI document.

Runs under the Python of ``.venv-generator``, where nothing of ours is; see
`test_generated_client`. ``python calls.py FOLDER URL``: the folder holds the package that was
generated, the URL is the API's, whose every request takes a second of its own time. Fails at the
first thing that is not as the document says.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

PACKAGE = "generated"
SCHEDULE = {"expression": "cron(0 9 * * ? *)", "timezone": "Europe/Berlin", "handler": "greet"}


class Generated:
    """The generated package: its operations by their ids, its models by their names."""

    def __init__(self, folder: str, url: str) -> None:
        sys.path.insert(0, folder)
        self.models: Any = importlib.import_module(f"{PACKAGE}.models")
        package: Any = importlib.import_module(PACKAGE)
        self.client = package.Client(base_url=url, raise_on_unexpected_status=True, timeout=20)

    def call(
        self, tag: str, operation: str, *arguments: Any, status: int = 200, **named: Any
    ) -> Any:
        """Call an operation and return what its answer was read as."""
        response = self.operation(tag, operation).sync_detailed(
            *arguments, client=self.client, **named
        )
        assert response.status_code == status, (operation, response.status_code, response.content)
        return response.parsed

    def operation(self, tag: str, operation: str) -> Any:
        """Return the module of an operation."""
        return importlib.import_module(f"{PACKAGE}.api.{tag}.{operation}")

    def fail(self, status: int, tag: str, operation: str, *arguments: Any, **named: Any) -> Any:
        """Call an operation that fails; return the problem that it answers with."""
        problem = self.call(tag, operation, *arguments, status=status, **named)
        assert isinstance(problem, self.models.Problem), problem
        assert problem.status == status
        return problem

    def job(self, **fields: Any) -> Any:
        """Return the body of a submission."""
        return self.models.JobSubmission.from_dict({"handler": "greet", **fields})

    def ended(self, one_id: str, tag: str = "jobs", operation: str = "get_jobs_one") -> Any:
        """Return a job, batch or graph once it is ended: with each look at it a second passes."""
        for _ in range(10):
            found = self.call(tag, operation, one_id)
            if found.finished_at is not None:
                return found
        raise AssertionError(f"still {found.status} after 10 s: {found}")


def submit_and_read(api: Generated) -> None:
    body = api.job(
        id="first",
        payload={"name": "Ada"},
        tags={"team": "blue"},
        retry={"max_attempts": 3, "backoff": "linear"},
    )
    job = api.call("jobs", "post_jobs", body=body, status=201)
    assert isinstance(job, api.models.Job)
    assert (job.id, job.payload, job.retry.max_attempts) == ("first", {"name": "Ada"}, 3)
    assert isinstance(job.run_at, datetime)
    assert job.run_at.tzinfo is not None
    assert job.tags.to_dict() == {"team": "blue"}

    again = api.call("jobs", "post_jobs", body=body)
    assert again.id == "first"
    conflict = api.fail(409, "jobs", "post_jobs", body=api.job(id="first", payload=2))
    assert conflict.type_ == "urn:hourhand:idempotency_conflict"

    done = api.ended("first")
    assert done.status is api.models.JobStatus.SUCCEEDED
    assert done.result == {"greeted": "Ada"}
    assert [attempt.outcome.value for attempt in done.attempts] == ["SUCCEEDED"]


def tell_problems(api: Generated) -> None:
    invalid = api.fail(422, "jobs", "post_jobs", body=api.job(timeout_seconds=0))
    assert [error.field for error in invalid.errors] == ["timeout_seconds"]
    assert "no job" in api.fail(404, "jobs", "get_jobs_one", "nothing").detail


def submit_many(api: Generated) -> None:
    late = datetime.now(UTC) + timedelta(days=30)
    jobs = [api.job(id=f"many-{number}", run_at=late, tenant="many") for number in range(3)]
    batch = api.models.BatchRequest(jobs=[*jobs, api.job(handler="unknown")])
    *accepted, refused = api.call("jobs", "post_jobs_batch", body=batch).results
    assert [one.job.id for one in accepted] == ["many-0", "many-1", "many-2"]
    assert refused.error.errors[0].field == "handler"

    listed = []
    cursor: Any = {}
    while cursor is not None:
        page = api.call("jobs", "get_jobs", tenant="many", limit=2, **cursor)
        listed += [job.id for job in page.jobs]
        cursor = {"cursor": page.next_cursor} if page.next_cursor is not None else None
    assert sorted(listed) == ["many-0", "many-1", "many-2"]


def operate_on_one(api: Generated) -> None:
    api.call("jobs", "post_jobs", body=api.job(id="one", delay_seconds=86_400), status=201)
    patch = api.models.JobPatch(priority=api.models.Priority.HIGH, payload={"name": "Grace"})
    changed = api.call("jobs", "patch_jobs_one", "one", body=patch)
    assert changed.priority is api.models.Priority.HIGH
    assert api.call("jobs", "post_jobs_one_cancel", "one").status.value == "CANCELLED"
    assert api.call("jobs", "post_jobs_one_redrive", "one").status.value == "ENQUEUED"
    assert api.ended("one").result == {"greeted": "Grace"}
    log = api.call("jobs", "get_jobs_one_logs", "one", limit=5)
    assert [(line.message, line.attempt) for line in log.lines] == [("Greeted.", 1)]
    assert log.next_cursor is None
    api.fail(409, "jobs", "post_jobs_one_run_now", "one")

    api.call("jobs", "post_jobs", body=api.job(id="soon", delay_seconds=86_400), status=201)
    api.call("jobs", "post_jobs_one_run_now", "soon")
    assert api.ended("soon").status.value == "SUCCEEDED"
    events = api.call("jobs", "get_jobs_one_events", "soon").events
    assert [event.kind.value for event in events][:2] == ["SUBMITTED", "RUN_NOW"]


def operate_on_many(api: Generated) -> None:
    body = api.job(id="poor", handler="break", tags={"batch": "poor"})
    api.call("jobs", "post_jobs", body=body, status=201)
    dead = api.ended("poor")
    assert dead.status is api.models.JobStatus.DEAD
    assert "NotRetryable" in dead.error.traceback
    found = api.call("jobs", "get_dead_letters_groups", error_type="NotRetryable")
    assert [(group.jobs, group.newest.id) for group in found.groups] == [(1, "poor")]

    wanted = api.models.BulkRequest(tag="batch:poor", dry_run=True)
    assert api.call("bulk", "post_jobs_redrive", body=wanted).matched == 1
    wanted.dry_run = False
    redriven = api.call("bulk", "post_jobs_redrive", body=wanted)
    assert (redriven.matched, redriven.changed, redriven.failed) == (1, 1, [])
    again = api.ended("poor")
    note = api.models.NoteInput(note="known")
    discarded = api.call("jobs", "post_jobs_one_discard", again.id, body=note)
    assert (discarded.status.value, discarded.discard_note) == ("DEAD", "known")
    body = api.models.BulkDiscard(tag="batch:poor", expected_count=0, note="known")
    assert api.call("bulk", "post_jobs_discard", body=body).matched == 0
    wanted = api.models.BulkRequest(status=api.models.JobStatus.PENDING, tenant="many")
    assert api.call("bulk", "post_jobs_cancel", body=wanted).changed == 3
    problem = api.fail(422, "bulk", "post_jobs_cancel", body=api.models.BulkRequest())
    assert [error.field for error in problem.errors] == ["all"]


def follow_a_run(api: Generated) -> None:
    body = api.models.JobSubmission.from_dict({"handler": "order", "id": "run"})
    api.call("jobs", "post_jobs", body=body, status=201)
    for _ in range(10):
        page = api.call("runs", "get_jobs_one_steps", "run")
        if len(page.steps) == 5:
            break
    steps = {step.path: step for step in page.steps}
    assert set(steps) == {"paid", "charge", "shipped", "send", "approved"}
    assert (steps["approved"].status, steps["approved"].signal) == ("waiting", "approved")

    approval = api.models.SignalInput(payload="yes", id="1")
    assert api.call("runs", "post_jobs_one_signals_one", "run", "approved", body=approval).accepted
    paid, shipped = steps["charge"].result, steps["send"].result
    result = api.models.CallbackResult(result=7)
    assert api.call("runs", "post_callbacks_one_heartbeat", paid).accepted
    assert api.call("runs", "post_callbacks_one_succeed", paid, body=result).accepted
    failure = api.models.CallbackFailure.from_dict({"error": {"type": "Lost", "message": "gone"}})
    assert api.call("runs", "post_callbacks_one_fail", shipped, body=failure).accepted
    ended = api.ended("run")
    assert (ended.status.value, ended.error.type_) == ("DEAD", "CallbackFailed")
    journal = api.call("runs", "get_jobs_one_journal", "run")
    assert {"charge", "approved"} <= {record.path for record in journal.records}

    dry = api.models.RedriveInput.from_dict({"from": ["charge"], "dry_run": True})
    plan = api.call("jobs", "post_jobs_one_redrive", "run", body=dry)
    assert isinstance(plan, api.models.RedrivePlan)
    assert plan.reset == ["charge"]


def follow_a_batch(api: Generated) -> None:
    greeting = {"handler": "greet", "payload": {"name": "Ada"}}
    body = api.models.BatchInput.from_dict(
        {
            "id": "batch",
            "jobs": [greeting, greeting],
            "on_success": {"handler": "greet"},
            "open": True,
        }
    )
    assert api.call("batches", "post_batches", body=body, status=201).total == 2
    more = {"jobs": [greeting], "first_index": 2}
    body = api.models.MembersInput.from_dict(more)
    assert api.call("batches", "post_batches_one_jobs", "batch", body=body).total == 3
    body = api.models.CloseInput()
    api.call("batches", "post_batches_one_close", "batch", body=body)
    ended = api.ended("batch", "batches", "get_batches_one")
    assert (ended.status, ended.succeeded) == (api.models.BatchStatus.SUCCEEDED, 3)
    assert ended.callbacks.to_dict()["on_success"]
    page = api.call("runs", "get_jobs_one_children", "batch", path="jobs")
    assert [child.index for child in page.children] == [0, 1, 2]


def follow_a_graph(api: Generated) -> None:
    body = api.models.GraphInput.from_dict(
        {
            "id": "graph",
            "nodes": {
                "load": {"handler": "greet"},
                "ship": {"handler": "break", "after": ["load"]},
            },
        }
    )
    api.call("graphs", "post_graphs", body=body, status=201)
    ended = api.ended("graph", "graphs", "get_graphs_one")
    nodes = {name: node["status"] for name, node in ended.to_dict()["nodes"].items()}
    assert nodes == {"load": "SUCCEEDED", "ship": "DEAD"}
    body = api.models.RerunInput.from_dict({"from": ["ship"], "dry_run": True})
    plan = api.call("graphs", "post_graphs_one_rerun", "graph", body=body)
    assert (plan.reset, plan.kept) == (["ship"], ["load"])


def limit_jobs(api: Generated) -> None:
    body = api.job(id="keeper", handler="keep")
    api.call("jobs", "post_jobs", body=body, status=201)
    assert api.ended("keeper").status is api.models.JobStatus.DEAD
    limit = api.call("system", "get_limits_one", "keep.1")
    assert [holder.job_id for holder in limit.holders] == ["keeper"]
    body = api.models.FreeInput(job_id="keeper")
    assert api.call("system", "post_limits_one_free", "keep.1", body=body).running == 0

    body = api.models.LimitInput.from_dict({"max": 3})
    assert api.call("system", "put_limits_one", "keep.1", body=body).to_dict()["max"] == 3
    assert api.call("system", "delete_limits_one", "keep.1").to_dict()["max"] == 1
    body = api.models.RetimeInput(key="acme")
    done = api.call("system", "post_limits_one_retime", "bank", body=body)
    assert (done.matched, done.next_cursor) == (0, None)
    for kind in ("tenant", "caller"):
        body = api.models.QuotaInput(live=1_000)
        quota = api.call("system", f"put_quotas_{kind}_one", "other", body=body)
        assert (quota.kind, quota.live) == (kind, 1_000)
        assert quota in api.call("system", "get_quotas").quotas
        api.call("system", f"delete_quotas_{kind}_one", "other", status=204)
    page = api.call("system", "get_limits")
    assert [one.name for one in page.limits] == ["bank", "keep.1"]

    body = api.models.HandlerPauseInput(note="the bank is closed")
    paused = api.call("system", "post_handlers_one_pause", "greet", body=body).paused
    assert paused.note == "the bank is closed"
    assert api.call("system", "post_handlers_one_resume", "greet").paused is None


def keep_calendars(api: Generated) -> None:
    body = api.models.CalendarInput.from_dict(
        {"exclude": ["2027-12-25", {"from": "2028-01-01", "to": "2028-01-06"}]}
    )
    api.call("calendars", "put_calendars_one", "holidays", body=body, status=201)
    calendar = api.call("calendars", "put_calendars_one", "holidays", body=body)
    assert calendar.exclude[0] == "2027-12-25"
    assert calendar.exclude[1].from_ == "2028-01-01"
    assert api.call("calendars", "get_calendars_one", "holidays") == calendar
    page = api.call("calendars", "get_calendars")
    assert [one.name for one in page.calendars] == ["holidays"]
    assert page.next_cursor is None


def keep_schedules(api: Generated) -> None:
    models = api.models
    body = models.ScheduleInput.from_dict({**SCHEDULE, "exclude": ["holidays"], "overlap": "allow"})
    api.call("schedules", "put_schedules_one", "daily", body=body, status=201)
    schedule = api.call("schedules", "put_schedules_one", "daily", body=body)
    assert isinstance(schedule.next_at, datetime)
    assert schedule.overlap is models.OverlapPolicy.ALLOW
    assert api.call("schedules", "get_schedules_one", "daily").expression == SCHEDULE["expression"]
    listed = api.call("schedules", "get_schedules", limit=1)
    assert [one.id for one in listed.schedules] == ["daily"]

    note = models.NoteInput(note="on holiday")
    assert api.call("schedules", "post_schedules_one_pause", "daily", body=note).paused
    assert not api.call("schedules", "post_schedules_one_resume", "daily").paused
    job = api.call("schedules", "post_schedules_one_trigger", "daily", status=201)
    assert job.schedule_id == "daily"
    assert api.ended(job.id).status.value == "SUCCEEDED"


def look_at_occurrences(api: Generated) -> None:
    models = api.models
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    body = models.BackfillInput(from_=today - timedelta(days=3), to=today, dry_run=True)
    assert api.call("schedules", "post_schedules_one_backfill", "daily", body=body).total == 3
    body.dry_run = False
    report = api.call("schedules", "post_schedules_one_backfill", "daily", body=body)
    assert report.backfill.total == 3
    body.from_, body.to, body.max_active = today - timedelta(days=400), today - timedelta(days=4), 1
    api.call("schedules", "post_schedules_one_backfill", "daily", body=body)
    for verb in ("pause", "resume", "cancel"):
        operation = f"post_schedules_one_backfills_one_{verb}"
        assert api.call("schedules", operation, "daily", "2").n == 2
    listed = api.call("schedules", "get_schedules_one_backfills", "daily")
    assert [one.n for one in listed.backfills] == [2, 1]

    page = api.call("schedules", "get_schedules_one_occurrences", "daily")
    assert "trigger" in {occurrence.kind for occurrence in page.occurrences}
    assert len(page.upcoming) == 10
    grid = api.call("schedules", "get_schedules_one_grid", "daily", runs=5)
    assert grid.runs

    wanted = models.PreviewInput(
        schedule=models.PreviewedSchedule.from_dict(
            {"expression": "cron(30 2 * * ? *)", "timezone": "Europe/Berlin"}
        ),
        after=datetime(2027, 3, 27, 12, tzinfo=UTC),
        count=2,
    )
    fires = api.call("schedules", "post_schedules_preview", body=wanted).fires
    assert [fire.local.isoformat() for fire in fires] == [
        "2027-03-28T03:00:00+02:00",
        "2027-03-29T02:30:00+02:00",
    ]
    assert fires[0].note
    assert fires[1].note is None


def delete_what_was_made(api: Generated) -> None:
    api.call("schedules", "delete_schedules_one", "daily", status=204)
    api.fail(404, "schedules", "get_schedules_one", "daily")
    api.call("calendars", "delete_calendars_one", "holidays", status=204)
    api.fail(404, "calendars", "get_calendars_one", "holidays")


def look_at_the_system(api: Generated) -> None:
    stats = api.call("system", "get_stats")
    assert {queue.priority.value for queue in stats.queues} == {"high", "medium", "low"}
    assert isinstance(stats.last_tick_at, datetime)
    asked = api.models.ResweepInput
    since = datetime.now(UTC) - timedelta(hours=1)
    assert api.call("system", "post_resweep", body=asked(since=since)).state.value == "requested"
    assert api.call("system", "get_resweep").since is not None
    handlers = api.call("system", "get_handlers").handlers
    named = {handler.name for handler in handlers}
    assert named == {"break", "charge", "greet", "keep", "order"}
    assert api.call("system", "get_handlers_one", "greet").name == "greet"
    assert api.call("system", "get_health").status == "ok"
    events = api.call("audit", "get_audit", caller="local", limit=200).events
    assert "SUBMITTED" in {event.action.value for event in events}


def await_answers(api: Generated) -> None:
    async def main() -> list[Any]:
        async with api.client as client:
            calls = [
                api.operation(tag, operation).asyncio(client=client)
                for tag, operation in (("system", "get_health"), ("jobs", "get_jobs"))
            ]
            return await asyncio.gather(*calls)

    health, page = asyncio.run(main())
    assert health.status == "ok"
    assert isinstance(page, api.models.JobPage)


CALLS = (
    submit_and_read,
    tell_problems,
    submit_many,
    operate_on_one,
    operate_on_many,
    follow_a_run,
    follow_a_batch,
    follow_a_graph,
    limit_jobs,
    keep_calendars,
    keep_schedules,
    look_at_occurrences,
    delete_what_was_made,
    look_at_the_system,
    await_answers,
)


def main(folder: str, url: str) -> None:
    """Make all calls, and name what was called."""
    api = Generated(folder, url)
    for call in CALLS:
        call(api)
        print(call.__name__)  # noqa: T201 - it is a command; the last line tells where it failed


if __name__ == "__main__":
    main(*sys.argv[1:])
