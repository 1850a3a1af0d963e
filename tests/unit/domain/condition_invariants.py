"""What must stay true whatever two writers do, as predicates on one write.

Each takes the job as the writer read it, the item as it stood when the write came, and the item
after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hourhand.domain.jobs.job import REDRIVABLE, Job, JobStatus, OnLost
from hourhand.domain.jobs.outbox import outbox_tasks
from tests.unit.domain.condition_cases import MARGIN, WAIT
from tests.unit.domain.job_samples import NOW


@dataclass(frozen=True)
class Invariant:
    """A sentence, and whether one write kept to it."""

    sentence: str
    holds: Callable[[Job, Job, Job], bool]


def _ownership(job: Job) -> tuple[object, ...]:
    return (job.status, job.token, job.lease)


def _is_running(job: Job) -> bool:
    return job.status is JobStatus.RUNNING


A_DELETED_JOB_CHANGES_NO_OTHER = Invariant(
    "what was a job before it was deleted changes nothing of another job with its id",
    lambda read, was, is_now: was.created_at == read.created_at or was == is_now,
)
ONLY_THE_OWNER_COMMITS = Invariant(
    "who holds an older token changes nothing of the attempt under way",
    lambda read, was, is_now: (
        not _is_running(was) or was.token == read.token or _ownership(was) == _ownership(is_now)
    ),
)
RUNNING_IS_LEFT_ALONE = Invariant(
    "what is decided about a waiting job does not touch one that runs",
    lambda read, was, is_now: (
        not _is_running(was)
        or (_ownership(was), was.enqueued_at, was.queue)
        == (_ownership(is_now), is_now.enqueued_at, is_now.queue)
    ),
)
LIVE_LEASE_IS_RESPECTED = Invariant(
    "nobody takes a job whose lease is alive, within the margin",
    lambda read, was, is_now: (
        was.at("lease.until") is None
        or was.at("lease.until") < NOW - MARGIN
        or _ownership(was) == _ownership(is_now)
    ),
)
SIGN_OF_LIFE_IS_RESPECTED = Invariant(
    "nobody takes a job whose owner gave a sign of life after it was judged",
    lambda read, was, is_now: (
        was.at("lease.until") == read.at("lease.until") or _ownership(was) == _ownership(is_now)
    ),
)
FINAL_STAYS_FINAL = Invariant(
    "a final state is reached once, and its record does not change",
    lambda read, was, is_now: not was.status.is_final or was == is_now,
)
SUCCESS_IS_NOT_REPEATED = Invariant(
    "a job that succeeded is never sent round again",
    lambda read, was, is_now: was.status is not JobStatus.SUCCEEDED or was.status is is_now.status,
)
CANCEL_IS_HONOURED = Invariant(
    "a job that was asked to stop ends, and as nothing but CANCELLED or SUCCEEDED",
    lambda read, was, is_now: (
        was.cancel_requested_at is None
        or is_now.status in {JobStatus.CANCELLED, JobStatus.SUCCEEDED}
    ),
)
WAITING_CAN_BE_CLAIMED = Invariant(
    "no waiting job carries the flag that forbids every claim",
    lambda read, was, is_now: not is_now.status.is_waiting or is_now.cancel_requested_at is None,
)
ONLY_THE_ATTEMPT_THAT_WAS_READ_IS_STOPPED = Invariant(
    "who asks an attempt to stop stops no other",
    lambda read, was, is_now: (
        was.token == read.token or was.cancel_requested_at == is_now.cancel_requested_at
    ),
)
NO_HEARTBEAT_SHORTENS_A_LEASE = Invariant(
    "no heartbeat of an attempt brings the end of its lease forward",
    lambda read, was, is_now: (
        was.token != read.token
        or was.at("lease.until") is None
        or (is_now.lease is not None and is_now.lease.until >= was.at("lease.until"))
    ),
)
FIRST_REQUEST_STANDS = Invariant(
    "when a job was first asked to stop stays on record",
    lambda read, was, is_now: was.cancel_requested_at in {None, is_now.cancel_requested_at},
)
ONLY_DEAD_JOBS_ARE_DISCARDED = Invariant(
    "only a DEAD job is discarded",
    lambda read, was, is_now: is_now.discarded_at is None or is_now.status is JobStatus.DEAD,
)
ONLY_THE_END_THAT_WAS_READ_IS_DISCARDED = Invariant(
    "the end of a later round is not acknowledged by a request that did not see it",
    lambda read, was, is_now: (
        was.generation == read.generation or was.discarded_at == is_now.discarded_at
    ),
)
FIRST_DISCARD_STANDS = Invariant(
    "when a job was first discarded stays on record, with its note",
    lambda read, was, is_now: (
        was.discarded_at is None
        or (was.discarded_at, was.discard_note) == (is_now.discarded_at, is_now.discard_note)
    ),
)
ONLY_WHAT_ENDED_IS_SUPERSEDED = Invariant(
    "only a job that could be redriven is superseded",
    lambda read, was, is_now: is_now.superseded_at is None or is_now.status in REDRIVABLE,
)
ONLY_THE_END_THAT_WAS_READ_IS_SUPERSEDED = Invariant(
    "the end of a later round, whose job may have the key, is not superseded by who did not see it",
    lambda read, was, is_now: (
        was.generation == read.generation or was.superseded_at == is_now.superseded_at
    ),
)
SUPERSEDED_JOBS_STAY_FINAL = Invariant(
    "a job that a newer one of its key superseded does not come back in scope",
    lambda read, was, is_now: was.superseded_at is None or is_now.status.is_final,
)
ONLY_THE_CURRENT_GENERATION_RUNS = Invariant(
    "a message of an older generation starts nothing",
    lambda read, was, is_now: was.generation == read.generation or was.token == is_now.token,
)
EVERY_CHANGE_OPENS_A_GENERATION = Invariant(
    "a generation is opened by one change alone, and never again",
    lambda read, was, is_now: is_now.generation > was.generation,
)
SENT_MEANS_SENT = Invariant(
    "whether a message was sent is noted of its own generation alone",
    lambda read, was, is_now: (
        was.generation == read.generation or was.enqueued_at == is_now.enqueued_at
    ),
)
LATEST_SENDING_STANDS = Invariant(
    "what another sent meanwhile stays on record",
    lambda read, was, is_now: (
        was.enqueued_at in {None, read.enqueued_at}
        or (is_now.enqueued_at is not None and is_now.enqueued_at >= was.enqueued_at)
    ),
)
NOT_STARTED_BEFORE_DUE = Invariant(
    "no job starts before it is due",
    lambda read, was, is_now: (
        not _is_running(is_now) or (was.due_at is not None and was.due_at <= NOW + WAIT)
    ),
)
NOT_FILED_EARLIER = Invariant(
    "a repair of the index never makes a job due earlier than was asked",
    lambda read, was, is_now: (
        was.due_at is None or (is_now.due_at is not None and is_now.due_at >= was.due_at)
    ),
)
NOT_STARTED_AFTER_EXPIRY = Invariant(
    "no attempt starts after expires_at",
    lambda read, was, is_now: (
        was.token == is_now.token or was.expires_at is None or was.expires_at > NOW
    ),
)
NOT_EXPIRED_EARLY = Invariant(
    "no job is EXPIRED before its time",
    lambda read, was, is_now: was.expires_at is not None and was.expires_at <= NOW,
)
ATTEMPTS_ARE_BOUNDED = Invariant(
    "no round has more attempts than the policy allows",
    lambda read, was, is_now: is_now.attempt <= is_now.retry.max_attempts,
)
LOST_MEANS_DEAD_WHERE_ASKED = Invariant(
    "a job with on_lost dead is not run again after its worker vanished",
    lambda read, was, is_now: was.on_lost is OnLost.RETRY or was.token == is_now.token,
)
OPEN_JOB_IS_INDEXED = Invariant(
    "every job that is not final is in the index, where the sweep finds it",
    lambda read, was, is_now: is_now.status.is_final or is_now.due_at is not None,
)
DEAD_LETTER_IS_OWED = Invariant(
    "a dead job leaves the index only after the letter of its own round was sent",
    lambda read, was, is_now: is_now.due_at is not None or was.generation == read.generation,
)
OBJECT_IS_OWED = Invariant(
    "a final job stays in the index until its objects are marked finished",
    lambda read, was, is_now: (
        not is_now.status.is_final
        or is_now.due_at is not None
        or not outbox_tasks(was, is_now.status)
    ),
)
NOT_STARTED_WHILE_SUBMISSIONS_COME = Invariant(
    "a debounced job starts only once no submission came for a while",
    lambda read, was, is_now: not _is_running(is_now) or was.run_at <= NOW + WAIT,
)
WHAT_BEGAN_KEEPS_ITS_PAYLOAD = Invariant(
    "no submission is taken by a job that has begun, which ran without it",
    lambda read, was, is_now: was.token == 0 or was == is_now,
)
NEWER_PAYLOAD_STANDS = Invariant(
    "an older submission replaces nothing that came after it",
    lambda read, was, is_now: was.payload in {read.payload, is_now.payload},
)
PAYLOAD_IS_KEPT = Invariant(
    "how long a payload is kept never shrinks",
    lambda read, was, is_now: (
        was.payload_kept_until is None
        or (
            is_now.payload_kept_until is not None
            and is_now.payload_kept_until >= was.payload_kept_until
        )
    ),
)
A_FLAGGED_RUN_READS_BEFORE_IT_WAITS = Invariant(
    "a run for which something completed does not wait before it read the journal again",
    lambda read, was, is_now: not was.wake_flag or is_now.waits_for is None,
)
FLAGS_ARE_OF_ONE_INVOCATION = Invariant(
    "what is noted of an invocation changes nothing of another",
    lambda read, was, is_now: (
        was.token == read.token
        or (was.wake_flag, was.journal_ends) == (is_now.wake_flag, is_now.journal_ends)
    ),
)
ONLY_WHAT_WAITS_AS_READ_IS_GIVEN_UP = Invariant(
    "a job ends for a deadlock only while it waits for what was looked at",
    lambda read, was, is_now: (
        was == is_now or (was.waits_for, was.generation) == (read.waits_for, read.generation)
    ),
)
SIGNALS_ARE_COUNTED_UP = Invariant(
    "no signal gets the number of one that was acknowledged before it was sent",
    lambda read, was, is_now: is_now.signals >= was.signals,
)
A_PARKED_RUN_IS_NOT_WOKEN = Invariant(
    "a run that waits for something else meanwhile goes on to wait",
    lambda read, was, is_now: was.waits_for in (read.waits_for, is_now.waits_for),
)
A_REVERSED_RUN_STAYS_FINAL = Invariant(
    "a run whose steps are reversed does not go on where it stopped",
    lambda read, was, is_now: was.compensated_round is None or was.status is is_now.status,
)
ONLY_ENDED_RUNS_ARE_REVERSED = Invariant(
    "no run is reversed that goes on",
    lambda read, was, is_now: is_now.compensated_round is None or is_now.status.is_final,
)
ONLY_THE_ROUND_THAT_WAS_READ_IS_REVERSED = Invariant(
    "the compensation of a round reverses no other round",
    lambda read, was, is_now: (
        was.round == read.round or was.compensated_round == is_now.compensated_round
    ),
)
FIRST_REVERSAL_STANDS = Invariant(
    "which round was reversed stays on record",
    lambda read, was, is_now: was.compensated_round in {None, is_now.compensated_round},
)
A_CHILD_IS_KEPT_AS_LONG_AS_ITS_RUN = Invariant(
    "a child is not deleted before the journal of its run",
    lambda read, was, is_now: (
        is_now.parent is None
        or is_now.keep_until is None
        or is_now.keep_until >= is_now.parent.kept_until
    ),
)
HISTORY_IS_KEPT = Invariant(
    "no event vanishes that another just put on record",
    lambda read, was, is_now: was.history[-1] in is_now.history,
)
