"""Killers over grids: a fault, or another actor, at every single call of one piece of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tests.scenarios.beside import BESIDE_JOBS, BESIDE_OCCURRENCES, BESIDE_TROUBLED, Step
from tests.scenarios.grid import Check, Points, at_every_point, beside_every_call, play
from tests.scenarios.jobs import ATTEMPTS, OPERATIONS, SUBMISSIONS, TICKS
from tests.scenarios.occurrences import ALONE, BESIDE_ANOTHER, check_places
from tests.scenarios.rules import check_punctual, check_rules
from tests.scenarios.troubles import MORE
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import lost_attempts
from tests.world.world import World

PLAIN = {work.name: work for work in (*SUBMISSIONS, *OPERATIONS, *TICKS, *ATTEMPTS)}
OF_SCHEDULES = {work.name: work for work in (*ALONE, *BESIDE_ANOTHER)}
WORKS: Mapping[str, Work] = {**PLAIN, **OF_SCHEDULES, **MORE}
STEPS: Mapping[str, Step] = {**BESIDE_OCCURRENCES, **BESIDE_JOBS, **BESIDE_TROUBLED}
FAULTS: Mapping[str, Points] = {
    "a death": crashes,
    "a refusal": throttles,
    "a lost answer": lost_answers,
}

UNDISTURBED = "undisturbed"
AT_NO_COST = ", at no cost"
_TIMELESS = {
    "another leader ticks",
    "another worker works",
    "cancelled",
    "run now",
    "redriven",
    "put off",
    "raised",
    "its payload is replaced",
}
"""Steps that take no time and lose nothing."""

_LATE = {
    "dispatch jobs that were due long ago",
    "dispatch again what was lost",
    "raise a job that waits too long",
    "take over from a dead worker",
}
"""Pieces of work that begin with jobs that are late already."""


def grid_killer(name: str) -> Callable[[], None]:
    """Return the killer of that name, ``<work> / <what happens to it>``. Raises `KeyError`."""
    of_work, _, what = name.partition(" / ")
    work, fault = WORKS[of_work], what.removesuffix(AT_NO_COST)
    # Where nothing takes time, no job may be late for it either.
    is_punctual = of_work in PLAIN.keys() - _LATE and what in {UNDISTURBED, *_TIMELESS}
    check: Check = check_punctual if is_punctual else check_rules
    if of_work in OF_SCHEDULES:
        check = _all_of(check, check_places)
    if what == UNDISTURBED:
        return partial(_play_undisturbed, work, check)
    if fault not in FAULTS:
        return partial(beside_every_call, work, STEPS[what], check)
    if fault != what:
        return partial(_play_at_no_cost, work, FAULTS[fault], check)
    return partial(at_every_point, work, FAULTS[fault], check)


def _all_of(*checks: Check) -> Check:
    def check(world: World) -> None:
        for each in checks:
            each(world)

    return check


def _play_undisturbed(work: Work, check: Check) -> None:
    world, _ = play(work)
    check(world)
    ends = {job.status for job in world.store.jobs().values()}
    assert work.ends[0] in ends, f"the jobs ended as {ends}"


def _play_at_no_cost(work: Work, points: Points, check: Check) -> None:
    undisturbed = lost_attempts(play(work)[0])

    def costs_nothing(world: World) -> None:
        assert lost_attempts(world) <= undisturbed, "a fault cost an attempt"

    at_every_point(work, points, _all_of(check, costs_nothing))
