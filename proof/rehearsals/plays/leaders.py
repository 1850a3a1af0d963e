"""Rehearsals of the scheduler: stuck in its tick, not called, with a clock that runs away."""

from __future__ import annotations

import signal
import time
from collections import Counter
from datetime import UTC, datetime

from hourhand.domain.jobs.job import EventKind
from hourhand.domain.ticks.leases import LEADER
from hourhand.local.child_process import ChildProcess
from hourhand.ports.control_store import ControlStore, Lease
from proof.rehearsals.signs import DRIFT
from proof.rehearsals.stage import RehearsalFailed, Stage, seconds_since, told

LOOK_SECONDS = 0.01
MOST_STOPS = 20
TAKEN_OVER = "A lease was taken over from a holder that did not give it up."
CLOCK_IS_OFF = "The local clock is off."
APART_SECONDS = 0.4
LATE_MS = 5_000
"""What the processes of a busy machine need to start a job whose message was there in time: real
seconds, which do not shrink with the scale. That no job waited for its leader is seen by the
record, to the millisecond: `_check_sent_ahead`."""


def leader_stuck(stage: Stage) -> None:
    """A scheduler hangs in its tick: another one takes over after its lease, and no job waits."""
    stage.submit_apart(12, "work", 0.05, first=6, apart=APART_SECONDS)
    stage.submit_apart(12, "work", 0.05, first=14, apart=APART_SECONDS)
    far = stage.submit_apart(10, "work", 0.05, first=36, apart=APART_SECONDS)
    stage.tell("works", "34 jobs submitted, 10 of them beyond the look-ahead")
    child, lease = _stop_a_leader(stage)
    stage.tell("breaks", f"SIGSTOP to {child.name} in mid-tick, which leads as epoch {lease.epoch}")
    stage.check(
        "/v1/stats names the stuck leader",
        stage.stats()["leader"] == lease.holder,
        lease.holder,
    )
    taken = stage.wait("another takes over", lambda: _taken_over(stage, lease))
    waited = (datetime.now(UTC) - lease.until).total_seconds()
    stage.tell("seen", f'log: "{TAKEN_OVER}" epoch {taken}, {waited:+.1f} s after the lease ended')
    ticked = stage.wait("a later tick leads", lambda: _led_after(stage, lease.epoch))
    stage.check(
        "the epoch increased, so the stuck leader cannot renew its lease",
        ticked > lease.epoch,
        ticked,
    )
    stage.repair(
        f"ends the stuck process, as Lambda does at its limit: kill -9 {child.pid}",
        lambda: child.signal(signal.SIGKILL),
    )
    stage.wait_for_the_end()
    _check_sent_ahead(stage, far)
    _check_lateness(stage)
    stage.wait("its successor ticks", lambda: _ticks_of(stage, child.name) or None)
    stage.check(f"{child.name} is back", True)


def no_tick(stage: Stage) -> None:
    """There are no ticks: jobs within the look-ahead run in time, others wait, none is lost."""
    stage.wait("the first tick", lambda: stage.ticks() or None)
    near = stage.submit(10, "work", 0.05, delay_seconds=5)
    child = stage.cloud.schedulers[0].child
    stage.halt(child)
    stage.tell("breaks", f"SIGSTOP to {child.name}, the only one: as with the rule disabled")
    far = stage.submit(5, "work", 0.05, delay_seconds=31)
    stage.wait("the near jobs run", lambda: _have_ended(stage, near))
    stage.check("the jobs within the look-ahead ran without a tick", True, len(near))
    age = stage.wait("the last tick is old", lambda: _tick_age(stage, at_least=12.0))
    stage.tell("seen", f"/v1/stats: last_tick_at is {age:.0f} s ago (the alarm no-tick: none in 3)")
    states = stage.by_status()
    stage.check("the others wait", states["PENDING"] == len(far), told(states))
    stage.repair(
        "resumes the ticks: SIGCONT, as enabling the rule does",
        lambda: child.signal(signal.SIGCONT),
    )
    stage.wait("ticks come", lambda: _tick_age(stage, at_most=6.0))
    stage.wait_for_the_end()


