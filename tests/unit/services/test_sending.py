"""Messages that a write announced: sent, or taken back for the next tick."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.model import EventKind, Job, JobStatus, Priority
from hourhand.domain.timings import SQS_MAX_DELAY, Timings
from hourhand.services.sending import Sender, message_of, outgoing_of
from hourhand.settings import read_settings
from hourhand.testing import START, Faults, make_job
from tests.world.world import World


def _sender(world: World, faults: Faults) -> Sender:
    jobs, queues = faults.wrap(world.store, "jobs"), faults.wrap(world.queues, "queues")
    return Sender(jobs, queues, world.clock, world.telemetry, timedelta(0))


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
    ("seconds", "down", "nearest", "up"),
    [
        (-5, 0, 0, 0),
        (-0.001, 0, 0, 0),
        (0, 0, 0, 0),
        (0.001, 0, 0, 1),
        (0.499, 0, 0, 1),
        (0.5, 0, 1, 1),
        (0.999, 0, 1, 1),
        (1, 1, 1, 1),
        (1.001, 1, 1, 2),
        (899.9, 899, 900, 900),
        (900, 900, 900, 900),
        (5000, 900, 900, 900),
    ],
)
def test_a_delay_is_rounded_as_it_is_set_and_at_most_what_sqs_takes(
    seconds: float, down: int, nearest: int, up: int
) -> None:
    job = make_job(due_at=START + timedelta(seconds=seconds))
    for name, delay in (("down", down), ("nearest", nearest), ("up", up)):
        timings = read_settings({"HOURHAND_DELAY_ROUNDING": name}, ()).timings
        outgoing = outgoing_of(job, START, timings.delay_rounding)
        assert outgoing.delay_seconds == delay <= SQS_MAX_DELAY.total_seconds()


def test_delays_are_rounded_to_nearest_where_nothing_else_is_set() -> None:
    nearest = read_settings({"HOURHAND_DELAY_ROUNDING": "nearest"}, ()).timings
    assert read_settings({}, ()).timings == nearest == Timings()


def test_a_message_goes_to_the_queue_that_the_job_is_in_unless_it_is_raised() -> None:
    job = make_job(queue=Priority.LOW)
    assert outgoing_of(job, START, timedelta(0)).queue is Priority.LOW
    assert outgoing_of(job, START, timedelta(0), Priority.HIGH).queue is Priority.HIGH


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


ERRORS = [Unavailable(), OSError("KMS.DisabledException"), KeyError("Successful")]


@pytest.mark.parametrize("error", ERRORS)
def test_a_queue_without_an_answer_takes_every_message_back(
    world: World, announced: Job, error: Exception
) -> None:
    faults = Faults()
    faults.fail("send", error)
    _sender(world, faults).send_announced([announced], "caller")
    assert not world.job(announced).is_sent


@pytest.mark.parametrize("error", ERRORS)
def test_where_nothing_answers_the_sweep_will_miss_the_message(
    world: World, announced: Job, error: Exception
) -> None:
    faults = Faults()
    faults.fail("send", error)
    faults.fail("transition", error)
    _sender(world, faults).send_announced([announced], "caller")
    assert world.job(announced).is_sent
    assert [line.sentence for line in world.telemetry.warnings] == [
        "A message was not accepted; the next tick sends it.",
        "Could not record the failed send. The sweep will detect that the message is "
        "missing and send it again.",
    ]
    world.settle()
    assert world.job(announced).status is JobStatus.SUCCEEDED


def test_only_a_schedule_s_job_is_judged_before_its_claim() -> None:
    assert message_of(make_job(schedule_id="nightly")).is_judged
    assert not message_of(make_job()).is_judged
