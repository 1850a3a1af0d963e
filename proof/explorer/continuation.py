"""When faults stop, every job becomes final: from a world, a fair run of the real services.

Whoever is in the middle of something dies first, or is let go on for nothing: what counts is the
world that is left. Ticks come every minute and workers take what is visible. Nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.jobs.job import Job, JobMessage, JobStatus, Priority
from hourhand.memory import (
    FAKE_SECRET,
    MemoryClock,
    MemoryRandomness,
    RecordingTelemetry,
)
from hourhand.memory.adapters import memory_adapters
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.jobs.payload_store import object_keys
from hourhand.settings import Settings
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import wire_api, wire_scheduler, wire_worker
from proof.explorer.effects import HANDLER, JOBS, QUEUES, SIDE_ITEMS, true_time
from proof.explorer.machine import Machine
from proof.explorer.process import hand_back
from proof.explorer.rules import letters_owed
from proof.explorer.rules_of_graphs import batches_left
from proof.explorer.rules_of_limits import judge_rates, payloads_lost, slots_left
from proof.explorer.rules_of_runs import reversals_left, ways_taken
from proof.explorer.rules_of_schedules import (
    is_outdated,
    is_withdrawn,
    judge_journal,
    pauses_owed,
    strays_left,
    untold,
)
from proof.explorer.script import MILLISECOND
from proof.explorer.states import State
from proof.explorer.world_parts import PORTS, fill
from tests.world.checks import SWEEP_FAILURES, check_end
from tests.world.function_telemetry import FunctionTelemetry
from tests.world.runs import RecordedRunner, Run

FUNCTION_SECONDS, TICK_SECONDS = 900.0, 55.0
MAX_DELIVERIES_A_TICK = 200
JITTER = timedelta(seconds=20)
"""How late EventBridge may fire."""

VISITED_WITHIN = timedelta(minutes=3)
"""A schedule is visited and what it made has run so long after its last time, or after now."""

FIRST_NUMBER = 1000


class Continuation:
    """Runs the world of a state on to its end, each distinct world once."""

    def __init__(self, machine: Machine) -> None:
        """Nothing was run yet."""
        self.worlds = 0
        self._machine = machine
        self._known: dict[tuple[Any, ...], tuple[tuple[str, ...], tuple[Job, ...]]] = {}
        first = machine.effects.jobs(machine.effects.first[JOBS])
        self._began_whole = all(job.status is not JobStatus.RUNNING for job in first)

    def judge(self, state: State) -> tuple[str, ...]:
        """Return what does not come right from here on."""
        liveness = self._machine.limits.liveness
        if liveness == "none" or (liveness == "rest" and state.actors):
            return ()
        key = (state.now_ms, state.parts[:HANDLER])
        found = self._known.get(key)
        if found is None:
            self.worlds += 1
            run = _Run(self._machine, state)
            found = self._known[key] = tuple(run.judge()), tuple(run.jobs())
        told, jobs = found
        return (*told, *self._payloads_lost(state, jobs), *self._left_undone(state))

    def _payloads_lost(self, state: State, jobs: Sequence[Job]) -> Iterator[str]:
        """Yield what was acknowledged and came to nothing. ``jobs``: as they are in the end."""
        scenario = self._machine.scenario
        after = {one.name: (*one.after, *scenario.acknowledged) for one in scenario.operations}
        after |= dict.fromkeys(scenario.acknowledged, ())
        yield from payloads_lost(jobs, state.acknowledged, after)

    def _left_undone(self, state: State) -> Iterator[str]:
        """Yield what nobody is about to do any more, though nobody died and no time was lost."""
        machine, budget = self._machine, state.budget
        limits = machine.limits
        is_whole = (budget.crashes, budget.expiries) == (limits.crashes, limits.expiries)
        if state.actors or not is_whole or not self._began_whole:
            return
        jobs = machine.effects.jobs(state.parts[JOBS])
        # Whoever hands back a job that must not run again leaves it to its lease.
        if hand_back not in machine.scenario.handlers.values():
            for job in jobs:
                if job.status is JobStatus.RUNNING:
                    yield f"the attempt of job {job.id} was given up, and nobody died"
        now = true_time(state.now_ms)
        messages = [held[1] for held in machine.effects.value(QUEUES, state.parts[QUEUES])[0]]
        if machine.scenario.has_limits and all(_awaits_its_time(one, now) for one in messages):
            items = machine.effects.value(SIDE_ITEMS, state.parts[SIDE_ITEMS])[0]
            yield from slots_left(jobs, items, machine.scenario.declared)


def _awaits_its_time(message: JobMessage, now: datetime) -> bool:
    """Whether a message is of a job that has a start time, and is hidden until then."""
    return message.due_at > now


class _Run:
    """One fair run."""

    def __init__(self, machine: Machine, state: State) -> None:
        scenario = machine.scenario
        self.scenario = scenario
        self.clock = MemoryClock(true_time(state.now_ms))
        self.began = self.clock.now()
        self.telemetry = RecordingTelemetry()
        values = {
            port: machine.effects.value(place, state.parts[place])
            for place, port in enumerate(PORTS)
            if port != "handler"
        }
        self.ports = {port: fill(port, value, self.clock) for port, value in values.items()}
        self.runs: list[Run] = []
        self.waiting = {
            job.id: job for job in self.ports["jobs"].jobs().values() if job.status.is_waiting
        }
        settings = Settings(
            timings=scenario.timings,
            fan_out_entries=scenario.fan_out_entries,
            dispatch=scenario.dispatch,
        )
        self.scheduler = wire_scheduler(settings, self._adapters("scheduler", FIRST_NUMBER))
        self.worker = wire_worker(settings, self._adapters("worker", FIRST_NUMBER + 1))
        self.api = wire_api(settings, self._adapters("api", FIRST_NUMBER + 2))
        self.runner = RecordedRunner(
            next(iter(scenario.handlers.values())), self.ports["jobs"], self.clock, self.runs
        )

    def judge(self) -> Iterator[str]:
        if self.scenario.repeats is not None:
            self.scenario.repeats(self.api)
        for minute in range(self.scenario.settle_ticks):
            if self._is_quiet():
                break
            if self.scenario.sweeps:
                self.scheduler.scheduling.tick(f"later {minute}", lambda: TICK_SECONDS)
                self._sweep_shards()
            self._work_until(self.began + (minute + 1) * self.scenario.timings.tick)
        yield from self._left()
        schedules = self.ports["schedules"]._schedules
        for schedule in schedules.values():
            yield from untold(schedule, self.scenario.nominals, self.jobs())
            yield from judge_journal(schedule, self.jobs())
            yield from strays_left(schedule, self.jobs())
        yield from pauses_owed(self.jobs(), schedules)
        yield from judge_rates(self.jobs(), self.scenario.declared)
        for run in self.runs:
            schedule = schedules.get(run.job.schedule_id or "")
            if run.job.schedule_id is None:
                continue
            if is_withdrawn(run.job, schedule):
                yield f"job {run.job.id} ran for a time that its schedule took back"
            if schedule is not None and is_outdated(run.job, schedule):
                yield f"job {run.job.id} ran as its schedule was before it changed"
        yield from self._late()

    def _adapters(self, function: str, number: int) -> Adapters:
        ports = dict(self.ports)
        return memory_adapters(
            self.clock,
            idempotency=ports.pop("keys"),
            handlers=self.scenario.directory,
            randomness=MemoryRandomness(number),
            ids=DerivedIds(ports["control"], MemoryRandomness(number), FAKE_SECRET),
            telemetry=FunctionTelemetry(function, self.telemetry),
            **ports,
        )

    def _sweep_shards(self) -> None:
        invoked = self.ports["invoker"].invoked
        for asked in invoked:
            self.scheduler.scheduling.sweep_shards(
                asked.shards, asked.epoch, asked.tick_at, "later", lambda: TICK_SECONDS
            )
        invoked.clear()

    def _work_until(self, end: datetime) -> None:
        """Let workers take each message as soon as it is visible."""
        for _ in range(MAX_DELIVERIES_A_TICK):
            messages = self.ports["queues"].messages()
            soonest = min((held.visible_at for held in messages), default=end)
            if soonest >= end:
                break
            self.clock.advance_to(max(soonest, self.clock.now()))
            for priority in Priority:
                for delivery in self.ports["queues"].receive(priority):
                    self._work(delivery)
                    # Nothing takes no time: a message that is hidden for none comes a bit later.
                    self.clock.advance(MILLISECOND)
        self.clock.advance_to(max(end, self.clock.now()))

    def _work(self, delivery: Delivery) -> None:
        done = self.worker.execution.handle(delivery, self.runner, lambda: FUNCTION_SECONDS)
        if done is Disposition.DONE:
            self.ports["queues"].delete(delivery)

    def jobs(self) -> list[Job]:
        """Return the jobs as they are."""
        return list(self.ports["jobs"].jobs().values())

    def _is_quiet(self) -> bool:
        nominals = self.scenario.nominals
        if nominals and self.clock.now() < max(self.began, *nominals) + VISITED_WITHIN:
            return False
        return all(job.status.is_final and job.due_at is None for job in self.jobs())

    def _left(self) -> Iterator[str]:
        for job in self.jobs():
            if not job.status.is_final:
                yield f"job {job.id} is never final: it is {job.status} for ever"
            elif job.due_at is not None and self.scenario.sweeps:
                yield f"what is owed for job {job.id} is never paid"
            elif job.due_at is None:
                try:
                    check_end(job)
                except AssertionError as error:
                    yield f"job {job.id} ended wrongly: {error}"
        jobs = {job.id: job for job in self.jobs()}
        yield from batches_left(jobs)
        yield from reversals_left(jobs, self.ports["side_items"].items())
        yield from ways_taken(self.ports["side_items"].items())
        yield from letters_owed(self.jobs(), self.ports["queues"].dead_letters)
        # Whoever dies as it redrives may leave an object behind that costs its storage.
        finished = {} if self.scenario.operations else self.ports["objects"]._finished
        for job in () if self.scenario.operations else self.jobs():
            if job.due_at is None and any(key not in finished for key in object_keys(job)):
                yield f"job {job.id} ended, and what it has in the bucket never expires"
        for line in self.telemetry.warnings:
            if line.sentence in SWEEP_FAILURES:
                yield f"{line.sentence} {line.fields['reason']}"

    def _late(self) -> Iterator[str]:
        """Yield the jobs that start late although a whole tick saw them ahead of time."""
        allowed = self.scenario.punctual
        if allowed is None:
            return
        seen_by = self.began + self.scenario.timings.tick + JITTER
        for run in self.runs:
            nominal = run.job.occurrence
            is_first = nominal is not None and run.job.token == 1 and nominal >= seen_by
            if nominal and is_first and run.started_at > nominal + allowed:
                yield f"the occurrence of {nominal:%H:%M:%S} starts late for a crash"
            before = self.waiting.get(run.job.id)
            if before is None or before.due_at is None or run.job.generation != before.generation:
                continue
            if before.due_at >= seen_by and run.started_at > before.due_at + allowed:
                late = (run.started_at - before.due_at).total_seconds()
                yield f"job {run.job.id} starts {late:g} s late for a crash"
