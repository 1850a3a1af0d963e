"""Killing the leader: in the middle of its tick, or it does not count."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hourhand.local.cloud import LocalCloud
from hourhand.local.demo.dead_letters import read_dead_letters
from hourhand.local.demo.sabotage import MAX_KILLS, LeaderHunt, LeaderKilled, purge_queues
from hourhand.ports import Lease
from hourhand.services.leadership import LEADER


class FakeChild:
    def __init__(self, name: str, pid: int) -> None:
        self.name, self.pid = name, pid
        self.signals: list[int] = []

    def signal(self, number: signal.Signals) -> None:
        self.signals.append(number)


class FakeControl:
    """A lease that is read as the test lists it, the last entry for ever."""

    def __init__(self, *leases: Lease | None) -> None:
        self.leases = list(leases)

    def read_lease(self, name: str) -> Lease | None:
        assert name == LEADER
        return self.leases.pop(0) if len(self.leases) > 1 else self.leases[0]


def lease(holder: str, *, seconds: float = 5.0, epoch: int = 3) -> Lease:
    now = datetime.now(UTC)
    return Lease(
        name=LEADER,
        holder=holder,
        epoch=epoch,
        until=now + timedelta(seconds=seconds),
        acquired_at=now,
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hourhand.local.demo.sabotage.LOOK_SECONDS", 0.001)
    monkeypatch.setattr("hourhand.local.demo.sabotage.AFTER_VAIN_SECONDS", 0.001)
    monkeypatch.setattr("hourhand.local.demo.sabotage.HUNT_SECONDS", 5.0)


def hunt(*leases: Lease | None) -> tuple[LeaderHunt, list[FakeChild], list[LeaderKilled]]:
    children = [FakeChild("scheduler-1", 11), FakeChild("scheduler-2", 12)]
    cloud = SimpleNamespace(schedulers=[SimpleNamespace(child=child) for child in children])
    kills: list[LeaderKilled] = []
    hunt = LeaderHunt(cast("LocalCloud", cloud), cast("Any", FakeControl(*leases)), kills.append)
    hunt.start()
    hunt.join()
    return hunt, children, kills


def test_the_process_whose_invocation_holds_the_lease_is_killed() -> None:
    held = lease("scheduler-2-abc")
    done, children, kills = hunt(None, lease("scheduler-1-old", seconds=-1), held)
    assert [child.signals for child in children] == [[], [signal.SIGKILL]]
    assert kills == [done.killed]
    assert done.killed is not None
    assert (done.killed.pid, done.killed.epoch) == (12, 3)
    assert done.killed.held_lease_until == held.until
    assert done.killed.pids == (12,)


def test_a_leader_that_had_given_its_lease_up_was_killed_in_vain() -> None:
    done, _, kills = hunt(lease("scheduler-1-a"), None, lease("scheduler-2-b", epoch=4))
    assert [kill.held_lease_until is None for kill in kills] == [True, False]
    assert done.killed is not None
    assert done.killed.pids == (11, 12)


def test_a_lease_that_another_took_meanwhile_is_not_the_dead_ones() -> None:
    _, _, kills = hunt(
        lease("scheduler-1-a", epoch=3), lease("scheduler-2-b", epoch=4), lease("scheduler-2-b")
    )
    assert kills[0].held_lease_until is None


def test_it_is_not_tried_for_ever() -> None:
    vain: list[Lease | None] = []
    for _ in range(MAX_KILLS + 2):
        vain += [lease("scheduler-1-a"), None]
    done, _, kills = hunt(*vain)
    assert len(kills) == MAX_KILLS
    assert done.killed is not None
    assert done.killed.held_lease_until is None


def test_a_purge_empties_every_priority_queue_and_tells_when() -> None:
    purged: list[str] = []
    cloud = SimpleNamespace(
        settings=SimpleNamespace(queues={"high": "url-1", "low": "url-2"}),
        sqs=SimpleNamespace(purge_queue=lambda **given: purged.append(given["QueueUrl"])),
    )
    begin, end = purge_queues(cast("LocalCloud", cloud))
    assert purged == ["url-1", "url-2"]
    assert begin <= end


def test_dead_letters_are_read_to_the_last_batch() -> None:
    batches = [
        {"Messages": [{"Body": '{"job": {"id": "a"}}'}, {"Body": '{"job": {"id": "b"}}'}]},
        {"Messages": [{"Body": '{"job": {"id": "c"}}'}]},
        {},
    ]
    sqs = SimpleNamespace(receive_message=lambda **_: batches.pop(0))
    assert read_dead_letters(cast("Any", sqs), "url") == ["a", "b", "c"]
