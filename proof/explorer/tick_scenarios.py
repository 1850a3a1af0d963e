"""The scenarios that one look at the end of a tick decides: what it must do, and must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.memory import RecordingTelemetry
from hourhand.services.ticks.tick import TickReport
from proof.explorer.leader_scenarios import complain, ticks_at, true_time
from proof.explorer.operations import JOB, changes, submits, submitted
from proof.explorer.process import ScriptedProcess
from proof.explorer.scenario import CRASH, Limits, Operation, Scenario, scenarios_among
from tests.scenarios.steps import (
    BESIDE,
    FAR,
    after,
    passed,
    payload_near_its_end,
    purged,
    ticked,
    without_zone,
)
from tests.world.world import World

YEAR = 365 * 24 * 3600


def _job(process: ScriptedProcess, job_id: str = JOB) -> Job:
    job = process.adapters.jobs.get(job_id)
    assert job is not None
    return job


def _sent_again(job_id: str, wanted: bool) -> Callable[[ScriptedProcess, TickReport], None]:
    """Look whether a message was sent in this tick, and complain if that is not as wanted."""

    def judge(process: ScriptedProcess, _report: TickReport) -> None:
        was_sent = _job(process, job_id).enqueued_at == true_time(process)
        if was_sent is not wanted:
            told = "was sent again while it waits" if was_sent else "was lost and not sent again"
            complain(process, f"the message of job {job_id} {told}")

    return judge


def _both_are_sent(process: ScriptedProcess, _report: TickReport) -> None:
    for job_id in ("one", "two"):
        if not _job(process, job_id).is_sent:
            complain(process, f"job {job_id} was not read, or not marked as sent")


def _is_raised_to(queue: Priority) -> Callable[[ScriptedProcess, TickReport], None]:
    def judge(process: ScriptedProcess, _report: TickReport) -> None:
        found = _job(process).queue
        if found is not queue:
            complain(process, f"the job waits in {found}, and not in {queue}")

    return judge


def _is_expired(process: ScriptedProcess, _report: TickReport) -> None:
    if _job(process).status is not JobStatus.EXPIRED:
        complain(process, "the sweep leaves a job that must not start any more")


def _payload_is_kept(process: ScriptedProcess, _report: TickReport) -> None:
    job = _job(process)
    until, timings = job.payload_kept_until, process.scenario.timings
    assert until is not None
    assert job.due_at is not None
    if until - job.due_at < timings.payload_renewed_below:
        complain(process, "the payload of a job that waits is not kept longer")


def _lose(job_id: str) -> Callable[[World], None]:
    def act(world: World) -> None:
        contents = world.queues._contents.messages
        for message_id, held in list(contents.items()):
            if held.message.job_id == job_id:
                del contents[message_id]

    return act


def _swept(name: str, about: str, arrange: Any, judge: Any) -> Scenario:
    return Scenario(
        name=name,
        about=about,
        arrange=arrange,
        operations=(ticks_at("sweeper", judge=judge),),
        limits=CRASH,
    )


BOTH_SENT = _swept(
    "both-sent",
    "two jobs that are seen ahead of time are sent and marked in one tick",
    after(
        submitted("one", delay_seconds=FAR), submitted("two", delay_seconds=FAR), passed(FAR - 200)
    ),
    _both_are_sent,
)


@dataclass(slots=True)
class _SmallPages:
    """A jobs table whose pages hold one entry."""

    jobs: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.jobs, name)

    def read_bucket(self, bucket: int, shard: int, **options: Any) -> Any:
        return self.jobs.read_bucket(bucket, shard, **{**options, "limit": 1})

    def read_buckets(self, places: Any, **_options: Any) -> Any:
        return self.jobs.read_buckets(places, limit=1)


def _sweeps_small_pages(process: ScriptedProcess) -> object:
    jobs: Any = _SmallPages(process.adapters.jobs)
    process.adapters = replace(process.adapters, jobs=jobs)
    report = process.tick()
    _both_are_sent(process, report)
    return report


PAGES = replace(
    BOTH_SENT,
    name="pages",
    about="a bucket that is read page by page",
    operations=(Operation(name="sweeper", act=_sweeps_small_pages),),
)


@dataclass(slots=True)
class _Undecidable:
    """A jobs table in which the time of one job is such that nothing can be decided about it."""

    jobs: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.jobs, name)

    def get_many(self, job_ids: Sequence[str]) -> dict[str, Job]:
        return without_zone(self.jobs.get_many(job_ids), "odd")


def _sweeps_an_odd_job(process: ScriptedProcess) -> object:
    jobs: Any = _Undecidable(process.adapters.jobs)
    # What is odd is told, as it should be.
    process.adapters = replace(process.adapters, jobs=jobs, telemetry=RecordingTelemetry())
    report = process.tick()
    _both_are_sent(process, report)
    return report


UNDECIDABLE = replace(
    BOTH_SENT,
    name="undecidable",
    about="between two jobs there is one about which no decision can be made",
    arrange=after(
        submitted("one", delay_seconds=FAR),
        submitted("odd", delay_seconds=FAR),
        submitted("two", delay_seconds=FAR),
        passed(FAR - 200),
    ),
    operations=(Operation(name="sweeper", act=_sweeps_an_odd_job),),
)


class _Refused(Exception):
    """An error of AWS that nobody translated."""


@dataclass(slots=True)
class _Refusing:
    """A port some of whose methods are always refused."""

    port: Any
    methods: frozenset[str]

    def __getattr__(self, name: str) -> Any:
        return self._refuse if name in self.methods else getattr(self.port, name)

    def _refuse(self, *_args: Any, **_kwargs: Any) -> Any:
        raise _Refused


def _sweeps_without_what_is_optional(process: ScriptedProcess) -> object:
    ports = process.adapters
    queues: Any = _Refusing(ports.queues, frozenset({"view", "counts", "probe_time"}))
    jobs: Any = _Refusing(ports.jobs, frozenset({"count_dead"}))
    # What is refused is told, as it should be.
    process.adapters = replace(ports, queues=queues, jobs=jobs, telemetry=RecordingTelemetry())
    report = process.tick()
    _sent_again(JOB, wanted=True)(process, report)
    return report


OPTIONAL_REFUSED = Scenario(
    name="optional-refused",
    about="a tick must send a lost message again, and is refused all that it can do without",
    arrange=after(submitted(), purged, passed(61)),
    operations=(Operation(name="sweeper", act=_sweeps_without_what_is_optional),),
    limits=CRASH,
)

BACKLOG = _swept(
    "backlog",
    "a message that still waits in its queue is not sent again",
    after(submitted(), passed(61)),
    _sent_again(JOB, wanted=False),
)

OLDER_THAN_ALL = _swept(
    "older-than-all",
    "a message that is older than all that wait was lost, and is sent again",
    after(submitted(), purged, passed(1), submitted("two"), passed(61)),
    _sent_again(JOB, wanted=True),
)

HARD_CAP = _swept(
    "hard-cap",
    "a message that was lost behind a backlog is sent again after a while all the same",
    after(submitted("two"), passed(1), submitted(), _lose(JOB), passed(1801)),
    _sent_again(JOB, wanted=True),
)

LOST_AGAIN = _swept(
    "lost-again",
    "a message that is lost a second time is missed later than the first time",
    after(submitted(), purged, passed(130), ticked, purged, passed(70)),
    _sent_again(JOB, wanted=False),
)

RAISED = _swept(
    "raised",
    "a job that waited for an hour in `low` is raised by one",
    after(submitted(priority="low"), passed(3600)),
    _is_raised_to(Priority.MEDIUM),
)

RAISED_ONCE = _swept(
    "raised-once",
    "a job that was raised after an hour is not raised again before another",
    after(submitted(priority="low"), passed(3600), ticked, passed(3000)),
    _is_raised_to(Priority.MEDIUM),
)

EXPIRED_UNSEEN = _swept(
    "expired-unseen",
    "a job that must not start any more, and no worker meets it",
    after(submitted(expires_at="2026-01-05T09:00:30Z"), purged, passed(31)),
    _is_expired,
)

PAYLOAD_KEPT = _swept(
    "payload-kept",
    "a job that waits longer than its payload would be kept",
    after(submitted(payload=BESIDE, delay_seconds=330), payload_near_its_end),
    _payload_is_kept,
)

PAYLOAD_PUT_OFF = Scenario(
    name="payload-put-off",
    about="a job is put off by a year while its payload is kept longer for its old time",
    arrange=PAYLOAD_KEPT.arrange,
    operations=(changes("changer", delay_seconds=YEAR),),
    ticks=1,
    limits=replace(CRASH, liveness="none"),
)

LATE_AND_HIDDEN = Scenario(
    name="late-and-hidden",
    about="a writer that stalls at the end of its bucket, and an index that lags behind it",
    arrange=passed(59.9),
    operations=(submits(),),
    ticks=2,
    schedulers=1,
    control="real",
    stalls=True,
    # A look at once, the put just within the stall bound, and the next look before it shows.
    instants=tuple(timedelta(seconds=seconds) for seconds in (60.1, 64, 107.5)),
    limits=Limits(crashes=0, expiries=3, stale=1, liveness="none"),
)

TICKED = scenarios_among(vars())
