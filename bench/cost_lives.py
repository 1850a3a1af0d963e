"""Counts what a job of each kind uses: units, requests to SQS and S3, messages that reach a worker.

The lives are those of `bench.write_units` and some more, on the same stage. Units are told by the
emulator; requests are counted on the wire before it, whichever client made them.

Lambda's event source is not there. By its documentation it receives messages, calls the function
and deletes them: counted is one receive and one delete for each message that was worked off, since
ours come one to a call. A poller that receives several at once asks less often.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from bench.counting_proxy import Calls, counting_proxy
from bench.write_units import (
    BASE,
    HANDLER,
    LIVES,
    SMALL,
    WAIT_SECONDS,
    Life,
    Stage,
    stage,
    succeed,
)
from hourhand.api.requests.jobs import JobSubmission
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.aws.clients import sqs_client
from hourhand.cli.estimate.prices import Usage
from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.timings import Timings
from hourhand.services.jobs.submission import Submitted

MEMORY_GB = 1.0
HANDLER_SECONDS = 0.1
WORKER_SECONDS = 0.025
API_SECONDS = 0.02
API_SECONDS_MORE = 0.006
"""Inputs, the first four as in docs/how-to/deploy.md: no time is measured here. The worker's is
added to the handler's; the last is for each further job of a batch, one round trip to DynamoDB."""

LARGE_KB = 300
LARGE = "x" * (LARGE_KB * 1024 - 200)
IN_S3 = f"payload of {LARGE_KB} KB, in S3"
"""The design's table has no row for it: one write more ends it, once its object is marked."""

PERIOD_SECONDS = 5
AT_ONCE = 500
"""Jobs that are submitted by one call: as many as it takes."""

DUE_AT_ONCE = 25
SUBMITTED_BEFORE = timedelta(seconds=6)
LOOK_BACK = timedelta(minutes=5)
OCCURRENCE = 3.0
SLOT = 1.0
ATTEMPTS = 5

SENDS = ("SendMessage", "SendMessageBatch")
HIDES = "ChangeMessageVisibility"
ENDS = "DeleteMessage"
"""Made by the bench in place of Lambda's event source, once for each message worked off."""

PUTS, GETS = "S3 PUT", "S3 GET"
SHOWN = (*SENDS, HIDES, PUTS, GETS)
"""The calls of the code that are paid for as such. Those of DynamoDB are paid by their units."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One kind of job: what each one uses, and the write units that the design allows it.

    ``usage``: by the names of `hourhand.cli.estimate.prices`, without ``way_in``, which is
    submission over the API. ``calls``: of our own clients.
    """

    name: str
    usage: Usage
    way_in: Usage
    calls: dict[str, float]
    allowed: float


@dataclass(frozen=True, slots=True)
class Meter:
    """Counts jobs of one kind after another on one stage."""

    stage: Stage
    calls: Calls

    def reset(self) -> None:
        """Forget what was counted so far."""
        self.stage.counter.take()
        self.stage.reads.take()
        self.calls.take()

    def read(
        self, name: str, allowed: float, *, jobs: int = 1, submissions: float = 1, reads: float = -1
    ) -> Counted:
        """Return what was counted since for each of ``jobs``; ``reads``: instead of those counted.

        ``submissions``: the calls of the API by which they all came.
        """
        writes = sum(self.stage.counter.take().values()) / jobs
        read = sum(self.stage.reads.take().values()) / jobs
        calls = {name: count / jobs for name, count in sorted(self.calls.take().items())}
        return Counted(
            name,
            {"write unit": writes, "read unit": reads if reads >= 0 else read, **_work(calls)},
            _way_in(submissions / jobs),
            {each: count for each, count in calls.items() if each in SHOWN},
            allowed,
        )


@contextmanager
def metered() -> Iterator[Meter]:
    """Yield a meter on a fresh emulator, behind what counts the calls that reach it."""
    with (
        stage() as fresh,
        counting_proxy(os.environ["AWS_ENDPOINT_URL"]) as (endpoint, calls),
    ):
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        settings = fresh.settings
        # Ticks that find nothing else: no day of minutes before the first, no probes of the time.
        timings = replace(settings.timings, first_look_back=LOOK_BACK)
        quick = replace(settings, timings=timings, clock_queue="")
        yield Meter(Stage(quick, sqs_client()), calls)


def _work(calls: dict[str, float]) -> Usage:
    """Return what the calls for a job, and Lambda's for its messages, use."""

    def some(*names: str) -> float:
        return sum(calls.get(name, 0.0) for name in names)

    messages = some(ENDS)
    asked = some(*SENDS, HIDES) + 2 * messages
    return {
        "sqs request": asked,
        "lambda call": messages,
        "lambda GB-s": messages * (HANDLER_SECONDS + WORKER_SECONDS) * MEMORY_GB,
        "s3 put": some(PUTS),
        "s3 get": some(GETS),
    }


def _way_in(calls: float) -> Usage:
    """Return what submission uses for a job, of which ``calls`` is the share of a call."""
    seconds = calls * API_SECONDS + (1 - calls) * API_SECONDS_MORE if calls else 0.0
    return {
        "http api request": calls,
        "lambda call": calls,
        "lambda GB-s": seconds * MEMORY_GB,
    }


def count_lives(meter: Meter) -> list[Counted]:
    """Count each kind of job."""
    large = Life(IN_S3, BASE + 1, body={"payload": LARGE})
    lives = [life for life in (*LIVES, large) if "delay_seconds" not in life.body]
    return [
        *(_count_life(meter, life) for life in lives),
        _count_batch(meter),
        _count_delayed(meter),
        _count_occurrence(meter, "allow", BASE + OCCURRENCE),
        _count_occurrence(meter, "skip", BASE + OCCURRENCE + SLOT),
    ]


