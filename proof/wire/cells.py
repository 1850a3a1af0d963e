"""One cell of the table: a scene is played while a fault befalls a call, and judged at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.ports.handler_directory import BUILT_IN_HANDLERS
from proof.wire.arrival import Key
from proof.wire.calls import Call
from proof.wire.faults import INJECTED
from proof.wire.handlers import ledger
from proof.wire.stage import Scene, Stage
from proof.wire.wire import Plan
from proof.wire.world import NOT_WORKED_OFF, UNFORESEEN, NotAtRest, World
from tests.world.checks import SWEEP_FAILURES, check_end

INTERVAL = timedelta(minutes=2)
"""Between the nominal times of the schedules that are looked at."""

BETWEEN_PLAYS_SECONDS = 120

NOT_LOOKED_AT = "The queues could not be counted. Jobs whose messages are missing are sent again."

BROKEN, SWEEP, RETRIED, AS_EVER, NOT_MET = "**broken**", "sweep", "retried", "unaffected", "-"
"""How a play ended; all words: `proof.wire.table.WORDS`."""

REPEATS = frozenset(
    {EventKind.LOST, EventKind.TIMED_OUT, EventKind.HANDED_BACK, EventKind.REDRIVEN}
)
"""What stands in the history of a job that may have been run to its end more than once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of one play.

    ``befallen``: the sends that a fault was seen to befall, by call, kind of request and fault;
    ``untraced``: those that it should have, without a trace at the client; ``retried``: the calls
    that the client's own retry did.
    """

    befallen: Mapping[Key, int] = field(default_factory=dict)
    untraced: Mapping[Key, int] = field(default_factory=dict)
    unavailable: int = 0
    ticks_failed: int = 0
    kept: int = 0
    minutes: int = 0
    retried: frozenset[Call] = frozenset()
    violations: list[str] = field(default_factory=list)

    @property
    def injected(self) -> int:
        """How many sends a fault was seen to befall."""
        return sum(self.befallen.values())

    def met(self, call: Call, fault: str) -> frozenset[str]:
        """Return the kinds of requests of a call that were seen to meet a fault, in every send."""
        return frozenset(
            shape
            for key in self.befallen.keys() - self.untraced.keys()
            for met, shape, name in (key,)
            if (met, name) == (call, fault)
        )

    def without_trace(self) -> list[str]:
        """Tell each fault that should have come, and did not."""
        return [
            f"{name} left no trace at the client of {call} ({shape or 'one kind'}): {count} times"
            for (call, shape, name), count in self.untraced.items()
        ]


def play(world: World, scene: Scene, number: int, *plans: Plan) -> Outcome:
    """Play a scene under ``plans``; judge it."""
    stage = Stage(world, number)
    # What the functions keep in mind (the shard map) they must ask for again.
    world.advance(BETWEEN_PLAYS_SECONDS)
    world.begin()
    ledger.begin()
    before = {job.id for job in world.all_jobs()}
    world.wire.arm(*plans)
    violations: list[str] = []
    try:
        scene.play(stage)
        world.settle()
    except NotAtRest as error:
        violations.append(str(error))
    world.wire.settle()
    befallen, untraced = Counter[Key](), Counter[Key]()
    for injection in world.wire.injections:
        (befallen if injection.has_arrived else untraced)[injection.key] += 1
    retried = frozenset(world.wire.retried)
    world.wire.disarm()
    jobs = [job for job in world.all_jobs() if job.id not in before]
    violations += world.events.wrong
    violations += judge(stage, jobs)
    events = world.events
    return Outcome(
        befallen=dict(befallen),
        untraced=dict(untraced),
        unavailable=events.unavailable,
        ticks_failed=events.ticks_failed,
        kept=events.kept,
        minutes=events.minutes,
        retried=retried,
        violations=violations,
    )


def judge(stage: Stage, jobs: list[Job]) -> list[str]:
    """Return each rule that is broken, in words."""
    found: list[str] = []
    by_id = {job.id: job for job in jobs}
    for job_id, end in stage.ends.items():
        job = by_id.get(job_id)
        if job is None:
            found.append(f"{job_id} was accepted and is lost")
        elif job.status.value != end:
            found.append(f"{job_id} ended {job.status}, not {end}: {_history(job)}")
    for run_id, ends in stage.children.items():
        of_run = [job for job in jobs if job.parent is not None and job.parent.run_id == run_id]
        if sorted(job.status.value for job in of_run) != sorted(ends):
            told = "; ".join(f"{job.id} {job.status}: {_history(job)}" for job in of_run)
            found.append(f"the children of {run_id} did not end {ends}, but: {told}")
    letters = stage.world.dead_letters()
    runs = Counter(run.job_id for run in ledger.runs)
    for job in jobs:
        found += _judge_job(job, runs[job.id], letters)
    found += _judge_windows(stage)
    return found + _judge_logs(stage.world)


def _judge_job(job: Job, runs: int, letters: Counter[tuple[str, int]]) -> list[str]:
    found = []
    try:
        check_end(job)
    except AssertionError as error:
        found.append(f"{job.id}: {error}")
    if runs > job.token:
        found.append(f"{job.id} was run {runs} times under {job.token} claims: {_history(job)}")
    returned = sum(run.job_id == job.id and run.returned for run in ledger.runs)
    repeats = sum(event.kind in REPEATS for event in job.history)
    if returned > 1 + repeats:
        found.append(f"{job.id} was run to its end {returned} times: {_history(job)}")
    is_noted = job.handler not in BUILT_IN_HANDLERS
    if job.status is JobStatus.SUCCEEDED and is_noted and returned == 0:
        found.append(f"{job.id} succeeded and never ran: {_history(job)}")
    if job.status is JobStatus.DEAD and not letters[job.id, job.round]:
        found.append(f"{job.id} is dead without a dead letter: {_history(job)}")
    return found


def _judge_windows(stage: Stage) -> list[str]:
    """Every nominal time of a schedule is there once, without a gap."""
    found = []
    for schedule, answer in stage.windows:
        times = sorted(
            datetime.fromisoformat(one["at"])
            for one in answer["occurrences"]
            if one["kind"] == "schedule"
        )
        gaps = [str(one) for one, following in pairwise(times) if following - one != INTERVAL]
        if gaps or not times:
            found.append(f"{schedule}: nominal times missing or twice after {gaps} in {times}")
    return found


def _judge_logs(world: World) -> list[str]:
    """Whatever was told is a call without an answer, and no mistake of ours.

    What a sweep can do without may be refused in any way.
    """
    found = []
    for line in world.telemetry.warnings:
        reason = str(line.fields.get("reason", ""))
        if line.sentence == NOT_LOOKED_AT and INJECTED in reason:
            continue
        is_wrong = line.sentence == UNFORESEEN or (
            line.sentence in {NOT_WORKED_OFF, *SWEEP_FAILURES}
            and not reason.startswith("Unavailable")
        )
        if is_wrong:
            found.append(f"{line.sentence} {dict(line.fields)}")
    return found


def _history(job: Job) -> str:
    return ", ".join(f"{event.kind.name.lower()}({event.reason})" for event in job.history)


def how(outcome: Outcome, baseline: Outcome) -> str:
    """Return in a word how a cell ended: see `proof.wire.table`."""
    if outcome.violations:
        return BROKEN
    if not outcome.befallen:
        return NOT_MET
    if outcome.unavailable > baseline.unavailable:
        return "503"
    if outcome.ticks_failed > baseline.ticks_failed:
        return "tick"
    if outcome.kept > baseline.kept:
        return "message"
    if outcome.minutes > baseline.minutes:
        return SWEEP
    return RETRIED if outcome.retried else AS_EVER


def how_together(outcome: Outcome, baseline: Outcome, call: Call, fault: str) -> str | None:
    """Return how it ended for one of many calls; ``None`` where it must be played by itself.

    That is where it was not met, or where somebody felt more of it than that it took longer.
    """
    word = how(outcome, baseline)
    if not outcome.met(call, fault) or word not in {SWEEP, RETRIED, AS_EVER}:
        return None
    if call in outcome.retried:
        return RETRIED
    return None if word == SWEEP else AS_EVER
