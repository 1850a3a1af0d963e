"""For each clause of each move, what happens between the read and the write that it is there for.

In each story exactly that clause is false for the item as it stands, and all others hold. Some
items cannot come about while every other clause is in force; they are built by hand, and
``is_second_line`` says so: there the clause is a second line of defence.
"""

from __future__ import annotations

from hourhand.domain.jobs.job import EventKind
from tests.unit.domain import condition_invariants as keep
from tests.unit.domain.attempt_races import ATTEMPTS, CLAIM, RECOVERY
from tests.unit.domain.condition_cases import CASES, Case
from tests.unit.domain.job_samples import after, an_event, with_long_history
from tests.unit.domain.race import Race
from tests.unit.domain.waiting_races import DISPATCH, OPERATORS


def _of_history(case: Case) -> Race:
    """A write that compacts the history, and another that just did the same.

    The other dropped as many events as it appended: the length alone would tell nothing.
    """
    long = with_long_history(case.ordinary)
    latest = an_event(EventKind.REFILED, at=after(-2), actor="worker-9")
    return Race(
        move=case.name,
        clause="history_as_read",
        story="another put an event on record and compacted the history",
        reads={"history": long.history, "history_dropped": long.history_dropped},
        meanwhile={
            "history": (long.history[0], *long.history[2:], latest),
            "history_dropped": long.history_dropped + 1,
        },
        harm=keep.HISTORY_IS_KEPT,
    )


HISTORY = tuple(_of_history(case) for case in CASES if "history_as_read" in case.clause_names())

RACES = (*DISPATCH, *CLAIM, *ATTEMPTS, *RECOVERY, *OPERATORS, *HISTORY)
