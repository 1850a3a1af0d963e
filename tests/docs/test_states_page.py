"""The page of states has every state and every legal transition."""

from __future__ import annotations

import re

from hourhand.answers.schedules import SCHEDULE_STATUSES
from hourhand.domain.jobs.job import JobStatus, Outcome
from hourhand.domain.jobs.states import LEGAL_MOVES
from hourhand.domain.schedules.schedule import SkipReason
from hourhand.domain.ticks.resweep import ResweepState
from tests.docs.pages import names, read, section

PAGE = read("explanation/states.md")


def test_the_page_has_each_state_of_a_job() -> None:
    states = [name for name in names(section(PAGE, "Jobs")) if name.isupper()]

    assert states == [status.value for status in JobStatus]


def test_the_diagram_shows_each_legal_transition_of_a_job() -> None:
    shown = re.findall(r"^    (\w+) --> (\w+):", PAGE, re.M)
    legal = [(source, target) for source, targets in LEGAL_MOVES.items() for target in targets]

    assert len(shown) == len(set(shown))
    assert sorted(shown) == sorted((s.value, t.value) for s, t in legal)


def test_the_page_has_each_outcome_of_an_attempt() -> None:
    assert names(section(PAGE, "Attempts")) == [outcome.value for outcome in Outcome]


def test_the_page_has_each_status_of_a_schedule() -> None:
    assert names(section(PAGE, "Schedules")) == [*SCHEDULE_STATUSES]


def test_the_page_has_each_reason_for_a_skipped_occurrence() -> None:
    assert sorted(names(section(PAGE, "Occurrences"))) == sorted(SkipReason)


def test_the_page_has_each_state_of_a_resweep() -> None:
    assert names(section(PAGE, "Resweep")) == [state.value for state in ResweepState]
