"""The plan of the demo: it has what the demo shows, and fits into its time."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from hourhand.domain.schedules.recurrence import Rule, compile_rule
from hourhand.local.demo.plan import FULL, QUICK, SCHEDULES, Course, make_plan, scheduled_times

START = datetime(2026, 1, 5, 9, 0, 7, 500_000, tzinfo=UTC)
both = pytest.mark.parametrize("course", [FULL, QUICK], ids=["full", "quick"])


@both
def test_the_plan_has_all_its_jobs_in_the_order_of_their_submission(course: Course) -> None:
    plan = make_plan(course)
    times = [job.submit_seconds for job in plan]
    assert len(plan) == course.jobs
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] < course.seconds


@both
def test_a_few_jobs_fail_or_kill_their_worker_and_all_others_succeed_at_once(
    course: Course,
) -> None:
    ends = Counter((job.status, job.outcomes) for job in make_plan(course))
    assert ends == {
        ("SUCCEEDED", ("SUCCEEDED",)): course.jobs - 5,
        ("SUCCEEDED", ("FAILED", "FAILED", "SUCCEEDED")): 3,
        ("DEAD", ("FAILED",)): 1,
        ("DEAD", ("LOST", "LOST")): 1,
    }


@both
def test_jobs_are_due_at_once_after_a_delay_and_at_a_time_within_the_course(
    course: Course,
) -> None:
    plan = make_plan(course)
    delayed = [job for job in plan if job.delay_seconds is not None]
    at_a_time = [job for job in plan if job.run_at_seconds is not None]
    assert len(delayed) > course.jobs / 10
    assert len(at_a_time) >= course.jobs / 10
    assert len(delayed) + len(at_a_time) < course.jobs / 2
    assert all(1 <= job.run_at_seconds <= course.seconds for job in at_a_time if job.run_at_seconds)
    assert {job.priority for job in plan} == {"high", "medium", "low"}


def test_in_the_whole_demo_the_scheduler_must_send_jobs_that_lie_beyond_the_look_ahead() -> None:
    look_ahead = FULL.timings.look_ahead.total_seconds()
    beyond = [job for job in make_plan(FULL) if (job.run_at_seconds or 0) > look_ahead]
    assert len(beyond) > 10


def test_a_submission_has_the_time_at_which_its_job_is_due() -> None:
    plan = make_plan(QUICK)
    job = next(job for job in plan if job.run_at_seconds is not None)
    delayed = next(job for job in plan if job.delay_seconds is not None)
    assert job.submission(START)["run_at"] == START + timedelta(seconds=job.run_at_seconds or 0)
    assert job.submission(START)["delay"] is None
    assert delayed.submission(START)["run_at"] is None
    assert delayed.submission(START)["payload"] == {"path": delayed.path}


@both
def test_durations_are_shorter_but_for_the_wait_that_whole_seconds_of_sqs_need(
    course: Course,
) -> None:
    assert course.timings.tick == timedelta(seconds=60) / course.speed
    assert course.timings.early_wait == timedelta(seconds=2)


@pytest.mark.parametrize("expression", SCHEDULES)
def test_the_expected_times_of_a_schedule_are_those_of_its_expression(expression: str) -> None:
    anchor = START.replace(microsecond=0) if "rate" in expression else None
    rule = compile_rule(Rule(expressions=(expression,), anchor=anchor))
    end = START + timedelta(minutes=1)
    times = scheduled_times(SCHEDULES[expression], anchor, START, end)
    assert times == [fire.at for fire in rule.fires(START, end)]
    assert len(times) >= 12
