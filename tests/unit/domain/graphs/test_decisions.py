"""Ends of nodes lead to decisions on the nodes after them, and to the verdict on the graph."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.graphs.decisions import downstream, next_decisions, outcome_of
from hourhand.domain.graphs.definition import MAX_NODES, GraphDefinition
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.graphs.rules import Decision, Outcome
from hourhand.domain.jobs.job import JobStatus

RUN, SKIP, UPSTREAM = Decision.RUN, Decision.SKIP, Decision.UPSTREAM_FAILED
SUCCEEDED, FAILED = Outcome.SUCCEEDED, Outcome.FAILED


def graph(**nodes: Any) -> GraphDefinition:
    return parse_graph({"nodes": {name: {"handler": "h", **node} for name, node in nodes.items()}})


DIAMOND = graph(
    start={},
    left={"after": ["start"]},
    right={"after": ["start"]},
    end={"after": ["left", "right"]},
)


def test_the_nodes_without_nodes_before_them_run_at_the_start() -> None:
    progress = next_decisions(DIAMOND, {}, {})

    assert progress.decisions == {"start": RUN}
    assert progress.to_run == ("start",)
    assert progress.verdict is None


def test_the_end_of_a_node_lets_the_nodes_after_it_run() -> None:
    progress = next_decisions(DIAMOND, {"start": SUCCEEDED}, {"start": RUN})

    assert progress.to_run == ("left", "right")
    assert progress.verdict is None


def test_a_node_waits_for_all_nodes_before_it() -> None:
    ends = {"start": SUCCEEDED, "left": SUCCEEDED, "right": None}

    assert next_decisions(DIAMOND, ends, {"start": RUN, "left": RUN, "right": RUN}).decisions == {}


def test_skips_cascade_in_one_call_which_ends_the_graph() -> None:
    progress = next_decisions(DIAMOND, {"start": FAILED}, {"start": RUN})

    assert progress.decisions == {"left": UPSTREAM, "right": UPSTREAM, "end": UPSTREAM}
    assert progress.to_run == ()
    assert progress.verdict is JobStatus.DEAD


def test_a_thousand_nodes_are_decided_in_one_call() -> None:
    long = graph(n0={}, **{f"n{one}": {"after": [f"n{one - 1}"]} for one in range(1, MAX_NODES)})

    progress = next_decisions(long, {"n0": FAILED}, {"n0": RUN})

    assert list(progress.decisions.values()) == [UPSTREAM] * (MAX_NODES - 1)
    assert progress.verdict is JobStatus.DEAD


def test_a_recorded_decision_stays_when_the_end_of_a_node_before_changes() -> None:
    decided = {"start": RUN, "left": UPSTREAM, "right": RUN}

    progress = next_decisions(DIAMOND, {"start": SUCCEEDED, "right": SUCCEEDED}, decided)

    assert progress.decisions == {"end": UPSTREAM}


def test_a_graph_whose_skips_follow_from_rules_alone_succeeded() -> None:
    alert = graph(work={}, alert={"after": ["work"], "when": "one_failed"})

    progress = next_decisions(alert, {"work": SUCCEEDED}, {"work": RUN})

    assert progress.decisions == {"alert": SKIP}
    assert progress.verdict is JobStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("on_failure", "verdict"),
    [
        ("fail", JobStatus.DEAD),
        ("ignore", JobStatus.SUCCEEDED),
        ("continue", JobStatus.SUCCEEDED),
        ("remove", JobStatus.SUCCEEDED),
    ],
)
def test_the_verdict_counts_a_failure_as_on_failure_says(
    on_failure: str, verdict: JobStatus
) -> None:
    definition = graph(work={"on_failure": on_failure}, then={"after": ["work"], "when": "always"})
    decided = {"work": RUN, "then": RUN}

    assert next_decisions(definition, {"work": FAILED}, decided).verdict is None
    ends = {"work": FAILED, "then": SUCCEEDED}
    assert next_decisions(definition, ends, decided).verdict is verdict


def test_a_node_that_ran_ended_as_its_job_did_and_a_skipped_one_as_decided() -> None:
    assert outcome_of(RUN, FAILED) is FAILED
    assert outcome_of(RUN, None) is None
    assert outcome_of(None, None) is None
    assert outcome_of(SKIP, None) is Outcome.SKIPPED
    assert outcome_of(UPSTREAM, None) is Outcome.UPSTREAM_FAILED


def test_what_is_run_again_are_the_named_nodes_and_all_nodes_after_them() -> None:
    assert downstream(DIAMOND, ["left"]) == ("end", "left")
    assert downstream(DIAMOND, ["start", "left"]) == ("end", "left", "right", "start")
    assert downstream(DIAMOND, []) == ()


def test_a_rerun_from_an_unknown_node_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        downstream(DIAMOND, ["rigth", "start"])

    (error,) = caught.value.errors
    assert error.field == "from"
    assert error.message == "names 'rigth', which is not a node. Did you mean 'right'?"
