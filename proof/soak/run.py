"""The course of the long run: bursts of work, and between them a sample when all is quiet."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hourhand.domain.errors import HourhandError
from proof.soak.cloud import Cloud
from proof.soak.janitor import delete_expired
from proof.soak.kept_api import KeptApi
from proof.soak.load import Load, SoakFailed
from proof.soak.probe import Sample, ask
from proof.soak.verdict import Point

QUIET_SECONDS = 90.0
"""How long after a burst every job may take to end."""

ANSWER_SECONDS = 20.0
LOOK_SECONDS = 2.0
BURST = 0.8
"""The share of a round in which jobs are submitted."""

MOST_CORES = 0.45
"""Processor time that all of it may take, the emulator too: others work beside it."""

LINES_TOLD = 30
FIRST_PACE = 1.5
LEAST_PACE, MOST_PACE = 0.2, 4.0
"""Jobs a second."""

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """How long, in how many rounds, with which mix; ``plant`` is what is leaked on purpose."""

    seconds: float
    rounds: int
    seed: int
    plant: str = ""


@dataclass(slots=True)
class Record:
    """What was seen: for each process, by role and id, its samples; and what was done."""

    points: dict[str, list[Point]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cores: float = 0.0
    emulator_cores: float = 0.0
    expired: int = 0


def run(course: Course, folder: Path, say: Say) -> Record:
    """Run it. Raises `SoakFailed` where it could not even be started."""
    record = Record()
    with Cloud(folder, course.plant) as cloud:
        try:
            _live(course, cloud, folder, record, say)
        except HourhandError as error:
            # What was seen until then is judged all the same.
            record.wrong.append("\n".join([error.detail, *list(cloud.dev.lines)[-LINES_TOLD:]]))
    return record


def _live(course: Course, cloud: Cloud, folder: Path, record: Record, say: Say) -> None:
    api = KeptApi(cloud.address.geturl())
    load = Load(api, course.seed)
    began, cpu_before = time.monotonic(), cloud.cpu_seconds()
    pace = FIRST_PACE
    for number in range(1, course.rounds + 1):
        ends_at = began + course.seconds * number / course.rounds
        round_began, round_cpu = time.monotonic(), cloud.cpu_seconds()
        load.begin_round()
        # The rest of the round is for what is still to end, and for the sample.
        _burst(load, pace, round_began + (ends_at - round_began) * BURST)
        load.pause_schedules()
        _settle(load)
        took = time.monotonic() - round_began
        cores = (cloud.cpu_seconds() - round_cpu) / took
        pace = min(MOST_PACE, max(LEAST_PACE, pace * min(1.3, MOST_CORES / cores)))
        record.counts, record.wrong = load.counts, load.wrong
        say(_sampled(cloud, folder, number, load.ended, record) + f"; {cores:.2f} cores")
        record.expired += delete_expired(cloud.endpoint)
        time.sleep(max(0.0, ends_at - time.monotonic()))
    record.seconds = time.monotonic() - began
    record.cores = (cloud.cpu_seconds() - cpu_before) / record.seconds
    record.emulator_cores = cloud.emulator_cpu_seconds() / record.seconds
    api.close()


def _burst(load: Load, pace: float, ends_at: float) -> None:
    next_at = time.monotonic()
    while next_at < ends_at:
        time.sleep(max(0.0, next_at - time.monotonic()))
        load.step()
        next_at = max(next_at + 1 / pace, time.monotonic())


def _settle(load: Load) -> None:
    """Wait until every job has ended."""
    give_up_at = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < give_up_at:
        load.cancel_what_is_to_be()
        if load.note_ended() == 0:
            return
        time.sleep(LOOK_SECONDS)
    left = ", ".join(f"{job} ({kind.name})" for job, kind in list(load.open.items())[:10])
    raise SoakFailed(f"{len(load.open)} jobs did not end in {QUIET_SECONDS:g} s: {left}.")


def _sampled(cloud: Cloud, folder: Path, number: int, jobs: int, record: Record) -> str:
    pids = cloud.watched()
    answers = ask(folder, number, pids, ANSWER_SECONDS)
    for pid, (role, sample) in answers.items():
        record.points[f"{role} {pid}"].append(Point(jobs=jobs, sample=sample))
    known = {int(process.split()[1]) for process in record.points}
    if known - answers.keys():
        raise SoakFailed(f"Processes died, or hang: {sorted(known - answers.keys())}.")
    told = (_told(role, sample) for role, sample in answers.values())
    return f"round {number}: {jobs:,} jobs; {'; '.join(sorted(told))}"


def _told(role: str, sample: Sample) -> str:
    handles = f"{sample.threads}+{sample.files}+{sample.sockets}"
    memory = f"{sample.memory_kib / 1024:.1f} MiB, {sample.allocated_kib:,} KiB allocated"
    return f"{role} {memory}, {sample.blocks:,} blocks, {handles}"
