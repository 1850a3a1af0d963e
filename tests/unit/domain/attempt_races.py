"""Why the conditions on attempts are there: claims, outcomes, recovery."""

from __future__ import annotations

from dataclasses import replace

from hourhand.domain.jobs.job import JobStatus, OnLost
from tests.unit.domain import condition_invariants as keep
from tests.unit.domain.job_samples import OF_A_RUN, after
from tests.unit.domain.race import CLAIMED, LOST_AND_DEAD, NEXT_OWNER, NO_LEASE, Race

_CLAIM = (
    Race(
        move="claim",
        clause="status",
        story="SQS delivered the message twice, and the first delivery runs",
        meanwhile=CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="claim",
        clause="generation",
        story="its payload was changed: another message announces that",
        meanwhile={"generation": 2},
        harm=keep.ONLY_THE_CURRENT_GENERATION_RUNS,
    ),
    Race(
        move="claim",
        clause="attempts_left",
        story="its attempts are used up and yet it is not DEAD",
        reads={"status": JobStatus.RETRYING, "attempt": 6, "token": 6},
        harm=keep.ATTEMPTS_ARE_BOUNDED,
        is_second_line=True,
    ),
    Race(
        move="claim",
        clause="not_cancelled",
        story="it was asked to stop in the attempt that just failed",
        meanwhile={"cancel_requested_at": after(-1)},
        harm=keep.CANCEL_IS_HONOURED,
        is_second_line=True,
    ),
    Race(
        move="claim",
        clause="not_expired",
        story="the message waited in its queue until after expires_at",
        reads={"expires_at": after(0)},
        harm=keep.NOT_STARTED_AFTER_EXPIRY,
    ),
    Race(
        move="claim",
        clause="due",
        story="a stalled writer's entry was refiled; the message still says the older time",
        meanwhile={"due_at": after(10)},
        harm=keep.NOT_STARTED_BEFORE_DUE,
    ),
)

CLAIM = (
    *_CLAIM,
    *(replace(race, move="claim of a debounced job") for race in _CLAIM),
    Race(
        move="claim of a debounced job",
        clause="quiet",
        story="a submission came after the admission check, and moved the job",
        meanwhile={"run_at": after(10), "debounces": 1},
        harm=keep.NOT_STARTED_WHILE_SUBMISSIONS_COME,
    ),
    Race(
        move="take_over",
        clause="generation",
        story="the same lease under another generation",
        meanwhile={"generation": 2},
        harm=keep.ONLY_THE_CURRENT_GENERATION_RUNS,
        is_second_line=True,
    ),
    Race(
        move="take_over",
        clause="attempts_left",
        story="the lost attempt was the last one",
        reads={"attempt": 6, "token": 6},
        harm=keep.ATTEMPTS_ARE_BOUNDED,
    ),
    Race(
        move="take_over",
        clause="not_cancelled",
        story="it was asked to stop after the worker read it",
        meanwhile={"cancel_requested_at": after(-1)},
        harm=keep.CANCEL_IS_HONOURED,
    ),
    Race(
        move="take_over",
        clause="not_expired",
        story="expires_at passed while the lost attempt ran",
        reads={"expires_at": after(0)},
        harm=keep.NOT_STARTED_AFTER_EXPIRY,
    ),
    Race(
        move="take_over",
        clause="may_run_again",
        story="its submitter said on_lost dead",
        reads={"on_lost": OnLost.DEAD},
        harm=keep.LOST_MEANS_DEAD_WHERE_ASKED,
    ),
)


def _of_lease(move: str) -> tuple[Race, ...]:
    """The clauses that name an expired lease: of the take-over and of each recovery."""
    return (
        Race(
            move=move,
            clause="status",
            story="the attempt ended, and the record of its lease stayed behind",
            meanwhile={"status": JobStatus.SUCCEEDED, "finished_at": after(-1)},
            harm=keep.FINAL_STAYS_FINAL,
            is_second_line=True,
        ),
        Race(
            move=move,
            clause="token",
            story="another took it over, with a lease to the same millisecond",
            meanwhile=NEXT_OWNER,
            harm=keep.ONLY_THE_OWNER_COMMITS,
            is_second_line=True,
        ),
        Race(
            move=move,
            clause="lease_as_read",
            story="the owner, whose clock is slow, sent a heartbeat after the job was read",
            meanwhile={"lease.until": after(-10)},
            harm=keep.SIGN_OF_LIFE_IS_RESPECTED,
        ),
        Race(
            move=move,
            clause="lease_expired",
            story="the lease is over, but not for longer than the margin between two clocks",
            reads={"lease.until": after(-1)},
            harm=keep.LIVE_LEASE_IS_RESPECTED,
        ),
    )


