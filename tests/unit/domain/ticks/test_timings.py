"""The relations between the protocol's durations that docs/explanation/design.md relies on."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

import pytest

from hourhand.domain.ticks.timings import SQS_MAX_DELAY, SQS_MAX_VISIBILITY, Timings

EVENTBRIDGE_JITTER = timedelta(seconds=20)
DEATH_INTO_TICK = timedelta(seconds=50)

EVERY_SCALE = pytest.mark.parametrize("factor", [1.0, 0.5, 0.2, 0.1, 0.01, 2.0])


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
        "turn_wait": 60,
        "turn_wait_cap": 900,
        "stop_wait": 5,
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


def test_a_look_ahead_of_180_seconds_would_not_do() -> None:
    short = Timings(look_ahead=timedelta(seconds=180))
    assert lateness_after_the_worst_death(short) == timedelta(seconds=80)


@EVERY_SCALE
def test_a_redelivered_message_can_claim_at_once(factor: float) -> None:
    timings = Timings().scaled(factor)
    # The message is hidden first; the claim may come a wait later and starts the lease.
    claimable = timings.early_wait + timings.job_lease + timings.clock_margin
    assert claimable < timings.visibility


@EVERY_SCALE
def test_one_heartbeat_may_fail_and_the_lease_still_holds(factor: float) -> None:
    timings = Timings().scaled(factor)
    assert 2 * timings.heartbeat + timings.clock_margin < timings.job_lease


@EVERY_SCALE
def test_the_tick_after_a_dead_leader_can_take_over(factor: float) -> None:
    timings = Timings().scaled(factor)
    assert timings.leader_lease + timings.clock_margin < timings.tick


@EVERY_SCALE
def test_the_margin_bears_two_clocks_off_in_opposite_directions(factor: float) -> None:
    timings = Timings().scaled(factor)
    assert timings.clock_margin >= 2 * timings.skew_widens
    assert timings.skew_widens < timings.skew_refuses


@EVERY_SCALE
def test_the_trail_outlasts_every_late_writer_and_the_index(factor: float) -> None:
    timings = Timings().scaled(factor)
    needed = 2 * timings.skew_widens + timings.stall_bound + timings.index_lag
    assert timings.trail >= needed


@EVERY_SCALE
def test_a_bucket_can_be_confirmed_empty_in_the_next_tick(factor: float) -> None:
    timings = Timings().scaled(factor)
    assert timings.confirm_gap == timings.index_lag + 2 * timings.skew_widens
    assert timings.confirm_gap < timings.tick


def test_shortened_timings_keep_the_wait_that_sqs_needs() -> None:
    shortened = Timings().shortened(0.1)
    assert shortened.early_wait == Timings().early_wait
    assert shortened.tick == Timings().scaled(0.1).tick


@EVERY_SCALE
def test_waits_for_a_missed_message_grow_to_their_cap(factor: float) -> None:
    timings = Timings().scaled(factor)
    assert timings.redispatch_first <= timings.redispatch_backoff_cap
    assert timings.redispatch_backoff_cap <= timings.redispatch_hard_cap
    assert timings.redispatch_hard_cap <= timings.aging_wait


def test_what_sqs_is_asked_for_is_within_its_limits() -> None:
    timings = Timings()
    assert timings.look_ahead <= SQS_MAX_DELAY
    assert timings.visibility <= SQS_MAX_VISIBILITY


def test_a_payload_is_renewed_long_before_its_end() -> None:
    timings = Timings()
    assert timings.deep_reread < timings.payload_renewed_below < timings.payload_kept


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


def test_scaling_by_one_changes_nothing() -> None:
    assert Timings().scaled(1.0) == Timings()