def skew(stage: Stage) -> None:
    """A scheduler's clock drifts: it is corrected, no bucket closes, and jobs start on time."""
    (stage.folder / DRIFT).write_text("0.5")
    stage.tell("breaks", "the scheduler's clock gains half a second in each")
    stage.wait("an audit notices", lambda: stage.logged(CLOCK_IS_OFF) or None)
    stage.submit_apart(15, "work", 0.05, first=3, apart=APART_SECONDS)
    stage.submit_apart(10, "work", 0.05, first=12, apart=APART_SECONDS)
    found = stage.wait("it is off in tick after tick", lambda: _skews(stage, 4))
    stage.tell("seen", f'log: "{CLOCK_IS_OFF}", correction_ms: {found}')
    stage.check(
        "skew_ms is measured for the alarm",
        max(stage.values("skew_ms")) > 1000,
        f"{max(stage.values('skew_ms')):.0f} ms",
    )
    stage.wait_for_the_end()
    _check_none_early(stage)
    _check_lateness(stage)
    stopped = stage.stats()["watermark"]
    stage.check("the watermark does not advance", seconds_since(stopped) > 3600, stopped)
    child = stage.cloud.schedulers[0].child

    def replace() -> None:
        (stage.folder / DRIFT).unlink()
        child.signal(signal.SIGKILL)

    stage.repair("replaces the process by one with a correct clock, as a deployment does", replace)
    moved = stage.wait("the watermark advances", lambda: _moved(stage, stopped))
    stage.check("buckets close again", seconds_since(moved) < 600, moved)
    stage.submit(5, "work", 0.05)
    stage.wait_for_the_end()


# --- ---


def _stop_a_leader(stage: Stage) -> tuple[ChildProcess, Lease]:
    """Stop the leader within its tick; return its process and its lease."""
    control = stage.cloud.control
    for _ in range(MOST_STOPS):
        lease = stage.wait("somebody leads", lambda: _held(control))
        child = next(
            s.child for s in stage.cloud.schedulers if lease.holder.startswith(f"{s.child.name}-")
        )
        stage.halt(child)
        after = _held(control)
        if after is not None and after.holder == lease.holder:
            return child, after
        # It had just given it up: that tick was over.
        child.signal(signal.SIGCONT)
        time.sleep(LOOK_SECONDS)
    raise RehearsalFailed("No leader could be stopped within its tick.")


def _held(control: ControlStore) -> Lease | None:
    lease = control.read_lease(LEADER)
    return lease if lease is not None and lease.until > datetime.now(UTC) else None


def _taken_over(stage: Stage, lease: Lease) -> int | None:
    epochs = [int(line.fields["epoch"]) for line in stage.logged(TAKEN_OVER)]
    return next((epoch for epoch in epochs if epoch > lease.epoch), None)


def _led_after(stage: Stage, epoch: int) -> int | None:
    reports = [tick.report for tick in stage.ticks() if tick.report is not None]
    return next((r["epoch"] for r in reports if r["led"] and r["epoch"] > epoch), None)


def _ticks_of(stage: Stage, name: str) -> int:
    since = [tick for tick in stage.ticks() if tick.name == name and tick.report is not None]
    return len(since[-1:]) if since and seconds_since(since[-1].at.isoformat()) < 4 else 0


def _have_ended(stage: Stage, job_ids: list[str]) -> bool:
    ended = {job["id"] for job in stage.list_jobs("&status=SUCCEEDED")}
    return set(job_ids) <= ended


def _tick_age(
    stage: Stage, *, at_least: float = 0.0, at_most: float = float("inf")
) -> float | None:
    age = seconds_since(stage.stats()["last_tick_at"])
    return age if at_least <= age <= at_most else None


def _skews(stage: Stage, count: int) -> list[int] | None:
    found = [int(line.fields["correction_ms"]) for line in stage.logged(CLOCK_IS_OFF)]
    return found if len(found) >= count else None


def _moved(stage: Stage, stopped: str) -> str | None:
    at: str = stage.stats()["watermark"]
    return at if at > stopped and seconds_since(at) < 600 else None


def _check_sent_ahead(stage: Stage, job_ids: list[str]) -> None:
    """Check by the record that no job had to wait for a tick: its message was sent before it."""
    ahead = [_sent_ahead_seconds(stage, job_id) for job_id in job_ids]
    stage.check(
        "the jobs beyond the look-ahead were sent before they were due",
        min(ahead) > 0,
        f"{min(ahead):.1f} s before, at the latest",
    )


def _sent_ahead_seconds(stage: Stage, job_id: str) -> float:
    run_at = datetime.fromisoformat(stage.ask("GET", f"/v1/jobs/{job_id}").body["run_at"])
    events = stage.ask("GET", f"/v1/jobs/{job_id}/events").body["events"]
    sent = [one["at"] for one in events if one["kind"] == EventKind.ENQUEUED.name]
    if not sent:
        raise RehearsalFailed(
            f"Job {job_id} was never sent: {told(Counter(one['kind'] for one in events))}."
        )
    return (run_at - datetime.fromisoformat(sent[0])).total_seconds()


def _check_lateness(stage: Stage) -> None:
    latest = max(job["lateness_ms"] for job in stage.list_jobs())
    stage.check(
        f"no job started {LATE_MS // 1000} s late or more",
        latest < LATE_MS,
        f"the latest by {latest} ms",
    )


def _check_none_early(stage: Stage) -> None:
    earliest = min(job["lateness_ms"] for job in stage.list_jobs())
    stage.check("none started early", earliest >= 0, f"the earliest {earliest} ms after its time")