def _of_owner(move: str) -> tuple[Race, ...]:
    """The clauses that name the owner: of everything that only the owner may do."""
    if move == "heartbeat":
        # Its clause on the lease is false wherever there is none.
        no_longer_running = Race(
            move=move,
            clause="status",
            story="the attempt ended, and the record of its lease stayed behind",
            meanwhile={"status": JobStatus.SUCCEEDED, "finished_at": after(-1)},
            harm=keep.FINAL_STAYS_FINAL,
            is_second_line=True,
        )
    else:
        no_longer_running = Race(
            move=move,
            clause="status",
            story="its process was paused, the lease ran out and the job was declared lost",
            meanwhile=LOST_AND_DEAD,
            harm=keep.FINAL_STAYS_FINAL,
        )
    return (
        no_longer_running,
        Race(
            move=move,
            clause="token",
            story="its process was paused, and another took the job over",
            meanwhile=NEXT_OWNER,
            harm=keep.ONLY_THE_OWNER_COMMITS,
        ),
        Race(
            move=move,
            clause="same_job",
            story="its process was paused, its job was deleted, and another one has its id",
            meanwhile={"created_at": after(-1)},
            harm=keep.A_DELETED_JOB_CHANGES_NO_OTHER,
        ),
    )


_SHORTENED = Race(
    move="heartbeat",
    clause="extends_lease",
    story="the heartbeat was sent twice; the next one came between its two copies",
    meanwhile={"lease.until": after(60)},
    harm=keep.NO_HEARTBEAT_SHORTENS_A_LEASE,
)


def _of_invocation(move: str) -> tuple[Race, ...]:
    """The same, where the move leaves the ownership as it is."""
    return tuple(
        replace(race, harm=keep.FLAGS_ARE_OF_ONE_INVOCATION) if race.clause == "token" else race
        for race in _of_owner(move)
    )


_FLAGGED = Race(
    move="suspend",
    clause="not_flagged",
    story="the signal that it waits for came just before",
    meanwhile={"wake_flag": True},
    harm=keep.A_FLAGGED_RUN_READS_BEFORE_IT_WAITS,
)


def _asked_meanwhile(move: str) -> Race:
    return Race(
        move=move,
        clause="not_cancelled",
        story="it was asked to stop just before",
        meanwhile={"cancel_requested_at": after(-1)},
        harm=keep.CANCEL_IS_HONOURED,
    )


ATTEMPTS = (
    *(
        race
        for move in (
            "heartbeat",
            "complete",
            "retry_later",
            "hand_back",
            "die",
            "end_cancelled",
            "suspend",
            "restart",
        )
        for race in _of_owner(move)
    ),
    *(race for move in ("flag", "clear_flag", "keep_journal") for race in _of_invocation(move)),
    _FLAGGED,
    *(
        Race(
            move=move,
            clause="signals_as_read",
            story="other signals came just before",
            meanwhile={"signals": 9},
            harm=keep.SIGNALS_ARE_COUNTED_UP,
        )
        for move in ("wake", "flag", "count_signal")
    ),
    Race(
        move="count_signal",
        clause="same_job",
        story="the run was deleted, and submitted again",
        meanwhile={"created_at": after(-1)},
        harm=keep.A_DELETED_JOB_CHANGES_NO_OTHER,
    ),
    _SHORTENED,
    *map(_asked_meanwhile, ("retry_later", "hand_back", "die", "suspend", "restart")),
)

RECOVERY = (
    *(
        race
        for move in ("take_over", "recover to RETRYING", "recover to DEAD", "recover to CANCELLED")
        for race in _of_lease(move)
    ),
    *map(_asked_meanwhile, ("recover to RETRYING", "recover to DEAD")),
    Race(
        move="finish",
        clause="status",
        story="the same generation, but open",
        meanwhile={"status": JobStatus.PENDING},
        harm=keep.OPEN_JOB_IS_INDEXED,
        is_second_line=True,
    ),
    Race(
        move="finish",
        clause="generation",
        story="it was redriven and died once more; of that round no letter was sent",
        meanwhile={"generation": 3, "round": 2, "token": 2},
        harm=keep.DEAD_LETTER_IS_OWED,
    ),
    Race(
        move="finish of a child",
        clause="status",
        story="the same generation, but open",
        meanwhile={"status": JobStatus.PENDING},
        harm=keep.OPEN_JOB_IS_INDEXED,
        is_second_line=True,
    ),
    Race(
        move="finish of a child",
        clause="generation",
        story="its run redrove it and it died once more; of that round no letter was sent",
        meanwhile={"generation": 3, "round": 2, "token": 2},
        harm=keep.DEAD_LETTER_IS_OWED,
    ),
    Race(
        move="finish of a child",
        clause="kept_as_read",
        story="its run was redriven, and keeps it for longer",
        meanwhile={"parent": replace(OF_A_RUN, kept_until=after(90 * 86_400))},
        harm=keep.A_CHILD_IS_KEPT_AS_LONG_AS_ITS_RUN,
    ),
    Race(
        move="prolong_child",
        clause="same_job",
        story="TTL deleted it, and a replay put it again",
        meanwhile={"created_at": after(-1)},
        harm=keep.A_DELETED_JOB_CHANGES_NO_OTHER,
    ),
    Race(
        move="prolong_child",
        clause="filed_as_read",
        story="it ended, and is kept until the earlier end of its run's journal",
        meanwhile={
            "status": JobStatus.SUCCEEDED,
            "finished_at": after(-1),
            "due_at": None,
            "shard": None,
            "keep_until": after(40 * 86_400),
            **NO_LEASE,
        },
        harm=keep.A_CHILD_IS_KEPT_AS_LONG_AS_ITS_RUN,
    ),
)
