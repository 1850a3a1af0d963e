"""A worker process without AWS: real threads, tiny limits, and events instead of sleeps."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

from hourhand.aws.clock import SystemClock
from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.jobs.job import Job, JobStatus, Progress
from hourhand.domain.jobs.waiting import Reserved, TakenStart
from hourhand.domain.ticks.timings import Timings
from hourhand.handlers import JOB_LOGGER, Registry
from hourhand.memory import MemoryClock, RecordingTelemetry
from hourhand.ports.clock import Clock
from hourhand.ports.durable_run import OpenedRun
from hourhand.ports.handler_runner import Finished, HandlerRunner
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition, ExecutionService
from hourhand.worker import (
    LoadedHandlers,
    ProcessTimer,
    RunLimits,
    RunnerTools,
    ThreadRunner,
    Watchdog,
    WorkerProcess,
    WorkerRuntime,
)
from tests.world.factories import make_delivery, make_job

PATIENCE = 20.0
"""Seconds after which a wait in a test has failed; no test that passes waits so long."""

PATIENT = RunLimits(stop_grace=5, neighbour_grace=10, hand_back=10, load=PATIENCE)
"""Where the clock is real, nobody is found stuck because the machine is slow."""

FAST_HEART = replace(Timings(), heartbeat=timedelta(milliseconds=2))
SILENT_HEART = replace(Timings(), heartbeat=timedelta(seconds=PATIENCE))


def running_job(**overrides: Any) -> Job:
    return make_job(status=JobStatus.RUNNING, **overrides)


class FakePulse:
    """Answers each beat with the next of ``answers``, the last one for ever."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers) or ["alive"]
        self.progress: list[Progress | None] = []
        self.has_beaten = threading.Event()
        self.taken: list[tuple[str, float, timedelta]] = []
        self.cursors: list[str] = []
        self.lease_ends_at = math.inf

    @property
    def beats(self) -> int:
        return len(self.progress)

    def beat(self, progress: Progress | None) -> str:
        self.progress.append(progress)
        self.has_beaten.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def keep_cursor(self, text: str) -> None:
        self.cursors.append(text)

    def open_run(self) -> OpenedRun | Finished:
        raise AssertionError("this pulse has no journal")

    def take_start(
        self, name: str, cost: float, longest: timedelta, reserved: Reserved | None = None
    ) -> TakenStart:
        self.taken.append((name, cost, longest))
        return TakenStart(is_start=False, wait=timedelta(hours=1))


@dataclass
class OneRun:
    """Runs one handler outside any batch."""

    registry: Registry = field(default_factory=Registry)
    telemetry: RecordingTelemetry = field(default_factory=RecordingTelemetry)
    process: WorkerProcess = field(default_factory=WorkerProcess)
    clock: Clock = field(default_factory=SystemClock)
    timings: Timings = FAST_HEART
    limits: RunLimits = PATIENT
    seconds_left: float = 900.0
    timer: ProcessTimer | None = None

    def run(
        self, function: Callable[..., Any], *, pulse: FakePulse | None = None, **job: Any
    ) -> Finished:
        self.registry.add("greet", function)
        handlers = LoadedHandlers(lambda: self.registry)
        handlers.load()
        tools = self.tools(handlers)
        runner = ThreadRunner(tools, self.process.enter(), lambda: self.seconds_left)
        payload = job.pop("payload_text", "null")
        last_error = job.pop("last_error", None)
        return runner.run(running_job(**job), payload, last_error, pulse or FakePulse())

    def tools(self, handlers: LoadedHandlers) -> RunnerTools:
        return RunnerTools(
            handlers=handlers,
            process=self.process,
            watchdog=Watchdog(self.timer, self.clock.monotonic, self.process.condemn),
            clock=self.clock,
            timings=self.timings,
            telemetry=self.telemetry,
            hand_back=lambda job_id, reason: True,
            logger=logging.getLogger(JOB_LOGGER),
            limits=self.limits,
        )


class FakeTimer:
    """Keeps what the watchdog does: the seconds it is armed for, ``None`` where it is disarmed.

    ``refusals``: how many of the next calls find no thread for it.
    """

    def __init__(self) -> None:
        self.acts: list[float | None] = []
        self.refusals = 0

    @property
    def is_armed(self) -> bool:
        return bool(self.acts) and self.acts[-1] is not None

    def arm(self, seconds: float) -> None:
        if self.refusals:
            self.refusals -= 1
            self.acts.append(None)
            raise RuntimeError("unable to start watchdog thread")
        self.acts.append(round(seconds, 6))

    def disarm(self) -> None:
        self.acts.append(None)


