"""Durable runs beside peers: what counts as survived and as run twice, without their processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.emulator import ROOT
from bench.peers import runs
from bench.peers.children import SceneFailed
from bench.peers.teams import HOURHAND
from bench.runs import flow, peers
from bench.single import check

SURVIVED = peers.Seen(HOURHAND, ended=6, cut=3, done=3, others=0)


def record(**again: int) -> runs.Record:
    """Return the record of runs that all ended, with the steps that began more than once."""
    names = [
        flow.step_name(flow.run_name(*run), number)
        for run in peers.RUNS
        for number in range(1, flow.STEPS + 1)
    ]
    more = {name.replace("_", "-").replace("x", "."): count for name, count in again.items()}
    begun = {name: [0.0] * (1 + more.get(name, 0)) for name in names}
    return runs.Record(begun, {name: [1.0] for name in names})


def test_steps_that_ran_again_are_told_apart_by_what_the_kill_met() -> None:
    assert peers.judged("x", record()) == peers.Seen("x", 6, 0, 0, 0)
    again = record(cut_1x1=1, done_3x3=1, done_3x2=2, cut_4x5=1)
    assert peers.judged("x", again) == peers.Seen("x", 6, 1, 1, 3)


def test_a_run_whose_last_step_never_ended_is_lost() -> None:
    whole = record()
    ended = {name: at for name, at in whole.ended.items() if name != "done-4.5"}
    assert peers.judged("x", runs.Record(whole.begun, ended)).ended == 5


@pytest.mark.parametrize("change", [{"ended": 5}, {"others": 1}, {"done": 4}])
def test_ours_alone_is_judged_among_the_peers(change: dict[str, Any]) -> None:
    other = replace(SURVIVED, name="Celery", ended=0, others=9)
    told = peers.result([SURVIVED, other], {"celery": "5"}, ["DBOS: no figure, for not installed"])
    check(told)
    assert told["ok"]
    assert told["notes"][-1] == "DBOS: no figure, for not installed"
    assert not peers.result([other], {}, [])["ok"]
    assert not peers.result([replace(SURVIVED, **change)], {}, [])["ok"]


@pytest.mark.parametrize(("moment", "ends"), [(flow.CUT, 0), (flow.DONE, 1)])
def test_a_step_kills_its_process_once(tmp_path: Path, moment: str, ends: int) -> None:
    file = tmp_path / "runs"
    program = f"from bench.runs import flow; flow.step({flow.run_name(moment, 2)!r}, 2, 0)"

    def ran() -> int:
        return subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, runs.FILE: str(file), "PYTHONPATH": str(ROOT)},
            start_new_session=True,
            check=False,
        ).returncode

    name = flow.step_name(flow.run_name(moment, 2), 2)
    assert ran() == -signal.SIGKILL
    assert len(runs.read(file).ended.get(name, ())) == ends
    assert ran() == 0
    assert len(runs.read(file).begun[name]) == 2


def test_a_peer_that_is_not_installed_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PEERS_PYTHON", Path(sys.executable))
    with pytest.raises(SceneFailed, match="not installed"):
        peers.version_of("dbos")
