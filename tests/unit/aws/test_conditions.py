from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws import conditions
from hourhand.aws.conditions import EXPRESSION, PARTIQL, ConditionText
from hourhand.aws.layout.jobs import job_to_item
from hourhand.aws.layout.values import Value
from hourhand.aws.transitions import changed_attributes, update_arguments
from hourhand.domain.conditions import (
    Absent,
    Compares,
    Condition,
    Fewer,
    Fields,
    OneOf,
    SizeIs,
    either,
    equals,
)
from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.history import pack_event
from hourhand.domain.jobs.job import JobStatus, OnLost, Outcome, Priority
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.ticks.buckets import Entry
from hourhand.domain.times import to_ms
from hourhand.memory import START
from tests.unit.aws.scripted import claim_of
from tests.world.factories import ACTOR, make_event, make_job

RUNNING = frozenset({JobStatus.RUNNING})
START_MS = {"N": str(to_ms(START))}
NEVER = "attribute_not_exists(p)", '"p" IS MISSING'


def compiled(*clauses: Condition) -> tuple[str, str, list[Value]]:
    """Return the texts in both dialects and the values, without those that every move has."""
    texts = []
    for dialect, first in ((EXPRESSION, "v = ?"), (PARTIQL, '"v" = ?')):
        values: list[Value] = []
        text = ConditionText(dialect, values).all_of(clauses, None)
        assert text.startswith(f"{first} AND ")
        assert values.pop(0) == {"N": "1"}
        texts.append(text.removeprefix(f"{first} AND "))
    return texts[0], texts[1], values


@pytest.mark.parametrize(
    ("clause", "expression", "partiql", "values"),
    [
        (OneOf("status", RUNNING), "t = ?", '"t" = ?', [{"S": "RUNNING"}]),
        (
            OneOf("status", frozenset({JobStatus.PENDING, JobStatus.DEAD})),
            "t IN (?, ?)",
            '"t" IN [?, ?]',
            [{"S": "DEAD"}, {"S": "PENDING"}],
        ),
        (OneOf("status", frozenset()), *NEVER, []),
        (equals("generation", 2), "g = ?", '"g" = ?', [{"N": "2"}]),
        (equals("due_at", START), "k = ?", '"k" = ?', [START_MS]),
        (
            equals("created_at", START),
            "(c > ? AND c < ?)",
            '("c" > ? AND "c" < ?)',
            [{"S": f"{to_ms(START)}."}, {"S": f"{to_ms(START)}/"}],
        ),
        (equals("lease.until", None), *NEVER, []),
        (Absent("enqueued_at"), "attribute_not_exists(q)", '"q" IS MISSING', []),
        (Compares("due_at", "<=", START), "k <= ?", '"k" <= ?', [START_MS]),
        (Compares("lease.until", "<", START), "e < ?", '"e" < ?', [START_MS]),
        (Compares("expires_at", ">", START), "xp > ?", '"xp" > ?', [START_MS]),
        (Fewer("attempt", than="retry.max_attempts"), "a < m", '"a" < "m"', []),
        (either(), *NEVER, []),
        (
            either(
                Absent("expires_at"),
            ),
            "attribute_not_exists(xp)",
            '"xp" IS MISSING',
            [],
        ),
        (
            either(Absent("expires_at"), Compares("expires_at", ">", START)),
            "(attribute_not_exists(xp) OR xp > ?)",
            '("xp" IS MISSING OR "xp" > ?)',
            [START_MS],
        ),
    ],
)
def test_a_clause_becomes_a_condition_on_its_attribute(
    clause: Condition, expression: str, partiql: str, values: list[Value]
) -> None:
    assert compiled(clause) == (expression, partiql, values)


@pytest.mark.parametrize(
    ("clause", "text", "values"),
    [
        (equals("on_lost", OnLost.RETRY), "attribute_not_exists(ol)", []),
        (equals("on_lost", OnLost.DEAD), "ol = ?", [{"S": "dead"}]),
        (equals("round", 1), "attribute_not_exists(rd)", []),
        (equals("queue", Priority.MEDIUM), "attribute_not_exists(qu)", []),
        (Compares("round", ">", 0), "(attribute_not_exists(rd) OR rd > ?)", [{"N": "0"}]),
        (Compares("round", ">", 1), "rd > ?", [{"N": "1"}]),
        (Compares("round", "<=", 1), "(attribute_not_exists(rd) OR rd <= ?)", [{"N": "1"}]),
        (Compares("timeout_seconds", "<", 300), "tm < ?", [{"N": "300"}]),
        (Absent("round"), NEVER[0], []),
        (Absent("generation"), NEVER[0], []),
    ],
)
def test_an_absent_attribute_stands_for_the_default(
    clause: Condition, text: str, values: list[Value]
) -> None:
    assert compiled(clause)[::2] == (text, values)


