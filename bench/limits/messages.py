"""Counts the messages of a backlog on one key: a job that waits for a slot has no message.

A backlog of 10,000 jobs runs on the memory cloud, in virtual time. A smaller one runs on the
emulator, over the real adapters, where every job but the first ones finds the limit full.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from bench.limits.memory_cloud import Load, Played, play
from bench.targets import all_ok, at_most
from bench.write_units import Run, Stage, stage, succeed
from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.domain.limits.declarations import Concurrency
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery

MAX = 10
MOST_MESSAGES = 2.0
"""That of the submission of a job, and that of the slot that it is handed after a wait."""

IN_MEMORY = Load(
    name="memory cloud",
    jobs=10_000,
    jobs_a_second=500,
    handler_seconds=0.1,
    max=MAX,
    workers=100,
)
EMULATED_JOBS = 500
HANDLER = "sync-account"
LIMITED = HandlerInfo(name=HANDLER, limits=(Concurrency(MAX, key="payload.account"),))
WORKERS = MAX + 10
SUBMITTERS = 4
LONGEST_SECONDS = 600.0
QUIET_SECONDS = 3.0
"""How long no message came when all are counted."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a backlog took. ``messages``: those of each job. ``seconds``: of the machine."""

    place: str
    jobs: int
    parked: int
    messages: Counter[str]
    most_running: int
    not_once: int
    seconds: float

    @property
    def on_average(self) -> float:
        """Messages for each job."""
        return self.messages.total() / self.jobs

    @property
    def most(self) -> int:
        """Messages of the job that took the most."""
        return max(self.messages.values())


