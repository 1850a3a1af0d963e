"""The table of states: what it allows, and that it allows nothing else."""

from __future__ import annotations

from itertools import product

import pytest

from hourhand.domain.errors import IllegalTransition
from hourhand.domain.jobs.job import FINAL, NOT_STARTED, OPEN, REDRIVABLE, JobStatus
from hourhand.domain.jobs.states import (
    CANCELLED,
    DEAD,
    ENQUEUED,
    EXPIRED,
    LEGAL_MOVES,
    PENDING,
    RETRYING,
    RUNNING,
    SUCCEEDED,
    is_legal,
    require_legal,
)

TABLE = [
    ({PENDING, RETRYING}, {ENQUEUED}),
    ({PENDING, ENQUEUED, RETRYING}, {RUNNING}),
    ({RUNNING}, {RUNNING, SUCCEEDED, RETRYING, DEAD, CANCELLED}),
    ({PENDING, ENQUEUED, RETRYING}, {PENDING, ENQUEUED}),
    ({PENDING, ENQUEUED, RETRYING}, {CANCELLED, EXPIRED}),
    ({DEAD, EXPIRED, CANCELLED}, {PENDING, ENQUEUED}),
]
"""The transitions of docs/explanation/states.md, grouped."""

LEGAL = {pair for sources, targets in TABLE for pair in product(sources, targets)}
EVERY_PAIR = list(product(JobStatus, JobStatus))


@pytest.mark.parametrize(("source", "target"), EVERY_PAIR)
def test_a_pair_is_legal_exactly_where_the_table_has_it(
    source: JobStatus, target: JobStatus
) -> None:
    assert is_legal(source, target) is ((source, target) in LEGAL)


@pytest.mark.parametrize(("source", "target"), sorted(LEGAL))
def test_a_legal_move_says_when_it_is_made(source: JobStatus, target: JobStatus) -> None:
    require_legal([source], target)
    assert LEGAL_MOVES[source][target]


@pytest.mark.parametrize(("source", "target"), sorted(set(EVERY_PAIR) - LEGAL))
def test_an_illegal_move_is_refused_by_name(source: JobStatus, target: JobStatus) -> None:
    with pytest.raises(IllegalTransition, match=f"from {source} to {target}"):
        require_legal([source], target)


def test_one_bad_source_among_good_ones_is_found() -> None:
    with pytest.raises(IllegalTransition, match="from SUCCEEDED to RUNNING"):
        require_legal({PENDING, ENQUEUED, SUCCEEDED}, RUNNING)


def test_nothing_leads_out_of_success() -> None:
    assert LEGAL_MOVES[SUCCEEDED] == {}


def test_every_state_is_waiting_or_running_or_final() -> None:
    assert NOT_STARTED | {RUNNING} | FINAL == set(JobStatus)
    assert NOT_STARTED | {RUNNING} == OPEN
    assert not NOT_STARTED & FINAL
    assert RUNNING not in NOT_STARTED | FINAL
    assert FINAL - {SUCCEEDED} == REDRIVABLE


@pytest.mark.parametrize("status", JobStatus)
def test_a_state_knows_what_it_is(status: JobStatus) -> None:
    assert status.is_final is (status in {SUCCEEDED, DEAD, CANCELLED, EXPIRED})
    assert status.is_waiting is (status in {PENDING, ENQUEUED, RETRYING})


def test_only_a_redrive_leads_out_of_a_final_state() -> None:
    targets = {target for source in FINAL for target in LEGAL_MOVES[source]}
    assert targets == {PENDING, ENQUEUED}
