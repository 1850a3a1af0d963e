"""A process of the shipped code: wired by the real composition root over scripted ports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, cached_property
from typing import Any, cast

from hourhand.api.routing import Services
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome, Progress
from hourhand.domain.jobs.waiting import Reserved, TakenStart
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.ticks.watermark import Watermark
from hourhand.memory import FAKE_SECRET, START, MemoryRandomness
from hourhand.ports.control_store import Lease
from hourhand.ports.durable_run import DurableRun
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import Applied, Refused
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.ticks.tick import TickReport
from hourhand.settings import Settings
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import (
    SchedulerServices,
    WorkerServices,
    wire_api,
    wire_scheduler,
    wire_worker,
)
from hourhand.worker import RunLimits
from proof.explorer.scenario import Scenario
from proof.explorer.script import (
    Call,
    Script,
    ScriptedClock,
    ScriptedJobs,
    ScriptedPort,
    ScriptedQueues,
)
from tests.world.checks import SWEEP_FAILURES
from tests.world.runs import HandlerKilled

FUNCTION_SECONDS = 900.0
TICK_SECONDS = 55.0
CALLER = "caller"
PROCESS_ENDS = "its process ends"
"""The end of a handler that was handed back, after somebody else may have it."""

NOT_VISITED = "A schedule could not be visited; the next tick tries again."


class Complaints:
    """Telemetry that keeps only what tells of a mistake of ours: no call was left unanswered."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def warning(self, sentence: str, **fields: Any) -> None:
        reason = str(fields.get("reason", ""))
        if sentence in SWEEP_FAILURES and not reason.startswith("Unavailable: "):
            self._script.complaints.append(f"{sentence} {reason}")
        error = fields.get("error")
        if sentence == NOT_VISITED and error != "Unavailable":
            self._script.complaints.append(f"{sentence} {error}: {reason}")

    def info(self, sentence: str, **fields: Any) -> None:
        return

    def count(self, metric: str, value: float = 1) -> None:
        return

    def observe(self, metric: str, value: float, unit: str = "") -> None:
        return

    def gauge(self, metric: str, value: float, unit: str) -> None:
        return

    def flush(self) -> None:
        return


class FreeLeases(ScriptedPort):
    """A control table that lets everybody lead."""

    def acquire_lease(self, name: str, holder: str, **times: Any) -> Lease:
        return Lease(
            name=name, holder=holder, epoch=1, until=times["until"], acquired_at=times["now"]
        )

    def renew_lease(self, lease: Lease, _until: Any) -> Lease:
        return lease

    def release_lease(self, _lease: Lease) -> bool:
        return True


class StillWatermark(FreeLeases):
    """One whose watermark nobody moves: every bucket stays open."""

    def read_watermark(self) -> Watermark:
        return Watermark(low=bucket_of(START))

    def write_watermark(self, _state: Watermark, **_previous: Any) -> bool:
        return True


class ProcessMustEnd(HandlerKilled):
    """The process ends for another job's sake. Not an `Exception`: no service catches it."""


def stay(_job: Job, _pulse: Pulse) -> Finished:
    """Be a handler that ignores its time limit."""
    error = ErrorInfo(type="TimedOut", message="It ran too long.")
    return Finished(outcome=Outcome.TIMED_OUT, error=error, still_runs=True)


def hand_back(_job: Job, _pulse: Pulse) -> Finished:
    """Be a handler whose process ends while it runs."""
    raise ProcessMustEnd


@dataclass(frozen=True, slots=True)
class HonestPulse:
    """Complains where a handler is told something else than its heartbeat learnt."""

    pulse: Pulse
    script: Script

    @property
    def lease_ends_at(self) -> float:
        """See the port `Pulse`."""
        return self.pulse.lease_ends_at

    def beat(self, progress: Progress | None) -> str:
        told = self.pulse.beat(progress)
        learnt = self.script.last.value
        if told == "alive" and isinstance(learnt, Refused):
            self.script.complaints.append("a zombie was told that it lives")
        asked = isinstance(learnt, Applied) and learnt.job.cancel_requested_at is not None
        if told == "alive" and asked:
            self.script.complaints.append("a handler was not told that it should stop")
        return told

    def open_run(self) -> DurableRun | Finished:
        """See the port `Pulse`."""
        return self.pulse.open_run()

    def take_start(
        self, name: str, cost: float, longest: timedelta, reserved: Reserved | None = None
    ) -> TakenStart:
        """See the port `Pulse`."""
        return self.pulse.take_start(name, cost, longest, reserved)

    def keep_cursor(self, text: str) -> None:
        """See the port `Pulse`."""
        self.pulse.keep_cursor(text)


