"""References to results are found anywhere in a payload, and replaced."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.graphs.references import (
    is_reference,
    reference,
    reference_problem,
    referenced_names,
    substitute,
)

PAYLOAD: Any = {
    "rows": {"$result": "extract"},
    "pairs": [1, {"both": [{"$result": "left"}, {"$result": "right"}]}, {"$result": "extract"}],
    "text": "$result",
}


def test_references_are_found_anywhere_each_once_in_order() -> None:
    assert referenced_names(PAYLOAD) == ("extract", "left", "right")
    assert referenced_names(reference("extract")) == ("extract",)


@pytest.mark.parametrize("value", [None, 7, "$result", [], {"result": "a"}])
def test_a_value_without_a_reference_names_nothing_and_stays_as_it_is(value: Any) -> None:
    assert referenced_names(value) == ()
    assert substitute(value, lambda name: name) == value


def test_each_reference_is_replaced_by_the_result() -> None:
    results = {"extract": [1, 2], "left": None, "right": {"$job": "c.1"}}

    assert substitute(PAYLOAD, results.__getitem__) == {
        "rows": [1, 2],
        "pairs": [1, {"both": [None, {"$job": "c.1"}]}, [1, 2]],
        "text": "$result",
    }


def test_a_result_is_not_searched_for_references() -> None:
    assert substitute(reference("a"), lambda name: reference("b")) == {"$result": "b"}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"$result": "a", "b": 1}, "other keys"),
        ({"$result": 7}, "not the name of a node"),
    ],
)
def test_a_malformed_reference_has_a_problem_and_names_nothing(
    value: dict[str, Any], problem: str
) -> None:
    assert problem in str(reference_problem(value))
    assert not is_reference(value)
    assert referenced_names([value]) == ()


def test_a_deeply_nested_payload_does_not_exhaust_the_stack() -> None:
    nested: Any = reference("deep")
    for _ in range(100_000):
        nested = [nested]

    assert referenced_names(nested) == ("deep",)
