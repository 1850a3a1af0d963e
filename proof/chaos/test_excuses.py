"""A wrong clock excuses what its own process did, and no more; what it excuses is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from hourhand.domain.jobs.job import EventKind, JobStatus
from proof.chaos.clocks import SWEEP, Clocks
from proof.chaos.evidence import Evidence
from proof.chaos.ledger import End
from proof.chaos.rules import judge
from proof.chaos.rules_of_runs import Judged, Verdict, losses, overlaps, repeats, returns
from proof.chaos.test_rules import (
    FIRST,
    LEASE,
    NAMES,
    SECOND,
    TIMINGS,
    a_run,
    claimed,
    event,
    good,
    lost,
    pause,
    succeeded,
    with_ending,
    with_runs,
    wrong_clock,
)

MARGIN = TIMINGS.clock_margin.total_seconds()
BYSTANDER = "worker-3"
"""It has nothing to do with the job of these tests."""


def overlapping() -> Evidence:
    """The first run goes on beside the second, which came after its lease."""
    return with_runs(a_run(1, 0.1, LEASE + 4, End.RAISED), SECOND)(good())


def lost_early() -> Evidence:
    """The attempt was called lost long before its lease was over."""
    return with_ending(history=(claimed(0.05, 1), lost(2.0, 1), succeeded(LEASE + 3, 2)))(good())


def recorded_late() -> Evidence:
    """By the record the first attempt was lost four seconds after the second had begun."""
    history = (
        claimed(0.05, 1),
        lost(LEASE + 6, 1),
        claimed(LEASE + 2.05, 2),
        succeeded(LEASE + 10, 2),
    )
    return with_ending(history=history)(good())


def back_too_soon() -> Evidence:
    """A snoozed job came back long before its snooze was over."""
    snoozed = replace(FIRST, ended_at=FIRST.began_at + 1, how=End.SNOOZED, snooze_seconds=LEASE + 5)
    history = (
        claimed(0.05, 1),
        event(EventKind.SNOOZED, 1.0, 1, JobStatus.RETRYING),
        claimed(LEASE + 2, 2),
        succeeded(LEASE + 3, 2),
    )
    return with_ending(history=history)(with_runs(snoozed, SECOND)(good()))


Judge = Callable[[Evidence], Iterator[Judged]]
CASES: dict[str, tuple[Judge, Callable[[], Evidence], list[tuple[str, float]]]] = {
    "overlap": (
        overlaps,
        overlapping,
        [("worker-1", -5.0), ("worker-2", 5.0), ("scheduler-1", 5.0)],
    ),
    "lease": (losses, lost_early, [("worker-1", -5.0), ("scheduler-1", 5.0)]),
    "repeat": (repeats, recorded_late, [("scheduler-1", 4.5)]),
    "early": (returns, back_too_soon, [("worker-1", -5.0), ("worker-2", 5.0)]),
}


@pytest.mark.parametrize("rule", CASES)
def test_the_clock_of_who_had_to_do_with_it_excuses_it_and_is_counted(rule: str) -> None:
    judged, evidence, culprits = CASES[rule]

    for name, seconds in culprits:
        off = replace(evidence(), faults=[wrong_clock(name, -5, LEASE + 5, seconds)])
        assert Counter(one.verdict for one in judged(off)) == {Verdict.CLOCK: 1}, name
        assert rule not in {violation.rule for violation in judge(off)}


@pytest.mark.parametrize("rule", CASES)
def test_no_other_clock_excuses_it(rule: str) -> None:
    judged, evidence, _ = CASES[rule]

    for seconds in (-300.0, -5.0, 5.0, 300.0):
        off = replace(evidence(), faults=[wrong_clock(BYSTANDER, -5, LEASE + 5, seconds)])
        assert Counter(one.verdict for one in judged(off)) == {Verdict.BROKEN: 1}
        assert rule in {violation.rule for violation in judge(off)}


@pytest.mark.parametrize("rule", CASES)
def test_no_clock_within_the_margin_excuses_it(rule: str) -> None:
    judged, evidence, culprits = CASES[rule]
    faults = [wrong_clock(name, -5, LEASE + 5, 0.9 * MARGIN) for name, _ in culprits]

    assert Verdict.CLOCK not in {one.verdict for one in judged(replace(evidence(), faults=faults))}


@pytest.mark.parametrize("rule", CASES)
def test_no_clock_that_was_wrong_long_before_or_after_excuses_it(rule: str) -> None:
    judged, evidence, culprits = CASES[rule]
    faults = [
        wrong_clock(name, begin, begin + 10, seconds)
        for name, seconds in culprits
        for begin in (-100.0, 100.0)
    ]

    assert Verdict.BROKEN in {one.verdict for one in judged(replace(evidence(), faults=faults))}


def test_a_clock_moves_an_end_on_record_by_what_it_was_off_and_no_more() -> None:
    """Ahead by 2 s it cannot have put down as 4 s later what came before the run."""
    off = replace(recorded_late(), faults=[wrong_clock("scheduler-1", -5, LEASE + 20, 2.0)])

    assert [one.verdict for one in repeats(off)] == [Verdict.BROKEN]


def test_a_pause_excuses_an_attempt_that_was_lost_early_only_between_claim_and_begin() -> None:
    before = replace(lost_early(), faults=[pause(-8.0, 0.05)])
    after = replace(lost_early(), faults=[pause(0.5, 1.5)])

    assert [one.verdict for one in losses(before)] == [Verdict.PAUSED]
    assert [one.verdict for one in losses(after)] == [Verdict.BROKEN]


def test_a_run_that_began_long_after_its_claim_may_be_lost_a_lease_after_the_claim() -> None:
    slow = with_runs(a_run(1, 4.0, 5.0, End.DIED), SECOND)(good())
    early = with_ending(
        history=(claimed(0.05, 1), lost(LEASE - 0.5, 1), succeeded(LEASE + 3, 2)),
    )(slow)

    assert [one.verdict for one in losses(slow)] == [Verdict.HOLDS]
    assert [one.verdict for one in losses(early)] == [Verdict.BROKEN]


def test_what_is_as_it_should_be_is_judged_and_counted_as_such() -> None:
    assert [one.verdict for one in repeats(good())] == [Verdict.HOLDS]
    assert [one.verdict for one in losses(good())] == [Verdict.HOLDS]
    assert list(overlaps(good())) == []


def test_a_history_that_was_cut_is_counted_as_not_judged() -> None:
    cut = with_ending(dropped_events=3)

    assert [one.verdict for one in repeats(cut(recorded_late()))] == [Verdict.CUT]
    assert [one.verdict for one in returns(cut(back_too_soon()))] == [Verdict.CUT]


def test_the_place_of_who_wrote_is_known_by_what_it_ran() -> None:
    clocks = Clocks(good())

    assert clocks.places_of("w-1") == {"worker-1"}
    assert clocks.places_of("w-2") == {"worker-2"}
    assert clocks.places_of(SWEEP) == {"scheduler-1"}
    # Nobody saw it run: it may be any worker.
    assert clocks.places_of("w-9") == set(NAMES.values()) - {"scheduler-1"}
