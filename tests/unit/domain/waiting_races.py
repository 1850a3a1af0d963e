"""Why the conditions on waiting jobs are there: dispatch, repairs, operators."""

from __future__ import annotations

from hourhand.domain.jobs.job import JobStatus
from tests.unit.domain import condition_invariants as keep
from tests.unit.domain.job_samples import IN_BUCKET, after
from tests.unit.domain.race import CLAIMED, LOST_AND_DEAD, NEXT_OWNER, NO_LEASE, Race

DISPATCH = (
    Race(
        move="mark_enqueued",
        clause="status",
        story="the message was sent and claimed before the sweep could mark it",
        meanwhile=CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="mark_enqueued",
        clause="generation",
        story="it was rescheduled while its message went out: of the new one nothing was sent",
        meanwhile={"generation": 2, "due_at": after(7200), "run_at": after(7200)},
        harm=keep.SENT_MEANS_SENT,
    ),
    Race(
        move="mark_enqueued",
        clause="never_sent",
        story="another noted a later sending and left the state as it was",
        meanwhile={"status": JobStatus.RETRYING, "enqueued_at": after(1)},
        harm=keep.LATEST_SENDING_STANDS,
        is_second_line=True,
    ),
    Race(
        move="mark_dispatched_again",
        clause="status",
        story="the first message was claimed after all",
        meanwhile=CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="mark_dispatched_again",
        clause="generation",
        story="it was changed and announced anew in the very millisecond",
        meanwhile={"generation": 2},
        harm=keep.SENT_MEANS_SENT,
    ),
    Race(
        move="mark_dispatched_again",
        clause="last_sent_as_read",
        story="another scheduler, which was quicker, sent and marked it too",
        meanwhile={"enqueued_at": after(1)},
        harm=keep.LATEST_SENDING_STANDS,
    ),
    Race(
        move="unmark of a submission",
        clause="status",
        story="the send timed out, but the message had gone out and was claimed",
        meanwhile=CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="unmark of a submission",
        clause="generation",
        story="it was changed and announced anew in the very millisecond",
        meanwhile={"generation": 2},
        harm=keep.SENT_MEANS_SENT,
    ),
    Race(
        move="unmark of a submission",
        clause="last_sent_as_read",
        story="the sweep missed the message and sent it before the failure was noted",
        meanwhile={"enqueued_at": after(-1)},
        harm=keep.LATEST_SENDING_STANDS,
    ),
    Race(
        move="unmark of a retry",
        clause="status",
        story="the send timed out, but the message had gone out and was claimed",
        meanwhile={**CLAIMED, **NEXT_OWNER},
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="unmark of a retry",
        clause="generation",
        story="claimed and failed again, announced in the very millisecond of the first",
        meanwhile={"generation": 3, "attempt": 2, "token": 2},
        harm=keep.SENT_MEANS_SENT,
    ),
    Race(
        move="unmark of a retry",
        clause="last_sent_as_read",
        story="the sweep missed the message and sent it before the failure was noted",
        meanwhile={"enqueued_at": after(-1)},
        harm=keep.LATEST_SENDING_STANDS,
    ),
    Race(
        move="refile",
        clause="status",
        story="it was claimed and died; its entry waits for the dead letter",
        meanwhile={**CLAIMED, **LOST_AND_DEAD},
        harm=keep.FINAL_STAYS_FINAL,
    ),
    Race(
        move="refile",
        clause="filed_as_read",
        story="it was put off to tomorrow",
        meanwhile={"generation": 2, "run_at": after(86_400), "due_at": after(86_400)},
        harm=keep.NOT_FILED_EARLIER,
    ),
    *(
        race
        for case in ("park of a sent job", "park of an unsent job")
        for race in (
            Race(
                move=case,
                clause="status",
                story="a duplicate of its message was claimed before the pause was seen",
                meanwhile=CLAIMED,
                harm=keep.RUNNING_IS_LEFT_ALONE,
            ),
            Race(
                move=case,
                clause="generation",
                story="it was changed and announced anew in the very millisecond",
                meanwhile={"generation": 2},
                harm=keep.SENT_MEANS_SENT,
            ),
            Race(
                move=case,
                clause="last_sent_as_read",
                story="another parked it, and it was woken since",
                meanwhile={"enqueued_at": after(1)},
                harm=keep.LATEST_SENDING_STANDS,
            ),
        )
    ),
    Race(
        move="unpark",
        clause="status",
        story="a duplicate of its message was claimed once the pause was over",
        meanwhile=CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="unpark",
        clause="generation",
        story="it was changed and announced anew in the very millisecond",
        meanwhile={"generation": 2},
        harm=keep.SENT_MEANS_SENT,
    ),
    Race(
        move="unpark",
        clause="parked_as_read",
        story="another woke it, and it was parked anew by a second pause",
        meanwhile={"enqueued_at": after(1)},
        harm=keep.LATEST_SENDING_STANDS,
    ),
    Race(
        move="keep_payload",
        clause="status",
        story="it succeeded",
        meanwhile={"status": JobStatus.SUCCEEDED, "finished_at": after(-1)},
        harm=keep.FINAL_STAYS_FINAL,
    ),
    Race(
        move="keep_payload",
        clause="kept_as_read",
        story="it was put off by a year, and its payload with it",
        meanwhile={"generation": 2, "payload_kept_until": after(400 * 86_400)},
        harm=keep.PAYLOAD_IS_KEPT,
    ),
)

