"""The same fan-outs under ``kill -9`` on Hourhand, Celery and BullMQ, in one run.

Simulated: AWS, by an emulator on loopback; Lambda's event source, by a process. Real: the
contestants' own code and processes, the kills, and Redis, which the others work with. The children
and callbacks write lines where they run: a ledger outside, the same for all.
"""

from __future__ import annotations

import random
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.children.hourhand_handlers import CALLBACK, CHILD, NAME
from bench.children.work import (
    CHILD_SECONDS,
    CHILDREN,
    FAN_OUTS,
    callback_name,
    child_name,
)
from bench.limits.peers import MODULES, redis_server
from bench.peers import runs
from bench.peers.children import SceneFailed
from bench.peers.scenes import VISIBILITY_SECONDS, jobs, submit
from bench.peers.teams import CELERY, HOURHAND, Kind, Team, hourhand
from bench.peers.world import PEERS_PYTHON, World, world
from bench.targets import Target, all_ok, at_most
from hourhand.ports.handler_directory import HandlerInfo

BULLMQ = "BullMQ"
FOLDER = Path(__file__).resolve().parent
FAN_OUT_NAMES = tuple(f"fan-{number}" for number in range(FAN_OUTS))
WORKERS = 4
KILLS = 12
SEED = 20_261_128
"""Decides after which child which worker is killed: the same for all contestants."""

START_SECONDS = 60.0
LONGEST_SECONDS = 90.0
"""How long nothing may happen before the callbacks that are missing count as lost."""

WATCH_SECONDS = 2.0 * VISIBILITY_SECONDS
"""How long the contestant is watched after the last callback for those that run again."""

TICK_SECONDS = 5.0
"""As a minute is to the durations of a deployment, so this is to the shortened ones."""

UNSTARTED = "not installed"


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of the fan-outs of a contestant, by the ledger.

    ``early``: callbacks that ran before all children of their fan-out had ended.
    ``again``: children that began more than once.
    """

    name: str
    kills: int
    lost: int
    twice: int
    early: int
    children_lost: int
    again: int


def judged(name: str, record: runs.Record, kills: int) -> Seen:
    """Count what the children and callbacks of a contestant wrote."""
    ended = record.ended
    lost = twice = early = children_lost = again = 0
    for fan_out in FAN_OUT_NAMES:
        callbacks = ended.get(callback_name(fan_out), [])
        children = [ended.get(child_name(fan_out, n), []) for n in range(CHILDREN)]
        lost += not callbacks
        twice += len(callbacks) > 1
        missing = [times for times in children if not times]
        children_lost += len(missing)
        begins = (record.begun.get(child_name(fan_out, n), ()) for n in range(CHILDREN))
        again += sum(len(times) > 1 for times in begins)
        begun = record.begun.get(callback_name(fan_out), [])
        last = max((times[0] for times in children if times), default=0.0)
        early += bool(begun) and (bool(missing) or min(begun) < last)
    return Seen(name, kills, lost, twice, early, children_lost, again)


def kill_moments() -> list[tuple[int, int]]:
    """Return after how many ended children a worker is killed, and which."""
    chance = random.Random(SEED)
    moments = sorted(chance.sample(range(1, FAN_OUTS * CHILDREN), KILLS))
    return [(moment, chance.randrange(WORKERS)) for moment in moments]


def play(team: Team) -> Seen:
    """Submit all fan-outs, kill workers while they run, and see what becomes of them."""
    stage = team.world
    submitter, workers = team.start_submitter(), team.start_workers()
    asked = jobs("fan", FAN_OUTS, seconds=CHILD_SECONDS)
    kills = 0
    with ticking(team) if team.name == HOURHAND else nullcontext():
        submit(submitter, asked)
        stage.wait_until(lambda: bool(team.record().begun), START_SECONDS, "a first run", *workers)
        for children, number in kill_moments():
            if not _reached(team, partial(_have_ended, team, children)):
                break
            workers[number].kill()
            workers[number] = team.start("work", team.work)
            kills += 1
        _reached(team, lambda: _callbacks_ended(team) == FAN_OUTS)
        stage.pause(WATCH_SECONDS)
    for one in (submitter, *workers):
        one.kill()
    return judged(team.name, team.record(), kills)


def _reached(team: Team, is_so: Callable[[], bool]) -> bool:
    """Wait for ``is_so`` as long as anything happens; return whether it came."""
    while not is_so():
        has_more = partial(_has_more, team, _effects(team))
        try:
            team.world.wait_until(has_more, LONGEST_SECONDS, "an effect")
        except SceneFailed:
            if team.world.stopping.is_set():
                raise
            return is_so()
    return True


def _has_more(team: Team, effects: int) -> bool:
    return _effects(team) > effects


def _effects(team: Team) -> int:
    return sum(map(len, team.record().ended.values()))


def _have_ended(team: Team, children: int) -> bool:
    return len(team.record().ended) - _callbacks_ended(team) >= children


def _callbacks_ended(team: Team) -> int:
    ended = team.record().ended
    return sum(callback_name(fan_out) in ended for fan_out in FAN_OUT_NAMES)


@contextmanager
def ticking(team: Team) -> Iterator[None]:
    """Run a tick of Hourhand's scheduler every few seconds, as its schedule would."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(TICK_SECONDS):
            child = team.start("tick", (*team.work[:-1], "tick"))
            while child.is_alive and not stop.wait(TICK_SECONDS / 50):
                pass

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _ours(stage: World, kind: Kind, _: str) -> Team:
    return hourhand(
        stage,
        kind,
        HandlerInfo(name=NAME, run_timeout_seconds=86_400),
        "bench.children.hourhand_handlers",
        others=(HandlerInfo(name=CHILD), HandlerInfo(name=CALLBACK)),
    )


