"""Each clause of each move is needed: without it, a write does harm that can be named.

For every (move, clause) pair there is a race in which only that clause is false. The move is
refused; the same move without the clause is applied; and then an invariant is broken.
"""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import replace
from typing import get_type_hints

import pytest

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.transitions import Transition
from tests.unit.domain.condition_cases import CASES, Case
from tests.unit.domain.condition_races import RACES
from tests.unit.domain.job_samples import with_long_history
from tests.unit.domain.race import CASES_BY_NAME, Race

each_race = pytest.mark.parametrize("race", RACES, ids=lambda race: f"{race.move}-{race.clause}")
LEASE = {"status", "token", "lease_as_read", "lease_expired"}
OWNER = {"status", "token", "same_job"}
STARTABLE = {"generation", "attempts_left", "not_cancelled", "not_expired"}

CONDITIONS = {
    "mark_enqueued": {"status", "generation", "never_sent"},
    "mark_dispatched_again": {"status", "generation", "last_sent_as_read"},
    "unmark of a submission": {"status", "generation", "last_sent_as_read"},
    "unmark of a retry": {"status", "generation", "last_sent_as_read"},
    "refile": {"status", "filed_as_read"},
    "keep_payload": {"status", "kept_as_read"},
    "park of a sent job": {"status", "generation", "last_sent_as_read"},
    "park of an unsent job": {"status", "generation", "last_sent_as_read"},
    "unpark": {"status", "generation", "parked_as_read"},
    "suspend": {*OWNER, "not_cancelled", "not_flagged"},
    "wake": {"status", "generation", "waits_as_read", "signals_as_read"},
    "flag": {*OWNER, "signals_as_read"},
    "count_signal": {"same_job", "signals_as_read"},
    "clear_flag": OWNER,
    "keep_journal": OWNER,
    "prolong_child": {"same_job", "filed_as_read"},
    "restart": {*OWNER, "not_cancelled"},
    "claim": {"status", "due", *STARTABLE},
    "claim of a debounced job": {"status", "due", "quiet", *STARTABLE},
    "adopt": {"status", "generation", "revision_as_read"},
    "debounce": {"status", "generation", "newest_as_read"},
    "take_over": {*LEASE, *STARTABLE, "may_run_again"},
    "heartbeat": {*OWNER, "extends_lease"},
    "complete": OWNER,
    "retry_later": {*OWNER, "not_cancelled"},
    "hand_back": {*OWNER, "not_cancelled"},
    "die": {*OWNER, "not_cancelled"},
    "end_cancelled": OWNER,
    "recover to RETRYING": {*LEASE, "not_cancelled"},
    "recover to DEAD": {*LEASE, "not_cancelled"},
    "recover to CANCELLED": LEASE,
    "finish": {"status", "generation"},
    "finish of a child": {"status", "generation", "kept_as_read"},
    "cancel_waiting": {"status", "generation"},
    "request_cancel": {*OWNER, "not_asked_yet"},
    "change": {"status", "generation"},
    "expire": {"status", "generation", "expired"},
    "give_up": {"status", "generation", "waits_as_read"},
    "supersede": {"status", "generation"},
    "redrive": {"status", "generation", "not_superseded", "not_compensated"},
    "mark_compensated": {"status", "round", "not_compensated"},
    "discard": {"status", "generation", "not_discarded_yet"},
}
"""The table of conditions in docs/explanation/design.md, by the names that the clauses have."""

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def _builders() -> set[str]:
    """The public functions of ``moves`` that make a move of anything but a move."""
    found = set()
    for name, function in inspect.getmembers(transitions, inspect.isfunction):
        hints = get_type_hints(function)
        if name.startswith("_") or hints.pop("return", None) is not Transition:
            continue
        if Transition not in hints.values():
            found.add(name)
    return found


def test_every_move_has_a_case() -> None:
    assert {case.builder for case in CASES} == _builders()
    assert len(CASES_BY_NAME) == len(CASES)


def test_every_clause_of_every_move_has_one_scenario() -> None:
    pairs = {(case.name, clause) for case in CASES for clause in case.clause_names()}
    described = Counter((race.move, race.clause) for race in RACES)
    assert set(described) == pairs
    assert set(described.values()) == {1}


@each_case
def test_a_move_expects_what_the_protocol_asks_for(case: Case) -> None:
    assert set(case.build(case.ordinary).expect) == CONDITIONS[case.name]


@each_case
def test_only_a_compacting_write_expects_the_history_as_it_was_read(case: Case) -> None:
    added = set(case.build(with_long_history(case.ordinary)).expect) - CONDITIONS[case.name]
    records_no_event = {
        *("keep_payload", "debounce", "supersede", "claim", "heartbeat", "finish"),
        *("flag", "clear_flag", "keep_journal", "mark_compensated", "prolong_child"),
        "count_signal",
    }
    assert added == (set() if case.builder in records_no_event else {"history_as_read"})


@each_case
def test_a_move_is_allowed_on_the_job_that_was_read(case: Case) -> None:
    assert case.build(case.ordinary).is_allowed(case.ordinary)


@each_race
def test_exactly_one_clause_is_false(race: Race) -> None:
    expect = race.case.build(race.read).expect
    false = [name for name, clause in expect.items() if not clause.holds(race.stored)]
    assert false == [race.clause]


@each_race
def test_the_move_is_refused(race: Race) -> None:
    move = race.case.build(race.read)
    assert not move.is_allowed(race.stored)
    assert not move.made_by_me(race.stored)


@each_race
def test_without_the_clause_the_move_does_harm(race: Race) -> None:
    move = race.case.build(race.read)
    others = {name: c for name, c in move.expect.items() if name != race.clause}
    if "status" not in others:
        # The table of states needs one to check; any clause less is what this test is about.
        move = replace(move, to=None, sets={**move.sets, **_state_of(move)})
    weaker = replace(move, expect=others)
    assert weaker.is_allowed(race.stored)
    harmed = weaker.apply(race.stored)
    assert not race.harm.holds(race.read, race.stored, harmed), race.story


def _state_of(move: Transition) -> dict[str, object]:
    return {} if move.to is None else {"status": move.to}


@each_race
def test_in_the_ordinary_case_the_move_keeps_to_the_same_invariant(race: Race) -> None:
    job = race.case.ordinary
    result = race.case.build(job).apply(job)
    assert race.harm.holds(job, job, result), race.harm.sentence
