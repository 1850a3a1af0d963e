"""The decision record of a graph: which of its entries count in a round."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hourhand.domain.runs.decisions import decision_codes, decisions_in_force
from hourhand.domain.runs.records import Journal, Record, RecordKind, RecordOutcome

NAMES = ("a", "b", "c")


def record_with(codes: Mapping[str, int]) -> Record:
    return Record(
        kind=RecordKind.DECISIONS,
        path="",
        created_ms=1,
        outcome=RecordOutcome.SUCCEEDED,
        round=1,
        token=1,
        index=1,
        decisions=codes,
    )


def in_force(
    codes: Mapping[str, int], round_: int, resets: Mapping[str, int] | None = None
) -> dict[str, str]:
    journal = Journal((), round_=round_, resets=resets or {})
    return decisions_in_force(record_with(codes), NAMES, journal)


def test_decisions_are_read_as_they_were_written() -> None:
    codes = decision_codes({}, NAMES, {"a": "R", "c": "U"}, 1)
    assert in_force(codes, 1) == {"a": "R", "c": "U"}
    more = decision_codes(codes, NAMES, {"b": "K"}, 1)
    assert in_force(more, 1) == {"a": "R", "b": "K", "c": "U"}


@pytest.mark.parametrize("letter", ["R", "K", "U"])
def test_a_skip_counts_in_its_round_alone(letter: str) -> None:
    codes = decision_codes({}, NAMES, {"b": letter}, 2)
    assert in_force(codes, 2) == {"b": letter}
    assert in_force(codes, 3) == ({"b": "R"} if letter == "R" else {})


def test_a_node_that_ran_stays_so_until_it_is_reset() -> None:
    codes = decision_codes({}, NAMES, dict.fromkeys(NAMES, "R"), 2)
    assert in_force(codes, 5, {"b": 3}) == {"a": "R", "c": "R"}
    assert in_force(codes, 5, {"b": 2}) == dict.fromkeys(NAMES, "R")


def test_a_late_skip_of_an_older_round_does_not_count() -> None:
    now = decision_codes({}, NAMES, {"a": "R"}, 2)
    late = decision_codes(now, NAMES, {"b": "U", "c": "R"}, 1)
    assert in_force(late, 2, {"c": 2}) == {"a": "R"}
