from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from hourhand.aws.conditions import (
    NEVER,
    Both,
    Compares,
    Either,
    LengthIs,
    Less,
    Missing,
    OneOf,
    Test,
    compile_transition,
)
from hourhand.aws.expressions import update_arguments
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.conditions import (
    Above,
    Absent,
    AnyOf,
    AtMost,
    AttemptsLeft,
    Below,
    Condition,
    HistoryLengthIs,
    Is,
    StatusIn,
)
from hourhand.domain.jobs.history import pack_event
from hourhand.domain.jobs.job import Job, JobStatus, OnLost, Outcome, Priority
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.ticks.buckets import Entry
from hourhand.domain.times import to_ms
from hourhand.memory import START
from hourhand.testing import ACTOR, make_event, make_job
from tests.unit.aws.scripted import claim_of

RUNNING = frozenset({JobStatus.RUNNING})
START_MS = {"N": str(to_ms(START))}


def compiled(*conditions: Condition) -> list[Test]:
    """Return the tests of a move with these clauses, without the one that every move has."""
    expect = {str(n): clause for n, clause in enumerate(conditions)}
    first, *rest = compile_transition(Transition(name="probe", job_id="job-1", expect=expect)).tests
    assert first == Compares("v", "=", {"N": "1"})
    return rest


@pytest.mark.parametrize(
    ("clause", "test"),
    [
        (StatusIn(RUNNING), Compares("t", "=", {"S": "RUNNING"})),
        (
            StatusIn(frozenset({JobStatus.PENDING, JobStatus.DEAD})),
            OneOf("t", ({"S": "DEAD"}, {"S": "PENDING"})),
        ),
        (StatusIn(frozenset()), NEVER),
        (Is("generation", 2), Compares("g", "=", {"N": "2"})),
        (Is("due_at", START), Compares("k", "=", START_MS)),
        (Is("lease_until", None), NEVER),
        (Absent("enqueued_at"), Missing("q")),
        (AtMost("due_at", START), Compares("k", "<=", START_MS)),
        (Below("lease_until", START), Compares("e", "<", START_MS)),
        (Above("expires_at", START), Compares("xp", ">", START_MS)),
        (AttemptsLeft(), Less("a", "m")),
        (AnyOf(()), NEVER),
        (AnyOf((Absent("expires_at"),)), Missing("xp")),
    ],
)
def test_a_clause_becomes_a_test_on_its_attribute(clause: Condition, test: Test) -> None:
    assert compiled(clause) == [test]


@pytest.mark.parametrize(
    ("clause", "test"),
    [
        (Is("on_lost", OnLost.RETRY), Missing("ol")),
        (Is("on_lost", OnLost.DEAD), Compares("ol", "=", {"S": "dead"})),
        (Is("round", 1), Missing("rd")),
        (Is("queue", Priority.MEDIUM), Missing("qu")),
        (Above("round", 0), Either((Missing("rd"), Compares("rd", ">", {"N": "0"})))),
        (Above("round", 1), Compares("rd", ">", {"N": "1"})),
        (AtMost("round", 1), Either((Missing("rd"), Compares("rd", "<=", {"N": "1"})))),
        (Below("timeout_seconds", 300), Compares("tm", "<", {"N": "300"})),
        (Absent("round"), NEVER),
        (Absent("generation"), NEVER),
    ],
)
def test_an_absent_attribute_stands_for_the_default(clause: Condition, test: Test) -> None:
    assert compiled(clause) == [test]


@pytest.mark.parametrize(
    ("dropped", "test"),
    [(0, Missing("hd")), (3, Compares("hd", "=", {"N": "3"}))],
)
def test_the_length_of_the_history_counts_what_was_dropped_too(dropped: int, test: Test) -> None:
    assert compiled(HistoryLengthIs(4, dropped)) == [Both(LengthIs("h", 4), test)]


@dataclass(frozen=True)
class _Unknown(Condition):
    def holds(self, job: Job) -> bool:
        return True


@pytest.mark.parametrize(
    "clause", [Is("retry", None), Absent("keep_until"), Below("nonsense", 1), _Unknown()]
)
def test_a_clause_that_no_condition_can_say_is_refused_by_name(clause: Condition) -> None:
    with pytest.raises(ValueError, match=r"cannot be compared|There is no condition"):
        compiled(clause)


def test_a_move_never_makes_an_item() -> None:
    arguments = update_arguments(
        compile_transition(Transition(name="probe", job_id="job-1", expect={}))
    )
    assert arguments["ConditionExpression"] == "v = :v0", "what is not there is not below"


