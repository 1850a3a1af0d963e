"""What the demo sets out to do."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from hourhand.client import Submission
from hourhand.domain.errors import InvalidInput
from hourhand.domain.model import JobStatus, Outcome, Priority
from hourhand.domain.timings import Timings
from hourhand.local.demo.library import standard_library_modules
from hourhand.local.demo.plan import (
    DEFAULT_JOBS,
    KILL_LEADER_AT,
    PURGE_AT,
    Cancel,
    DeleteSchedule,
    KillLeader,
    PurgeQueues,
    PutSchedule,
    SubmitAgain,
    SubmitBatch,
    demo_timings,
    make_plan,
    planned_jobs,
)
from hourhand.schemas import JobSubmission

MODULES = [f"package/module_{number}.py" for number in range(500)]
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def test_there_are_at_least_three_hundred_jobs_each_with_a_name_of_its_own() -> None:
    jobs = planned_jobs(make_plan(MODULES))
    assert len(jobs) == DEFAULT_JOBS >= 300
    assert len({job.name for job in jobs}) == len(jobs)


def test_priorities_are_mixed_and_some_jobs_are_delayed_or_known_long_ahead() -> None:
    jobs = planned_jobs(make_plan(MODULES))
    assert {job.priority for job in jobs} == set(Priority)
    kinds = Counter(job.kind for job in jobs)
    assert kinds["index delayed"] >= 20
    assert kinds["index ahead"] >= 10
    assert kinds["report"] >= 3


def test_every_way_to_misbehave_is_in_it_and_is_expected() -> None:
    expected = {job.kind: job.expected for job in planned_jobs(make_plan(MODULES))}
    failed, lost = Outcome.FAILED, Outcome.LOST
    assert expected["fails twice"].outcomes == (failed, failed, Outcome.SUCCEEDED)
    assert expected["not retryable"].status is JobStatus.DEAD
    assert expected["not retryable"].outcomes == (failed,)
    assert expected["poison"].outcomes == (lost, lost)
    assert expected["cancelled"].status is JobStatus.CANCELLED
    assert expected["cancelled"].outcomes == ()
    assert expected["index"].outcomes == (Outcome.SUCCEEDED,)


def test_the_leader_is_killed_once_and_the_queues_are_purged_once_while_jobs_come() -> None:
    steps = make_plan(MODULES)
    actions = Counter(type(step.action) for step in steps)
    assert actions[KillLeader] == actions[PurgeQueues] == actions[Cancel] == 1
    assert actions[SubmitAgain] == 1
    assert [step.at_seconds for step in steps] == sorted(step.at_seconds for step in steps)
    assert 0 < PURGE_AT < KILL_LEADER_AT < steps[-1].at_seconds


def test_some_jobs_first_seen_by_the_tick_come_due_while_no_leader_may_live() -> None:
    tick = demo_timings().tick.total_seconds()
    look_ahead = demo_timings().look_ahead.total_seconds()
    ahead = [job for job in planned_jobs(make_plan(MODULES)) if job.kind == "index ahead"]
    for job in ahead:
        assert job.due_seconds is not None
        # Too far ahead to be sent at submission, and sent by the tick after the purge.
        assert job.due_seconds - job.submit_seconds > look_ahead
        assert job.due_seconds - look_ahead > PURGE_AT
    window = (KILL_LEADER_AT + tick, KILL_LEADER_AT + 2 * tick)
    assert any(window[0] <= (job.due_seconds or 0) <= window[1] for job in ahead)


def test_every_submission_is_one_that_the_api_takes() -> None:
    for job in planned_jobs(make_plan(MODULES)):
        body = Submission(**job.submission(START)).body()
        submission = JobSubmission.parse(json.loads(body))
        if job.is_absolute:
            assert job.due_seconds is not None
            assert submission.run_at == START + timedelta(seconds=job.due_seconds)
        if job.due_seconds is None:
            assert submission.delay_seconds is None


def test_the_demo_can_be_made_smaller_within_reason() -> None:
    assert len(planned_jobs(make_plan(MODULES, 60))) == 60
    with pytest.raises(InvalidInput, match="at least 60"):
        make_plan(MODULES, 59)


def test_a_python_without_its_library_as_files_is_told() -> None:
    with pytest.raises(InvalidInput, match="has 2 modules as files"):
        make_plan(["one.py", "two.py"])


def test_this_python_has_modules_enough() -> None:
    modules = standard_library_modules()
    assert "json/decoder.py" in modules
    assert not any("site-packages" in module or "/tests/" in module for module in modules)
    make_plan(modules)


def test_the_shortened_timings_keep_what_cannot_be_shortened() -> None:
    timings = demo_timings()
    assert timings.tick == timedelta(seconds=10)
    assert timings.early_wait == Timings().early_wait
    assert timings.leader_lease + timings.clock_margin < timings.tick
    assert timings.job_lease < timings.visibility


def test_a_python_without_any_files_is_told() -> None:
    with pytest.raises(InvalidInput, match="not there as files"):
        make_plan([])


def test_the_poison_job_comes_among_others_for_the_same_queue() -> None:
    [batch] = [step for step in make_plan(MODULES) if isinstance(step.action, SubmitBatch)]
    assert isinstance(batch.action, SubmitBatch)
    assert [job.kind for job in batch.action.jobs].count("poison") == 1
    assert len({job.priority for job in batch.action.jobs}) == 1
    assert len(batch.action.jobs) >= 3


def test_a_quicker_pace_shortens_every_step() -> None:
    normal, quick = make_plan(MODULES, pace=1.0), make_plan(MODULES, pace=2.0)
    assert quick[-1].at_seconds == normal[-1].at_seconds / 2
    assert demo_timings(2.0).tick == demo_timings().tick / 2
    due = {job.name: job.due_seconds for job in planned_jobs(normal)}
    for job in planned_jobs(quick):
        assert job.due_seconds == (None if (d := due[job.name]) is None else d / 2)


def test_two_schedules_run_through_the_purge_and_while_no_leader_lives() -> None:
    steps = make_plan(MODULES)
    put = {s.action.schedule.name: s.at_seconds for s in steps if isinstance(s.action, PutSchedule)}
    deleted = {s.action.name: s.at_seconds for s in steps if isinstance(s.action, DeleteSchedule)}
    assert len(put) == 2
    assert put.keys() == deleted.keys()
    tick = demo_timings().tick.total_seconds()
    assert max(put.values()) < PURGE_AT < KILL_LEADER_AT + tick < min(deleted.values())
