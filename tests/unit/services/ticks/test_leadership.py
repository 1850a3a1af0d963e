"""Leases: taken, renewed in time, given up, and measured."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.ticks.leases import LEADER, shard_lease_name
from hourhand.memory import START
from hourhand.ports.control_store import Lease, LeaseHeld
from hourhand.services.ticks.leadership import Leadership
from tests.world.world import World

SECOND = timedelta(seconds=1)


@pytest.fixture
def leadership(world: World) -> Leadership:
    return Leadership(world.control, world.clock, world.timings, world.telemetry)


def _acquire(leadership: Leadership, holder: str) -> Lease:
    lease = leadership.acquire(LEADER, holder)
    assert isinstance(lease, Lease)
    return lease


def test_a_free_lease_is_taken_for_half_a_minute(world: World, leadership: Leadership) -> None:
    lease = _acquire(leadership, "a")
    assert (lease.holder, lease.epoch, lease.until) == ("a", 1, START + 30 * SECOND)
    assert world.telemetry.total("elections_won") == 1
    assert world.telemetry.values("election_ms") == [0]
    assert world.telemetry.total("hand_offs") == 0


def test_a_lease_is_taken_over_only_a_margin_after_its_end(
    world: World, leadership: Leadership
) -> None:
    _acquire(leadership, "a")
    world.advance(32)
    assert isinstance(leadership.acquire(LEADER, "b"), LeaseHeld)
    assert world.telemetry.total("elections_followed") == 1
    world.advance(0.001)
    assert _acquire(leadership, "b").epoch == 2
    assert world.telemetry.total("hand_offs") == 1
    (line,) = world.telemetry.logs
    assert line.fields == {"lease": LEADER, "epoch": 2, "taken_from": "a"}


def test_a_lease_is_renewed_once_a_third_of_it_is_used_up(
    world: World, leadership: Leadership
) -> None:
    lease = _acquire(leadership, "a")
    world.advance(9.999)
    assert leadership.keep(lease) is lease
    world.advance(0.001)
    kept = leadership.keep(lease)
    assert kept is not None
    assert kept.until == START + 40 * SECOND


def test_a_lease_that_is_anothers_is_lost(world: World, leadership: Leadership) -> None:
    lease = _acquire(leadership, "a")
    world.advance(33)
    _acquire(leadership, "b")
    assert leadership.keep(lease) is None
    assert world.telemetry.total("leases_lost") == 1


def test_a_lease_that_is_given_up_is_free_at_once_and_its_time_is_measured(
    world: World, leadership: Leadership
) -> None:
    lease = _acquire(leadership, "a")
    world.advance(5)
    leadership.release(lease)
    assert world.telemetry.values("lease_held_ms") == [5000]
    assert _acquire(leadership, "b").epoch == 2


def test_each_shard_has_a_lease_of_its_own(leadership: Leadership) -> None:
    for shard in (0, 1):
        assert isinstance(leadership.acquire(shard_lease_name(shard), "a"), Lease)
    assert isinstance(leadership.acquire(shard_lease_name(1), "b"), LeaseHeld)
