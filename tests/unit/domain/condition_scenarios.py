"""What happens between a read and a write: for each clause of each move the story it is there for.

In each story exactly that clause is false for the item as it stands, and all others hold. Some
items cannot come about while every other clause is in force; they are built by hand, and
``is_second_line`` says so: there the clause is a second line of defence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hourhand.domain.model import EventKind, Job, JobStatus, OnLost
from tests.unit.domain import condition_invariants as keep
from tests.unit.domain.condition_cases import CASES, Case
from tests.unit.domain.condition_invariants import Invariant
from tests.unit.domain.job_samples import IN_BUCKET, after, an_event, with_long_history

_NO_LEASE: Mapping[str, Any] = {"lease_owner": None, "lease_until": None, "claim_id": None}
_CLAIMED: Mapping[str, Any] = {
    "status": JobStatus.RUNNING,
    "attempt": 1,
    "token": 1,
    "claim_id": "claim-1",
    "lease_owner": "worker-1",
    "lease_until": after(44),
}
_LOST_AND_DEAD: Mapping[str, Any] = {
    "status": JobStatus.DEAD,
    "finished_at": after(-1),
    **_NO_LEASE,
}
_NEXT_OWNER: Mapping[str, Any] = {
    "attempt": 2,
    "token": 2,
    "claim_id": "claim-9",
    "lease_owner": "worker-9",
}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A clause that is false when the write comes, why, and what would come of ignoring it.

    ``move``: the name of its case. ``reads``: how the job that was read differs from the ordinary
    one; ``meanwhile``: how the item that stands differs from the one that was read.
    """

    move: str
    clause: str
    story: str
    harm: Invariant
    reads: Mapping[str, Any] = field(default_factory=dict)
    meanwhile: Mapping[str, Any] = field(default_factory=dict)
    is_second_line: bool = False

    @property
    def case(self) -> Case:
        return CASES_BY_NAME[self.move]

    @property
    def read(self) -> Job:
        return replace(self.case.ordinary, **self.reads)

    @property
    def stored(self) -> Job:
        return replace(self.read, **self.meanwhile)


CASES_BY_NAME = {case.name: case for case in CASES}

