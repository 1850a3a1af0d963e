"""One run of the chaos: start the cloud, submit, strike, wait until all is quiet, gather."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from hourhand.client import Client
from hourhand.domain.jobs.job import JobStatus
from hourhand.local.backend import MOTO
from hourhand.local.cloud import CloudOptions
from hourhand.settings import DispatchMode
from proof.chaos.board import Board
from proof.chaos.child import BOARD_VARIABLE, HOOK
from proof.chaos.evidence import Cancel, Demand, Ending, Evidence, Kind, Promise
from proof.chaos.gather import (
    IDS_A_READ,
    ChaosFailed,
    cancelled_as,
    commits_in,
    deaths_in,
    ending_of,
    read_jobs,
    ticks_in,
)
from proof.chaos.handlers import LEDGER_VARIABLE
from proof.chaos.ledger import Run, read_runs
from proof.chaos.plan import PlannedFault, PlannedJob, Size, steps_of
from proof.chaos.plants import PLANT_VARIABLE
from proof.chaos.recurring import Schedules
from proof.chaos.saboteur import Saboteur
from proof.rig.cloud import RigCloud
from proof.rig.news import Recorder
from tests.acceptance.http_api import HttpApi, local_api

HANDLERS = "proof.chaos.handlers"
LOOK_SECONDS = 1.0
TOLD_SECONDS = 30.0
NAMED_JOBS = 3
DRAIN_SECONDS = 420.0
"""The lease that a clock 5 minutes ahead gave is over by then, and what follows it."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """What to run. ``folder``: where ledger and logs go; ``say`` is told now and then.

    ``demand``: what of it must come about. ``plant``: the name of a fault in the product itself, of
    `proof.chaos.plants`.
    """

    size: Size
    jobs: Sequence[PlannedJob]
    faults: Sequence[PlannedFault]
    folder: Path
    seed: int
    demand: Demand = field(default_factory=Demand)
    backend: str = MOTO
    batch_size: int = 4
    plant: str | None = None
    say: Callable[[str], None] = print


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to. ``seconds``: of it in all; ``drained_in``: from the last submission."""

    evidence: Evidence
    news: Recorder
    seconds: float
    drained_in: float
    dead_letters_sent: int
    occurrences: int


def run(course: Course) -> Outcome:
    """Make a run; the cloud is gone when it returns, and the ledger and the log are left."""
    with ExitStack() as stack:
        course.folder.mkdir(parents=True, exist_ok=True)
        ledger = course.folder / "ledger.jsonl"
        ledger.touch()
        news = Recorder(stack.enter_context((course.folder / "cloud.log").open("w")))
        board = Board.create(course.folder / "board")
        # As it is deployed; moto answers a statement as done where its condition fails.
        dispatch = DispatchMode.SINGLE if course.backend == MOTO else DispatchMode.BATCH
        cloud = RigCloud(_options(course, ledger), news, hook=HOOK, dispatch=dispatch)
        cloud.start()
        stack.callback(cloud.stop)
        return _Run(course, cloud, board, ledger, stack).take()


def _options(course: Course, ledger: Path) -> CloudOptions:
    return CloudOptions(
        handlers=HANDLERS,
        backend=course.backend,
        tick_seconds=course.size.timings.tick.total_seconds(),
        workers=course.size.workers,
        schedulers=course.size.schedulers,
        batch_size=course.batch_size,
        timings=course.size.timings,
        environment={
            LEDGER_VARIABLE: str(ledger),
            PLANT_VARIABLE: course.plant or "",
            BOARD_VARIABLE: str(course.folder / "board"),
        },
    )