def _celery(stage: World, kind: Kind, redis: str) -> Team:
    module = "bench.children.celery_side"
    flags = ("--concurrency", "1", "--loglevel", "WARNING")
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return Team(
        name=CELERY,
        kind=kind,
        world=stage,
        submit=(str(PEERS_PYTHON), "-m", module),
        work=(str(PEERS_PYTHON), "-m", "celery", "-A", module, "worker", *flags, *quiet),
        workers=kind.processes,
        environment={"PEERS_REDIS": f"{redis}/0"},
        recorded=lambda: 0,
    )


def _bullmq(stage: World, kind: Kind, redis: str) -> Team:
    node = shutil.which("node")
    if node is None or not (MODULES / "bullmq").is_dir():
        raise SceneFailed(UNSTARTED)
    side = (node, str(FOLDER / "bullmq_side.mjs"))
    return Team(
        name=BULLMQ,
        kind=kind,
        world=stage,
        submit=(*side, "submit"),
        work=(*side, "work"),
        workers=kind.processes,
        environment={"PEERS_REDIS": f"{redis}/1", "PEERS_CHILDREN": str(CHILDREN)},
        recorded=lambda: 0,
    )


MAKERS: Mapping[str, Callable[[World, Kind, str], Team]] = {
    HOURHAND: _ours,
    CELERY: _celery,
    BULLMQ: _bullmq,
}


def play_all(stage: World, redis: str) -> tuple[list[Seen], list[str]]:
    """Let one contestant play after the other; return what was seen, and why some have nothing."""
    kind = Kind(label="fan-out", processes=WORKERS, visibility_seconds=VISIBILITY_SECONDS)
    seen, failures = [], []
    for name, make in MAKERS.items():
        try:
            seen.append(play(make(stage, kind, redis)))
        except SceneFailed as failure:
            failures.append(f"{name}: no figure, for {failure}")
    return seen, failures


def targets(seen: Sequence[Seen]) -> list[Target]:
    """Return what Hourhand must reach; the results of a peer are listed, not judged."""
    ours = next((one for one in seen if one.name == HOURHAND), None)
    what = f"{FAN_OUTS} fan-outs of {CHILDREN} on Hourhand, {KILLS} kills: "
    return [
        at_most(f"{what}callbacks lost", FAN_OUTS if ours is None else ours.lost, 0),
        at_most(f"{what}callbacks that ran twice", FAN_OUTS if ours is None else ours.twice, 0),
        at_most(f"{what}callbacks before their children", 1 if ours is None else ours.early, 0),
        at_most(f"{what}children lost", CHILDREN if ours is None else ours.children_lost, 0),
    ]


def result(seen: Sequence[Seen], failures: Sequence[str]) -> dict[str, Any]:
    """Return rows for the table and for the result file."""
    must = targets(seen)
    return {
        "asks": "Does the callback of a fan-out run once if workers are killed meanwhile?",
        "columns": [
            "system",
            "kills",
            "callbacks lost",
            "callbacks run twice",
            "callbacks before all children ended",
            "children lost",
            "children begun twice",
        ],
        "rows": [
            [
                one.name,
                one.kills,
                f"{one.lost} of {FAN_OUTS}",
                one.twice,
                one.early,
                one.children_lost,
                one.again,
            ]
            for one in seen
        ],
        "notes": [
            f"{FAN_OUTS} fan-outs of {CHILDREN} children of {CHILD_SECONDS:g} s are submitted at "
            f"once, for {WORKERS} worker processes. {KILLS} times a worker is killed with `kill "
            "-9` and started again: after which child, and which worker, is drawn by chance, the "
            f"same for all (seed {SEED}). A callback is lost if it has not run when nothing "
            f"happened for {LONGEST_SECONDS:.0f} s. Timeouts of messages and locks are shortened "
            f"to {VISIBILITY_SECONDS} s for all.",
            "Hourhand runs a map of a durable run, and then its callback as a child. Celery runs "
            "a chord over Redis, with late acknowledgement. BullMQ runs a flow, whose parent is "
            "the callback, with its default of one stall of a job. A child begins "
            "twice if the kill cut it short, or met it between its effect and its record.",
            *failures,
        ],
        "must": must,
        "ok": all_ok(must),
    }


def run() -> dict[str, Any]:
    """Let them compete on a fresh emulator and a fresh Redis."""
    if not PEERS_PYTHON.exists():
        sys.exit("The peers are not installed; run `make peers` first.")
    with world() as stage, redis_server(stage) as redis:
        return result(*play_all(stage, redis))