def test_a_claim_is_one_expression_without_a_read() -> None:
    job = make_job(status=JobStatus.ENQUEUED)
    claim = claim_of(job)
    arguments = update_arguments(compile_transition(claim))
    values = arguments["ExpressionAttributeValues"]
    assert arguments["Key"] == {"p": {"S": "job-1"}, "s": {"S": "J"}}
    assert arguments["ConditionExpression"] == (
        "v = :v0 AND t IN (:v1, :v2, :v3) AND g = :v4 AND a < m"
        " AND attribute_not_exists(ca) AND (attribute_not_exists(xp) OR xp > :v5) AND k <= :v6"
    )
    assert arguments["UpdateExpression"] == (
        "SET u = :v7, w = :v8, e = :v9, j = :v10, t = :v11, f = f + :v12, a = a + :v13,"
        " la = if_not_exists(la, :v14), h = list_append(h, :v15)"
    )
    assert values[":v15"] == {"L": [{"S": pack_event(claim.events[0])}]}
    assert (values[":v11"], values[":v12"]) == ({"S": "RUNNING"}, {"N": "1"})


def written(move: Transition) -> dict[str, Any]:
    return compile_transition(move).sets


def test_a_snooze_gives_the_attempt_back() -> None:
    job = make_job(status=JobStatus.RUNNING)
    move = transitions.retry_later(
        job,
        now=START,
        actor=ACTOR,
        outcome=Outcome.SNOOZED,
        reason="",
        entry=Entry(START, 3),
        sends_now=False,
    )
    arguments = update_arguments(compile_transition(move))
    placeholder = arguments["UpdateExpression"].partition("a = a + ")[2].partition(",")[0]
    assert arguments["ExpressionAttributeValues"][placeholder] == {"N": "-1"}


def test_a_new_entry_moves_bucket_and_time_together() -> None:
    move = transitions.refile(make_job(), entry=Entry(START, 3), now=START, actor=ACTOR)
    assert {name: written(move)[name] for name in ("b", "k")} == {
        "b": {"S": f"{to_ms(START) // 60_000}.3"},
        "k": START_MS,
    }


def test_an_entry_that_goes_takes_bucket_and_time_with_it() -> None:
    move = Transition(name="probe", job_id="job-1", expect={}, leaves_index=True)
    assert update_arguments(compile_transition(move))["UpdateExpression"] == "REMOVE b, k"


def test_a_job_that_dies_enters_the_index_of_the_dead() -> None:
    job = make_job(status=JobStatus.RUNNING)
    move = transitions.die(job, now=START, actor=ACTOR, outcome=Outcome.FAILED, reason="")
    assert written(move)["d"]["S"].startswith("dead.")


def test_a_redrive_leaves_the_index_of_the_dead() -> None:
    job = make_job(status=JobStatus.DEAD)
    move = transitions.redrive(
        job, now=START, actor=ACTOR, entry=Entry(START, 0), sends_now=True, reason=""
    )
    assert written(move)["d"] is None


def test_no_other_move_touches_the_index_of_the_dead() -> None:
    move = transitions.mark_enqueued(make_job(), now=START, actor=ACTOR)
    assert "d" not in written(move)


def test_a_value_as_by_default_is_removed_not_stored() -> None:
    move = Transition(
        name="probe", job_id="job-1", expect={}, sets={"queue": Priority.MEDIUM, "claim_id": None}
    )
    assert written(move) == {"qu": None, "u": None}
    assert update_arguments(compile_transition(move))["UpdateExpression"] == "REMOVE qu, u"


def test_events_are_appended_in_their_order() -> None:
    events = (make_event(reason="first"), make_event(reason="second"))
    write = compile_transition(Transition(name="probe", job_id="job-1", expect={}, events=events))
    assert write.appends == tuple({"S": pack_event(event)} for event in events)
    assert "h" not in write.sets


def test_a_compacted_history_replaces_the_whole_and_counts_what_went() -> None:
    kept = (make_event(), make_event(reason="last"))
    move = Transition(
        name="probe",
        job_id="job-1",
        expect={},
        events=kept[1:],
        history=kept,
        history_dropped=2,
    )
    write = compile_transition(move)
    assert write.appends == ()
    assert write.sets == {
        "h": {"L": [{"S": pack_event(event)} for event in kept]},
        "hd": {"N": "2"},
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [("increments", "round"), ("increments", "nonsense"), ("defaults", "generation")],
)
def test_a_change_that_no_expression_can_say_is_refused(kind: str, name: str) -> None:
    change: dict[str, Any] = {kind: {name: 1}}
    with pytest.raises(ValueError, match=name):
        compile_transition(Transition(name="probe", job_id="job-1", expect={}, **change))
