"""The link of a child to its run, and whose run a child must find alive before it starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import combinations, product

import pytest

from hourhand.domain.jobs.job import EventKind, HistoryEvent, Job
from hourhand.domain.jobs.parents import (
    NOT_NEEDED,
    PARENT_ENDED,
    RUN,
    ParentToFind,
    cancel_reason,
    cancelled_in_round,
    child_id,
    join_key,
    midnight_after,
    quoted,
    stored_result,
    with_results,
)
from tests.unit.domain.job_samples import NOW, OF_A_RUN, a_job, after, an_event


def a_child(**changes: object) -> Job:
    return a_job(parent=OF_A_RUN, **changes)


TO_FIND = ParentToFind("run-1", 0, a_job().created_at)


def test_every_child_has_an_id_of_its_own() -> None:
    places = list(product(["run-1", "run-2"], [0, 1], ["abc", "abd"], [0, 1]))
    assert len({child_id(*place) for place in places}) == len(places)
    assert child_id("run-1", 0, "abc", 0) == child_id("run-1", 0, "abc", 0)


def test_a_call_that_was_reset_and_a_later_run_of_the_id_have_other_children() -> None:
    keys = [join_key("all", 0, 1), join_key("all", 2, 1), join_key("all", 0, 2)]
    assert all(one != other for one, other in combinations([*keys, join_key("one", 0, 1)], 2))


def test_the_place_of_a_child_follows_from_its_index() -> None:
    link = replace(OF_A_RUN, index=12, chunk=5)
    assert (link.record_number, link.position) == (2, 2)


@pytest.mark.parametrize("hours", [0, 1, 12, 24])
def test_the_end_of_a_journal_is_rounded_up_to_a_midnight(hours: int) -> None:
    instant = NOW.replace(hour=0) + timedelta(hours=hours)
    midnight = midnight_after(instant)
    assert (midnight.hour, midnight.minute) == (0, 0)
    assert timedelta(0) <= midnight - instant < timedelta(days=1)


@pytest.mark.parametrize("why", [PARENT_ENDED, NOT_NEEDED])
def test_a_cancellation_by_a_run_names_the_round_of_the_run(why: str) -> None:
    assert cancelled_in_round(cancel_reason(why, 12)) == 12
    assert cancelled_in_round(f"{why}, round 1 or so") is None
    assert cancelled_in_round("a mistake") is None


def test_an_attached_child_that_never_began_must_find_its_run() -> None:
    assert a_child().parent_to_find == TO_FIND
    assert a_child(history=()).parent_to_find == TO_FIND


def test_a_job_without_a_run_and_an_abandoned_child_need_none() -> None:
    assert a_job().parent_to_find is None
    assert a_job(parent=replace(OF_A_RUN, is_abandoned=True)).parent_to_find is None


CLAIM = an_event(EventKind.CLAIMED, at=after(-500))
BY_RUN = an_event(EventKind.REDRIVEN, at=after(-400), actor=RUN)
BY_OPERATOR = an_event(EventKind.REDRIVEN, at=after(-400), actor="operator")
SENT = an_event(EventKind.DISPATCHED_AGAIN, at=after(-300))


@pytest.mark.parametrize(
    ("history", "token", "must_find"),
    [
        ((CLAIM,), 1, False),
        ((CLAIM, BY_RUN), 1, True),
        ((CLAIM, BY_RUN, SENT), 1, True),
        ((CLAIM, BY_OPERATOR), 1, False),
        ((BY_OPERATOR,), 0, False),
        ((BY_RUN, replace(CLAIM, at=after(-200))), 2, False),
        ((SENT,), 1, False),
        ((SENT,), 0, True),
    ],
)
def test_a_child_that_began_or_that_an_operator_redrove_needs_no_run(
    history: tuple[HistoryEvent, ...], token: int, must_find: bool
) -> None:
    found = a_child(history=history, token=token).parent_to_find
    assert found == (TO_FIND if must_find else None)


VALUES = [1, "a", None, [], {}, [{"a": [1]}], {"$stored": 5}, {"$stored": {"quoted": 1}}]


@pytest.mark.parametrize(
    "value", [*VALUES, {"$stored": {"$stored": 1}}, stored_result("k", 1, is_list=True)]
)
def test_a_quoted_value_comes_out_as_it_was(value: object) -> None:
    def never(_: object) -> None:
        raise AssertionError("no stored result")

    assert with_results(quoted(value), never) == value
    assert with_results(quoted([value, {"x": value}]), never) == [value, {"x": value}]


def test_a_stored_result_is_replaced_wherever_it_stands() -> None:
    stored = stored_result("key", 3, is_list=True)
    payload = {"a": [stored, quoted({"$stored": 1})], "b": {"$stored": {"quoted": stored}}}
    found = with_results(payload, lambda one: one["total"])
    assert found == {"a": [3, {"$stored": 1}], "b": {"$stored": 3}}


def test_what_a_person_put_into_a_payload_is_no_stored_result() -> None:
    for value in ({"$stored": 5}, {"$stored": {"key": "k"}}, {"$stored": None}):
        assert with_results(value, lambda _: "replaced") == value
