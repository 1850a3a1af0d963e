"""The same flow of five steps under ``kill -9`` on Hourhand, Celery and DBOS, in one run.

Simulated: AWS, by an emulator on loopback; Lambda's event source, by a process. Real: the
contestants' own code, their processes, the kills. The steps write lines where they run, so that
what ran twice is counted the same way for all.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from bench.peers import runs
from bench.peers.children import Child, SceneFailed
from bench.peers.scenes import VISIBILITY_SECONDS, submit
from bench.peers.teams import (
    CELERY,
    HOURHAND,
    KOMBU_VISIBILITY_SECONDS,
    Kind,
    Team,
    hourhand,
    queue_and_table,
)
from bench.peers.world import PEERS_PYTHON, World, world
from bench.runs import flow
from bench.runs.hourhand_handlers import NAME
from bench.targets import Target, all_ok, at_most
from hourhand.ports.handler_directory import HandlerInfo

DBOS, CELERY_EARLY = "DBOS", f"{CELERY}, default acknowledgement"
STEP_SECONDS = 0.4
KILLED = (1, 3, 4)
"""The steps in which a worker is killed: none is the last, so each run has something left to do."""

RUNS = tuple((moment, number) for moment in (flow.CUT, flow.DONE) for number in KILLED)
"""Each run has its own kill; it is over, or given up, before the next one begins."""

START_SECONDS = 60.0
LONGEST_SECONDS = 30.0
"""How long a run may take after its kill, on a machine that does little else."""

WATCH_SECONDS = 2.0 * VISIBILITY_SECONDS
"""How long the runs are watched after the last one for steps that run again."""

VERSION_SECONDS = 60.0
UNSTARTED = "not installed"


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of the runs of a contestant, and which of their steps began more than once.

    ``cut``: those that the kill cut short; ``done``: those whose effect was done, and that nothing
    had recorded; ``others``: those that no kill met.
    """

    name: str
    ended: int
    cut: int
    done: int
    others: int


def judged(name: str, record: runs.Record) -> Seen:
    """Count what the steps of a contestant wrote."""
    again = {flow.CUT: 0, flow.DONE: 0, "": 0}
    for moment, killed in RUNS:
        run = flow.run_name(moment, killed)
        for number in range(1, flow.STEPS + 1):
            begun = len(record.begun.get(flow.step_name(run, number), ()))
            again[moment if number == killed else ""] += max(begun - 1, 0)
    lasts = (flow.step_name(flow.run_name(*run), flow.STEPS) for run in RUNS)
    return Seen(
        name,
        ended=sum(last in record.ended for last in lasts),
        cut=again[flow.CUT],
        done=again[flow.DONE],
        others=again[""],
    )


def play(team: Team) -> Seen:
    """Submit one run after the other; each has a kill of the worker."""
    submitter, worker = team.start_submitter(), team.start("work", team.work)
    for run in RUNS:
        worker = _play_run(team, submitter, worker, flow.run_name(*run))
    team.world.pause(WATCH_SECONDS)
    for child in (submitter, worker):
        child.kill()
    return judged(team.name, team.record())


def _play_run(team: Team, submitter: Child, worker: Child, run: str) -> Child:
    """Let a run kill the worker, and watch it under the next worker, which is returned."""
    stage, last = team.world, flow.step_name(run, flow.STEPS)
    submit(submitter, [{"name": run, "delay": 0.0, "seconds": STEP_SECONDS}])
    stage.wait_until(lambda: not worker.is_alive, START_SECONDS, f"the kill of {run}")
    follower = team.start("work", team.work)
    try:
        stage.wait_until(lambda: last in team.record().ended, LONGEST_SECONDS, run, follower)
    except SceneFailed:
        # The run is lost, which is a figure; a worker that ended would be none.
        follower.require_life()
    return follower


def _ours(stage: World, kind: Kind) -> Team:
    return hourhand(
        stage,
        kind,
        HandlerInfo(name=NAME, run_timeout_seconds=86_400),
        "bench.runs.hourhand_handlers",
    )


def _celery(stage: World, kind: Kind, name: str = CELERY) -> Team:
    module, label = "bench.runs.celery_side", "celery" if name == CELERY else "celery-early"
    flags = ("--concurrency", "1", "--loglevel", "WARNING")
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return Team(
        name=name,
        kind=kind,
        world=stage,
        submit=(str(PEERS_PYTHON), "-m", module),
        work=(str(PEERS_PYTHON), "-m", "celery", "-A", module, "worker", *flags, *quiet),
        workers=1,
        environment={
            **queue_and_table(stage, label, kind, KOMBU_VISIBILITY_SECONDS),
            **({} if name == CELERY else {"PEERS_EARLY": "1"}),
        },
        recorded=lambda: 0,
    )


def _celery_early(stage: World, kind: Kind) -> Team:
    return _celery(stage, kind, CELERY_EARLY)


