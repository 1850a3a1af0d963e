"""Marks that are made together are those that `mark_enqueued` makes of each job alone."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import EnqueuedMarks, mark_enqueued
from hourhand.memory import START
from tests.world.factories import ACTOR, make_event, make_job

SHORT = (make_event(at=START),)
LONG = tuple(make_event(at=START, reason="x" * 90) for _ in range(30))

waiting = st.builds(
    lambda number, generation, attempt, token, history, dropped: replace(
        make_job(id=f"job-{number}"),
        generation=generation,
        attempt=attempt,
        token=token,
        history=history,
        history_dropped=dropped,
    ),
    number=st.integers(0, 5),
    generation=st.integers(1, 2),
    attempt=st.integers(0, 1),
    token=st.integers(0, 1),
    history=st.sampled_from([(), SHORT, LONG]),
    dropped=st.integers(0, 1),
)


@given(st.lists(waiting, max_size=20))
def test_each_is_the_mark_that_the_job_has_alone(jobs: list[Job]) -> None:
    marks = EnqueuedMarks(START, ACTOR)
    alone = [mark_enqueued(job, now=START, actor=ACTOR) for job in jobs]
    assert [marks.of(job) for job in jobs] == alone


def test_jobs_alike_share_all_but_their_ids() -> None:
    marks = EnqueuedMarks(START, ACTOR)
    first, second, other = (
        marks.of(make_job(id="job-1")),
        marks.of(make_job(id="job-2")),
        marks.of(replace(make_job(id="job-3"), generation=2)),
    )
    assert first.shares_all_with(second)
    assert (first.job_id, second.job_id) == ("job-1", "job-2")
    assert not first.shares_all_with(other)


def test_a_long_history_is_compacted_by_its_own_mark_alone() -> None:
    marks = EnqueuedMarks(START, ACTOR)
    long = replace(make_job(id="job-1"), history=LONG)
    assert marks.of(long).history is not None
    assert marks.of(make_job(id="job-2")).history is None
    assert marks.of(long).history is not None
