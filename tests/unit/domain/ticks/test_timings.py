"""The relations between the protocol's durations that docs/explanation/design.md relies on."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

import pytest

from hourhand.domain.ticks.timings import SQS_MAX_DELAY, SQS_MAX_VISIBILITY, Timings

EVENTBRIDGE_JITTER = timedelta(seconds=20)
DEATH_INTO_TICK = timedelta(seconds=50)


def test_the_defaults_are_those_of_the_design() -> None:
    seconds = {f.name: getattr(Timings(), f.name).total_seconds() for f in fields(Timings)}
    stated = {
        "tick": 60,
        "look_ahead": 300,
        "leader_lease": 30,
        "job_lease": 45,
        "visibility": 60,
        "heartbeat": 15,
        "clock_margin": 2,
        "early_wait": 2,
        "redispatch_first": 60,
        "stall_bound": 5,
        "deep_reread": 86_400,
    }
    assert {name: seconds[name] for name in stated} == stated


@pytest.mark.parametrize("factor", [1.0, 0.1, 1 / 7, 1 / 60])
def test_the_defaults_outlast_a_lost_tick_at_every_scale(factor: float) -> None:
    assert Timings().scaled(factor).outlasts_a_lost_tick


@pytest.mark.parametrize(("seconds", "outlasts"), [(180, False), (299, False), (840, True)])
def test_a_look_ahead_of_less_than_five_ticks_does_not(seconds: int, outlasts: bool) -> None:
    timings = replace(Timings(), look_ahead=timedelta(seconds=seconds))
    assert timings.outlasts_a_lost_tick is outlasts


def lateness_after_the_worst_death(timings: Timings) -> timedelta:
    """How late a job is that no living tick saw before the worst crash of the scheduler.

    Tick 0 looked ahead and missed it by a hair. The leader of tick 1 dies late in its tick, so
    that its lease shuts out tick 2; tick 3 is lost; tick 4 comes late by EventBridge's jitter.
    """
    due = timings.look_ahead
    lease_ends = timings.tick + DEATH_INTO_TICK + timings.leader_lease + timings.clock_margin
    ticks = [timings.tick * n for n in range(2, 6)]
    can_lead = [tick for tick in ticks if tick > lease_ends]
    return max(timedelta(0), can_lead[1] + EVENTBRIDGE_JITTER - due)


def test_a_dead_leader_and_a_lost_tick_make_no_job_late() -> None:
    assert lateness_after_the_worst_death(Timings()) == timedelta(0)
    short = Timings(look_ahead=timedelta(seconds=180))
    assert lateness_after_the_worst_death(short) == timedelta(seconds=80)


@pytest.mark.parametrize("factor", [1.0, 0.5, 0.2, 0.1, 0.01, 2.0])
def test_the_relations_hold_at_every_scale(factor: float) -> None:
    t = Timings().scaled(factor)
    # A redelivered message can claim at once: it is hidden first, and the claim may come a wait
    # later and starts the lease.
    assert t.early_wait + t.job_lease + t.clock_margin < t.visibility
    assert 2 * t.heartbeat + t.clock_margin < t.job_lease, "one heartbeat may fail"
    assert t.leader_lease + t.clock_margin < t.tick, "the tick after a dead leader can take over"
    assert t.clock_margin >= 2 * t.skew_widens, "two clocks may be off in opposite directions"
    assert t.skew_widens < t.skew_refuses
    late_writer = 2 * t.skew_widens + t.stall_bound + t.index_lag
    assert t.trail >= late_writer, "the trail outlasts every late writer and the index"
    assert t.confirm_gap == t.index_lag + 2 * t.skew_widens
    assert t.confirm_gap < t.tick, "a bucket can be confirmed empty in the next tick"
    waits = [t.redispatch_first, t.redispatch_backoff_cap, t.redispatch_hard_cap, t.aging_wait]
    assert waits == sorted(waits), "waits for a missed message grow to their cap"


def test_shortened_timings_keep_the_wait_that_sqs_needs() -> None:
    shortened = Timings().shortened(0.1)
    assert shortened.early_wait == Timings().early_wait
    assert shortened.tick == Timings().scaled(0.1).tick


def test_what_sqs_is_asked_for_is_within_its_limits_and_payloads_are_renewed_in_time() -> None:
    timings = Timings()
    assert timings.look_ahead <= SQS_MAX_DELAY
    assert timings.visibility <= SQS_MAX_VISIBILITY
    assert timings.deep_reread < timings.payload_renewed_below < timings.payload_kept
    assert timings.scaled(1.0) == timings


def test_scaling_multiplies_the_protocol_and_leaves_the_retentions() -> None:
    standard, short = Timings(), Timings().scaled(0.1)
    kept = {"stall_bound", "deep_reread", "payload_kept", "payload_renewed_below"}
    kept |= {"delay_rounding"}
    for field in fields(Timings):
        was, is_now = getattr(standard, field.name), getattr(short, field.name)
        if field.name in kept:
            assert is_now == was, field.name
        elif field.name != "trail":
            assert is_now == was * 0.1, field.name
