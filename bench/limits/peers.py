"""A limit of two jobs of one key, on Hourhand and on other systems: the same jobs, one run.

Simulated: AWS, by an emulator on loopback. Real: the contestants' own code and processes, and
Redis, in which the others keep their limits. The handler writes a line when it begins and when it
ends, so that what ran at a time is counted where it happens, the same way for all.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.emulator import free_port
from bench.peers import runs
from bench.peers.children import SceneFailed
from bench.peers.hourhand_handlers import NAME
from bench.peers.scenes import jobs as named_jobs
from bench.peers.scenes import submit
from bench.peers.teams import (
    CELERY,
    DRAMATIQ,
    HOURHAND,
    KOMBU_VISIBILITY_SECONDS,
    Kind,
    Team,
    hourhand,
    queue_and_table,
)
from bench.peers.world import PEERS_PYTHON, World, world
from bench.targets import Target, all_ok, at_most
from hourhand.domain.limits.declarations import Concurrency
from hourhand.ports.handler_directory import HandlerInfo

BULLMQ = "BullMQ"
FOLDER = Path(__file__).resolve().parent
MODULES = FOLDER / "node_modules"
SLOTS = 2
JOBS = 24
SECONDS = 0.5
WORKERS = 4
"""Jobs that each contestant could run at a time: twice as many as the limit allows."""

LOCK_SECONDS = 60
START_SECONDS = 40.0
LONGEST_SECONDS = 60.0
"""After that a contestant is stopped, and what it did by then counts."""

REDIS_SECONDS = 10.0
SENDS = ("SendMessage", "SendMessageBatch")
UNSTARTED = "not installed"


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of the jobs of a contestant. ``None``: it has nothing of the kind."""

    name: str
    ended: int
    over_limit: int
    most_running: int
    turned_away: int
    messages: int | None
    redis_commands: int | None
    seconds: float

    @property
    def of_ideal(self) -> float:
        """How long it took, against two jobs at a time without a gap."""
        return self.seconds / (JOBS / SLOTS * SECONDS)


def overlaps(record: runs.Record) -> tuple[int, int]:
    """Return how many runs began above the limit, and how many ran at a time at most."""
    moments = [(at, 1) for times in record.begun.values() for at in times]
    moments += [(at, -1) for times in record.ended.values() for at in times]
    running = most = over = 0
    # An end in the instant of a begin comes first.
    for _, step in sorted(moments):
        running += step
        over += step > 0 and running > SLOTS
        most = max(most, running)
    return over, most


def seconds_of(record: runs.Record) -> float:
    """Return the time from the first begin to the last end."""
    begun = [at for times in record.begun.values() for at in times]
    ended = [at for times in record.ended.values() for at in times]
    return max(ended, default=0.0) - min(begun, default=0.0) if begun and ended else 0.0


@contextmanager
def redis_server(stage: World) -> Iterator[str]:
    """Yield the URL of a Redis that keeps nothing on disk and lives as long as the block."""
    program = shutil.which("redis-server")
    if program is None:
        raise SceneFailed("redis-server is not installed; run `make redis` first")
    port = free_port()
    command = (program, "--port", str(port), "--bind", "127.0.0.1", "--save", "")
    child = stage.children.start("redis", command, stage.environment())
    stage.wait_until(lambda: _redis(port, "PING") == "PONG", REDIS_SECONDS, "a Redis", child)
    try:
        yield f"redis://127.0.0.1:{port}"
    finally:
        child.kill()


