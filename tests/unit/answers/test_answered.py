"""Answers behave as frozen dataclasses, though each of their classes is made in no time."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass, replace
from typing import Any

import pytest

from hourhand.answers.answered import Answered
from hourhand.answers.batches import FieldProblem, Problem
from hourhand.answers.jobs import Lease
from hourhand.answers.schedules import ScheduleKeep
from hourhand.memory import START

KEEP = ScheduleKeep(succeeded=1, failed=2)


def test_an_answer_is_a_dataclass() -> None:
    assert is_dataclass(KEEP)
    assert [one.name for one in fields(KEEP)] == ["succeeded", "failed"]
    assert asdict(KEEP) == {"succeeded": 1, "failed": 2}
    assert replace(KEEP, failed=3) == ScheduleKeep(succeeded=1, failed=3)
    assert repr(KEEP) == "ScheduleKeep(succeeded=1, failed=2)"


def test_an_answer_cannot_be_changed() -> None:
    keep: Any = KEEP
    with pytest.raises(FrozenInstanceError):
        keep.failed = 3
    with pytest.raises(FrozenInstanceError):
        del keep.failed
    assert keep.failed == 2


def test_answers_are_equal_by_their_class_and_their_fields() -> None:
    class Other(Answered):
        """Has the same fields."""

        succeeded: int
        failed: int

    same = ScheduleKeep(failed=2, succeeded=1)
    assert (same, hash(same)) == (KEEP, hash(KEEP))
    assert Other(succeeded=1, failed=2) != KEEP
    assert ScheduleKeep(succeeded=1, failed=3) != KEEP


def through_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, through_pickle])
def test_an_answer_can_be_copied_and_pickled(duplicate: Any) -> None:
    lease = Lease(owner="w-1", expires_at=START)
    assert duplicate(lease) == lease


def test_a_default_holds_for_a_field_that_is_not_given() -> None:
    problem = Problem(type="t", title="T", status=400, detail="D.")
    assert problem.errors == ()
    assert problem.raw == {}


@pytest.mark.parametrize(
    ("given", "named"),
    [({"field": "a"}, "message"), ({"field": "a", "message": "b", "size": 1}, "size")],
)
def test_a_field_too_few_or_too_many_is_named(given: Any, named: str) -> None:
    with pytest.raises(TypeError, match=f"FieldProblem.*: {named}$"):
        FieldProblem(**given)
