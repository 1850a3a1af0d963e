"""The demo's course: start the cloud, take the plan's steps in time, wait, look, judge."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from hourhand.client import Client, NotFound
from hourhand.local.cloud import MOTO, CloudOptions, LocalCloud
from hourhand.local.demo.client import DemoFailed, client_of, failures_told
from hourhand.local.demo.clock_change import ClockChange, run_clock_changes
from hourhand.local.demo.dead_letters import read_dead_letters
from hourhand.local.demo.library import standard_library_modules
from hourhand.local.demo.plan import (
    DEFAULT_JOBS,
    HANDLERS,
    POISON,
    Cancel,
    DeleteSchedule,
    KillLeader,
    PlannedJob,
    PurgeQueues,
    PutSchedule,
    Step,
    Submit,
    SubmitAgain,
    SubmitBatch,
    demo_timings,
    make_plan,
    planned_jobs,
)
from hourhand.local.demo.recurring import Recurring
from hourhand.local.demo.review import Review
from hourhand.local.demo.sabotage import LeaderHunt, LeaderKilled, purge_queues
from hourhand.local.demo.tracker import Tracker
from hourhand.local.demo.verdict import Verdict
from hourhand.local.entry_points import examples_path
from hourhand.local.news import News

MAX_WAITING = 100
"""Messages that may wait: moto is quick at a hundred and slow at thousands, so we pause there."""

BACKLOG_LOOK_SECONDS = 1.0
SHOW_SECONDS = 0.2
END_SECONDS = 60.0
"""How long after the last step every job may take to end."""

OPEN_LOOK_SECONDS = 1.0
MAX_LOOKS = 25
"""Jobs asked for at a time while the last ones end."""

MAX_REST_LOOKS = 60
"""Looks for the runs of a schedule to end before it is deleted: on a machine that is busy, they
take their time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoOptions:
    """What `hourhand demo` is told. ``pace``: how many times quicker, for tests.

    Two workers more than `hourhand dev` has: each delayed job's message is received up to a second
    early, and its worker waits the rest out.
    """

    jobs: int = DEFAULT_JOBS
    backend: str = MOTO
    workers: int = 6
    batch_size: int = 1
    pace: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far the demo is."""

    seconds: float
    submitted: int
    planned: int
    succeeded: int
    not_succeeded_attempts: int


class Screen(Protocol):
    """Shows what happens."""

    def started(self, cloud: LocalCloud, plan: list[Step]) -> None:
        """The cloud is ready; the first job is submitted next."""

    def say(self, seconds: float, text: str) -> None:
        """Something worth a line of its own happened, so many seconds after the start."""

    def heard(self, news: News) -> None:
        """The cloud told of something."""

    def show(self, progress: Progress) -> None:
        """So far it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The end of a demo: the judgement, and what was measured on the way."""

    verdict: Verdict
    tracker: Tracker
    seconds: float
    pauses: int
    hand_off_seconds: float | None
    clock_change: ClockChange

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that is not as it should be, in either part."""
        return (*self.verdict.problems, *self.clock_change.problems)


