"""The saboteur does all of its plan or says that it did not, and leaves nobody stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from proof.chaos import saboteur as module
from proof.chaos.board import Board
from proof.chaos.evidence import Trouble
from proof.chaos.plan import PlannedFault, Target
from proof.chaos.saboteur import SabotageFailed, Saboteur
from proof.rig.cloud import RigCloud
from proof.rig.news import Recorder

FOR_LONG = 3600.0


@dataclass
class FakeChild:
    pid: int


class NoLease:
    """A control table in which nobody leads."""

    def read_lease(self, _name: str) -> None:
        return None


@dataclass
class FakeCloud:
    """Notes every signal; a child that was killed has a successor at once."""

    board: Board
    news: Recorder = field(default_factory=Recorder)
    control: NoLease = field(default_factory=NoLease)
    signals: list[tuple[str, signal.Signals]] = field(default_factory=list)
    struck: threading.Event = field(default_factory=threading.Event)
    purges: bool = True
    children: dict[str, FakeChild] = field(
        default_factory=lambda: {"worker-1": FakeChild(11), "scheduler-1": FakeChild(21)}
    )

    @property
    def worker_names(self) -> list[str]:
        return ["worker-1"]

    @property
    def scheduler_names(self) -> list[str]:
        return ["scheduler-1"]

    def signal(self, name: str, number: signal.Signals) -> int:
        pid = self.children[name].pid
        self.signals.append((name, number))
        if number is signal.SIGKILL:
            self.children[name] = FakeChild(pid + 1)
        self.struck.set()
        return pid

    def purge(self) -> None:
        if not self.purges:
            raise ConnectionError("there is no such queue")


@pytest.fixture
def cloud(tmp_path: Path) -> FakeCloud:
    return FakeCloud(Board.create(tmp_path / "board"))


def saboteur_of(cloud: FakeCloud, plan: Sequence[PlannedFault]) -> Saboteur:
    return Saboteur(cast(RigCloud, cloud), cloud.board, plan, seed=1)


def kill_of(target: Target) -> PlannedFault:
    return PlannedFault(at_seconds=0.0, trouble=Trouble.KILL, target=target)


PURGE = PlannedFault(at_seconds=0.0, trouble=Trouble.PURGE, target=Target.QUEUES)
LONG_PAUSE = PlannedFault(
    at_seconds=0.0, trouble=Trouble.PAUSE, target=Target.WORKER, seconds=FOR_LONG
)
LEADERS_PAUSE = PlannedFault(
    at_seconds=0.0, trouble=Trouble.PAUSE, target=Target.LEADER, seconds=FOR_LONG
)
LONG_CLOCK = PlannedFault(
    at_seconds=0.0, trouble=Trouble.CLOCK, target=Target.WORKER, seconds=FOR_LONG, offset=5.0
)


def test_a_plan_is_done_to_its_end(cloud: FakeCloud) -> None:
    saboteur = saboteur_of(cloud, [kill_of(Target.WORKER), kill_of(Target.SCHEDULER), PURGE])

    saboteur.start()
    saboteur.finish()

    assert cloud.signals == [("worker-1", signal.SIGKILL), ("scheduler-1", signal.SIGKILL)]
    assert [fault.trouble for fault in saboteur.faults][-1] is Trouble.PURGE
    assert saboteur.kills == 2
    assert not saboteur.dropped


@pytest.mark.parametrize("where", ["finish", "check"])
def test_a_fault_that_raises_is_raised_and_not_forgotten(cloud: FakeCloud, where: str) -> None:
    cloud.purges = False
    saboteur = saboteur_of(cloud, [PURGE, kill_of(Target.WORKER)])
    saboteur.start()

    if where == "check":
        for thread in saboteur._threads:
            thread.join()
    with pytest.raises(SabotageFailed) as failed:
        getattr(saboteur, where)()

    assert isinstance(failed.value.__cause__, ConnectionError)
    assert saboteur.kills == 0


def test_a_hunt_that_raises_is_raised_too(
    cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_name: str) -> float:
        raise ConnectionError("the table is gone")

    saboteur = saboteur_of(cloud, [kill_of(Target.LEADER)])
    monkeypatch.setattr(saboteur, "_ticking_since", gone)
    saboteur.start()

    with pytest.raises(SabotageFailed):
        saboteur.finish()


def test_who_gives_up_lets_everybody_go_on_with_a_right_clock(cloud: FakeCloud) -> None:
    """Its hunter waits for something to hunt: that must not keep it."""
    saboteur = saboteur_of(cloud, [LONG_CLOCK, LONG_PAUSE])
    saboteur.start()
    cloud.struck.wait()

    saboteur.stop()

    assert cloud.signals == [("worker-1", signal.SIGSTOP), ("worker-1", signal.SIGCONT)]
    assert cloud.board.clock_offset("worker-1") == 0.0


def test_who_failed_lets_everybody_go_on(cloud: FakeCloud) -> None:
    cloud.purges = False
    saboteur = saboteur_of(cloud, [LONG_PAUSE, PURGE])
    saboteur.start()

    with pytest.raises(SabotageFailed):
        saboteur.finish()

    assert cloud.signals[-1] == ("worker-1", signal.SIGCONT)


def test_one_that_never_began_can_be_stopped(cloud: FakeCloud) -> None:
    saboteur_of(cloud, [LONG_PAUSE]).stop()

    assert cloud.signals == []


def test_where_nobody_leads_a_kill_is_done_all_the_same_and_a_pause_is_counted_as_dropped(
    cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HUNT_SECONDS", 0.0)
    saboteur = saboteur_of(cloud, [kill_of(Target.LEADER), LEADERS_PAUSE])

    saboteur.start()
    saboteur.finish()

    assert saboteur.kills == 1
    assert list(saboteur.dropped.values()) == [1]


def test_a_leader_that_slips_away_each_time_is_counted_as_dropped(cloud: FakeCloud) -> None:
    """It ticks and never holds the lease: it goes on at once, and the hunt ends."""
    cloud.board.set_ticking("scheduler-1", 1.0)
    saboteur = saboteur_of(cloud, [LEADERS_PAUSE])

    saboteur.start()
    saboteur.finish()

    stops = [name for name, number in cloud.signals if number is signal.SIGSTOP]
    assert len(stops) == module.MOST_TRIES
    assert cloud.signals[-1] == ("scheduler-1", signal.SIGCONT)
    assert sum(saboteur.dropped.values()) == 1
    assert saboteur.faults == []


def test_who_is_paused_already_is_not_paused_again_and_that_is_counted(cloud: FakeCloud) -> None:
    short = PlannedFault(at_seconds=0.0, trouble=Trouble.PAUSE, target=Target.WORKER, seconds=0.2)
    saboteur = saboteur_of(cloud, [short, short])

    saboteur.start()
    saboteur.finish()

    assert [fault.trouble for fault in saboteur.faults] == [Trouble.PAUSE]
    assert sum(saboteur.dropped.values()) == 1