WAITING = (
    Scenario(
        move="mark_enqueued",
        clause="status",
        story="the message was sent and claimed before the sweep could mark it",
        meanwhile=_CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Scenario(
        move="mark_enqueued",
        clause="generation",
        story="it was rescheduled while its message went out: of the new one nothing was sent",
        meanwhile={"generation": 2, "due_at": after(7200), "run_at": after(7200)},
        harm=keep.SENT_MEANS_SENT,
    ),
    Scenario(
        move="mark_enqueued",
        clause="never_sent",
        story="another noted a later sending and left the state as it was",
        meanwhile={"status": JobStatus.RETRYING, "enqueued_at": after(1)},
        harm=keep.LATEST_SENDING_STANDS,
        is_second_line=True,
    ),
    Scenario(
        move="mark_dispatched_again",
        clause="status",
        story="the first message was claimed after all",
        meanwhile=_CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Scenario(
        move="mark_dispatched_again",
        clause="generation",
        story="it was changed, and the change announced its message in the very millisecond",
        meanwhile={"generation": 2},
        harm=keep.SENT_MEANS_SENT,
    ),
    Scenario(
        move="mark_dispatched_again",
        clause="last_sent_as_read",
        story="another scheduler, which was quicker, sent and marked it too",
        meanwhile={"enqueued_at": after(1)},
        harm=keep.LATEST_SENDING_STANDS,
    ),
    Scenario(
        move="unmark of a submission",
        clause="status",
        story="the send timed out, but the message had gone out and was claimed",
        meanwhile=_CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Scenario(
        move="unmark of a submission",
        clause="generation",
        story="it was changed, and the change announced its message in the very millisecond",
        meanwhile={"generation": 2},
        harm=keep.SENT_MEANS_SENT,
    ),
    Scenario(
        move="unmark of a submission",
        clause="last_sent_as_read",
        story="the sweep missed the message and sent it before the failure was noted",
        meanwhile={"enqueued_at": after(-1)},
        harm=keep.LATEST_SENDING_STANDS,
    ),
    Scenario(
        move="unmark of a retry",
        clause="status",
        story="the send timed out, but the message had gone out and was claimed",
        meanwhile={**_CLAIMED, **_NEXT_OWNER},
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Scenario(
        move="unmark of a retry",
        clause="generation",
        story="claimed and failed again, announced in the very millisecond of the first",
        meanwhile={"generation": 3, "attempt": 2, "token": 2},
        harm=keep.SENT_MEANS_SENT,
    ),
    Scenario(
        move="unmark of a retry",
        clause="last_sent_as_read",
        story="the sweep missed the message and sent it before the failure was noted",
        meanwhile={"enqueued_at": after(-1)},
        harm=keep.LATEST_SENDING_STANDS,
    ),
    Scenario(
        move="refile",
        clause="status",
        story="it was claimed and died; its entry waits for the dead letter",
        meanwhile={**_CLAIMED, **_LOST_AND_DEAD},
        harm=keep.FINAL_STAYS_FINAL,
    ),
    Scenario(
        move="refile",
        clause="filed_as_read",
        story="it was put off to tomorrow",
        meanwhile={"generation": 2, "run_at": after(86_400), "due_at": after(86_400)},
        harm=keep.NOT_FILED_EARLIER,
    ),
    Scenario(
        move="keep_payload",
        clause="status",
        story="it succeeded",
        meanwhile={"status": JobStatus.SUCCEEDED, "finished_at": after(-1)},
        harm=keep.FINAL_STAYS_FINAL,
    ),
    Scenario(
        move="keep_payload",
        clause="kept_as_read",
        story="it was put off by a year, and its payload with it",
        meanwhile={"generation": 2, "payload_kept_until": after(400 * 86_400)},
        harm=keep.PAYLOAD_IS_KEPT,
    ),
)

CLAIM = (
    Scenario(
        move="claim",
        clause="status",
        story="SQS delivered the message twice, and the first delivery runs",
        meanwhile=_CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Scenario(
        move="claim",
        clause="generation",
        story="its payload was changed: another message announces that",
        meanwhile={"generation": 2},
        harm=keep.ONLY_THE_CURRENT_GENERATION_RUNS,
    ),
    Scenario(
        move="claim",
        clause="attempts_left",
        story="its attempts are used up and yet it is not DEAD",
        reads={"status": JobStatus.RETRYING, "attempt": 6, "token": 6},
        harm=keep.ATTEMPTS_ARE_BOUNDED,
        is_second_line=True,
    ),
    Scenario(
        move="claim",
        clause="not_cancelled",
        story="it was asked to stop in the attempt that just failed",
        meanwhile={"cancel_requested_at": after(-1)},
        harm=keep.CANCEL_IS_HONOURED,
        is_second_line=True,
    ),
    Scenario(
        move="claim",
        clause="not_expired",
        story="the message waited in its queue until after expires_at",
        reads={"expires_at": after(0)},
        harm=keep.NOT_STARTED_AFTER_EXPIRY,
    ),
    Scenario(
        move="claim",
        clause="due",
        story="a stalled writer's entry was refiled; the message still says the older time",
        meanwhile={"due_at": after(10)},
        harm=keep.NOT_STARTED_BEFORE_DUE,
    ),
    Scenario(
        move="take_over",
        clause="generation",
        story="the same lease under another generation",
        meanwhile={"generation": 2},
        harm=keep.ONLY_THE_CURRENT_GENERATION_RUNS,
        is_second_line=True,
    ),
    Scenario(
        move="take_over",
        clause="attempts_left",
        story="the lost attempt was the last one",
        reads={"attempt": 6, "token": 6},
        harm=keep.ATTEMPTS_ARE_BOUNDED,
    ),
    Scenario(
        move="take_over",
        clause="not_cancelled",
        story="it was asked to stop after the worker read it",
        meanwhile={"cancel_requested_at": after(-1)},
        harm=keep.CANCEL_IS_HONOURED,
    ),
    Scenario(
        move="take_over",
        clause="not_expired",
        story="expires_at passed while the lost attempt ran",
        reads={"expires_at": after(0)},
        harm=keep.NOT_STARTED_AFTER_EXPIRY,
    ),
    Scenario(
        move="take_over",
        clause="may_run_again",
        story="its submitter said on_lost dead",
        reads={"on_lost": OnLost.DEAD},
        harm=keep.LOST_MEANS_DEAD_WHERE_ASKED,
    ),
)


def _of_lease(move: str) -> tuple[Scenario, ...]:
    """The clauses that name an expired lease: of the take-over and of each recovery."""
    return (
        Scenario(
            move=move,
            clause="status",
            story="the attempt ended, and the record of its lease stayed behind",
            meanwhile={"status": JobStatus.SUCCEEDED, "finished_at": after(-1)},
            harm=keep.FINAL_STAYS_FINAL,
            is_second_line=True,
        ),
        Scenario(
            move=move,
            clause="token",
            story="another took it over, with a lease to the same millisecond",
            meanwhile=_NEXT_OWNER,
            harm=keep.ONLY_THE_OWNER_COMMITS,
            is_second_line=True,
        ),
        Scenario(
            move=move,
            clause="lease_as_read",
            story="the owner, whose clock is slow, sent a heartbeat after the job was read",
            meanwhile={"lease_until": after(-10)},
            harm=keep.SIGN_OF_LIFE_IS_RESPECTED,
        ),
        Scenario(
            move=move,
            clause="lease_expired",
            story="the lease is over, but not for longer than the margin between two clocks",
            reads={"lease_until": after(-1)},
            harm=keep.LIVE_LEASE_IS_RESPECTED,
        ),
    )


def _of_owner(move: str) -> tuple[Scenario, ...]:
    """The clauses that name the owner: of everything that only the owner may do."""
    is_heartbeat = move == "heartbeat"
    return (
        Scenario(
            move=move,
            clause="status",
            story="its process was paused, the lease ran out and the job was declared lost",
            meanwhile=_LOST_AND_DEAD,
            harm=keep.LEASE_ONLY_WHILE_RUNNING if is_heartbeat else keep.FINAL_STAYS_FINAL,
        ),
        Scenario(
            move=move,
            clause="token",
            story="its process was paused, and another took the job over",
            meanwhile=_NEXT_OWNER,
            harm=keep.ONLY_THE_OWNER_COMMITS,
        ),
    )


def _asked_meanwhile(move: str) -> Scenario:
    return Scenario(
        move=move,
        clause="not_cancelled",
        story="it was asked to stop just before",
        meanwhile={"cancel_requested_at": after(-1)},
        harm=keep.CANCEL_IS_HONOURED,
    )


ATTEMPTS = (
    *(
        scenario
        for move in (
            "heartbeat",
            "complete",
            "retry_later",
            "hand_back",
            "die",
            "end_cancelled",
        )
        for scenario in _of_owner(move)
    ),
    *map(_asked_meanwhile, ("retry_later", "hand_back", "die")),
)

RECOVERY = (
    *(
        scenario
        for move in ("take_over", "recover to RETRYING", "recover to DEAD", "recover to CANCELLED")
        for scenario in _of_lease(move)
    ),
    *map(_asked_meanwhile, ("recover to RETRYING", "recover to DEAD")),
    Scenario(
        move="finish",
        clause="status",
        story="the same generation, but open",
        meanwhile={"status": JobStatus.PENDING},
        harm=keep.OPEN_JOB_IS_INDEXED,
        is_second_line=True,
    ),
    Scenario(
        move="finish",
        clause="generation",
        story="it was redriven and died once more; of that round no letter was sent",
        meanwhile={"generation": 3, "round": 2, "token": 2},
        harm=keep.DEAD_LETTER_IS_OWED,
    ),
)

OPERATORS = (
    Scenario(
        move="cancel_waiting",
        clause="status",
        story="it was claimed just before",
        meanwhile=_CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Scenario(
        move="cancel_waiting",
        clause="generation",
        story="its payload was replaced by one that is kept in the bucket",
        meanwhile={"generation": 2, "payload": IN_BUCKET},
        harm=keep.OBJECT_IS_OWED,
    ),
    Scenario(
        move="request_cancel",
        clause="status",
        story="the attempt failed just before, and the job waits for its next",
        meanwhile={"status": JobStatus.RETRYING, "generation": 2, **_NO_LEASE},
        harm=keep.WAITING_CAN_BE_CLAIMED,
    ),
    Scenario(
        move="request_cancel",
        clause="not_asked_yet",
        story="another asked before",
        meanwhile={"cancel_requested_at": after(-5)},
        harm=keep.FIRST_REQUEST_STANDS,
    ),
    Scenario(
        move="change",
        clause="status",
        story="it was claimed just before",
        meanwhile=_CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Scenario(
        move="change",
        clause="generation",
        story="another changed it just before, and was told so",
        meanwhile={"generation": 2, "run_at": after(7200), "due_at": after(7200)},
        harm=keep.EVERY_CHANGE_OPENS_A_GENERATION,
    ),
    Scenario(
        move="expire",
        clause="status",
        story="it was claimed just before expires_at",
        meanwhile=_CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Scenario(
        move="expire",
        clause="generation",
        story="its payload was replaced by one that is kept in the bucket",
        meanwhile={"generation": 2, "payload": IN_BUCKET},
        harm=keep.OBJECT_IS_OWED,
    ),
    Scenario(
        move="expire",
        clause="expired",
        story="whoever judged it misread the time",
        reads={"expires_at": after(1)},
        harm=keep.NOT_EXPIRED_EARLY,
    ),
    Scenario(
        move="redrive",
        clause="status",
        story="it succeeded",
        reads={"status": JobStatus.SUCCEEDED},
        harm=keep.SUCCESS_IS_NOT_REPEATED,
    ),
    Scenario(
        move="redrive",
        clause="generation",
        story="another redrove it, and it died once more",
        meanwhile={"generation": 3, "round": 2, "token": 2},
        harm=keep.EVERY_CHANGE_OPENS_A_GENERATION,
    ),
)


def _of_history(case: Case) -> Scenario:
    """A write that compacts the history, and another that just did the same.

    The other dropped as many events as it appended: the length alone would tell nothing.
    """
    long = with_long_history(case.ordinary)
    latest = an_event(EventKind.REFILED, at=after(-2), actor="worker-9")
    # The final jobs that can be redriven are of a generation that nobody writes events to.
    return Scenario(
        move=case.name,
        clause="history_as_read",
        story="another put an event on record and compacted the history",
        reads={"history": long.history, "history_dropped": long.history_dropped},
        meanwhile={
            "history": (long.history[0], *long.history[2:], latest),
            "history_dropped": long.history_dropped + 1,
        },
        harm=keep.HISTORY_IS_KEPT,
        is_second_line=case.builder == "redrive",
    )


HISTORY = tuple(_of_history(case) for case in CASES if "history_as_read" in case.clause_names())

SCENARIOS = (*WAITING, *CLAIM, *ATTEMPTS, *RECOVERY, *OPERATORS, *HISTORY)
