"""Every move of the protocol, a job that it is made on, and what breaks each of its clauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.conditions import OneOf
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import (
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobStatus,
    OnLost,
    Outcome,
    Priority,
    Progress,
)
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.jobs.waiting import WaitKind, WaitsFor
from tests.contract import move_makers as make
from tests.contract.move_makers import LEASE, MARGIN, SECOND, WAIT, Build
from tests.world.factories import make_content, make_event, make_job

Changes = Mapping[str, Any]
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Broken:
    """How one clause fails and no other: by a field of the stored job, or by an other move."""

    changes: Callable[[Job, datetime], Changes] = lambda job, now: {}
    build: Build | None = None


@dataclass(frozen=True)
class MoveCase:
    """A move, and the job as it was read: ``given`` are its fields beside those of its status."""

    name: str
    function: Callable[..., Transition]
    status: JobStatus
    build: Build
    given: Callable[[datetime], Changes] = lambda now: {}
    breaks: Mapping[str, Broken] = field(default_factory=dict)
    leaves_a_trace: bool = True

    def job(self, job_id: str, now: datetime) -> Job:
        """Return the job as the move's maker read it."""
        return make_job(id=job_id, status=self.status, created_at=now, **self.given(now))


@dataclass(frozen=True)
class BrokenCase:
    """A case with one clause that does not hold; ``detail`` tells apart what breaks it."""

    case: MoveCase
    clause: str
    broken: Broken
    detail: str = ""

    @property
    def name(self) -> str:
        """The name of the test."""
        return " ".join((self.case.name, "without", self.clause, self.detail)).strip()

    def job_and_move(self, job_id: str, now: datetime) -> tuple[Job, Transition]:
        """Return the job as it is stored, and the move that its maker makes all the same."""
        read = self.case.job(job_id, now)
        build = self.broken.build or self.case.build
        return read.with_values(self.broken.changes(read, now)), build(read, now)


def stored(**changes: Any) -> Broken:
    """The stored job differs from what was read."""
    return Broken(lambda job, now: changes)


def stored_time(name: str, after: timedelta) -> Broken:
    """A time of the stored job is ``after`` now."""
    return Broken(lambda job, now: {name: now + after})


def _in_state(status: JobStatus) -> Broken:
    """The stored job is in another state; one that is not final is always filed."""

    def changes(job: Job, now: datetime) -> Changes:
        is_filed = status.is_final or job.due_at is not None
        return {"status": status} if is_filed else {"status": status, "due_at": now, "shard": 0}

    return Broken(changes)


def made_by(build: Build) -> Broken:
    """The job is as it was read, and the move itself does not fit it."""
    return Broken(build=build)


# --- parts of the table --------------------------------------------------------------------------

NEXT_GENERATION = Broken(lambda job, now: {"generation": job.generation + 1})
ASKED_TO_STOP = stored_time("cancel_requested_at", SECOND)
NEXT_TOKEN = Broken(lambda job, now: {"token": job.token + 1})
SENT_SINCE = stored_time("enqueued_at", 7 * SECOND)
LEASE_OVER = 60 * SECOND
"""The lease of a running job of `make_job` is over by then, and the margin too."""


def _full_history(now: datetime) -> tuple[HistoryEvent, ...]:
    """Return more events than the budget of the hot item holds."""
    return tuple(
        make_event(
            kind=EventKind.DISPATCHED_AGAIN, at=now, status=JobStatus.ENQUEUED, reason=str(n)
        )
        for n in range(30)
    )


OWNED = {"token": NEXT_TOKEN, "same_job": stored_time("created_at", SECOND)}
BEATING = {**OWNED, "extends_lease": stored_time("lease.until", 16 * SECOND + LEASE)}
OWNED_UNLESS_CANCELLED = {**OWNED, "not_cancelled": ASKED_TO_STOP}
UNCLAIMED = {
    "generation": NEXT_GENERATION,
    "attempts_left": stored(attempt=6),
    "not_cancelled": ASKED_TO_STOP,
    "not_expired": stored_time("expires_at", SECOND),
    "due": stored_time("due_at", SECOND + WAIT + timedelta(milliseconds=1)),
}
SENT_ONCE = {"generation": NEXT_GENERATION, "last_sent_as_read": SENT_SINCE}


