"""Hourhand beside Celery, dramatiq and EventBridge Scheduler: the same work, the same emulator.

The work is: submit a job, run a no-op, record its result. All calls of a contestant pass a proxy
that counts them. Simulated: AWS, by an emulator on loopback; Lambda's event source, by a process
that receives, calls the worker function and deletes. Real: the contestants' own code, their
processes, the kills.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, TypeVar

from bench.peers import scenes
from bench.peers.children import SceneFailed
from bench.peers.findings import ASKS, notes, targets
from bench.peers.scenes import Started
from bench.peers.table import NAMES, Contest, plots, rows
from bench.peers.teams import (
    CELERY,
    DRAMATIQ,
    EVENT_BRIDGE,
    HOURHAND,
    MAKERS,
    PROCESSES,
    Kind,
    Team,
)
from bench.peers.world import PEERS_PYTHON, Calls, World, world
from bench.targets import all_ok
from hourhand.domain.ticks.timings import Timings

SHORT_TASKS_PREFETCH = 64
"""What Celery's documentation names for many short tasks (User Guide, Optimizing). With its
default of 4 a trial ran 8 a second: kombu waits a second whenever it holds all that it may."""

SCHEDULES = 50
FACTS_SECONDS = 30.0
TICK_SECONDS = 30.0
STEADY, PATIENT, HASTY = "steady", "patient", "hasty"

T = TypeVar("T")


def run() -> dict[str, Any]:
    """Let them compete on a fresh emulator; return what was seen."""
    if not PEERS_PYTHON.exists():
        sys.exit("The peers are not installed; run `make peers` first.")
    contest = Contest()
    _ask_facts(contest)
    with world() as stage:
        for name in (HOURHAND, CELERY, DRAMATIQ):
            _play_steady(stage, contest, name)
        _play_side_by_side(stage, contest)
    must = targets(contest)
    return {
        "ok": all_ok(must),
        "asks": ASKS,
        "columns": ["", *NAMES],
        "rows": rows(contest),
        "notes": notes(contest),
        "must": must,
        "plots": plots(contest),
        "versions": contest.versions,
        "calls": {name: _calls_of(contest, name) for name in contest.costs},
        "hasty": {name: asdict(seen) for name, seen in contest.hasty.items()},
        "lateness_seconds": {name: seen.lateness for name, seen in contest.patient.items()},
    }


def _ask_facts(contest: Contest) -> None:
    command = [str(PEERS_PYTHON), "-m", "bench.peers.peers_facts"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=FACTS_SECONDS)  # noqa: PLW1510 - judged below
    if said.returncode:
        sys.exit(f"The peers are not whole; run `make peers` again. {said.stderr[-300:]}")
    facts = json.loads(said.stdout)
    contest.versions = facts["versions"]
    ours = int(Timings().visibility.total_seconds())
    contest.visibility_seconds = {**facts["visibility_seconds"], HOURHAND: ours}


def _play_steady(stage: World, contest: Contest, name: str) -> None:
    team = MAKERS[name](
        stage, Kind(label=STEADY, processes=PROCESSES, prefetch=SHORT_TASKS_PREFETCH)
    )
    seen = _try(contest, name, STEADY, lambda: scenes.steady(team))
    if seen is not None:
        contest.costs[name] = seen
    if name == HOURHAND:
        calls = _try(contest, name, "tick", lambda: _idle_tick(team))
        contest.tick_calls = calls or Calls()


def _idle_tick(team: Team) -> Calls:
    """Return the calls of a tick with nothing to do; the first of an installation does more."""
    command = (*team.work[:-1], "tick")
    before = Calls()
    for _ in range(2):
        before = team.world.calls(team.role("tick"))
        child = team.start("tick", command)
        team.world.wait_until(child.has_ended, TICK_SECONDS, "the end of a tick")
    return team.world.calls(team.role("tick")) - before


def _play_side_by_side(stage: World, contest: Contest) -> None:
    """Play the scenes that take time rather than CPU, all contestants at once."""
    kinds = {
        PATIENT: Kind(label=PATIENT, processes=1),
        HASTY: Kind(label=HASTY, processes=2, visibility_seconds=scenes.VISIBILITY_SECONDS),
    }
    casts = [(name, kind) for name in (HOURHAND, CELERY, DRAMATIQ) for kind in kinds.values()]
    casts.append((EVENT_BRIDGE, kinds[PATIENT]))
    with ThreadPoolExecutor(len(casts)) as pool:
        try:
            # All have started before the first scene: starting takes the CPU of the others.
            started = _all(
                pool,
                casts,
                lambda name, kind: _try(
                    contest, name, kind.label, lambda: scenes.start(MAKERS[name](stage, kind))
                ),
            )
            _all(
                pool,
                casts,
                lambda name, kind: _play(contest, name, kind, started[name, kind]),
            )
        except BaseException:
            stage.stopping.set()
            raise


def _all(
    pool: ThreadPoolExecutor, casts: list[tuple[str, Kind]], play: Callable[[str, Kind], T]
) -> dict[tuple[str, Kind], T]:
    futures: Mapping[tuple[str, Kind], Future[T]] = {
        cast: pool.submit(play, *cast) for cast in casts
    }
    return {cast: future.result() for cast, future in futures.items()}


def _play(contest: Contest, name: str, kind: Kind, started: Started | None) -> None:
    if started is None:
        return
    if name == EVENT_BRIDGE:
        cost = _try(contest, name, kind.label, lambda: scenes.scheduled(started, SCHEDULES))
        if cost is not None:
            contest.costs[name] = cost
    elif kind.label == PATIENT:
        seen = _try(contest, name, kind.label, lambda: scenes.patient(started))
        if seen is not None:
            contest.patient[name] = seen
    else:
        contest.hasty[name] = told = scenes.hasty(started)
        contest.failures += [
            f"{name}, {part}: no figure, for {why}" for part, why in told.failures.items()
        ]


def _try(contest: Contest, name: str, scene: str, play: Callable[[], T]) -> T | None:
    try:
        return play()
    except SceneFailed as failure:
        contest.failures.append(f"{name}, {scene}: no figure, for {failure}")
        return None


def _calls_of(contest: Contest, name: str) -> dict[str, Any]:
    cost = contest.costs[name]
    return {"jobs": cost.jobs, "submit": cost.submit_calls, "work": cost.work_calls}
