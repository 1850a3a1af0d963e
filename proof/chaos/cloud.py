"""The local cloud with children that can be struck, and an ear for all that they tell."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from hourhand.local.backend import MOTO
from hourhand.local.child_process import ChildCommand, ChildListener, ChildProcess, Spawn
from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.events import (
    BatchBegun,
    BatchEnded,
    ChildDied,
    Logged,
    Measured,
    News,
    Printed,
    QueueFailed,
    Ticked,
)
from hourhand.local.scheduler_slot import SchedulerSlot
from hourhand.local.worker_slot import WorkerSlot
from hourhand.settings import DispatchMode
from proof.chaos.board import Board
from proof.chaos.child import BEGAN, BOARD_VARIABLE, SLOT_VARIABLE
from proof.chaos.evidence import Commit, Tick

ATTEMPT_ENDED = "An attempt ended."
MODULE = "proof.chaos.child"


class Ear:
    """Notes what the cloud tells, from whichever thread, and keeps its log in a file."""

    def __init__(self, log: TextIO) -> None:
        """Write to ``log``."""
        self.deaths: dict[int, float] = {}
        self.commits: list[Commit] = []
        self.ticks: list[Tick] = []
        self.totals: Counter[str] = Counter()
        self._busy_since: dict[str, float] = {}
        self._log = log
        self._lock = threading.Lock()

    def hear(self, news: News) -> None:
        """Note it."""
        with self._lock:
            self._note(news)

    def succeeded(self) -> list[str]:
        """Return the jobs of which a worker said that it committed their success."""
        with self._lock:
            return [commit.job_id for commit in self.commits if commit.outcome == "SUCCEEDED"]

    def longest_busy(self) -> str | None:
        """Return the worker whose batch takes longest by now; ``None``: all are idle."""
        with self._lock:
            return min(self._busy_since, key=self._busy_since.__getitem__, default=None)

    def _note(self, news: News) -> None:
        now = time.time()
        match news:
            case BatchBegun():
                self._busy_since[news.worker] = now
            case BatchEnded():
                self._busy_since.pop(news.worker, None)
            case Measured():
                self._add(news)
            case ChildDied():
                self.deaths[news.pid] = now
                self._write(now, news.name, f"died: pid {news.pid}, exit code {news.exit_code}")
            case Ticked():
                self._note_tick(news, now)
            case Logged():
                self._note_line(news, now)
            case Printed():
                self._write(now, news.name, news.line)
            case QueueFailed():
                self._write(now, "event source", f"{news.operation}: {news.reason}")
            case _:
                pass

    def _add(self, news: Measured) -> None:
        for name, values in news.values.items():
            if not name.endswith("_ms"):
                self.totals[name] += int(sum(values))

    def _note_tick(self, news: Ticked, now: float) -> None:
        self._write(now, news.name, f"tick: {news.error or news.report}")
        if news.report is None:
            return
        self.ticks.append(
            Tick(
                name=news.name,
                # When it began the child says itself: its news may come late.
                began_at=float(news.report[BEGAN]),
                ended_at=now,
                led=bool(news.report["led"]),
                verdict=str(news.report["verdict"]),
            )
        )

    def _note_line(self, line: Logged, now: float) -> None:
        told = {key: value for key, value in line.fields.items() if value is not None}
        self._write(now, line.name, f"{line.sentence} {json.dumps(told, default=str)}")
        if line.sentence == ATTEMPT_ENDED:
            self.commits.append(
                Commit(
                    job_id=str(line.fields["job_id"]),
                    attempt=int(line.fields["attempt"]),
                    outcome=str(line.fields["outcome"]),
                    worker=line.name,
                )
            )

    def _write(self, now: float, name: str, text: str) -> None:
        at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        if not self._log.closed:
            self._log.write(f"{at} {name}: {text}\n")


class ChaosCloud(LocalCloud):
    """A local cloud whose workers and schedulers are `proof.chaos.child`, one slot each."""

    def __init__(self, options: CloudOptions, ear: Ear, board: Path) -> None:
        """Start nothing yet; ``board``: where the board is to be."""
        super().__init__(options, ear.hear)
        self.ear = ear
        self.board = Board.create(board)
        self.slots: dict[str, int] = {}
        self.children: dict[str, ChildProcess] = {}
        self.names: dict[int, str] = {}
        self._board_path = board

    @property
    def worker_names(self) -> list[str]:
        """The places of the workers."""
        return [name for name in self.slots if name.startswith("worker-")]

    @property
    def scheduler_names(self) -> list[str]:
        """The places of the schedulers."""
        return [name for name in self.slots if name.startswith("scheduler-")]

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send a signal to whoever has that place now; return its process id."""
        child = self.children[name]
        child.signal(number)
        return child.pid

    def purge(self) -> None:
        """Lose every message of the priority queues."""
        for url in self.settings.queues.values():
            self.sqs.purge_queue(QueueUrl=url)

    def _provision(self, manifest: Path) -> None:
        super()._provision(manifest)
        if self.options.backend != MOTO:
            # As it is deployed; moto answers a statement as done where its condition fails.
            self.settings = replace(self.settings, dispatch=DispatchMode.BATCH)

    def _start_children(self, environment: Mapping[str, str]) -> None:
        tick = f"{self.options.tick_seconds:g}"
        for number in range(1, self.options.schedulers + 1):
            name = f"scheduler-{number}"
            arguments = ("scheduler", "--tick-seconds", tick, "--name", name)
            spawn = self._spawner(name, arguments, environment)
            scheduler = SchedulerSlot(spawn, self._tell)
            self.schedulers.append(scheduler)
            self._stack.callback(scheduler.stop)
        self._stack.callback(self._stop_workers)
        for number in range(1, self.options.workers + 1):
            name = f"worker-{number}"
            spawn = self._spawner(name, ("worker",), environment)
            self.workers.append(WorkerSlot(name, spawn, self.idle, self._tell))

    def _spawner(
        self, name: str, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> Spawn:
        self.slots[name] = len(self.slots)
        own = {BOARD_VARIABLE: str(self._board_path), SLOT_VARIABLE: str(self.slots[name])}
        command = ChildCommand(
            name=name, module=MODULE, arguments=arguments, environment={**environment, **own}
        )

        def spawn(listener: ChildListener) -> ChildProcess:
            child = ChildProcess(command, listener)
            self.children[name] = child
            self.names[child.pid] = name
            return child

        return spawn
