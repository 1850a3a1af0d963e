"""The predicates, each on a field with a value, with another and with none."""

from __future__ import annotations

import pytest

from hourhand.domain.conditions import (
    Absent,
    Compares,
    Condition,
    Fewer,
    OneOf,
    SizeIs,
    all_hold,
    either,
    equals,
)
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.retry import RetryPolicy
from tests.unit.domain.job_samples import NOW, a_job, after, an_event

EARLIER, LATER = after(-1), after(1)


@pytest.mark.parametrize(
    ("clause", "below", "equal", "above", "absent"),
    [
        (equals("expires_at", NOW), False, True, False, False),
        (Compares("expires_at", "<", NOW), True, False, False, False),
        (Compares("expires_at", "<=", NOW), True, True, False, False),
        (Compares("expires_at", ">", NOW), False, False, True, False),
        (Absent("expires_at"), False, False, False, True),
        (either(Absent("expires_at"), Compares("expires_at", ">", NOW)), False, False, True, True),
        (either(), False, False, False, False),
    ],
)
def test_a_clause_compares_and_an_absent_field_compares_with_nothing(
    clause: Condition, *, below: bool, equal: bool, above: bool, absent: bool
) -> None:
    values = (EARLIER, NOW, LATER, None)
    held = tuple(clause.holds(a_job(expires_at=value)) for value in values)
    assert held == (below, equal, above, absent)


def test_an_absent_field_is_not_even_nothing() -> None:
    assert not equals("enqueued_at", None).holds(a_job(enqueued_at=None))


@pytest.mark.parametrize("status", JobStatus)
def test_a_state_is_one_of_those_named(status: JobStatus) -> None:
    clause = OneOf("status", frozenset({JobStatus.PENDING, JobStatus.DEAD}))
    assert clause.holds(a_job(status=status)) is (status in {JobStatus.PENDING, JobStatus.DEAD})


@pytest.mark.parametrize(("attempt", "is_left"), [(0, True), (2, True), (3, False), (4, False)])
def test_attempts_are_left_below_the_policys_number(attempt: int, *, is_left: bool) -> None:
    job = a_job(attempt=attempt, retry=RetryPolicy(max_attempts=3))
    assert Fewer("attempt", than="retry.max_attempts").holds(job) is is_left


def test_a_history_is_as_it_was_read_only_if_nothing_was_added_or_dropped() -> None:
    events = (an_event(), an_event())
    clause = either((SizeIs("history", "=", 2), equals("history_dropped", 3)))
    assert clause.holds(a_job(history=events, history_dropped=3))
    assert not clause.holds(a_job(history=events[:1], history_dropped=3))
    assert not clause.holds(a_job(history=(*events, an_event()), history_dropped=3))
    assert not clause.holds(a_job(history=events, history_dropped=4))


def test_all_must_hold() -> None:
    job = a_job(generation=2)
    assert all_hold([], job)
    assert all_hold([equals("generation", 2), Absent("enqueued_at")], job)
    assert not all_hold([equals("generation", 2), equals("token", 9)], job)
