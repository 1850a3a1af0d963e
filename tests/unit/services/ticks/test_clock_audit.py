"""Comparing the local clock with AWS's own time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.ticks.clock_skew import SkewVerdict
from hourhand.services.ticks.clock_audit import ClockAudit, ClockSet
from tests.world.faults import Faults
from tests.world.world import World

MILLISECOND = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("skew_seconds", "verdict"),
    [
        (0, SkewVerdict.FINE),
        (0.9, SkewVerdict.FINE),
        (-2, SkewVerdict.WIDEN),
        (29, SkewVerdict.WIDEN),
        (-31, SkewVerdict.REFUSE),
        (3600, SkewVerdict.REFUSE),
    ],
)
def test_a_clock_is_judged_by_how_far_it_is_off_and_corrected(
    world: World, skew_seconds: float, verdict: SkewVerdict
) -> None:
    clock = world.clock.view(timedelta(seconds=skew_seconds))
    audit = ClockAudit(world.queues.seen_by(clock), clock, world.timings, world.telemetry)
    report = audit.run()
    assert report.verdict is verdict
    assert abs(report.size - timedelta(seconds=abs(skew_seconds))) <= MILLISECOND
    assert abs(clock.now() - world.clock.now()) <= MILLISECOND
    skew_ms = report.size / MILLISECOND
    assert world.telemetry.values("skew_ms") == ([skew_ms] if skew_ms else [])
    assert len(world.telemetry.warnings) == (verdict is not SkewVerdict.FINE)
    assert audit.run().verdict is SkewVerdict.FINE, "it was corrected"


def test_a_probe_without_an_answer_says_nothing_against_the_clock(world: World) -> None:
    world.queues.behaviour.answers_probes = False
    audit = ClockAudit(world.queues, world.clock, world.timings, world.telemetry)
    report = audit.run()
    assert (report.skew, report.verdict, report.size) == (None, SkewVerdict.FINE, timedelta(0))
    assert not world.telemetry.metrics


@pytest.mark.parametrize("error", [Unavailable(), KeyError("MessageId"), OSError("AccessDenied")])
def test_a_probe_that_fails_in_any_way_is_told_and_no_more(world: World, error: Exception) -> None:
    queues = Faults().fail("probe_time", error).wrap(world.queues)
    report = ClockAudit(queues, world.clock, world.timings, world.telemetry).run()
    assert report.verdict is SkewVerdict.FINE
    assert world.telemetry.sentences == [
        "The clock could not be compared with AWS's. It is not corrected."
    ]
    assert world.telemetry.total("optional_requests_failed") == 1


def _audit(world: World) -> ClockAudit:
    return ClockAudit(world.queues, world.clock, world.timings, world.telemetry)


@pytest.mark.parametrize("off", [0, 1.9, -1.9])
def test_a_tick_decides_by_the_clock_that_was_audited(world: World, off: float) -> None:
    audit = _audit(world)
    report = audit.run()
    world.clock.skew += timedelta(seconds=off)
    world.clock.sleep(40)
    assert audit.time_after(report) == world.clock.now()


@pytest.mark.parametrize("step", [165, -210, 2.1, -2.1])
def test_a_clock_that_was_set_since_its_audit_decides_nothing(world: World, step: float) -> None:
    audit = _audit(world)
    report = audit.run()
    world.clock.sleep(10)
    world.clock.skew += timedelta(seconds=step)
    with pytest.raises(ClockSet, match=rf"^{10 + step:.1f} s since its audit, in 10\.0 s$"):
        audit.time_after(report)


def test_a_clock_that_no_audit_confirmed_is_taken_as_it_is(world: World) -> None:
    world.queues.behaviour.answers_probes = False
    audit = _audit(world)
    report = audit.run()
    world.clock.skew += timedelta(minutes=5)
    assert audit.time_after(report) == world.clock.now()