@pytest.mark.parametrize(
    ("dropped", "text", "values"),
    [
        (0, "(size(h) = ? AND attribute_not_exists(hd))", [{"N": "4"}]),
        (3, "(size(h) = ? AND hd = ?)", [{"N": "4"}, {"N": "3"}]),
    ],
)
def test_the_length_of_the_history_counts_what_was_dropped_too(
    dropped: int, text: str, values: list[Value]
) -> None:
    clause = either((SizeIs("history", "=", 4), equals("history_dropped", dropped)))
    assert compiled(clause)[::2] == (text, values)


def test_what_is_kept_of_a_compilation_is_its_shape() -> None:
    """Texts are kept, and values are not: those of a job, such as its creation, come once only."""
    conditions.numbered.cache_clear()
    job = make_job(status=JobStatus.RUNNING)
    for number in range(20):
        other = replace(job, id=f"job-{number}", created_at=START + timedelta(seconds=number))
        beat = transitions.heartbeat(other, lease_until=START, progress=None)
        arguments = update_arguments(beat)
        sort_key = {"S": f"{to_ms(other.created_at)}."}
        assert arguments["ExpressionAttributeValues"][":v3"] == sort_key
    assert conditions.numbered.cache_info().currsize == 1


@dataclass(frozen=True)
class _Unknown(Condition):
    def holds(self, stored: Fields | None) -> bool:
        return True


@pytest.mark.parametrize(
    "clause",
    [equals("retry", None), Absent("keep_until"), Compares("nonsense", "<", 1), _Unknown()],
)
def test_a_clause_that_no_condition_can_say_is_refused_by_name(clause: Condition) -> None:
    with pytest.raises(ValueError, match=r"cannot be compared|There is no condition"):
        compiled(clause)


def test_a_move_never_makes_an_item() -> None:
    arguments = update_arguments(Transition(name="probe", job_id="job-1", expect={}))
    assert arguments["ConditionExpression"] == "v = :v0", "what is not there is not below"


def test_a_claim_is_one_expression_without_a_read() -> None:
    job = make_job(status=JobStatus.ENQUEUED)
    claim = claim_of(job)
    arguments = update_arguments(claim)
    values = arguments["ExpressionAttributeValues"]
    assert arguments["Key"] == {"p": {"S": "job-1"}, "s": {"S": "J"}}
    assert arguments["ConditionExpression"] == (
        "v = :v0 AND t IN (:v1, :v2, :v3) AND g = :v4 AND a < m"
        " AND attribute_not_exists(ca) AND (attribute_not_exists(xp) OR xp > :v5) AND k <= :v6"
    )
    assert arguments["UpdateExpression"] == (
        "SET u = :v7, w = :v8, e = :v9, j = :v10, t = :v11, f = f + :v12, a = a + :v13,"
        " la = if_not_exists(la, :v14), h = list_append(h, :v15) REMOVE wf, sl, rv"
    )
    assert values[":v15"] == {"L": [{"S": pack_event(claim.events[0])}]}
    assert (values[":v11"], values[":v12"]) == ({"S": "RUNNING"}, {"N": "1"})


def written(move: Transition) -> dict[str, Any]:
    return changed_attributes(move)


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
    arguments = update_arguments(move)
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
    assert update_arguments(move)["UpdateExpression"] == "REMOVE b, k"


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


def test_a_discard_moves_to_the_discarded_jobs_of_the_index() -> None:
    job = make_job(status=JobStatus.DEAD)
    before = job_to_item(job)["d"]["S"]
    move = transitions.discard(job, now=START, actor=ACTOR, note="known", reason="known")
    after = written(move)["d"]["S"]
    assert (before.partition(".")[0], after.partition(".")[0]) == ("dead", "discarded")
    assert before.partition(".")[2] == after.partition(".")[2]
    assert job_to_item(move.apply(job))["d"]["S"] == after
    assert (written(move)["da"], written(move)["dn"]) == (START_MS, {"S": "known"})


def test_no_other_move_touches_the_index_of_the_dead() -> None:
    move = transitions.mark_enqueued(make_job(), now=START, actor=ACTOR)
    assert "d" not in written(move)


def test_a_value_as_by_default_is_removed_not_stored() -> None:
    move = Transition(
        name="probe", job_id="job-1", expect={}, sets={"queue": Priority.MEDIUM, "cursor": None}
    )
    assert written(move) == {"qu": None, "cu": None}
    assert update_arguments(move)["UpdateExpression"] == "REMOVE qu, cu"


def test_events_are_appended_in_their_order() -> None:
    events = (make_event(reason="first"), make_event(reason="second"))
    arguments = update_arguments(Transition(name="probe", job_id="job-1", expect={}, events=events))
    assert arguments["UpdateExpression"] == "SET h = list_append(h, :v1)"
    assert arguments["ExpressionAttributeValues"][":v1"] == {
        "L": [{"S": pack_event(event)} for event in events]
    }


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
    assert update_arguments(move)["UpdateExpression"] == "SET h = :v1, hd = :v2"
    assert written(move) == {
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
        update_arguments(Transition(name="probe", job_id="job-1", expect={}, **change))
