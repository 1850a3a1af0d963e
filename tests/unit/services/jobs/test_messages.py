"""The message of a job: what it says, where it goes, and how long SQS holds it back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import JobStatus, Priority
from hourhand.domain.ticks.timings import SQS_MAX_DELAY, Timings
from hourhand.memory import START
from hourhand.services.jobs.due import message_of, outgoing_of
from hourhand.settings import read_settings
from tests.world.factories import make_job


def test_a_message_says_enough_to_claim_its_job_unread() -> None:
    job = make_job(generation=3, attempt=2, token=5, timeout_seconds=9, tenant="t")
    message = message_of(job)
    assert (message.job_id, message.generation) == (job.id, 3)
    assert (message.attempt, message.token, message.timeout_seconds) == (2, 5, 9)
    assert (message.due_at, message.run_at, message.tenant) == (job.due_at, job.run_at, "t")
    assert message.trace_id is not None


def test_a_message_of_a_job_that_left_the_index_is_due_when_it_was_asked_for() -> None:
    assert message_of(make_job(status=JobStatus.DEAD)).due_at == START


def test_only_a_schedule_s_job_is_judged_before_its_claim() -> None:
    assert message_of(make_job(schedule_id="nightly")).needs_admission
    assert not message_of(make_job()).needs_admission


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
