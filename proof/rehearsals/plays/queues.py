"""Rehearsals of the queues: a backlog, a tenant that fills them, one that is lost."""

from __future__ import annotations

from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
from hourhand.aws.provision import provision
from hourhand.domain.jobs.job import Priority
from hourhand.local.events import QueueFailed
from proof.rehearsals.stage import Stage

JOBS_OF_THE_BACKLOG = 70
MORE_WORKERS = 5
NOT_ACCEPTED = "SQS did not accept a message. The next tick sends it."


def backlog(stage: Stage) -> None:
    """More jobs are due than the workers run: jobs wait longer, until there are more workers."""
    stage.submit(JOBS_OF_THE_BACKLOG, "work", 0.6)
    stage.tell(
        "breaks", f"{JOBS_OF_THE_BACKLOG} jobs of 0.6 s at once for one worker: 42 s of work"
    )
    oldest = stage.wait("jobs wait long", lambda: _oldest(stage, at_least=8.0))
    waiting = _waiting(stage)
    stage.tell(
        "seen",
        f"/v1/stats: {waiting} wait, oldest_due_seconds {oldest:.0f} (the alarm "
        "oldest-due: 300 s in real time, 30 s here)",
    )
    stage.check("the metric of the alarm has it", max(stage.values("oldest_due_age_s")) >= oldest)
    before = stage.by_status()["SUCCEEDED"]
    stage.repair(
        f"adds {MORE_WORKERS} workers, as worker_concurrency does",
        lambda: stage.cloud.add_workers(MORE_WORKERS),
    )
    stage.wait("no message waits", lambda: _waiting(stage) == 0 or None)
    stage.tell(
        "seen", f"the queues are empty; {before} jobs had ended before the new workers started"
    )
    stage.wait_for_the_end()
    stage.wait(
        "the ticks find no overdue job", lambda: stage.newest("oldest_due_age_s") == 0 or None
    )
    stage.check("oldest_due_age_s is 0 again, so the alarm is over", True)
    _tell_duplicates(stage)


def hot_tenant(stage: Stage) -> None:
    """One tenant's jobs delay those of others: its waiting jobs are moved to low."""
    stage.tell(
        "note",
        "SQS shares a queue among tenants (fair queues); the local queue does not, so this is the "
        "worst case",
    )
    hot = stage.submit(60, "work", 0.5, tenant="acme")
    others = stage.submit(6, "work", 0.05, tenant="bolt")
    stage.tell("breaks", "60 jobs of acme, then 6 of bolt behind them, all in medium")
    waits = stage.list_jobs("&tenant=acme&status=ENQUEUED")
    stage.tell("seen", f"GET /v1/jobs?tenant=acme&status=ENQUEUED: {len(waits)} jobs; bolt waits")
    stage.check("none of bolt's has started", _ended(stage, others) == 0)

    def move() -> None:
        moved = [
            stage.ask("PATCH", f"/v1/jobs/{job['id']}", {"priority": "low"}).status for job in waits
        ]
        stage.tell("seen", f"{moved.count(200)} moved; {moved.count(409)} had begun meanwhile")

    stage.repair('moves acme\'s waiting jobs to low: PATCH /v1/jobs/ID {"priority": "low"}', move)
    stage.wait("bolt's jobs end", lambda: _ended(stage, others) == len(others) or None)
    left = len(hot) - _ended(stage, hot)
    stage.check("bolt's ended while acme's still waited", left >= 10, f"{left} of acme's are left")
    stage.wait_for_the_end()
    _tell_duplicates(stage)


def lost_queue(stage: Stage) -> None:
    """A queue is deleted with its messages: after it exists again, the sweep sends them again."""
    stage.wait("the first tick", lambda: stage.ticks() or None)
    stage.submit(20, "work", 0.05, delay_seconds=6)
    stage.submit(10, "work", 0.05, delay_seconds=12)
    urls = stage.cloud.settings.queues
    stage.cloud.aws.sqs.delete_queue(QueueUrl=urls[Priority.MEDIUM])
    stage.tell("breaks", "deletes the queue medium; the messages of 30 jobs are gone with it")
    failed = stage.wait("the event source fails", lambda: _failed(stage))
    stage.tell("seen", f"the event source: {failed[:90]}")
    stage.submit(5, "work", 0.05)
    stage.check(
        "a job is accepted all the same, and its send fails",
        bool(stage.wait("the failed send is logged", lambda: stage.logged(NOT_ACCEPTED) or None)),
        f'log: "{NOT_ACCEPTED}"',
    )
    stage.check("no job is lost", stage.by_status()["lost"] == 0, "35 jobs")
    stage.repair(
        "creates the queue again, with its attributes",
        lambda: provision(dynamodb_client(), sqs_client(), s3_client()),
    )
    stage.wait_for_the_end()
    again = sum(stage.values("jobs_dispatched_again"))
    stage.check("the sweep sent what was lost again", again >= 20, f"{again:.0f} messages")
    _tell_duplicates(stage)


# --- ---


def _oldest(stage: Stage, *, at_least: float) -> float | None:
    ages = [queue["oldest_due_seconds"] or 0.0 for queue in _queues(stage)]
    oldest: float = max(ages)
    return oldest if oldest >= at_least else None


def _waiting(stage: Stage) -> int:
    return sum(int(queue["waiting"]) for queue in _queues(stage))


def _queues(stage: Stage) -> list[dict[str, float]]:
    queues: list[dict[str, float]] = stage.stats()["queues"]
    return queues


def _ended(stage: Stage, job_ids: list[str]) -> int:
    ended = {job["id"] for job in stage.list_jobs("&status=SUCCEEDED")}
    return len(ended.intersection(job_ids))


def _failed(stage: Stage) -> str | None:
    return next((one.reason for one in stage.cloud.news.of(QueueFailed)), None)


def _tell_duplicates(stage: Stage) -> None:
    dropped = sum(stage.values("duplicates_dropped"))
    started = sum(stage.values("attempts_started"))
    stage.check(
        "each job ran once, whatever was sent twice",
        started == len(stage.jobs),
        f"{started:.0f} attempts, {dropped:.0f} duplicates dropped",
    )