@dataclass(slots=True)
class _Run:
    course: Course
    cloud: RigCloud
    board: Board
    ledger: Path
    stack: ExitStack
    promises: dict[str, Promise] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    settled: dict[str, Ending] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    met: int = 0
    _looked_at: float = 0.0
    _told_at: float = 0.0

    def take(self) -> Outcome:
        """Run it."""
        client = self.stack.enter_context(
            # A request that fails must be seen, not retried.
            Client(self.cloud.url, auth="none", max_attempts=1)
        )
        saboteur = Saboteur(self.cloud, self.board, self.course.faults, self.course.seed)
        start = datetime.now(UTC)
        schedules = Schedules(start, self.course.size.seconds)
        schedules.put(client)
        # First of all, whatever ends the run: who is stopped cannot be ended in good order.
        self.stack.callback(saboteur.stop)
        saboteur.start()
        self._take_steps(local_api(self.cloud.url), saboteur, start.timestamp())
        saboteur.finish()
        submitted_at = time.time()
        endings = self._drain(client, schedules)
        drained_at = time.time()
        self.problems += schedules.problems()
        letters = self.cloud.take_dead_letters()
        return Outcome(
            evidence=self._evidence(endings, letters, saboteur),
            news=self.cloud.news,
            seconds=drained_at - start.timestamp(),
            drained_in=drained_at - submitted_at,
            dead_letters_sent=letters.total(),
            occurrences=sum(p.kind is Kind.OCCURRENCE for p in self.promises.values()),
        )

    # --- submitting ---

    def _take_steps(self, api: HttpApi, saboteur: Saboteur, start: float) -> None:
        for at_seconds, what, jobs in steps_of(self.course.jobs):
            while (left := start + at_seconds - time.time()) > 0:
                self._look(saboteur)
                time.sleep(min(left, LOOK_SECONDS))
            self._look(saboteur)
            if what == "cancel":
                self._cancel(jobs[0], api)
            elif len(jobs) > 1:
                self._submit_batch(jobs, api)
            else:
                self._submit(jobs[0], api, is_again=what == "again")

    def _submit(self, planned: PlannedJob, api: HttpApi, *, is_again: bool) -> None:
        answer = api.post("/v1/jobs", planned.body)
        expected = {HTTPStatus.OK if is_again else HTTPStatus.CREATED}
        if planned.kind is Kind.UNIQUE:
            expected.add(HTTPStatus.OK)
        if answer.status not in expected:
            raise ChaosFailed(f"job {planned.number}: {answer.status} {answer.body}")
        if is_again:
            if answer.body["id"] != self.ids[planned.number]:
                self.problems.append(f"the key of job {planned.number} gave {answer.body['id']}")
            return
        self._accept(planned, answer.body)

    def _submit_batch(self, jobs: Sequence[PlannedJob], api: HttpApi) -> None:
        answer = api.post("/v1/jobs/batch", {"jobs": [one.body for one in jobs]})
        for planned, result in zip(jobs, answer.body.get("results", ()), strict=True):
            if "job" not in result:
                raise ChaosFailed(f"job {planned.number} in a batch: {result}")
            self._accept(planned, result["job"])

    def _accept(self, planned: PlannedJob, job: Mapping[str, Any]) -> None:
        self.ids[planned.number] = job["id"]
        if job["id"] in self.promises:
            # Only the unique key of an earlier one can do that: ids are drawn.
            self.met += 1
            return
        self.promises[job["id"]] = Promise(
            job_id=job["id"],
            kind=planned.kind,
            run_at=datetime.fromisoformat(job["run_at"]).timestamp(),
        )

    def _cancel(self, planned: PlannedJob, api: HttpApi) -> None:
        job_id = self.ids[planned.number]
        answer = api.post(f"/v1/jobs/{job_id}/cancel", {})
        status = cancelled_as(answer)
        promise = self.promises[job_id]
        self.promises[job_id] = Promise(
            job_id=job_id,
            kind=promise.kind,
            run_at=promise.run_at,
            cancel=Cancel(answered_at=time.time(), status=status),
        )

    # --- looking ---

    def _look(self, saboteur: Saboteur) -> None:
        """See how those are that succeeded since the last look, and tell how far we are.

        Raises `SabotageFailed` once a fault could not be done.
        """
        saboteur.check()
        now = time.time()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        commits = commits_in(self.cloud.news)
        succeeded = [one.job_id for one in commits if one.outcome == JobStatus.SUCCEEDED]
        new = [job_id for job_id in succeeded if job_id not in self.settled]
        for job_id, job in read_jobs(self.cloud.jobs, new[:IDS_A_READ]):
            if job.status.is_final:
                self.settled[job_id] = ending_of(job)
        if now - self._told_at >= TOLD_SECONDS:
            self._told_at = now
            self.course.say(
                f"{len(self.promises):,} jobs submitted, {len(self.settled):,} seen to succeed,"
                f" {saboteur.kills} processes killed"
            )

    def _drain(self, client: Client, schedules: Schedules) -> dict[str, Ending]:
        """Wait until each scheduled time has its job and nothing is owed for any, or long enough.

        A scheduler may be killed, or slow, after the last of the other jobs has ended.
        """
        give_up_at = time.time() + DRAIN_SECONDS
        store = self.cloud.jobs
        endings: dict[str, Ending] = {}
        while True:
            for job_id, at in schedules.read(client).items():
                promise = Promise(job_id=job_id, kind=Kind.OCCURRENCE, run_at=at.timestamp())
                self.promises.setdefault(job_id, promise)
            unread = [job_id for job_id in self.promises if job_id not in endings]
            for job_id, job in read_jobs(store, unread):
                if job.status.is_final:
                    self.settled.setdefault(job_id, ending_of(job))
                if job.status.is_final and job.due_at is None:
                    endings[job_id] = ending_of(job)
            running = [run.job_id for run in self._runs() if run.ended_at is None]
            left = [job_id for job_id in self.promises if job_id not in endings]
            is_over = schedules.is_whole() and not (left or running)
            if is_over or time.time() > give_up_at:
                break
            self._tell_left(left, running)
            time.sleep(LOOK_SECONDS)
        # Once more, all of them: what was final must have stayed as it was.
        return {job_id: ending_of(job) for job_id, job in read_jobs(store, list(self.promises))}

    def _tell_left(self, left: Sequence[str], running: Sequence[str]) -> None:
        """Tell now and then what the end waits for."""
        if time.time() - self._told_at < TOLD_SECONDS:
            return
        self._told_at = time.time()
        self.course.say(
            f"{len(left):,} jobs not ended {left[:NAMED_JOBS]},"
            f" {len(running):,} handlers running {running[:NAMED_JOBS]}"
        )

    def _runs(self) -> list[Run]:
        return read_runs(self.ledger.read_text().splitlines(), deaths_in(self.cloud.news))

    def _evidence(
        self, endings: Mapping[str, Ending], letters: Counter[str], saboteur: Saboteur
    ) -> Evidence:
        return Evidence(
            timings=self.course.size.timings,
            promises=self.promises,
            endings=endings,
            runs=self._runs(),
            commits=commits_in(self.cloud.news),
            faults=sorted(saboteur.faults, key=lambda fault: fault.began_at),
            ticks=ticks_in(self.cloud.news),
            names=dict(self.cloud.names),
            settled=self.settled,
            dead_letters=letters,
            other_problems=self.problems,
            demand=self.course.demand,
            dropped=saboteur.dropped,
            met=self.met,
        )
