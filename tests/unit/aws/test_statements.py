from __future__ import annotations

from dataclasses import replace

import pytest

from hourhand.aws.batches import Statement
from hourhand.aws.transitions import Statements, statement_of
from hourhand.domain.conditions import Absent, Compares, SizeIs, either, equals
from hourhand.domain.jobs.history import pack_event
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.transitions import EnqueuedMarks, Transition, mark_enqueued
from hourhand.domain.times import to_ms
from hourhand.memory import START
from tests.contract.move_cases import CASES, MoveCase
from tests.unit.aws.scripted import claim_of
from tests.world.factories import ACTOR, make_event, make_job


def test_a_mark_is_one_statement_whose_values_stand_in_its_order() -> None:
    mark = mark_enqueued(make_job(), now=START, actor=ACTOR)
    statement = statement_of(mark, "jobs")
    assert statement == {
        "Statement": (
            'UPDATE "jobs" SET "q" = ? SET "t" = ? SET "h"[9000] = ? WHERE "p" = ? AND "s" = ?'
            ' AND "v" = ? AND "t" IN [?, ?] AND "g" = ? AND "q" IS MISSING'
        ),
        "Parameters": [
            {"N": str(to_ms(START))},
            {"S": "ENQUEUED"},
            {"S": pack_event(mark.events[0])},
            {"S": "job-1"},
            {"S": "J"},
            {"N": "1"},
            {"S": "PENDING"},
            {"S": "RETRYING"},
            {"N": "1"},
        ],
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def test_every_part_of_a_write_finds_its_words() -> None:
    move = Transition(
        name="probe",
        job_id="job-1",
        expect={
            "length": either((SizeIs("history", "=", 2), equals("history_dropped", 0))),
            "round": equals("round", 3),
        },
        sets={"cursor": None},
        increments={"token": 1},
        events=(make_event(), make_event()),
    )
    statement = statement_of(move, "jobs")
    assert statement is not None
    assert statement["Statement"] == (
        'UPDATE "jobs" SET "f" = "f" + ? SET "h"[9000] = ? SET "h"[9001] = ? REMOVE "cu"'
        ' WHERE "p" = ? AND "s" = ? AND "v" = ? AND (size("h") = ? AND "hd" IS MISSING)'
        ' AND "rd" = ?'
    )
    assert len(statement["Parameters"]) == statement["Statement"].count("?")


def test_a_choice_cannot_be_said_beside_a_key() -> None:
    choice = either(Absent("expires_at"), Compares("expires_at", ">", START))
    move = Transition(name="probe", job_id="job-1", expect={"choice": choice})
    assert statement_of(move, "jobs") is None


def test_set_where_absent_cannot_be_said() -> None:
    assert statement_of(claim_of(make_job(status=JobStatus.ENQUEUED)), "jobs") is None


# --- what moves share is worked out once --------------------------------------------------------

AWKWARD_IDS = ("J", "1", "PENDING", "ENQUEUED", "job-2")
"""Ids that are also values of a statement."""


@pytest.mark.parametrize("first", AWKWARD_IDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_of_moves_that_share_all_each_has_the_statement_that_it_has_alone(
    case: MoveCase, first: str
) -> None:
    statements = Statements("jobs")
    move = case.build(case.job(first, START), START)
    alike = [move, *(move.on(job_id) for job_id in AWKWARD_IDS)]
    for each in alike:
        assert statements.of(each) == statement_of(each, "jobs")


def test_moves_that_share_their_events_alone_are_not_alike() -> None:
    statements = Statements("jobs")
    mark = mark_enqueued(make_job(), now=START, actor=ACTOR)
    other = replace(mark, job_id="job-2", expect={**mark.expect, "round": equals("round", 7)})
    assert other.events is mark.events
    for each in (mark, other, mark):
        assert statements.of(each) == statement_of(each, "jobs")


def test_a_statement_is_made_once_for_moves_that_share_all(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def watched(move: Transition, table: str) -> Statement | None:
        compiled.append(move.job_id)
        return statement_of(move, table)

    monkeypatch.setattr("hourhand.aws.transitions.statement_of", watched)
    statements = Statements("jobs")
    marks = EnqueuedMarks(START, ACTOR)
    for number in range(100):
        statements.of(marks.of(make_job(id=f"job-{number}")))
    assert compiled == ["job-0"]