@dataclass(slots=True)
class _Backlog:
    """Jobs on the emulator, and the workers that work them off.

    The first handlers wait until every other job was deferred, so all those wait for a slot.
    """

    fresh: Stage
    jobs: int
    messages: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    running: int = 0
    most_running: int = 0
    deferred: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _all_wait: threading.Event = field(default_factory=threading.Event)
    _stop: threading.Event = field(default_factory=threading.Event)
    _received: queue.Queue[Delivery] = field(default_factory=lambda: queue.Queue(2 * WORKERS))
    _errors: list[BaseException] = field(default_factory=list)

    def submit(self) -> list[Job]:
        """Submit all jobs."""
        payload = {"account": "acme"}
        with ThreadPoolExecutor(SUBMITTERS) as pool:
            one = lambda _: self.fresh.submit(handler=HANDLER, payload=payload)  # noqa: E731
            return list(pool.map(one, range(self.jobs)))

    def work_off(self) -> None:
        """Work until every job has run and no message came for a while."""
        threads = [threading.Thread(target=self._receive, daemon=True)]
        threads += [threading.Thread(target=self._work, daemon=True) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + LONGEST_SECONDS
        while self.runs.total() < self.jobs and not self._errors and time.monotonic() < deadline:
            time.sleep(0.1)
        last, since = self.messages.total(), time.monotonic()
        while time.monotonic() < since + QUIET_SECONDS:
            time.sleep(0.1)
            if self.messages.total() > last:
                last, since = self.messages.total(), time.monotonic()
        self._stop.set()
        self._all_wait.set()
        for thread in threads:
            thread.join()
        if self._errors:
            raise RuntimeError("a worker failed") from self._errors[0]

    def _receive(self) -> None:
        url = self.fresh.settings.queues[Priority.MEDIUM]
        while not self._stop.is_set():
            answer = self.fresh.sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=10,
                WaitTimeSeconds=1,
                MessageSystemAttributeNames=["All"],
            )
            found = answer.get("Messages", [])
            for message in found:
                delivery = self.fresh.read_delivery(message, Priority.MEDIUM)
                self.messages[delivery.message.job_id] += 1
                self._received.put(delivery)
            if found:
                entries = [
                    {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                    for number, message in enumerate(found)
                ]
                self.fresh.sqs.delete_message_batch(QueueUrl=url, Entries=entries)

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                delivery = self._received.get(timeout=0.1)
            except queue.Empty:
                continue
            try:
                self._handle(delivery)
            except Exception as error:  # noqa: BLE001 - the main thread raises it
                self._errors.append(error)

    def _handle(self, delivery: Delivery) -> None:
        ran: list[str] = []

        def run(job: Job, pulse: Pulse) -> Finished:
            ran.append(job.id)
            with self._lock:
                self.runs[job.id] += 1
                self.running += 1
                self.most_running = max(self.most_running, self.running)
            self._all_wait.wait(LONGEST_SECONDS)
            with self._lock:
                self.running -= 1
            return succeed(job, pulse)

        handler: Run = run
        self.fresh.handle(delivery, handler)
        if not ran:
            with self._lock:
                self.deferred += 1
                if self.deferred >= self.jobs - MAX:
                    self._all_wait.set()


def count_emulated(jobs: int) -> Counted:
    """Work off a backlog on a fresh emulator and count its messages."""
    began = time.monotonic()
    with stage((LIMITED,)) as fresh:
        fresh.tick()
        backlog = _Backlog(fresh, jobs)
        submitted = backlog.submit()
        backlog.work_off()
        found = [fresh.jobs.get(job.id) for job in submitted]
    once = sum(
        job is not None and job.status is JobStatus.SUCCEEDED and backlog.runs[job.id] == 1
        for job in found
    )
    return Counted(
        place="emulator",
        jobs=jobs,
        parked=backlog.deferred,
        messages=backlog.messages,
        most_running=backlog.most_running,
        not_once=jobs - once,
        seconds=time.monotonic() - began,
    )


def count_in_memory(load: Load) -> tuple[Counted, Played]:
    """Work off a backlog on the memory cloud and count its messages."""
    began = time.monotonic()
    played = play(load)
    counted = Counted(
        place=load.name,
        jobs=load.jobs,
        parked=played.parked,
        messages=played.sent,
        most_running=played.most_running,
        not_once=played.not_once,
        seconds=time.monotonic() - began,
    )
    return counted, played


def result(counted: Sequence[Counted], virtual_seconds: float) -> dict[str, Any]:
    """Return rows for the table and for the result file."""
    must = []
    for one in counted:
        what = f"{one.jobs:,} jobs on one key, {one.place}"
        must += [
            at_most(f"{what}: messages a job", round(one.on_average, 4), MOST_MESSAGES),
            at_most(f"{what}: running at a time, at most", one.most_running, MAX),
            at_most(f"{what}: jobs that did not run exactly once", one.not_once, 0),
        ]
    return {
        "asks": "How many messages does a long queue of waiting jobs take?",
        "columns": [
            "place",
            "jobs",
            "waited for a slot",
            "messages",
            "messages a job",
            "messages of a job, at most",
            "running at a time, at most",
            "not run exactly once",
        ],
        "rows": [
            [
                one.place,
                one.jobs,
                one.parked,
                one.messages.total(),
                round(one.on_average, 3),
                one.most,
                one.most_running,
                one.not_once,
            ]
            for one in counted
        ],
        "notes": [
            f"All jobs have one key with max {MAX}. A job that finds the limit full is parked, and "
            "its message is deleted; its second message is sent when it is handed a slot.",
            "Of a queue of 2,000 jobs the emulator ended about one a second, so it holds "
            f"{EMULATED_JOBS:,}. The {IN_MEMORY.jobs:,} run on the memory cloud: the real services "
            f"over the stores in memory, for {virtual_seconds:,.0f} s of virtual time with a tick "
            f"each minute and {IN_MEMORY.workers} workers.",
            "A job has a third message where two components end one job at the same time: the "
            "second one cannot distinguish that hand-off from its own with a lost answer.",
            "On the emulator the first jobs hold their slots until all others wait. Each message "
            "is counted where it is received.",
        ],
        "must": must,
        "ok": all_ok(must),
    }


def run() -> dict[str, Any]:
    """Count both backlogs."""
    in_memory, played = count_in_memory(IN_MEMORY)
    return result([in_memory, count_emulated(EMULATED_JOBS)], played.seconds)
