"""What the demo does on the way: it kills the leader at work, and knows when it is over."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hourhand.client import ServerFailed
from hourhand.domain.errors import Unavailable
from hourhand.domain.ticks.leases import LEADER
from hourhand.local.aws_backend import AwsBackend
from hourhand.local.cloud import LocalCloud
from hourhand.local.demo.plan import QUICK
from hourhand.local.demo.run import Demo, kill_leader, read_dead_letters
from hourhand.local.events import ChildDied, Logged, Ticked
from hourhand.ports.control_store import Lease
from hourhand.settings import Settings

NOW = datetime.now(UTC)


class FakeControl:
    """A lease that is read as the test lists it."""

    def __init__(self, *leases: Lease | None) -> None:
        self.leases = list(leases)

    def read_lease(self, name: str) -> Lease | None:
        assert name == LEADER
        return self.leases.pop(0)


def lease(holder: str = "scheduler-2-abc", *, seconds: float = 60.0, epoch: int = 3) -> Lease:
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    return Lease(name=LEADER, holder=holder, epoch=epoch, until=until, acquired_at=NOW)


def kill(*leases: Lease | None) -> tuple[tuple[int, datetime] | None, list[str]]:
    """Look for the leader once; return the kill and the names of the processes that were killed."""
    killed: list[str] = []

    def child(name: str) -> SimpleNamespace:
        def send(number: signal.Signals) -> None:
            assert number is signal.SIGKILL
            killed.append(name)

        return SimpleNamespace(child=SimpleNamespace(name=name, signal=send))

    cloud = SimpleNamespace(schedulers=[child("scheduler-1"), child("scheduler-2")])
    return kill_leader(cast("LocalCloud", cloud), cast("Any", FakeControl(*leases))), killed


def test_the_process_whose_invocation_holds_the_lease_is_killed() -> None:
    held = lease()
    died, killed = kill(held, held)
    assert killed == ["scheduler-2"]
    assert died is not None
    assert died[0] == 3


@pytest.mark.parametrize("none_leads", [None, lease(seconds=-1)], ids=["no lease", "over"])
def test_without_a_leader_no_process_is_killed(none_leads: Lease | None) -> None:
    assert kill(none_leads) == (None, [])


@pytest.mark.parametrize(
    "after",
    [None, lease(seconds=-1), lease("scheduler-1-x"), lease(epoch=4)],
    ids=["given up", "over", "of another", "taken again"],
)
def test_a_leader_whose_lease_does_not_stand_any_more_did_not_die_at_work(
    after: Lease | None,
) -> None:
    assert kill(lease(), after) == (None, ["scheduler-2"])


def test_dead_letters_are_read_to_the_last_one_with_their_errors() -> None:
    letters: list[list[dict[str, Any]]] = [
        [{"job": {"id": "a"}, "error": {"type": "Lost"}}, {"job": {"id": "b"}, "error": None}],
        [{"job": {"id": "a"}, "error": {"type": "Lost"}}],
    ]
    batches = [
        *({"Messages": [{"Body": json.dumps(one)} for one in batch]} for batch in letters),
        {},
    ]
    backend = AwsBackend("http://127.0.0.1:9")
    sqs = SimpleNamespace(receive_message=lambda **_: batches.pop(0))
    backend.use(cast("Any", sqs), Settings())
    cloud = SimpleNamespace(backend=backend)
    assert read_dead_letters(cast("LocalCloud", cloud)) == {"a": "Lost", "b": None}


# --- what the cloud reports ---


def demo() -> tuple[Demo, list[str]]:
    said: list[str] = []
    return Demo(QUICK, said.append, lambda *_: None), said


def led(epoch: int, *, after: float = 12.5) -> Ticked:
    return Ticked(
        name="scheduler-1",
        at=NOW + timedelta(seconds=after),
        request_id="r",
        took_seconds=0.5,
        report={"led": True, "epoch": epoch},
    )


def test_no_leader_is_the_next_one_before_one_was_killed() -> None:
    one, said = demo()
    one.hear(led(8))
    assert one.evidence.leaderless is None
    assert said == []


def test_the_next_leader_is_the_first_of_a_later_epoch_from_when_it_began() -> None:
    one, said = demo()
    one._killed = (7, NOW)
    for tick in (led(7, after=1), led(8), led(9, after=20)):
        one.hear(tick)
    assert one.evidence.leaderless == (NOW, NOW + timedelta(seconds=12))
    assert said == ["Another scheduler took over."]


def test_jobs_that_succeeded_and_processes_that_died_are_noted() -> None:
    one, said = demo()
    for outcome in ("SUCCEEDED", "FAILED"):
        fields = {"outcome": outcome, "job_id": outcome}
        one.hear(Logged(name="w", sentence="An attempt ended.", level="INFO", fields=fields))
    for name, pid in (("worker-1", 7), ("scheduler-1", 8)):
        one.hear(
            ChildDied(name=name, pid=pid, exit_code=-9, restart_seconds=1, at_monotonic=pid + 0.5)
        )
    assert one._succeeded == {"SUCCEEDED"}
    assert one._deaths == {7: 7.5, 8: 8.5}
    assert len(said) == 1


def test_the_address_is_printed_before_anything_runs_and_a_failing_api_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise ServerFailed("503")

    done: list[str] = []
    monkeypatch.setattr(LocalCloud, "listen", lambda _: "http://127.0.0.1:9")
    monkeypatch.setattr(LocalCloud, "url", "http://127.0.0.1:9")
    monkeypatch.setattr(LocalCloud, "start", lambda _: done.append("started"))
    monkeypatch.setattr(LocalCloud, "stop", lambda _: done.append("stopped"))
    monkeypatch.setattr(Demo, "_submit", fail)
    with pytest.raises(Unavailable, match="503"):
        Demo(QUICK, done.append, lambda *_: None).run()
    assert done[0] == "Watch it live: http://127.0.0.1:9/console/"
    assert done[-2:] == ["started", "stopped"]
