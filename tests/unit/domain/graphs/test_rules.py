"""The trigger rules decide as their table says, and never differently in another order of ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import pytest

from hourhand.domain.graphs.rules import (
    Decision,
    NodeBefore,
    OnFailure,
    Outcome,
    TriggerRule,
    decide,
    is_fatal,
)

NODES = 3
OUTCOMES = tuple(Outcome)
RUN, SKIP, UPSTREAM = Decision.RUN, Decision.SKIP, Decision.UPSTREAM_FAILED


@dataclass(frozen=True)
class Seen:
    """The nodes before a node, counted as the table does."""

    S: int
    F: int
    K: int
    U: int
    u: int

    @property
    def ended(self) -> bool:
        return self.u == self.S + self.F + self.K + self.U


Case = tuple[Callable[[Seen], bool], Decision]

# A row of the table each: when the node runs, and else. The first cell that holds counts.
TABLE: dict[str, list[Case]] = {
    "all_success": [
        (lambda n: n.ended and n.u == n.S, RUN),
        (lambda n: n.F + n.U > 0, UPSTREAM),
        (lambda n: n.ended and n.K > 0, SKIP),
    ],
    "all_failed": [
        (lambda n: n.ended and n.u == n.F + n.U, RUN),
        (lambda n: n.S + n.K > 0, SKIP),
    ],
    "all_done": [(lambda n: n.ended, RUN)],
    "all_skipped": [
        (lambda n: n.ended and n.u == n.K, RUN),
        (lambda n: n.S + n.F + n.U > 0, SKIP),
    ],
    "one_success": [
        (lambda n: n.S >= 1, RUN),
        (lambda n: n.ended and n.u == n.K, SKIP),
        (lambda n: n.ended and n.u != n.K, UPSTREAM),
    ],
    "one_failed": [(lambda n: n.F + n.U >= 1, RUN), (lambda n: n.ended, SKIP)],
    "one_done": [(lambda n: n.S + n.F >= 1, RUN), (lambda n: n.ended, SKIP)],
    "none_failed": [
        (lambda n: n.ended and n.F + n.U == 0, RUN),
        (lambda n: n.F + n.U > 0, UPSTREAM),
    ],
    "none_failed_min_one_success": [
        (lambda n: n.ended and n.F + n.U == 0 and n.S >= 1, RUN),
        (lambda n: n.F + n.U > 0, UPSTREAM),
        (lambda n: n.u == n.K, SKIP),
    ],
    "none_skipped": [
        (lambda n: n.ended and n.K == 0, RUN),
        (lambda n: n.K > 0, SKIP),
    ],
    "all_done_min_one_success": [
        (lambda n: n.ended and n.K == 0 and n.S >= 1, RUN),
        (lambda n: n.K > 0, SKIP),
        (lambda n: n.ended and n.S == 0, UPSTREAM),
    ],
    "always": [(lambda n: True, RUN)],
}

NEED_A_SUCCESS_OR_A_FAILURE = {
    "one_success",
    "one_failed",
    "one_done",
    "none_failed_min_one_success",
    "all_done_min_one_success",
}


def in_table(rule: str, outcomes: list[Outcome | None]) -> Decision | None:
    """Return what the table says of nodes that all count as they ended."""
    seen = Seen(**{one.value: outcomes.count(one) for one in Outcome}, u=len(outcomes))
    return next((decision for holds, decision in TABLE[rule] if holds(seen)), None)


def by_the_tables(rule: str, before: list[NodeBefore]) -> Decision | None:
    """Return what the two tables say: that of the rules and that of ``on_failure``."""
    counted: list[Outcome | None] = []
    for outcome, on_failure in before:
        if outcome not in (Outcome.FAILED, Outcome.UPSTREAM_FAILED) or on_failure == "fail":
            counted.append(outcome)
        elif on_failure == "ignore":
            counted.append(Outcome.SUCCEEDED)
        elif on_failure == "continue":
            return RUN
    if not counted:
        return SKIP if rule in NEED_A_SUCCESS_OR_A_FAILURE else RUN
    decision = in_table(rule, counted)
    if decision is not RUN and (None, OnFailure.CONTINUE) in before:
        return None
    return decision


def test_the_table_has_a_row_for_each_rule() -> None:
    assert set(TABLE) == set(TriggerRule)


@pytest.mark.parametrize("rule", TriggerRule)
def test_a_rule_decides_as_its_row_of_the_table_says(rule: TriggerRule) -> None:
    for outcomes in product([None, *OUTCOMES], repeat=NODES):
        before = [(outcome, OnFailure.FAIL) for outcome in outcomes]

        assert decide(rule, before) is in_table(rule, list(outcomes)), outcomes


@pytest.mark.parametrize("rule", TriggerRule)
def test_a_rule_decides_by_what_on_failure_says_of_each_node(rule: TriggerRule) -> None:
    for before in product(product([None, *OUTCOMES], OnFailure), repeat=NODES):
        assert decide(rule, before) is by_the_tables(rule, list(before)), before


@pytest.mark.parametrize("rule", TriggerRule)
def test_no_order_of_ends_changes_a_decision(rule: TriggerRule) -> None:
    for nodes in combinations_with_replacement(product(OUTCOMES, OnFailure), NODES):
        at_the_end = decide(rule, nodes)
        assert at_the_end is not None

        # Each order of ends passes through some of these states, and all orders through all.
        for has_ended in product([False, True], repeat=NODES):
            now = decide(
                rule,
                [
                    (outcome if ended else None, on_failure)
                    for ended, (outcome, on_failure) in zip(has_ended, nodes, strict=True)
                ],
            )
            assert now in (None, at_the_end), (nodes, has_ended)


@pytest.mark.parametrize("rule", TriggerRule)
def test_a_node_without_nodes_before_it_runs_at_the_start(rule: TriggerRule) -> None:
    assert decide(rule, []) is RUN


@pytest.mark.parametrize("rule", TriggerRule)
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.UPSTREAM_FAILED])
def test_a_rule_that_needs_a_success_or_a_failure_skips_once_all_nodes_are_removed(
    rule: TriggerRule, outcome: Outcome
) -> None:
    before = [(outcome, OnFailure.REMOVE)] * 2
    expected = SKIP if rule in NEED_A_SUCCESS_OR_A_FAILURE else RUN

    assert decide(rule, before) is expected


def test_a_skip_waits_for_an_open_node_whose_failure_would_run_the_node() -> None:
    failed, open_ = (Outcome.FAILED, OnFailure.FAIL), (None, OnFailure.CONTINUE)

    assert decide(TriggerRule.ALL_SUCCESS, [failed, open_]) is None
    assert decide(TriggerRule.ALL_SUCCESS, [failed, (Outcome.FAILED, OnFailure.CONTINUE)]) is RUN
    assert (
        decide(TriggerRule.ALL_SUCCESS, [failed, (Outcome.SUCCEEDED, OnFailure.CONTINUE)])
        is UPSTREAM
    )


@pytest.mark.parametrize("on_failure", OnFailure)
@pytest.mark.parametrize("outcome", Outcome)
def test_only_a_failure_that_counts_as_itself_lets_the_graph_end_dead(
    outcome: Outcome, on_failure: OnFailure
) -> None:
    failures = {Outcome.FAILED, Outcome.UPSTREAM_FAILED}

    assert is_fatal(outcome, on_failure) is (outcome in failures and on_failure == "fail")


def test_a_decision_has_the_reason_that_the_api_shows() -> None:
    assert [one.reason for one in Decision] == [None, "rule", "upstream_failed"]
