"""Rehearsals that are ended early end what they began: nothing that they stopped stays stopped."""

from __future__ import annotations

import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hourhand.local.child_process import ChildProcess
from proof.rehearsals.all_of_them import Processes
from proof.rehearsals.stage import Stage
from proof.rig.cloud import RigCloud

FOR_LONG = 3600.0
LOOK_SECONDS = 0.02

ENDS_IN_GOOD_ORDER = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
Path(sys.argv[1]).touch()
try:
    time.sleep(3600)
finally:
    print("in good order")
"""


@dataclass
class FakeChild:
    signals: list[signal.Signals] = field(default_factory=list)

    def signal(self, number: signal.Signals) -> None:
        self.signals.append(number)


def test_whoever_was_halted_is_let_go(tmp_path: Path) -> None:
    stage = Stage(cast(RigCloud, None), tmp_path, repairs=True)
    halted = FakeChild()

    stage.halt(cast(ChildProcess, halted))
    stage.let_go()

    assert halted.signals == [signal.SIGSTOP, signal.SIGCONT]


def test_those_under_way_are_told_to_end_and_no_other_begins(tmp_path: Path) -> None:
    processes, begun, printed = Processes(), tmp_path / "begun", list[str | None]()
    command = [sys.executable, "-c", ENDS_IN_GOOD_ORDER, str(begun)]
    runner = threading.Thread(target=lambda: printed.append(processes.run(command, FOR_LONG)))
    runner.start()
    while not begun.exists():
        time.sleep(LOOK_SECONDS)

    processes.end_all()
    runner.join()

    assert printed == ["in good order\n"]
    assert processes.run(command, FOR_LONG) is None


def test_one_without_an_end_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(3600)"]

    assert Processes().run(command, 0.1) is None