class FakeExecution:
    """Runs the job of each message; keeps in ``acts`` what was committed, in order.

    ``answers``: by job id, what `handle` gives back or raises in place of running anything.
    ``before_run`` and ``after_run``: by job id, what happens between its claim and its handler,
    and between its handler and the commit.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.acts: list[str] = []
        self.answers: dict[str, Disposition | Exception] = {}
        self.pulses: dict[str, FakePulse] = {}
        self.before_run: dict[str, Callable[[], object]] = {}
        self.after_run: dict[str, Callable[[], object]] = {}
        self.finished: dict[str, Finished] = {}
        self.remaining: list[float] = []
        self.hand_back_answer: bool | Unavailable = True
        self.on_hand_back: Callable[[], object] = lambda: None

    def handle(
        self,
        delivery: Delivery,
        runner: HandlerRunner,
        remaining_seconds: Callable[[], float],
    ) -> Disposition:
        job_id = delivery.message.job_id
        self.remaining.append(remaining_seconds())
        answer = self.answers.get(job_id)
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        pulse = self.pulses.setdefault(job_id, FakePulse())
        self.before_run.get(job_id, lambda: None)()
        finished = self.finished[job_id] = runner.run(self.jobs[job_id], "null", None, pulse)
        self.after_run.get(job_id, lambda: None)()
        self.acts.append(f"{job_id} {finished.outcome}")
        return Disposition.DONE

    def hand_back(self, job_id: str, reason: str) -> bool:
        self.on_hand_back()
        self.acts.append(f"{job_id} handed back")
        if isinstance(self.hand_back_answer, Unavailable):
            raise self.hand_back_answer
        return self.hand_back_answer


@dataclass
class Context:
    """The context of an invocation with ``seconds`` left."""

    seconds: float = 900.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


class Processing(threading.Thread):
    """An event that is being worked off; `kept` waits for its end."""

    def __init__(self, process: Callable[[], list[str]]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._kept: list[str] | None = None

    def run(self) -> None:
        self._kept = self._process()

    def kept(self) -> list[str]:
        self.join(PATIENCE)
        assert self._kept is not None, "the event is not worked off"
        return self._kept


def eventually(condition: Callable[[], bool]) -> None:
    """Wait for another thread to get there."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.001)):
        if condition():
            return
        pause.wait(0.001)
    raise AssertionError("it never came to that")


class Worker:
    """A `WorkerRuntime` whose process end is an act like any other.

    Time stands still unless a test moves it. ``imports``: what the next imports of the handlers
    do first, each once.
    """

    def __init__(self, limits: RunLimits = PATIENT, timer: ProcessTimer | None = None) -> None:
        self.registry = Registry()
        self.telemetry = RecordingTelemetry()
        self.execution = FakeExecution()
        self.clock = MemoryClock()
        self.imports: list[Callable[[], object]] = []
        self.on_exit: Callable[[], object] = lambda: None
        self.runtime = WorkerRuntime(
            execution=cast("ExecutionService", self.execution),
            read_delivery=self._read,
            load=self._load,
            clock=self.clock,
            timings=FAST_HEART,
            telemetry=self.telemetry,
            run_limits=limits,
            end_process=self._end,
            timer=timer,
        )

    def _load(self) -> Registry:
        if self.imports:
            self.imports.pop(0)()
        return self.registry

    @property
    def acts(self) -> list[str]:
        return self.execution.acts

    def add(self, name: str, function: Callable[..., Any], **job: Any) -> None:
        """Register ``function``, and make a running job of it that bears the same name."""
        self.registry.add(name, function)
        self.execution.jobs[name] = running_job(id=name, handler=name, **job)

    def process(self, *job_ids: str, context: Context | None = None) -> list[str]:
        """Work off a message for each job; return the ids of the messages that are kept."""
        event = {"Records": [{"messageId": job_id} for job_id in job_ids]}
        answer = self.runtime.process_batch(event, context or Context())
        assert set(answer) == {"batchItemFailures"}
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def start(self, *job_ids: str) -> Processing:
        """Work off messages in the background, while the test lets time pass."""
        processing = Processing(lambda: self.process(*job_ids))
        processing.start()
        return processing

    def _end(self, code: int) -> None:
        self.acts.append(f"exit {code}")
        self.on_exit()

    def _read(self, record: Mapping[str, Any]) -> Delivery:
        job = self.execution.jobs.get(record["messageId"])
        if job is None:
            raise InvalidInput("The body is not a job's message.")
        return make_delivery(job)
