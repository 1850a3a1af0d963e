"""Messages that a write announced: sent, or taken back for the next tick."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.model import EventKind, Job, JobStatus, Priority
from hourhand.domain.timings import SQS_MAX_DELAY
from hourhand.services.sending import Sender, message_of, outgoing_of
from hourhand.testing import START, Faults, make_job
from tests.world.world import World


def _sender(world: World, faults: Faults) -> Sender:
    jobs, queues = faults.wrap(world.store, "jobs"), faults.wrap(world.queues, "queues")
    return Sender(jobs, queues, world.clock, world.telemetry)


@pytest.fixture
def announced(world: World) -> Job:
    job = make_job(status=JobStatus.ENQUEUED)
    world.store.put(job)
    return job


def test_a_message_says_enough_to_claim_its_job_unread() -> None:
    job = make_job(generation=3, attempt=2, token=5, timeout_seconds=9, tenant="t")
    message = message_of(job)
    assert (message.job_id, message.generation) == (job.id, 3)
    assert (message.attempt, message.token, message.timeout_seconds) == (2, 5, 9)
    assert (message.due_at, message.run_at, message.tenant) == (job.due_at, job.run_at, "t")
    assert message.trace_id is not None


def test_a_message_of_a_job_that_left_the_index_is_due_when_it_was_asked_for() -> None:
    assert message_of(make_job(status=JobStatus.DEAD)).due_at == START


@pytest.mark.parametrize(
    ("seconds", "delay"), [(-5, 0), (0, 0), (0.999, 0), (1.001, 1), (900, 900), (5000, 900)]
)
def test_a_delay_is_rounded_down_and_at_most_what_sqs_takes(seconds: float, delay: int) -> None:
    job = make_job(due_at=START + timedelta(seconds=seconds))
    assert outgoing_of(job, START).delay_seconds == delay <= SQS_MAX_DELAY.total_seconds()


def test_a_message_goes_to_the_queue_that_the_job_is_in_unless_it_is_raised() -> None:
    job = make_job(queue=Priority.LOW)
    assert outgoing_of(job, START).queue is Priority.LOW
    assert outgoing_of(job, START, Priority.HIGH).queue is Priority.HIGH


def test_nothing_is_sent_of_jobs_that_were_not_announced_or_began_already(world: World) -> None:
    faults = Faults()
    jobs = [
        make_job(status=JobStatus.PENDING),
        make_job(status=JobStatus.RUNNING),
        make_job(status=JobStatus.SUCCEEDED, enqueued_at=START),
    ]
    _sender(world, faults).send_announced(jobs, "caller")
    assert not faults.calls


def test_a_message_that_is_not_accepted_is_taken_back(world: World, announced: Job) -> None:
    world.queues.behaviour.refuses = lambda _: "InternalError"
    _sender(world, Faults()).send_announced([announced], "caller")
    job = world.job(announced)
    assert (job.status, job.enqueued_at) == (JobStatus.PENDING, None)
    assert (job.history[-1].kind, job.history[-1].reason) == (
        EventKind.SEND_FAILED,
        "InternalError",
    )
    assert world.telemetry.total("send_failures") == 1


def test_a_retry_that_could_not_be_sent_stays_a_retry(world: World) -> None:
    job = make_job(status=JobStatus.RETRYING, enqueued_at=START)
    world.store.put(job)
    world.queues.behaviour.refuses = lambda _: "InternalError"
    _sender(world, Faults()).send_announced([job], "caller")
    assert (world.job(job).status, world.job(job).enqueued_at) == (JobStatus.RETRYING, None)


def test_a_queue_without_an_answer_takes_every_message_back(world: World, announced: Job) -> None:
    faults = Faults()
    faults.throttle("send")
    _sender(world, faults).send_announced([announced], "caller")
    assert not world.job(announced).is_sent


def test_where_nothing_answers_the_sweep_will_miss_the_message(
    world: World, announced: Job
) -> None:
    faults = Faults()
    faults.throttle("send")
    faults.throttle("transition")
    _sender(world, faults).send_announced([announced], "caller")
    assert world.job(announced).is_sent
    assert [line.sentence for line in world.telemetry.warnings] == [
        "A message was not accepted; the next tick sends it.",
        "A failed send could not be noted; the sweep will miss the message.",
    ]
    world.settle()
    assert world.job(announced).status is JobStatus.SUCCEEDED


def test_only_a_schedule_s_job_is_judged_before_its_claim() -> None:
    assert message_of(make_job(schedule_id="nightly")).is_judged
    assert not message_of(make_job()).is_judged