OPERATORS = (
    Race(
        move="cancel_waiting",
        clause="status",
        story="it was claimed just before",
        meanwhile=CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="cancel_waiting",
        clause="generation",
        story="its payload was replaced by one that is kept in the bucket",
        meanwhile={"generation": 2, "payload": IN_BUCKET},
        harm=keep.OBJECT_IS_OWED,
    ),
    Race(
        move="request_cancel",
        clause="status",
        story="the attempt failed just before, and the job waits for its next",
        meanwhile={"status": JobStatus.RETRYING, "generation": 2, **NO_LEASE},
        harm=keep.WAITING_CAN_BE_CLAIMED,
    ),
    Race(
        move="request_cancel",
        clause="token",
        story="the request was sent twice; the job was redriven before the second copy arrived",
        meanwhile={"generation": 3, "round": 2, "attempt": 1, "token": 2},
        harm=keep.ONLY_THE_ATTEMPT_THAT_WAS_READ_IS_STOPPED,
    ),
    Race(
        move="request_cancel",
        clause="same_job",
        story="the request was sent twice; its job was deleted, and another one has its id",
        meanwhile={"created_at": after(-1)},
        harm=keep.A_DELETED_JOB_CHANGES_NO_OTHER,
    ),
    Race(
        move="request_cancel",
        clause="not_asked_yet",
        story="another asked before",
        meanwhile={"cancel_requested_at": after(-5)},
        harm=keep.FIRST_REQUEST_STANDS,
    ),
    Race(
        move="change",
        clause="status",
        story="it was claimed just before",
        meanwhile=CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="change",
        clause="generation",
        story="another changed it just before, and was told so",
        meanwhile={"generation": 2, "run_at": after(7200), "due_at": after(7200)},
        harm=keep.EVERY_CHANGE_OPENS_A_GENERATION,
    ),
    Race(
        move="expire",
        clause="status",
        story="it was claimed just before expires_at",
        meanwhile=CLAIMED,
        harm=keep.RUNNING_IS_LEFT_ALONE,
    ),
    Race(
        move="expire",
        clause="generation",
        story="its payload was replaced by one that is kept in the bucket",
        meanwhile={"generation": 2, "payload": IN_BUCKET},
        harm=keep.OBJECT_IS_OWED,
    ),
    Race(
        move="expire",
        clause="expired",
        story="whoever judged it misread the time",
        reads={"expires_at": after(1)},
        harm=keep.NOT_EXPIRED_EARLY,
    ),
    Race(
        move="redrive",
        clause="status",
        story="it succeeded",
        reads={"status": JobStatus.SUCCEEDED},
        harm=keep.SUCCESS_IS_NOT_REPEATED,
    ),
    Race(
        move="redrive",
        clause="generation",
        story="another redrove it, and it died once more",
        meanwhile={"generation": 3, "round": 2, "token": 2},
        harm=keep.EVERY_CHANGE_OPENS_A_GENERATION,
    ),
    Race(
        move="discard",
        clause="status",
        story="it succeeded",
        reads={"status": JobStatus.SUCCEEDED},
        harm=keep.ONLY_DEAD_JOBS_ARE_DISCARDED,
    ),
    Race(
        move="discard",
        clause="generation",
        story="the request was sent twice; the job was redriven and died before the second copy",
        meanwhile={"generation": 3, "round": 2, "token": 2},
        harm=keep.ONLY_THE_END_THAT_WAS_READ_IS_DISCARDED,
    ),
    Race(
        move="discard",
        clause="not_discarded_yet",
        story="another discarded it before",
        meanwhile={"discarded_at": after(-5), "discard_note": "known"},
        harm=keep.FIRST_DISCARD_STANDS,
    ),
)
