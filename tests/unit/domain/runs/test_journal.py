"""The journal of a run: which records count in a round, and which are new."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.answers import Suspension, together
from hourhand.domain.runs.records import Journal, Record, RecordKind, RecordOutcome
from hourhand.domain.times import from_ms

STEP = Record(
    kind=RecordKind.STEP,
    path="a",
    created_ms=1,
    outcome=RecordOutcome.SUCCEEDED,
    round=1,
    token=1,
    index=1,
    text="1",
)
FAILED = replace(STEP, outcome=RecordOutcome.FAILED, text='["OSError","no"]')


def journal(*records: Record, round_: int = 1, **resets: int) -> Journal:
    return Journal(records, round_=round_, resets=resets)


def test_a_record_of_an_older_round_counts_unless_its_path_was_reset() -> None:
    assert journal(STEP, round_=3).find("a") == STEP
    assert journal(STEP, round_=3, a=2).find("a") is None
    assert journal(STEP, round_=3, a=2).records() == []
    assert journal(replace(STEP, round=2), round_=3, a=2).find("a") is not None
    assert journal(replace(STEP, path="a/b"), round_=3, a=2).find("a/b") is None


def test_of_records_of_two_kinds_under_one_path_the_newest_counts() -> None:
    wait = replace(STEP, kind=RecordKind.WAIT, index=2)
    assert journal(STEP, wait).find("a") == wait
    assert journal(wait, STEP).find("a") == wait


def test_a_failure_of_an_older_round_is_not_among_the_records_that_count() -> None:
    assert journal(FAILED, round_=2).records() == []
    assert journal(FAILED).records() == [FAILED]
    assert journal(FAILED).find("a") is not None
    assert FAILED.error.type == "OSError"


def test_a_run_is_past_a_call_if_a_newer_record_of_its_branch_was_not_visited() -> None:
    first, second = STEP, replace(STEP, path="b", index=2)
    one = journal(first, second)
    assert one.is_past("")
    one.find("b")
    assert not one.is_past("")
    two = journal(first, second)
    two.find("a")
    assert two.is_past("")
    assert not two.is_past("left/")


def test_a_left_over_record_that_is_not_the_newest_does_not_count_as_past() -> None:
    left_over, newest = replace(STEP, path="gone"), replace(STEP, path="b", index=2)
    one = journal(left_over, newest)
    one.find("b")
    assert not one.is_past("")
    assert one.unvisited() == ["gone"]


def test_the_token_goes_before_the_number_and_no_clock_counts() -> None:
    old, new = replace(STEP, index=9, ended_ms=99), replace(STEP, path="b", token=2, ended_ms=1)
    one = journal(new, old)
    assert [record.path for record in one.records()] == ["a", "b"]
    assert one.newest_token() == 2
    assert one.newest_index(1) == 9
    assert one.newest_index(7) == 0


def test_a_version_record_is_found_apart_from_a_step_of_its_name() -> None:
    change = replace(STEP, kind=RecordKind.CHANGE, index=2)
    one = journal(STEP, change, round_=2)
    assert one.find("a") == STEP
    assert one.change("a") == change
    assert journal(change, round_=2, a=2).change("a") is None


def test_the_size_of_a_journal_follows_its_records() -> None:
    one = journal(STEP)
    size = one.size_bytes
    one.put(replace(STEP, text="1" * 101))
    assert one.size_bytes == size + 100
    assert len(one) == 1


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        (
            [Suspension(WaitKind.TIME, "a", from_ms(5))],
            Suspension(WaitKind.TIME, "a", from_ms(5)),
        ),
        (
            [Suspension(WaitKind.TIME, "a", from_ms(5)), Suspension(WaitKind.SIGNAL, "s")],
            Suspension(WaitKind.SIGNAL, "", from_ms(5)),
        ),
        (
            [
                Suspension(WaitKind.TIME, "a", from_ms(5)),
                Suspension(WaitKind.TIME, "b", from_ms(3)),
            ],
            # A name: no signal wakes a run that only sleeps.
            Suspension(WaitKind.TIME, "a", from_ms(3)),
        ),
        (
            [Suspension(WaitKind.SIGNAL, "s"), Suspension(WaitKind.SIGNAL, "s")],
            Suspension(WaitKind.SIGNAL, "s"),
        ),
        (
            # No name: else only the one or the other would wake the run.
            [Suspension(WaitKind.CALLBACK, "s"), Suspension(WaitKind.SIGNAL, "s")],
            Suspension(WaitKind.CALLBACK),
        ),
        ([Suspension(WaitKind.SIGNAL, "s"), Suspension(None)], Suspension(None)),
    ],
)
def test_a_run_whose_branches_all_wait_is_due_at_the_earliest_time(
    waits: list[Suspension], expected: Suspension
) -> None:
    assert together(waits) == expected