def _dbos(stage: World, kind: Kind) -> Team:
    module = (str(PEERS_PYTHON), "-m", "bench.runs.dbos_side")
    return Team(
        name=DBOS,
        kind=kind,
        world=stage,
        submit=(*module, "submit"),
        work=(*module, "work"),
        workers=1,
        environment={"PEERS_DATABASE": f"sqlite:///{stage.folder / 'dbos.sqlite'}"},
        recorded=lambda: 0,
    )


MAKERS: Mapping[str, Callable[[World, Kind], Team]] = {
    HOURHAND: _ours,
    DBOS: _dbos,
    CELERY: _celery,
    CELERY_EARLY: _celery_early,
}
PACKAGES = {DBOS: "dbos", CELERY: "celery", CELERY_EARLY: "celery"}


def version_of(package: str) -> str:
    """Return the version of a peer. Raises `SceneFailed` where it is not installed."""
    program = f"import {package}, importlib.metadata as m; print(m.version({package!r}))"
    command = [str(PEERS_PYTHON), "-c", program]
    said = subprocess.run(
        command, capture_output=True, text=True, timeout=VERSION_SECONDS, check=False
    )
    if said.returncode:
        raise SceneFailed(UNSTARTED)
    return said.stdout.strip()


def play_all(stage: World) -> tuple[list[Seen], dict[str, str], list[str]]:
    """Let all play at once; return what was seen, the versions, and why some have nothing."""
    versions: dict[str, str] = {}

    def scene(name: str) -> Seen:
        if name in PACKAGES:
            versions[PACKAGES[name]] = version_of(PACKAGES[name])
        kind = Kind(label="flow", processes=1, visibility_seconds=VISIBILITY_SECONDS)
        return play(MAKERS[name](stage, kind))

    seen, failures = [], []
    with ThreadPoolExecutor(len(MAKERS)) as pool:
        futures = {name: pool.submit(scene, name) for name in MAKERS}
        try:
            for name, future in futures.items():
                try:
                    seen.append(future.result())
                except SceneFailed as failure:
                    failures.append(f"{name}: no figure, for {failure}")
        except BaseException:
            stage.stopping.set()
            raise
    return seen, versions, failures


def targets(seen: Sequence[Seen]) -> list[Target]:
    """Return what Hourhand must reach; the results of a peer are listed, not judged."""
    ours = next((one for one in seen if one.name == HOURHAND), None)
    lost = len(RUNS) if ours is None else len(RUNS) - ours.ended
    what = f"{len(RUNS)} runs of Hourhand, each with a kill of its worker: "
    return [
        at_most(f"{what}runs that did not end", lost, 0),
        at_most(f"{what}recorded steps that ran again", 1 if ours is None else ours.others, 0),
        at_most(
            f"{what}steps that ran again",
            len(RUNS) if ours is None else ours.cut + ours.done,
            len(RUNS),
        ),
    ]


def result(
    seen: Sequence[Seen], versions: Mapping[str, str], failures: Sequence[str]
) -> dict[str, Any]:
    """Return rows for the table and for the result file."""
    must = targets(seen)
    named = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return {
        "asks": "What of a flow of five steps survives a kill of its worker, and what runs twice?",
        "columns": [
            "system",
            "runs that ended",
            "steps cut short that ran again",
            "steps done, not recorded, that ran again",
            "steps recorded that ran again",
        ],
        "rows": [
            [one.name, f"{one.ended} of {len(RUNS)}", one.cut, one.done, one.others] for one in seen
        ],
        "notes": [
            f"Each run has {flow.STEPS} steps in a row, and the worker is killed once with "
            f"`kill -9`: in {len(KILLED)} runs in the middle of a step, in {len(KILLED)} right "
            f"behind the effect of a step, before anything can record it (the steps "
            f"{', '.join(map(str, KILLED))}). Then a new worker starts. A run that has not gone on "
            f"{LONGEST_SECONDS:.0f} s later counts as lost. Timeouts of messages are shortened to "
            f"{VISIBILITY_SECONDS} s for all.",
            "A step whose effect was done and not recorded must run again on every system that "
            "loses nothing: that is what the key of a step is for.",
            "Hourhand runs a durable handler. DBOS runs a workflow over SQLite. Celery runs a "
            "chain of tasks over SQS, once with late acknowledgement, and once with its default, "
            f"which acknowledges a message before its task runs. Versions: {named or 'none'}.",
            *failures,
        ],
        "versions": dict(versions),
        "must": must,
        "ok": all_ok(must),
    }


def run() -> dict[str, Any]:
    """Let them compete on a fresh emulator."""
    if not PEERS_PYTHON.exists():
        sys.exit("The peers are not installed; run `make peers` first.")
    with world() as stage:
        return result(*play_all(stage))
