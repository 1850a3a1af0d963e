"""How new jobs are put again that DynamoDB put off: a call's pace, and what is known of each job.

A throttled shard takes a certain number of writes. To put all again at once, or to move what is
there, would only take more of it.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field

from hourhand.domain.errors import HourhandError, PutOff, Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.buckets import bucket_of, bucket_start
from hourhand.domain.times import rfc3339
from hourhand.ports.job_store import WriteResult

PUT_SECONDS = 20.0
"""How long the jobs of one call are put. API Gateway answers for the API after 30 s."""

MOVE_SECONDS = 3.0
"""How long the entries of a writer that stalled are moved after each answer."""

MAX_UNANSWERED = 3
"""How often a job is put without an answer. A throttle is an answer."""

PUT_TOGETHER = 100
"""Jobs of a call that are put, then sent: four calls of DynamoDB and ten of SQS, if nothing lies
beside them. The first is on its way while the next hundred are put."""

SENT_TOGETHER = 10
"""Messages that a call of SQS takes. They are sent once so many jobs are put, and at the end."""

THROTTLED_SHARD = "DynamoDB throttles new jobs of a shard. Add shards if this lasts."
"""The line of the log that names the shard; `hourhand doctor` looks for it."""

FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 0.8


@dataclass(slots=True)
class PutPace:
    """How many jobs of a call are put at a time, and how long the call waits before the next ones.

    ``until``: when it ends, on the monotonic clock. ``put_off`` counts by bucket and shard.
    ``waited``: seconds of all its waits. They end it too, since each round that is put off waits:
    the rounds have a bound even on a clock that stands still.
    """

    until: float
    most: int = PUT_TOGETHER
    wait_seconds: float = 0.0
    waited: float = 0.0
    put_off: Counter[tuple[str, int | None]] = field(default_factory=Counter)

    def is_over(self, now: float) -> bool:
        """Whether no time is left for the next wait and try."""
        return now + self.wait_seconds >= self.until or self.waited >= PUT_SECONDS

    def next_wait(self, job: Job) -> float:
        """Count and return the wait before the next try; half is spread over calls by job id."""
        spread = zlib.crc32(f"{job.id}.{self.put_off.total()}".encode()) / 2**32
        seconds = self.wait_seconds * (0.5 + spread / 2)
        self.waited += seconds
        return seconds

    def note(self, put: int, put_off: int) -> None:
        """Put as many next as DynamoDB took of the last ones, or twice as many if it took all.

        A call that gets few of them stored waits longer: its calls are fuller then.
        """
        if put_off == 0:
            self.most = min(2 * self.most, PUT_TOGETHER)
            if self.most == PUT_TOGETHER:
                self.wait_seconds = 0.0
        else:
            self.most = max(put - put_off, 1)
            doubled = max(2 * self.wait_seconds, FIRST_WAIT_SECONDS)
            self.wait_seconds = min(doubled, LONGEST_WAIT_SECONDS)
        if put - put_off >= SENT_TOGETHER:
            self.wait_seconds = min(self.wait_seconds, FIRST_WAIT_SECONDS)


@dataclass(slots=True)
class Put:
    """One job of a call. ``filed``: the job with its place in the index, of the newest try.

    ``began_at``: when the clock was read for the first try, which may have been applied.
    """

    job: Job
    filed: Job
    began_at: float = float("inf")
    unanswered: int = 0
    result: WriteResult | HourhandError = field(default_factory=Unavailable)

    @property
    def shard(self) -> tuple[str, int | None]:
        """The bucket and the shard of the index."""
        due_at = self.filed.due_at or self.filed.run_at
        return rfc3339(bucket_start(bucket_of(due_at))), self.filed.shard

    def is_put_off(self, result: PutOff) -> bool:
        """Note a try that was put off; return whether another one may be made."""
        self.unanswered += result.stored is None
        return self.unanswered < MAX_UNANSWERED


def no_time_left(job_id: str | None, *, stored: bool | None) -> Unavailable:
    """Return the result of a job for which the time of its call was too short."""
    known = "is not stored" if stored is False else "may be stored or not"
    detail = (
        f"The table is throttled: {PUT_SECONDS:g} s were not enough for the whole call. This job "
        f"{known}. Submit it again, with this id as its id if it was sent without one."
    )
    return Unavailable(detail, stored=stored, job_id=job_id)
