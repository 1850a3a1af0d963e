"""One scene of the simulation, from its start to what became of each job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.lateness.far_jobs import PREFIX, StoreWithFarJobs
from bench.lateness.installation import Installation, Tick
from bench.lateness.scenes import (
    DRAIN_SECONDS,
    KILLS_FROM,
    LOAD_FROM,
    WARM_UP_SECONDS,
    Scene,
    submissions,
)
from hourhand.domain.jobs.actions import Dispatch, SweepContext, next_action
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks.timings import Timings
from hourhand.services.ticks.sweep import PAGE_ENTRIES

MILLISECOND = 1000


@dataclass(frozen=True, slots=True)
class Start:
    """When a job's first attempt started, and when its message was visible: seconds after due.

    ``asked``: when SQS was asked to show it. What was before the job was due is below zero.
    """

    late: float
    visible: float
    asked: float

    @property
    def after_visible(self) -> float:
        """How long after it was due and visible the attempt started."""
        return self.late - max(0.0, self.visible)


@dataclass(kw_only=True, slots=True)
class Outcome:
    """What became of a scene; ``steady`` and ``burst`` are the jobs that are judged."""

    scene: Scene
    steady: list[Start] = field(default_factory=list)
    burst: list[Start] = field(default_factory=list)
    jobs: int = 0
    delayed: int = 0
    not_once: int = 0
    messages: int = 0
    ticks: list[Tick] = field(default_factory=list)
    most_used: int = 0
    cold_starts: int = 0
    waited_seconds: float = 0.0
    far_told: int = 0
    warnings: dict[str, int] = field(default_factory=dict)

    @property
    def waits_ms(self) -> float:
        """How long a worker waited for a job that was not due at once, on average."""
        return 1000 * self.waited_seconds / self.delayed

    def ticks_by_end(self) -> Counter[str]:
        """Return how many ticks ended in which way."""
        return Counter(tick.end for tick in self.ticks)


def play(scene: Scene) -> Outcome:
    """Let a scene happen; return what became of it."""
    installation = Installation(scene)
    planned = submissions(scene)
    installation.live(planned, scene.ends_at + DRAIN_SECONDS)
    if len(installation.job_ids) < len(planned):
        raise RuntimeError(f"{len(planned) - len(installation.job_ids)} jobs were not accepted")
    outcome = Outcome(
        scene=scene,
        jobs=len(planned),
        messages=installation.queues.sent.total(),
        # Those before and after the troubles are alike in all scenes.
        ticks=[tick for at, tick in installation.ticks if KILLS_FROM <= at < scene.ends_at],
        most_used=sum(source.most_used for source in installation.sources),
        cold_starts=installation.fleet.cold_starts,
        delayed=sum(one.run_at is not None for one in planned),
        waited_seconds=installation.waits.slept_seconds,
        far_told=installation.store.told,
        warnings=dict(installation.tally.warnings),
    )
    for job, start, is_burst in _starts(installation):
        ran_once = job.status is JobStatus.SUCCEEDED and job.token == 1
        outcome.not_once += not ran_once
        if is_burst:
            outcome.burst.append(start)
        elif installation.time.seconds_of(job.run_at) >= LOAD_FROM + WARM_UP_SECONDS:
            outcome.steady.append(start)
    if scene.far:
        _require_far_jobs(installation.store)
    return outcome


def _starts(installation: Installation) -> Iterator[tuple[Job, Start, bool]]:
    """Yield each job, how it started, and whether it is of the burst.

    One that did not start counts as if it had at the end.
    """
    time = installation.time
    for job_id, submission in installation.job_ids.items():
        job = installation.store.get(job_id)
        assert job is not None
        due = time.seconds_of(job.run_at)
        visible = installation.queues.seen_at.get(job_id, time.monotonic()) - due
        asked = installation.queues.asked_at.get(job_id, time.monotonic()) - due
        late = time.monotonic() - due
        if job.lateness_ms is not None:
            late = job.lateness_ms / MILLISECOND
        yield job, Start(late, visible, asked), submission.is_burst


def _require_far_jobs(store: StoreWithFarJobs) -> None:
    """Raise `RuntimeError` unless the far jobs are there for a tick that comes near them."""
    held = sum(len(store.numbers_in(bucket)) for bucket in store.buckets())
    bucket = store.buckets()[len(store.buckets()) // 2]
    page = store.read_bucket(bucket, 0, position=None, limit=PAGE_ENTRIES)
    found = store.get_many([entry.job_id for entry in page.entries])
    timings = Timings()
    actions = [
        next_action(found[entry.job_id], SweepContext(entry.due_at, entry.due_at, timings))
        for entry in page.entries
        if entry.job_id.startswith(PREFIX)
    ]
    if held != store.count or not actions or not all(isinstance(a, Dispatch) for a in actions):
        raise RuntimeError(
            f"of {store.count} far jobs {held} are there, {len(actions)} in {bucket}"
        )
