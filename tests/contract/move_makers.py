"""How a test makes each move of the protocol: a second or so after the job's creation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Content, Job, Lease, Outcome, Priority, Progress
from hourhand.domain.jobs.parents import ParentLink, midnight_after
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.jobs.waiting import PAUSE, WaitKind, WaitsFor
from tests.world.factories import ACTOR, make_entry, make_message

SECOND = timedelta(seconds=1)
MARGIN = timedelta(seconds=2)
WAIT = timedelta(seconds=2)
LEASE = timedelta(seconds=45)

Build = Callable[[Job, datetime], Transition]
"""Makes a move on a job as it was read, given the time of its creation."""


def of_a_run(kept_until: datetime) -> ParentLink:
    """Return the link of a child; it has a whole day, as every store keeps it."""
    kept_until = midnight_after(kept_until)
    return ParentLink(run_id="run-1", segment=0, join_key="abc", index=0, kept_until=kept_until)


def mark(job: Job, now: datetime) -> Transition:
    return transitions.mark_enqueued(job, now=now + SECOND, actor=ACTOR)


def send_again(queue: Priority) -> Build:
    return lambda job, now: transitions.mark_dispatched_again(
        job, now=now + 90 * SECOND, actor=ACTOR, queue=queue, reason="message missed"
    )


def unmark(job: Job, now: datetime) -> Transition:
    return transitions.unmark(job, now=now + SECOND, actor=ACTOR, reason="queue is full")


def claim(job: Job, now: datetime) -> Transition:
    return transitions.claim(
        make_message(job),
        now=now + SECOND,
        wait=WAIT,
        lease=Lease(owner="worker-7", until=now + SECOND + LEASE, claim_id=f"claim-of-{job.id}"),
    )


def take_over(after: timedelta) -> Build:
    return lambda job, now: transitions.take_over(
        job,
        now=now + after,
        margin=MARGIN,
        lease=Lease(
            owner="worker-8", until=now + after + LEASE, claim_id=f"second-claim-of-{job.id}"
        ),
    )


def recover(after: timedelta) -> Build:
    return lambda job, now: transitions.recover(
        job,
        now=now + after,
        margin=MARGIN,
        actor=ACTOR,
        entry=make_entry(job, due_at=now + after + SECOND, shard=1),
        sends_now=True,
    )


def heartbeat(progress: Progress | None, cursor: str | None = None) -> Build:
    return lambda job, now: transitions.heartbeat(
        job, lease_until=now + 15 * SECOND + LEASE, progress=progress, cursor=cursor
    )


def complete(result: Content) -> Build:
    return lambda job, now: transitions.complete(
        job, now=now + SECOND, actor=ACTOR, result=result, progress=Progress(done=3, total=3)
    )


def retry(outcome: Outcome, payload_kept_until: datetime | None = None) -> Build:
    return lambda job, now: transitions.retry_later(
        job,
        now=now + SECOND,
        actor=ACTOR,
        outcome=outcome,
        reason="ValueError: no such user",
        entry=make_entry(job),
        sends_now=outcome is Outcome.SNOOZED,
        sets={"payload_kept_until": payload_kept_until} if payload_kept_until else {},
    )


def hand_back(job: Job, now: datetime) -> Transition:
    return transitions.hand_back(
        job,
        now=now + SECOND,
        actor=ACTOR,
        entry=make_entry(job),
        sends_now=True,
        reason="process ends",
    )


def die(job: Job, now: datetime) -> Transition:
    return transitions.die(
        job,
        now=now + SECOND,
        actor=ACTOR,
        outcome=Outcome.TIMED_OUT,
        reason="Timeout: 300 s",
        sets={"cursor": "7"},
    )


def end_cancelled(job: Job, now: datetime) -> Transition:
    return transitions.end_cancelled(job, now=now + SECOND, actor=ACTOR, reason="asked to stop")


def refile(job: Job, now: datetime) -> Transition:
    return transitions.refile(job, entry=make_entry(job, shard=3), now=now + SECOND, actor=ACTOR)


def park(job: Job, now: datetime) -> Transition:
    waits_for = WaitsFor(WaitKind.SLOT, PAUSE, rank=1_700_000_000_000)
    return transitions.park(
        job, now=now + SECOND, actor=ACTOR, waits_for=waits_for, reason="the handler is paused"
    )


def unpark(job: Job, now: datetime) -> Transition:
    return transitions.unpark(
        job,
        now=now + SECOND,
        actor=ACTOR,
        entry=make_entry(job, shard=2),
        sends_now=True,
        reason="the handler was resumed",
    )


def rerun(job: Job, now: datetime) -> Transition:
    return transitions.redrive(
        job,
        now=now + SECOND,
        actor=ACTOR,
        entry=make_entry(job, shard=2),
        sends_now=True,
        reason="by hand",
        sets={"reset": "nonce", "result": None},
        is_rerun=True,
    )


def suspend(job: Job, now: datetime) -> Transition:
    return transitions.suspend(
        job,
        now=now + SECOND,
        actor=ACTOR,
        entry=make_entry(job, shard=2),
        sends_now=False,
        waits_for=WaitsFor(WaitKind.SIGNAL, name="approved"),
        reason="signal approved",
    )


def wake(job: Job, now: datetime) -> Transition:
    return transitions.wake(
        job,
        now=now + SECOND,
        actor=ACTOR,
        entry=make_entry(job, shard=2),
        sends_now=True,
        reason="signal approved",
        signals=1,
    )


def restart(job: Job, now: datetime) -> Transition:
    return transitions.restart(
        job,
        now=now + SECOND,
        actor=ACTOR,
        entry=make_entry(job, shard=2),
        sends_now=True,
        payload=Content(size_bytes=7, text='"again"'),
        payload_kept_until=None,
    )


def claim_run(job: Job, now: datetime) -> Transition:
    return transitions.claim(
        make_message(job),
        now=now + SECOND,
        wait=WAIT,
        lease=Lease(owner=ACTOR, until=now + SECOND + LEASE, claim_id="claim-run"),
        run_deadline=now + timedelta(days=30),
    )


def cancel(job: Job, now: datetime) -> Transition:
    return transitions.cancel_waiting(job, now=now + SECOND, actor=ACTOR, reason="by hand")


def request_cancel(job: Job, now: datetime) -> Transition:
    return transitions.request_cancel(job, now=now + SECOND, actor=ACTOR, reason="by hand")


def change(job: Job, now: datetime) -> Transition:
    return transitions.change(
        job,
        now=now + SECOND,
        actor=ACTOR,
        sets={"priority": Priority.HIGH, "queue": Priority.HIGH, "expires_at": None},
        entry=make_entry(job, shard=2),
        sends_now=False,
        reason="priority",
    )


def adopt(job: Job, now: datetime) -> Transition:
    return transitions.adopt(
        job,
        now=now + SECOND,
        actor=ACTOR,
        sets={"payload": Content(size_bytes=8, text='"newest"'), "schedule_revision": 9},
        reason="its schedule changed",
    )


def debounce(job: Job, now: datetime) -> Transition:
    return transitions.debounce(
        job, sets={"run_at": now + 10 * SECOND, "payload": Content(size_bytes=8, text='"newest"')}
    )


def expire(job: Job, now: datetime) -> Transition:
    return transitions.expire(job, now=now + SECOND, actor=ACTOR)


def give_up(job: Job, now: datetime) -> Transition:
    return transitions.give_up(job, now=now + SECOND, actor=ACTOR, reason="Deadlock: no")


def supersede(job: Job, now: datetime) -> Transition:
    return transitions.supersede(job, now=now + SECOND)


def redrive(job: Job, now: datetime) -> Transition:
    return transitions.redrive(
        job,
        now=now + 90 * SECOND,
        actor=ACTOR,
        entry=make_entry(job, due_at=now + 90 * SECOND),
        sends_now=True,
        reason="bug is fixed",
    )


def discard(job: Job, now: datetime) -> Transition:
    return transitions.discard(
        job, now=now + SECOND, actor=ACTOR, note="the list was wrong", reason="the list was wrong"
    )