class TellingRunner:
    """Runs a handler; its start and its end are calls, and so is each of its heartbeats.

    ``hands_back`` is called for a job whose process must end while it runs. ``still_runs``: the
    handler that would not stop, which ends with its process.
    """

    def __init__(
        self, script: Script, scenario: Scenario, hands_back: Callable[[str, str], object]
    ) -> None:
        self._script = script
        self._handlers = scenario.handlers
        self._hands_back = hands_back
        self.still_runs: tuple[str, int, str] | None = None

    def run(
        self, job: Job, payload_text: str, last_error: ErrorInfo | None, pulse: Pulse
    ) -> Finished:
        chosen = self._script.ask(Call("handler", "start", (job,)))
        try:
            finished = self._handlers[chosen](job, HonestPulse(pulse, self._script))
        except ProcessMustEnd:
            self._set_timer(pulse)
            self._hands_back(job.id, "The process ends.")
            self._script.ask(Call("handler", "end", (job.id, job.token, PROCESS_ENDS)))
            raise
        if finished.still_runs:
            self._set_timer(pulse)
            self.still_runs = (job.id, job.token, PROCESS_ENDS)
            return finished
        self._script.ask(Call("handler", "end", (job.id, job.token, finished.outcome)))
        return finished

    def _set_timer(self, pulse: Pulse) -> None:
        """End the process in time, as `hourhand.worker` does, whatever its calls do."""
        soon_ms = self._script.read_clock() + int(RunLimits().process_end * 1000)
        ends_ms = min(soon_ms, int(pulse.lease_ends_at * 1000))
        self._script.ask(Call("handler", "must end", (ends_ms,)))


@dataclass
class ScriptedProcess:
    """One process in the middle of one operation. ``number`` tells it apart from all others."""

    scenario: Scenario
    script: Script
    label: str
    number: int

    @cached_property
    def settings(self) -> Settings:
        """What it is told by its environment."""
        return Settings(
            timings=self.scenario.timings,
            fan_out_entries=self.scenario.fan_out_entries,
            dispatch=self.scenario.dispatch,
        )

    @cached_property
    def adapters(self) -> Adapters:
        """Its ports, all of them scripted."""
        script = self.script
        skew = self.scenario.skews.get(self.label.split()[0], self.scenario.timings.tick * 0)
        clock = ScriptedClock(script, self.scenario.skews.get(self.label, skew))
        control = _CONTROLS[self.scenario.control]
        ports: dict[str, Any] = {
            "jobs": ScriptedJobs("jobs", script),
            "control": control("control", script),
            "queues": ScriptedQueues(script, clock, answers_probes=self.scenario.audits),
            "clock": clock,
            "randomness": MemoryRandomness(self.number),
            "telemetry": Complaints(script),
            "calendars": ScriptedPort("schedules", script),
            "idempotency": ScriptedPort("keys", script),
            "handlers": self.scenario.directory,
        }
        for name in ("objects", "schedules", "side_items", "invoker"):
            ports[name] = ScriptedPort(name, script)
        # Read once in a process and never changed: no interleaving of it decides anything.
        ports["ids"] = DerivedIds(ports["control"], ports["randomness"], FAKE_SECRET)
        return Adapters(**cast("Any", ports))

    @cached_property
    def api(self) -> Services:
        """The services of the API function."""
        return wire_api(self.settings, self.adapters)

    @cached_property
    def scheduler(self) -> SchedulerServices:
        """The services of the scheduler function."""
        return wire_scheduler(self.settings, self.adapters)

    @cached_property
    def worker(self) -> WorkerServices:
        """The services of the worker function."""
        return wire_worker(self.settings, self.adapters)

    def tick(self) -> TickReport:
        """Be invoked by EventBridge."""
        return self.scheduler.scheduling.tick(self.label, lambda: TICK_SECONDS)

    def sweep_shards(self, shards: tuple[int, ...], epoch: int, tick_at: Any) -> TickReport:
        """Be invoked by a leader that hands shards over."""
        return self.scheduler.scheduling.sweep_shards(
            shards, epoch, tick_at, self.label, lambda: TICK_SECONDS
        )

    def work(self, delivery: Delivery) -> str:
        """Work off a message, as the event source has it done, and delete it if it is done with."""
        execution = self.worker.execution
        runner = TellingRunner(self.script, self.scenario, execution.hand_back)
        try:
            disposition = execution.handle(delivery, runner, lambda: FUNCTION_SECONDS)
        except (Unavailable, ProcessMustEnd):
            return Disposition.KEEP
        if runner.still_runs is not None:
            # The message stays: its invocation failed with the process.
            self.script.ask(Call("handler", "end", runner.still_runs))
            return Disposition.KEEP
        if disposition is Disposition.DONE:
            cast("Any", self.adapters.queues).delete(delivery)
        return disposition


_CONTROLS = {"real": ScriptedPort, "all lead": FreeLeases, "still": StillWatermark}


@cache
def worker_name(number: int) -> str:
    """Return what a process of this number calls itself in leases and histories."""
    return "w-" + MemoryRandomness(number).nonce()[:8]