def _redis(port: int, *words: str) -> str:
    """Return what Redis answers to a command."""
    program = shutil.which("redis-cli") or "redis-cli"
    asked = subprocess.run(
        [program, "-p", str(port), *words], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


def commands_of(stats: str) -> int:
    """Return the commands that ``INFO commandstats`` lists, without our own look."""
    lines = (line.split(":") for line in stats.splitlines() if line.startswith("cmdstat_"))
    own = {"cmdstat_info", "cmdstat_ping", "cmdstat_config|resetstat"}
    counts = {name: int(rest.split(",")[0].removeprefix("calls=")) for name, rest in lines}
    return sum(count for name, count in counts.items() if name not in own)


def _limits() -> dict[str, str]:
    return {"PEERS_SLOTS": str(SLOTS), "PEERS_LOCK_SECONDS": str(LOCK_SECONDS)}


def _ours(stage: World, kind: Kind, _: str) -> Team:
    handler = HandlerInfo(name=NAME, limits=(Concurrency(SLOTS, key="acme"),))
    team = hourhand(stage, kind, handler)
    return replace(team, workers=WORKERS)


def _celery(stage: World, kind: Kind, redis: str) -> Team:
    module = "bench.limits.celery_side"
    flags = ("--concurrency", str(WORKERS), "--loglevel", "WARNING")
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return Team(
        name=CELERY,
        kind=kind,
        world=stage,
        submit=(str(PEERS_PYTHON), "-m", module),
        work=(str(PEERS_PYTHON), "-m", "celery", "-A", module, "worker", *flags, *quiet),
        workers=1,
        environment={
            **queue_and_table(stage, "celery", kind, KOMBU_VISIBILITY_SECONDS),
            **_limits(),
            "PEERS_REDIS": redis,
        },
        recorded=lambda: 0,
    )


def _dramatiq(stage: World, kind: Kind, redis: str) -> Team:
    module = "bench.limits.dramatiq_side"
    flags = ("--processes", "1", "--threads", str(WORKERS))
    return Team(
        name=DRAMATIQ,
        kind=kind,
        world=stage,
        submit=(str(PEERS_PYTHON), "-m", module),
        work=(str(PEERS_PYTHON), "-m", "dramatiq", module, *flags),
        workers=1,
        environment={
            **queue_and_table(stage, "dramatiq", kind),
            **_limits(),
            "PEERS_REDIS": redis,
        },
        recorded=lambda: 0,
    )


def play(team: Team) -> Seen:
    """Let workers start, submit the jobs of one key, and see what becomes of them."""
    submitter, workers = team.start_submitter(), team.start_workers()
    submit(submitter, named_jobs("job", JOBS, seconds=SECONDS))
    stage = team.world
    # None is ready before another: the time counts from the first job that begins.
    stage.wait_until(lambda: bool(team.record().begun), START_SECONDS, "a first run", *workers)
    try:
        stage.wait_until(lambda: team.ended() >= JOBS, LONGEST_SECONDS, "all ends", *workers)
    except SceneFailed:
        if not team.ended():
            raise
    sent = sum(stage.calls(team.role(does))[one] for does in ("submit", "work") for one in SENDS)
    for child in (submitter, *workers):
        child.kill()
    return _seen(team.name, team.record(), messages=sent, redis_commands=None)


def _play_team(make: Callable[[World, Kind, str], Team], stage: World, redis: str) -> Seen:
    return play(make(stage, Kind(label="limit", processes=1), redis))


def _seen(
    name: str, record: runs.Record, *, messages: int | None, redis_commands: int | None
) -> Seen:
    over, most = overlaps(record)
    return Seen(
        name=name,
        ended=len(record.ended),
        over_limit=over,
        most_running=most,
        turned_away=sum(map(len, record.turned_away.values())),
        messages=messages,
        redis_commands=redis_commands,
        seconds=seconds_of(record),
    )


def play_bullmq(stage: World, redis: str) -> Seen:
    """Let BullMQ add the jobs to one queue with global concurrency, and work them off."""
    node = shutil.which("node")
    if node is None or not (MODULES / "bullmq").is_dir():
        raise SceneFailed(UNSTARTED)
    record = stage.folder / "bullmq.runs"
    settings = {
        "PEERS_REDIS": redis,
        "PEERS_RUNS": str(record),
        "PEERS_SLOTS": str(SLOTS),
        "PEERS_WORKERS": str(WORKERS),
        "PEERS_JOBS": str(JOBS),
        "PEERS_SECONDS": str(SECONDS),
    }
    environment = {**stage.environment(), **settings}
    child = stage.children.start("bullmq", (node, str(FOLDER / "bullmq_side.mjs")), environment)
    stage.wait_until(child.has_ended, LONGEST_SECONDS, "the end of its process")
    return _seen(BULLMQ, runs.read(record), messages=None, redis_commands=None)


def play_all(stage: World, redis: str) -> tuple[list[Seen], list[str]]:
    """Let one contestant play after the other; return what was seen, and why some have nothing."""
    port = int(redis.rpartition(":")[2])
    teams: Mapping[str, Callable[[World, Kind, str], Team]] = {
        HOURHAND: _ours,
        CELERY: _celery,
        DRAMATIQ: _dramatiq,
    }
    scenes: dict[str, Callable[[], Seen]] = {
        name: partial(_play_team, make, stage, redis) for name, make in teams.items()
    }
    scenes[BULLMQ] = partial(play_bullmq, stage, redis)
    seen, failures = [], []
    for name, scene in scenes.items():
        _redis(port, "CONFIG", "RESETSTAT")
        try:
            one = scene()
        except SceneFailed as failure:
            failures.append(f"{name}: no figure, for {failure}")
            continue
        commands = commands_of(_redis(port, "INFO", "commandstats"))
        seen.append(one if name == HOURHAND else replace(one, redis_commands=commands))
    return seen, failures


def targets(seen: Sequence[Seen]) -> list[Target]:
    """Return what Hourhand must reach; the results of a peer are listed, not judged."""
    ours = next((one for one in seen if one.name == HOURHAND), None)
    what = f"{JOBS} jobs under a limit of {SLOTS}, Hourhand: "
    over, messages, left = (
        (JOBS, JOBS, JOBS)
        if ours is None
        else (ours.over_limit, (ours.messages or 0) / JOBS, JOBS - ours.ended)
    )
    return [
        at_most(f"{what}starts over the limit", over, 0),
        at_most(f"{what}messages a job", round(messages, 2), 2.0),
        at_most(f"{what}jobs that did not end", left, 0),
    ]


def result(seen: Sequence[Seen], failures: Sequence[str]) -> dict[str, Any]:
    """Return rows for the table and for the result file."""
    must = targets(seen)
    return {
        "asks": "What does a limit of two jobs of one key cost on other systems, and does it hold?",
        "columns": [
            "system",
            "jobs ended",
            "starts over the limit",
            "at a time, at most",
            "runs turned away a job",
            "SQS messages a job",
            "Redis commands a job",
            "time, of the ideal",
        ],
        "rows": [
            [
                one.name,
                f"{one.ended} of {JOBS}",
                one.over_limit,
                one.most_running,
                round(one.turned_away / JOBS, 2),
                None if one.messages is None else round(one.messages / JOBS, 2),
                None if one.redis_commands is None else round(one.redis_commands / JOBS, 1),
                round(one.of_ideal, 2),
            ]
            for one in seen
        ],
        "notes": [
            f"{JOBS} jobs of {SECONDS:g} s each come at once, for {WORKERS} workers. Ideal: "
            f"{SLOTS} run at a time without a gap. A contestant is stopped after "
            f"{LONGEST_SECONDS:.0f} s.",
            "Celery has no limit of a key: each slot is a lock in Redis, and a task that finds all "
            "locks taken is retried after a second. dramatiq has its ConcurrentRateLimiter over "
            "Redis, and retries with its default back-off. The work of both comes by SQS. BullMQ's "
            "limits of groups need a licence: here the key has a queue of its own with global "
            "concurrency.",
            f"A lock or counter of Celery and dramatiq ends after {LOCK_SECONDS} s: a job that "
            "runs longer lets others start over the limit, and one whose worker dies blocks its "
            "slot until then. Neither happens in this run.",
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
