"""Looking back at a demo: what was meant, what was not, and how long nobody led."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from hourhand.client import NotFound
from hourhand.domain.times import rfc3339
from hourhand.local.demo.plan import POISON, PlannedJob
from hourhand.local.demo.planned_schedules import PlannedSchedule
from hourhand.local.demo.recurring import Recurring, ScheduleTally
from hourhand.local.demo.review import Review
from hourhand.local.demo.sabotage import LeaderKilled
from hourhand.local.demo.tracker import Casualty, Tracker
from hourhand.local.news import Ticked

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
KILLED = LeaderKilled(
    name="scheduler-1",
    pid=11,
    epoch=7,
    at=NOW,
    held_lease_until=NOW + timedelta(seconds=5),
    pids=(10, 11),
)


def casualty(name: str, pid: int, *job_ids: str) -> Casualty:
    return Casualty(name=name, pid=pid, at_monotonic=1.0, job_ids=job_ids)


def led(epoch: int, *, after_seconds: float, took: float = 0.5) -> Ticked:
    return Ticked(
        name="scheduler-2",
        at=NOW + timedelta(seconds=after_seconds),
        request_id=f"r-{epoch}",
        took_seconds=took,
        report={"led": True, "epoch": epoch},
    )


def review(
    *casualties: Casualty, killed: LeaderKilled | None = KILLED, ticks: tuple[Ticked, ...] = ()
) -> Review:
    tracker = Tracker(casualties=list(casualties), ticks=list(ticks))
    planned = PlannedJob(name="a", kind="index", handler="h", payload={}, submit_seconds=0)
    return Review(
        planned={"a": planned},
        ids={"a": "job-a", POISON: "job-p"},
        tracker=tracker,
        purge=None,
        killed=killed,
        recurring=Recurring(NOW),
    )


NEXT = (led(7, after_seconds=1), led(8, after_seconds=10.5), led(9, after_seconds=20))


def test_the_next_leader_is_the_first_of_a_later_epoch_from_when_it_began() -> None:
    after = review(ticks=NEXT)
    assert after.hand_off_seconds == 10.0
    assert after.disturbances().leaderless == (NOW, NOW + timedelta(seconds=10))
    assert after.disturbances().unplanned == ()


def test_who_was_killed_on_purpose_or_by_the_poison_job_was_meant_to_die() -> None:
    meant = review(
        casualty("scheduler-1", 10),
        casualty("scheduler-1", 11),
        casualty("worker-1", 21, "job-x", "job-p"),
        ticks=NEXT,
    )
    assert meant.disturbances().unplanned == ()
    assert meant.disturbances().beside_poison == {"job-x"}


def test_whoever_else_died_was_not() -> None:
    others = review(casualty("worker-2", 22, "job-y"), ticks=NEXT)
    assert others.disturbances().unplanned == ("worker-2 (pid 22) died, and nobody meant it to",)
    assert others.disturbances().beside_poison == frozenset()


def test_a_leader_that_was_not_killed_in_mid_tick_is_told() -> None:
    assert "no leader could be killed in mid-tick" in review(killed=None).disturbances().unplanned
    in_vain = LeaderKilled(name="s", pid=1, epoch=7, at=NOW, held_lease_until=None, pids=(1,))
    told = review(killed=in_vain, ticks=NEXT).disturbances()
    assert "no leader could be killed in mid-tick" in told.unplanned
    assert review(killed=None).hand_off_seconds is None


def test_a_system_that_nobody_leads_any_more_is_told() -> None:
    after = review(ticks=NEXT[:1])
    assert "nobody led after the leader was killed" in after.disturbances().unplanned
    assert after.hand_off_seconds is None


def test_every_job_is_asked_for_and_one_that_is_not_there_is_lost() -> None:
    asked: list[str] = []

    def get(job_id: str) -> Any:
        asked.append(job_id)
        raise NotFound("There is no such job.")

    client = cast("Any", SimpleNamespace(get=get))
    one = Review(
        planned=review().planned,
        ids={"a": "job-a"},
        tracker=Tracker(ticks=list(NEXT)),
        purge=None,
        killed=KILLED,
        recurring=Recurring(NOW),
    )
    verdict = one.verdict(client, ledger=[], dead_letters=[])
    assert asked == ["job-a"]
    assert "a (job-a): lost, the API knows no such job" in verdict.problems


def occurrence(number: int, *, told: datetime | None = None) -> dict[str, Any]:
    at = NOW + timedelta(hours=number)
    return {
        "id": f"o.{number}",
        "status": "SUCCEEDED",
        "attempts": [{"outcome": "SUCCEEDED"}],
        "lateness_ms": 5,
        "run_at": rfc3339(at),
        "occurrence": rfc3339(at),
        "result": {"at": (told or at).isoformat()},
    }


def after_a_schedule(*jobs: dict[str, Any]) -> Any:
    """Return a client of an API with a schedule that is deleted, and these jobs of it."""
    rows = [
        SimpleNamespace(
            at=datetime.fromisoformat(job["occurrence"]),
            kind="schedule",
            job_id=job["id"],
            reason=None,
        )
        for job in jobs
    ]
    told = {job["id"]: SimpleNamespace(raw=job) for job in jobs}
    return SimpleNamespace(
        get=told.__getitem__,
        events=lambda _: (),
        list=lambda **_: iter(told.values()),
        schedules=SimpleNamespace(
            put=lambda *_: SimpleNamespace(created_at=NOW),
            delete=lambda _: None,
            occurrences=lambda *_, **__: iter(rows[::-1]),
        ),
    )


def recurring_of(client: Any) -> Recurring:
    hourly = PlannedSchedule(
        name="hourly", expression="0 * * * *", every=timedelta(hours=1), is_anchored=False
    )
    recurring = Recurring(NOW, lambda: NOW + timedelta(hours=2, minutes=30))
    recurring.put(hourly, client)
    recurring.delete("hourly", client)
    return recurring


def test_the_jobs_of_schedules_are_judged_as_any_other() -> None:
    client = after_a_schedule(occurrence(1), occurrence(2))
    one = replace(review(ticks=NEXT), ids={}, recurring=recurring_of(client))
    verdict = one.verdict(client, ledger=runs_of("o.1", "o.2"), dead_letters=[])
    assert verdict.problems == ()
    assert verdict.by_status == {"SUCCEEDED": 2}
    assert verdict.schedules == (ScheduleTally(expression="0 * * * *", expected=2, ran=2),)


def test_a_time_of_a_schedule_that_is_missing_or_was_told_wrong_is_a_problem() -> None:
    client = after_a_schedule(occurrence(2, told=NOW))
    one = replace(review(ticks=NEXT), ids={}, recurring=recurring_of(client))
    verdict = one.verdict(client, ledger=runs_of("o.2"), dead_letters=[])
    assert verdict.problems == (
        "hourly: nothing came of 2026-01-05T10:00:00.000Z",
        "o.2: its handler was told 2026-01-05T09:00:00+00:00, not 2026-01-05T11:00:00.000Z",
    )


def runs_of(*job_ids: str) -> list[str]:
    """Return the ledger of one run of each job."""
    return [
        json.dumps({"what": what, "job": job_id, "attempt": 1, "pid": 1, "at": 1.0})
        for job_id in job_ids
        for what in ("begin", "end")
    ]