def _count_life(meter: Meter, life: Life) -> Counted:
    meter.reset()
    job = meter.stage.submit(**life.body)
    ended = meter.stage.work_until_final(job, life.function)
    if ended.status is not life.ends:
        raise RuntimeError(f"{life.name}: ended {ended.status}, not {life.ends}")
    return meter.read(life.name, life.allowed)


def _count_batch(meter: Meter) -> Counted:
    """Count jobs that one call of the API submits."""
    meter.reset()
    body = {"handler": HANDLER, "payload": SMALL}
    requests = [JobSubmission.parse(body) for _ in range(AT_ONCE)]
    made = meter.stage.api.submission.submit_many(requests, actor="bench")
    for each in made:
        assert isinstance(each, Submitted)
        meter.stage.work_until_final(each.job, succeed)
    return meter.read(f"immediate, {AT_ONCE} a call", BASE, jobs=AT_ONCE)


def _count_delayed(meter: Meter) -> Counted:
    """Count jobs that ticks find and send; their reads by what a tick reads more than without.

    A job that was submitted long before is read by each tick of its look-ahead. Counted is where
    an idle tick read as many units before and afterwards (see `_count_occurrence`).
    """
    for _ in range(ATTEMPTS):
        idle = _idle_reads(meter)
        meter.reset()
        counted = _count_due_at_once(meter, idle)
        if _idle_reads(meter) == idle:
            return counted
    raise RuntimeError(f"an idle tick read another number of units in {ATTEMPTS} attempts")


def _count_due_at_once(meter: Meter, idle: float) -> Counted:
    stage = meter.stage
    run_at = (datetime.now(UTC) + SUBMITTED_BEFORE).isoformat()
    jobs = [stage.submit(run_at=run_at) for _ in range(DUE_AT_ONCE)]
    most, sent = idle, 0
    deadline = time.monotonic() + WAIT_SECONDS
    while sent < DUE_AT_ONCE:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{sent} of {DUE_AT_ONCE} delayed jobs were sent")
        stage.tick()
        most = max(most, sum(stage.reads.take().values()))
        sent = sum(1 for job in jobs if _is_sent(stage, job))
        time.sleep(0.05)
    for job in jobs:
        stage.work_until_final(job, succeed)
    timings = Timings()
    reads = (most - idle) / DUE_AT_ONCE * (timings.look_ahead / timings.tick)
    name = f"delayed, {DUE_AT_ONCE} due at once"
    return meter.read(name, BASE + 1, jobs=DUE_AT_ONCE, submissions=DUE_AT_ONCE, reads=reads)


def _idle_reads(meter: Meter) -> float:
    """Return the units that a tick reads that finds nothing to do."""
    meter.stage.tick()
    meter.reset()
    meter.stage.tick()
    return sum(meter.stage.reads.take().values())


def _is_sent(stage: Stage, job: Job) -> bool:
    current = stage.jobs.get(job.id)
    return current is not None and current.enqueued_at is not None


def _count_occurrence(meter: Meter, overlap: str, allowed: float) -> Counted:
    """Count the second occurrence of a schedule: the first met no slots and no journal.

    Its reads are what its tick reads more than an idle one. A tick reads a bucket less from some
    second of each minute on: counted is where it read as many before and afterwards.
    """
    for attempt in range(ATTEMPTS):
        schedule_id, idle = f"cost-{overlap}-{attempt}", _idle_reads(meter)
        counted = _count_second(meter, schedule_id, overlap, allowed, idle)
        meter.stage.api.schedules.delete(schedule_id, actor="bench")
        if _idle_reads(meter) == idle:
            return counted
    raise RuntimeError(f"an idle tick read another number of units in {ATTEMPTS} attempts")


def _count_second(
    meter: Meter, schedule_id: str, overlap: str, allowed: float, idle: float
) -> Counted:
    stage = meter.stage
    request = ScheduleInput.parse(
        {
            "handler": HANDLER,
            "payload": SMALL,
            "expression": f"*/{PERIOD_SECONDS} * * * * *",
            "overlap": overlap,
        }
    )
    stage.api.schedules.put(schedule_id, request, actor="bench")
    _work_off_next(meter, schedule_id)
    _work_off_next(meter, schedule_id)
    reads = sum(stage.reads.take().values()) - idle
    return meter.read(f"an occurrence, overlap {overlap}", allowed, submissions=0, reads=reads)


def _work_off_next(meter: Meter, schedule_id: str) -> None:
    """Tick until the next occurrence is made, and work it off.

    The meter then holds what that one tick and the job used.
    """
    stage, made = meter.stage, _made(meter.stage, schedule_id)
    deadline = time.monotonic() + WAIT_SECONDS
    while _made(stage, schedule_id) == made:
        if time.monotonic() > deadline:
            raise TimeoutError(f"schedule {schedule_id} made nothing")
        time.sleep(0.1)
        meter.reset()
        stage.tick()
    schedule = stage.schedules.get(schedule_id)
    assert schedule is not None
    assert schedule.last_made is not None
    job = stage.jobs.get(stage.ids.of_occurrence(schedule_id, schedule.last_made))
    assert job is not None
    stage.work_until_final(job, succeed)


def _made(stage: Stage, schedule_id: str) -> int:
    schedule = stage.schedules.get(schedule_id)
    assert schedule is not None
    return schedule.made