@dataclass(slots=True)
class Demo:
    """One demonstration, from `run` to its outcome."""

    options: DemoOptions
    screen: Screen
    tracker: Tracker = field(default_factory=Tracker)
    _ids: dict[str, str] = field(default_factory=dict)
    _planned: dict[str, PlannedJob] = field(default_factory=dict)
    _recurring: Recurring = field(default_factory=lambda: Recurring(datetime.now(UTC)))
    _purge: tuple[datetime, datetime] | None = None
    _hunt: LeaderHunt | None = None
    _pauses: int = 0
    _backlog_seen_at: float = 0.0
    _started_at: float = 0.0

    def run(self) -> Outcome:
        """Run it. Raises `HourhandError` where it could not even be tried."""
        plan = make_plan(standard_library_modules(), self.options.jobs, pace=self.options.pace)
        with failures_told(), ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hourhand-demo-")))
            cloud = self._start_cloud(folder)
            stack.callback(cloud.stop)
            client = stack.enter_context(client_of(cloud.url))
            self.screen.started(cloud, plan)
            self._take_steps(plan, cloud, client)
            self._wait_for_the_end(client)
            return self._judge(folder, cloud, client)

    def _start_cloud(self, folder: Path) -> LocalCloud:
        (folder / "index").mkdir()
        timings = demo_timings(self.options.pace)
        cloud = LocalCloud(
            CloudOptions(
                handlers=HANDLERS,
                port=0,
                backend=self.options.backend,
                tick_seconds=timings.tick.total_seconds(),
                workers=self.options.workers,
                schedulers=2,
                batch_size=self.options.batch_size,
                timings=timings,
                path=str(examples_path()),
                environment={
                    "LIBRARY_INDEX": str(folder / "index"),
                    "LIBRARY_LEDGER": str(folder / "ledger.jsonl"),
                },
            ),
            self._hear,
        )
        cloud.start()
        return cloud

    def _hear(self, news: News) -> None:
        self.tracker.tell(news)
        self.screen.heard(news)

    # --- the steps ---

    def _take_steps(self, plan: list[Step], cloud: LocalCloud, client: Client) -> None:
        self._started_at = time.monotonic()
        start = datetime.now(UTC)
        self._recurring = Recurring(start)
        self._planned = {job.name: job for job in planned_jobs(plan)}
        for step in plan:
            self._wait_until(step.at_seconds)
            self._pace(cloud)
            self._take(step, start, cloud, client)

    def _take(self, step: Step, start: datetime, cloud: LocalCloud, client: Client) -> None:
        match step.action:
            case Submit(job):
                self._keep(job, client.submit(**job.submission(start)).id)
            case SubmitBatch(jobs):
                self._submit_batch(jobs, start, client)
            case SubmitAgain(name):
                again = client.submit(**self._planned[name].submission(start)).id
                if again != self._ids[name]:
                    raise DemoFailed(f"The same key gave another job: {again}.")
                self._say(f"submitted {again} again under its idempotency key: the same job")
            case Cancel(name):
                client.cancel(self._ids[name])
                self._say(f"cancelled {self._ids[name]} before its time")
            case PutSchedule() | DeleteSchedule() as action:
                self._change_schedules(action, client)
            case PurgeQueues():
                self._purge = purge_queues(cloud)
                self._say("purged all three queues: every message in them is lost")
            case KillLeader():
                self._start_hunt(cloud)

    def _keep(self, job: PlannedJob, job_id: str) -> None:
        if job_id in self._ids.values():
            raise DemoFailed(f"{job.name} was not made: the answer was another job, {job_id}.")
        self._ids[job.name] = job_id

    def _submit_batch(self, jobs: Sequence[PlannedJob], start: datetime, client: Client) -> None:
        results = client.submit_many([job.submission(start) for job in jobs])
        for job, result in zip(jobs, results, strict=True):
            if result.job is None:
                raise DemoFailed(f"{job.name} was refused in a batch: {result.error}")
            self._keep(job, result.job.id)
        others = len(jobs) - 1
        self._say(f"submitted {self._ids[POISON]}, which kills whoever runs it, among {others}")

    def _change_schedules(self, action: PutSchedule | DeleteSchedule, client: Client) -> None:
        if isinstance(action, PutSchedule):
            self._recurring.put(action.schedule, client)
            self._say(f"put the schedule {action.schedule.name}: {action.schedule.expression}")
        else:
            for _ in range(MAX_REST_LOOKS):
                if self._recurring.is_at_rest(action.name, client):
                    break
                self._sleep(OPEN_LOOK_SECONDS)
            self._recurring.delete(action.name, client)
            self._say(f"deleted the schedule {action.name}, and with it what it had made ahead")

    def _start_hunt(self, cloud: LocalCloud) -> None:
        from hourhand.aws.clients import dynamodb_client
        from hourhand.aws.control_store import DynamoControlStore

        control = DynamoControlStore(dynamodb_client(), cloud.settings.control_table)
        self._hunt = LeaderHunt(cloud, control, self._tell_kill)
        self._hunt.start()

    def _tell_kill(self, killed: LeaderKilled) -> None:
        if killed.held_lease_until is None:
            self._say(f"killed {killed.name} (pid {killed.pid}) too late: its tick was over")
            return
        rest = (killed.held_lease_until - killed.at).total_seconds()
        self._say(
            f"killed the leader in mid-tick: kill -9 {killed.pid} ({killed.name}, "
            f"epoch {killed.epoch}); its lease runs for {rest:.1f} s more"
        )

    def _pace(self, cloud: LocalCloud) -> None:
        """Wait while too many messages wait."""
        now = time.monotonic()
        if now - self._backlog_seen_at < BACKLOG_LOOK_SECONDS:
            return
        while cloud.visible_messages() >= MAX_WAITING:
            self._pauses += 1
            self._sleep(BACKLOG_LOOK_SECONDS)
        self._backlog_seen_at = time.monotonic()

    # --- the end ---

    def _wait_for_the_end(self, client: Client) -> None:
        """Wait until no job is open any more, or its time is over: then it is judged as it is."""
        give_up_at = time.monotonic() + END_SECONDS
        known = set[str]()
        wanted = [*self._ids.values(), *self._recurring.read_jobs(client)]
        while time.monotonic() < give_up_at:
            left = [i for i in wanted if i not in known and not self._succeeded(i)]
            if not left:
                break
            for job_id in left[:MAX_LOOKS]:
                if _is_over(job_id, client):
                    known.add(job_id)
            self._sleep(OPEN_LOOK_SECONDS)
        if self._hunt is not None:
            self._hunt.join()

    def _succeeded(self, job_id: str) -> bool:
        return job_id in self.tracker.ended_jobs

    def _judge(self, folder: Path, cloud: LocalCloud, client: Client) -> Outcome:
        seconds = time.monotonic() - self._started_at
        review = Review(
            planned=self._planned,
            ids=self._ids,
            tracker=self.tracker,
            purge=self._purge,
            killed=self._hunt.killed if self._hunt is not None else None,
            recurring=self._recurring,
        )
        return Outcome(
            verdict=review.verdict(
                client,
                ledger=_ledger_lines(folder / "ledger.jsonl"),
                dead_letters=read_dead_letters(cloud.sqs, cloud.settings.dead_letter_queue),
            ),
            tracker=self.tracker,
            seconds=seconds,
            pauses=self._pauses,
            hand_off_seconds=review.hand_off_seconds,
            clock_change=self._change_clocks(),
        )

    def _change_clocks(self) -> ClockChange:
        self._say("every job ended; now three schedules over the changes of the clocks of 2026")
        return run_clock_changes()

    # --- time ---

    def _wait_until(self, at_seconds: float) -> None:
        self._sleep(self._started_at + at_seconds - time.monotonic())

    def _sleep(self, seconds: float) -> None:
        """Wait, and show how far we are meanwhile."""
        until = time.monotonic() + seconds
        self._show()
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, SHOW_SECONDS))
            self._show()

    def _seconds(self) -> float:
        return time.monotonic() - self._started_at

    def _say(self, text: str) -> None:
        self.screen.say(self._seconds(), text)

    def _show(self) -> None:
        self.screen.show(
            Progress(
                seconds=self._seconds(),
                submitted=len(self._ids),
                planned=len(self._planned),
                succeeded=sum(self._succeeded(job_id) for job_id in self._ids.values()),
                not_succeeded_attempts=self.tracker.retries(),
            )
        )


def _is_over(job_id: str, client: Client) -> bool:
    try:
        return client.get(job_id).is_final
    except NotFound:
        # Nothing is left to wait for; the review tells that it is lost.
        return True


def _ledger_lines(ledger: Path) -> list[str]:
    """Return what the handlers noted; without their notes no verdict would be worth anything."""
    if not ledger.exists():
        raise DemoFailed(f"The handlers' notes are gone: something removed {ledger}.")
    return ledger.read_text().splitlines()