def _expired_lease(build_at: Callable[[timedelta], Build]) -> dict[str, Broken]:
    """Return what breaks the clauses that name the very lease that expired."""
    return {
        "token": NEXT_TOKEN,
        "lease_as_read": stored_time("lease.until", LEASE - SECOND),
        "lease_expired": made_by(build_at(LEASE + MARGIN)),
    }


CASES = (
    MoveCase(
        name="mark",
        function=transitions.mark_enqueued,
        status=JobStatus.PENDING,
        build=make.mark,
        breaks={"generation": NEXT_GENERATION, "never_sent": SENT_SINCE},
    ),
    MoveCase(
        name="mark a retry",
        function=transitions.mark_enqueued,
        status=JobStatus.RETRYING,
        build=make.mark,
        breaks={"generation": NEXT_GENERATION, "never_sent": SENT_SINCE},
    ),
    MoveCase(
        name="dispatch again",
        function=transitions.mark_dispatched_again,
        status=JobStatus.ENQUEUED,
        build=make.send_again(Priority.MEDIUM),
        breaks=SENT_ONCE,
    ),
    MoveCase(
        name="age",
        function=transitions.mark_dispatched_again,
        status=JobStatus.ENQUEUED,
        build=make.send_again(Priority.HIGH),
        breaks=SENT_ONCE,
    ),
    MoveCase(
        name="unmark",
        function=transitions.unmark,
        status=JobStatus.ENQUEUED,
        build=make.unmark,
        breaks=SENT_ONCE,
    ),
    MoveCase(
        name="unmark a retry",
        function=transitions.unmark,
        status=JobStatus.RETRYING,
        build=make.unmark,
        given=lambda now: {"enqueued_at": now},
        breaks=SENT_ONCE,
    ),
    MoveCase(
        name="refile",
        function=transitions.refile,
        status=JobStatus.PENDING,
        build=make.refile,
        breaks={"filed_as_read": stored_time("due_at", 5 * SECOND)},
    ),
    *(
        MoveCase(
            name=f"park {status.lower()}",
            function=transitions.park,
            status=status,
            build=make.park,
            breaks={"generation": NEXT_GENERATION, "last_sent_as_read": SENT_SINCE},
        )
        for status in (JobStatus.PENDING, JobStatus.ENQUEUED, JobStatus.RETRYING)
    ),
    MoveCase(
        name="unpark",
        function=transitions.unpark,
        status=JobStatus.ENQUEUED,
        build=make.unpark,
        given=lambda now: {"waits_for": WaitsFor(WaitKind.SLOT, "0", shard=3, rank=5)},
        breaks={"generation": NEXT_GENERATION, "parked_as_read": SENT_SINCE},
    ),
    MoveCase(
        name="claim what was parked",
        function=transitions.claim,
        status=JobStatus.PENDING,
        build=make.claim,
        given=lambda now: {"enqueued_at": now, "waits_for": WaitsFor(WaitKind.SLOT, "0", rank=5)},
        breaks=UNCLAIMED,
    ),
    MoveCase(
        name="suspend",
        function=transitions.suspend,
        status=JobStatus.RUNNING,
        build=make.suspend,
        breaks={**OWNED_UNLESS_CANCELLED, "not_flagged": stored(wake_flag=True)},
    ),
    *(
        MoveCase(
            name=f"wake {status.lower()}",
            function=transitions.wake,
            status=status,
            build=make.wake,
            given=lambda now: {"waits_for": WaitsFor(WaitKind.SIGNAL, name="approved")},
            breaks={
                "generation": NEXT_GENERATION,
                "waits_as_read": stored(waits_for=WaitsFor(WaitKind.SIGNAL, name="other")),
                "signals_as_read": stored(signals=1),
            },
        )
        for status in (JobStatus.PENDING, JobStatus.ENQUEUED)
    ),
    MoveCase(
        name="flag",
        function=transitions.flag,
        status=JobStatus.RUNNING,
        build=lambda job, now: transitions.flag(job, signals=7),
        given=lambda now: {"signals": 6},
        breaks={**OWNED, "signals_as_read": stored(signals=7)},
        leaves_a_trace=False,
    ),
    MoveCase(
        name="count signal",
        function=transitions.count_signal,
        status=JobStatus.PENDING,
        build=lambda job, now: transitions.count_signal(job, signals=1),
        breaks={
            "same_job": Broken(lambda job, now: {"created_at": now - SECOND}),
            "signals_as_read": stored(signals=1),
        },
        leaves_a_trace=False,
    ),
    MoveCase(
        name="clear flag",
        function=transitions.clear_flag,
        status=JobStatus.RUNNING,
        build=lambda job, now: transitions.clear_flag(job),
        given=lambda now: {"wake_flag": True},
        breaks=OWNED,
        leaves_a_trace=False,
    ),
    MoveCase(
        name="keep journal",
        function=transitions.keep_journal,
        status=JobStatus.RUNNING,
        build=lambda job, now: transitions.keep_journal(job),
        given=lambda now: {"journal_ends": now + timedelta(days=1)},
        breaks=OWNED,
        leaves_a_trace=False,
    ),
    MoveCase(
        name="prolong child",
        function=transitions.prolong_child,
        status=JobStatus.SUCCEEDED,
        build=lambda job, now: transitions.prolong_child(
            job, kept_until=make.of_a_run(now + 2 * DAY).kept_until
        ),
        given=lambda now: {"parent": make.of_a_run(now), "keep_until": now + DAY},
        breaks={
            "same_job": Broken(lambda job, now: {"created_at": now - SECOND}),
            "filed_as_read": Broken(lambda job, now: {"due_at": now, "shard": 0}),
        },
        leaves_a_trace=False,
    ),
    MoveCase(
        name="restart",
        function=transitions.restart,
        status=JobStatus.RUNNING,
        build=make.restart,
        given=lambda now: {"run_deadline": now, "wake_flag": True, "reset": "nonce"},
        breaks=OWNED_UNLESS_CANCELLED,
    ),
    MoveCase(
        name="mark compensated",
        function=transitions.mark_compensated,
        status=JobStatus.DEAD,
        build=lambda job, now: transitions.mark_compensated(job, keep_until=None),
        breaks={"round": stored(round=2), "not_compensated": stored(compensated_round=1)},
        leaves_a_trace=False,
    ),
    MoveCase(
        name="claim a run",
        function=transitions.claim,
        status=JobStatus.ENQUEUED,
        build=make.claim_run,
        breaks=UNCLAIMED,
    ),
    MoveCase(
        name="claim a woken run",
        function=transitions.claim,
        status=JobStatus.ENQUEUED,
        build=make.claim_run,
        given=lambda now: {"run_deadline": now + timedelta(days=1), "wake_flag": True},
        breaks=UNCLAIMED,
    ),
    MoveCase(
        name="keep payload",
        function=transitions.keep_payload,
        status=JobStatus.PENDING,
        build=lambda job, now: transitions.keep_payload(job, kept_until=now + timedelta(days=90)),
        given=lambda now: {"payload_kept_until": now + timedelta(days=1)},
        breaks={"kept_as_read": stored_time("payload_kept_until", timedelta(days=2))},
        leaves_a_trace=False,
    ),
    MoveCase(
        name="claim",
        function=transitions.claim,
        status=JobStatus.ENQUEUED,
        build=make.claim,
        breaks=UNCLAIMED,
    ),
    MoveCase(
        name="claim a retry just in time",
        function=transitions.claim,
        status=JobStatus.RETRYING,
        build=make.claim,
        given=lambda now: {
            "due_at": now + SECOND + WAIT,
            "expires_at": now + SECOND + timedelta(milliseconds=1),
            "attempt": 5,
        },
        breaks={
            "generation": NEXT_GENERATION,
            "attempts_left": stored(retry=RetryPolicy(max_attempts=5)),
            "not_cancelled": ASKED_TO_STOP,
            "not_expired": stored_time("expires_at", timedelta(0)),
            "due": stored_time("due_at", timedelta(days=1)),
        },
    ),
    MoveCase(
        name="take over",
        function=transitions.take_over,
        status=JobStatus.RUNNING,
        build=make.take_over(LEASE_OVER),
        given=lambda now: {"progress": Progress(done=1)},
        breaks={
            **_expired_lease(make.take_over),
            "generation": NEXT_GENERATION,
            "attempts_left": stored(attempt=6),
            "not_cancelled": ASKED_TO_STOP,
            "not_expired": stored_time("expires_at", LEASE_OVER),
            "may_run_again": stored(on_lost=OnLost.DEAD),
        },
    ),
    MoveCase(
        name="heartbeat",
        function=transitions.heartbeat,
        status=JobStatus.RUNNING,
        build=make.heartbeat(None),
        breaks=BEATING,
        leaves_a_trace=False,
    ),
    MoveCase(
        name="heartbeat with progress",
        function=transitions.heartbeat,
        status=JobStatus.RUNNING,
        build=make.heartbeat(Progress(done=0.25, total=1.5, message="a quarter")),
        breaks=BEATING,
        leaves_a_trace=False,
    ),
    MoveCase(
        name="heartbeat with a cursor",
        function=transitions.heartbeat,
        status=JobStatus.RUNNING,
        build=make.heartbeat(None, cursor='{"row":7}'),
        breaks=BEATING,
        leaves_a_trace=False,
    ),
    MoveCase(
        name="complete with a cursor",
        function=transitions.complete,
        status=JobStatus.RUNNING,
        build=make.complete(make_content('{"sent": true}')),
        given=lambda now: {"cursor": "7"},
        breaks=OWNED,
    ),
    MoveCase(
        name="complete",
        function=transitions.complete,
        status=JobStatus.RUNNING,
        build=make.complete(make_content('{"sent": true}')),
        breaks=OWNED,
    ),
    MoveCase(
        name="complete with a large result",
        function=transitions.complete,
        status=JobStatus.RUNNING,
        build=make.complete(Content(size_bytes=2_000_000, key="result/job/1")),
        breaks=OWNED,
    ),
    MoveCase(
        name="fail",
        function=transitions.retry_later,
        status=JobStatus.RUNNING,
        build=make.retry(Outcome.FAILED),
        breaks=OWNED_UNLESS_CANCELLED,
    ),
    MoveCase(
        name="fail with a full history",
        function=transitions.retry_later,
        status=JobStatus.RUNNING,
        build=make.retry(Outcome.FAILED),
        given=lambda now: {"history": _full_history(now), "history_dropped": 4},
        breaks={
            **OWNED_UNLESS_CANCELLED,
            "history_as_read": Broken(
                lambda job, now: {"history": (*job.history, make_event(at=now))}
            ),
        },
    ),
    MoveCase(
        name="snooze",
        function=transitions.retry_later,
        status=JobStatus.RUNNING,
        build=make.retry(Outcome.SNOOZED),
        breaks=OWNED_UNLESS_CANCELLED,
    ),
    MoveCase(
        name="snooze for so long that the payload is renewed",
        function=transitions.retry_later,
        status=JobStatus.RUNNING,
        build=lambda job, now: make.retry(Outcome.SNOOZED, now + timedelta(days=456))(job, now),
        given=lambda now: {"payload_kept_until": now + timedelta(days=97)},
        breaks=OWNED_UNLESS_CANCELLED,
    ),
    MoveCase(
        name="hand back",
        function=transitions.hand_back,
        status=JobStatus.RUNNING,
        build=make.hand_back,
        breaks=OWNED_UNLESS_CANCELLED,
    ),
    MoveCase(
        name="die",
        function=transitions.die,
        status=JobStatus.RUNNING,
        build=make.die,
        breaks=OWNED_UNLESS_CANCELLED,
    ),
    MoveCase(
        name="end cancelled",
        function=transitions.end_cancelled,
        status=JobStatus.RUNNING,
        build=make.end_cancelled,
        given=lambda now: {"cancel_requested_at": now},
        breaks=OWNED,
    ),
    MoveCase(
        name="recover to another attempt",
        function=transitions.recover,
        status=JobStatus.RUNNING,
        build=make.recover(LEASE_OVER),
        breaks={**_expired_lease(make.recover), "not_cancelled": ASKED_TO_STOP},
    ),
    MoveCase(
        name="recover to dead",
        function=transitions.recover,
        status=JobStatus.RUNNING,
        build=make.recover(LEASE_OVER),
        given=lambda now: {"on_lost": OnLost.DEAD},
        breaks={**_expired_lease(make.recover), "not_cancelled": ASKED_TO_STOP},
    ),
    MoveCase(
        name="recover to cancelled",
        function=transitions.recover,
        status=JobStatus.RUNNING,
        build=make.recover(LEASE_OVER),
        given=lambda now: {"cancel_requested_at": now},
        breaks=_expired_lease(make.recover),
    ),
    MoveCase(
        name="finish",
        function=transitions.finish,
        status=JobStatus.DEAD,
        build=lambda job, now: transitions.finish(job),
        given=lambda now: {"due_at": now},
        breaks={"generation": NEXT_GENERATION},
        leaves_a_trace=False,
    ),
    MoveCase(
        name="finish a child",
        function=transitions.finish,
        status=JobStatus.DEAD,
        build=lambda job, now: transitions.finish(job),
        given=lambda now: {"due_at": now, "parent": make.of_a_run(now)},
        breaks={
            "generation": NEXT_GENERATION,
            "kept_as_read": Broken(lambda job, now: {"parent": make.of_a_run(now + 2 * DAY)}),
        },
        leaves_a_trace=False,
    ),
    MoveCase(
        name="cancel",
        function=transitions.cancel_waiting,
        status=JobStatus.ENQUEUED,
        build=make.cancel,
        breaks={"generation": NEXT_GENERATION},
    ),
    MoveCase(
        name="cancel with a large payload",
        function=transitions.cancel_waiting,
        status=JobStatus.PENDING,
        build=make.cancel,
        given=lambda now: {"payload": Content(size_bytes=900_000, key="payload/job/1")},
        breaks={"generation": NEXT_GENERATION},
    ),
    MoveCase(
        name="request cancel",
        function=transitions.request_cancel,
        status=JobStatus.RUNNING,
        build=make.request_cancel,
        breaks={**OWNED, "not_asked_yet": ASKED_TO_STOP},
    ),
    MoveCase(
        name="change",
        function=transitions.change,
        status=JobStatus.ENQUEUED,
        build=make.change,
        given=lambda now: {"expires_at": now + timedelta(days=1)},
        breaks={"generation": NEXT_GENERATION},
    ),
    MoveCase(
        name="adopt",
        function=transitions.adopt,
        status=JobStatus.ENQUEUED,
        build=make.adopt,
        given=lambda now: {"schedule_revision": 3},
        breaks={"generation": NEXT_GENERATION, "revision_as_read": stored(schedule_revision=4)},
    ),
    MoveCase(
        name="debounce",
        function=transitions.debounce,
        status=JobStatus.ENQUEUED,
        build=make.debounce,
        given=lambda now: {"debounces": 3},
        breaks={
            "generation": NEXT_GENERATION,
            "newest_as_read": stored(debounces=4),
        },
        leaves_a_trace=False,
    ),
    MoveCase(
        name="claim a debounced job",
        function=transitions.claim,
        status=JobStatus.ENQUEUED,
        build=make.claim,
        given=lambda now: {"debounces": 0},
        breaks={**UNCLAIMED, "quiet": stored_time("run_at", timedelta(days=1))},
    ),
    MoveCase(
        name="expire",
        function=transitions.expire,
        status=JobStatus.ENQUEUED,
        build=make.expire,
        given=lambda now: {"expires_at": now + SECOND},
        breaks={
            "generation": NEXT_GENERATION,
            "expired": stored_time("expires_at", SECOND + timedelta(milliseconds=1)),
        },
    ),
    MoveCase(
        name="give up",
        function=transitions.give_up,
        status=JobStatus.ENQUEUED,
        build=make.give_up,
        given=lambda now: {"waits_for": WaitsFor(WaitKind.SLOT, "0", rank=1)},
        breaks={
            "generation": NEXT_GENERATION,
            "waits_as_read": stored(waits_for=WaitsFor(WaitKind.SLOT, "1", rank=1)),
        },
    ),
    *(
        MoveCase(
            name=f"redrive from {status.lower()}",
            function=transitions.redrive,
            status=status,
            build=make.redrive,
            given=lambda now: {"expires_at": now, "cancel_requested_at": now},
            breaks={
                "generation": NEXT_GENERATION,
                "not_superseded": stored_time("superseded_at", SECOND),
                "not_compensated": stored(compensated_round=1),
            },
        )
        for status in (JobStatus.DEAD, JobStatus.CANCELLED, JobStatus.EXPIRED)
    ),
    MoveCase(
        name="run a part again",
        function=transitions.redrive,
        status=JobStatus.SUCCEEDED,
        build=make.rerun,
        given=lambda now: {"run_deadline": now + timedelta(days=1)},
        breaks={
            "generation": NEXT_GENERATION,
            "not_superseded": stored_time("superseded_at", SECOND),
            "not_compensated": stored(compensated_round=1),
        },
    ),
    MoveCase(
        name="run what was reversed again",
        function=transitions.redrive,
        status=JobStatus.DEAD,
        build=make.rerun,
        given=lambda now: {"run_deadline": now, "compensated_round": 1},
        breaks={
            "generation": NEXT_GENERATION,
            "not_superseded": stored_time("superseded_at", SECOND),
            "not_compensated": stored(compensated_round=2),
        },
    ),
    MoveCase(
        name="redrive what was discarded",
        function=transitions.redrive,
        status=JobStatus.DEAD,
        build=make.redrive,
        given=lambda now: {"discarded_at": now, "discard_note": "a mistake"},
        breaks={
            "generation": NEXT_GENERATION,
            "not_superseded": stored_time("superseded_at", SECOND),
            "not_compensated": stored(compensated_round=1),
        },
    ),
    MoveCase(
        name="supersede",
        function=transitions.supersede,
        status=JobStatus.CANCELLED,
        build=make.supersede,
        breaks={"generation": NEXT_GENERATION},
        leaves_a_trace=False,
    ),
    MoveCase(
        name="discard",
        function=transitions.discard,
        status=JobStatus.DEAD,
        build=make.discard,
        breaks={
            "generation": NEXT_GENERATION,
            "not_discarded_yet": stored_time("discarded_at", SECOND),
        },
    ),
)


def broken_cases() -> Iterator[BrokenCase]:
    """Yield every case with every clause broken; the clause on the state by every other state."""
    for case in CASES:
        for clause, broken in case.breaks.items():
            yield BrokenCase(case, clause, broken)
        for status in _refused_states(case):
            yield BrokenCase(case, "status", _in_state(status), f"in {status}")


def _refused_states(case: MoveCase) -> list[JobStatus]:
    now = make_event().at
    clause = case.build(case.job("job-1", now), now).expect.get("status")
    if clause is None:
        # It leaves the status as it is, whatever that is.
        return []
    assert isinstance(clause, OneOf)
    return [status for status in JobStatus if status not in clause.values]
