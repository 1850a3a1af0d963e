"""Lateness in real time on the local cloud: real processes, HTTP, and AWS in moto on loopback.

Compared in one run, on one cloud: jobs that a leader left alone has sent, and jobs that no leader
has seen which was not killed -9 in mid-sweep. Nothing is simulated but AWS, which is moto here: one
thread for every request of every process, so that moto and two cores are the limit, not we.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.lateness.figures import percentile, share_within, steps
from bench.lateness.leaders import Leaders
from hourhand.aws.clients import dynamodb_client
from hourhand.aws.job_store import DynamoJobStore
from hourhand.client import Client
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import floor_ms
from hourhand.local.backend import MOTO
from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.events import News, QueueFailed

ROOT = Path(__file__).resolve().parents[2]
SEED = 20_261_121
SPEED = 15
TIMINGS = Timings().shortened(1 / SPEED)
"""A fifteenth of those deployed: a tick of 4 s, a look-ahead of 20 s, a leader's lease of 2 s.

SQS counts delays in whole seconds, so the wait before a claim stays at 2 s.
"""

JOBS_A_SECOND = 3.5
WORKERS = 10
AHEAD_SECONDS = TIMINGS.look_ahead.total_seconds() + 1.5
"""Before it is due each job is submitted: beyond the look-ahead, so that a tick must send it."""

ALONE, KILLED = (22.0, 44.0), (66.0, 88.0)
"""When the jobs are due that are compared, in seconds after the start. Kills begin at the end of
the first; what is due in between was seen by both kinds of leader, and belongs to neither."""

SETTLE_SECONDS = 15.0
LOOK_SECONDS = 0.5
BOUND_SECONDS = 1.0
MILLISECOND = 1000

COLUMNS = ["leader", "jobs", "p50 ms", "p95 ms", "p99 ms", "max ms", "% in 1 s", "ticks", "killed"]
ASKS = "How late do jobs start in real processes, with and without leaders that die?"


@dataclass(frozen=True, slots=True)
class Planned:
    """A job to be: when it is due, in seconds after the start."""

    due: float

    @property
    def at(self) -> float:
        """When it is submitted."""
        return self.due - AHEAD_SECONDS

    def is_of(self, span: tuple[float, float]) -> bool:
        """Whether it is due in that time."""
        return span[0] <= self.due < span[1]


class Course:
    """One run: a cloud, its leaders and its load."""

    def __init__(self) -> None:
        """Plan the jobs: at an even pace, each at a random moment of its turn."""
        self.leaders = Leaders(TIMINGS.tick.total_seconds(), random.Random(f"{SEED} kills"))
        self.jobs: dict[str, Planned] = {}
        self.found: dict[str, Job] = {}
        self.behind_seconds = 0.0
        self.queue_failures = 0
        chance = random.Random(f"{SEED} load")
        count = int((KILLED[1] - ALONE[0]) * JOBS_A_SECOND)
        self._planned = [
            Planned(ALONE[0] + (number + chance.random()) / JOBS_A_SECOND)
            for number in range(count)
        ]

    def run(self) -> None:
        """Run it. Raises `HourhandError` or `ClientError` where it could not even be tried."""
        with ExitStack() as stack:
            cloud = LocalCloud(_options(), self._hear)
            cloud.start()
            stack.callback(cloud.stop)
            client = stack.enter_context(Client(cloud.url, auth="none", max_attempts=1))
            stack.callback(self.leaders.stop)
            self.leaders.start(ALONE[1])
            self._submit_all(client)
            self.leaders.stop()
            self._settle(cloud)

    def late(self, span: tuple[float, float]) -> list[float]:
        """Return the lateness in seconds of the jobs due in a time; of none that did not start."""
        found = [self.found[i] for i, planned in self.jobs.items() if planned.is_of(span)]
        return [job.lateness_ms / MILLISECOND for job in found if job.lateness_ms is not None]

    def not_once(self) -> int:
        """Return how many jobs did not succeed at their first attempt."""
        ended = [self.found[job_id] for job_id in self.jobs]
        return sum(job.status is not JobStatus.SUCCEEDED or job.token != 1 for job in ended)

    def _hear(self, news: News) -> None:
        self.queue_failures += isinstance(news, QueueFailed)

    def _submit_all(self, client: Client) -> None:
        """Submit each job in its time, then wait until the last is due."""
        begin, start = time.monotonic(), datetime.now(UTC)
        for planned in self._planned:
            _sleep_until(begin + planned.at)
            self.behind_seconds = max(self.behind_seconds, time.monotonic() - begin - planned.at)
            due = floor_ms(start + timedelta(seconds=planned.due))
            self.jobs[client.submit("nothing", run_at=due).id] = planned
        _sleep_until(begin + KILLED[1])

    def _settle(self, cloud: LocalCloud) -> None:
        """Wait until every job has ended, or long enough; keep how each stands."""
        store = DynamoJobStore(dynamodb_client(), cloud.settings.jobs_table)
        give_up_at = time.monotonic() + SETTLE_SECONDS
        while True:
            self.found = store.get_many(list(self.jobs))
            is_over = all(job.status.is_final for job in self.found.values())
            if is_over or time.monotonic() >= give_up_at:
                return
            time.sleep(LOOK_SECONDS)


def _options() -> CloudOptions:
    """Return a local cloud without schedulers: those are the bench's own."""
    return CloudOptions(
        handlers="bench.lateness.handlers",
        backend=MOTO,
        port=0,
        tick_seconds=TIMINGS.tick.total_seconds(),
        workers=WORKERS,
        schedulers=0,
        timings=TIMINGS,
        path=str(ROOT),
    )


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


# --- the result ---


def run() -> dict[str, Any]:
    """Run the course once, and compare its two spans."""
    course = Course()
    course.run()
    spans = {"left alone": course.late(ALONE), "killed in each tick": course.late(KILLED)}
    must = _must(course)
    return {
        "ok": all(one["ok"] for one in must),
        "asks": ASKS,
        "columns": COLUMNS,
        "rows": _rows(course, spans),
        "must": must,
        "notes": _notes(course),
        "plots": [_plot(spans)],
        "seed": SEED,
        "jobs_a_second": JOBS_A_SECOND,
        "workers": WORKERS,
        "queue_failures": course.queue_failures,
        "behind_seconds": round(course.behind_seconds, 3),
    }


def _rows(course: Course, spans: dict[str, list[float]]) -> list[list[Any]]:
    leaders = course.leaders
    ticks = (leaders.healthy.ticks, leaders.killed + leaders.too_late)
    killed = (0, leaders.killed)
    return [
        [
            name,
            len(late),
            *(round(MILLISECOND * percentile(late, share)) for share in (0.5, 0.95, 0.99, 1.0)),
            round(100 * share_within(late, BOUND_SECONDS), 2),
            ticks[number],
            killed[number],
        ]
        for number, (name, late) in enumerate(spans.items())
    ]


def _must(course: Course) -> list[dict[str, Any]]:
    not_once, leaders = course.not_once(), course.leaders
    all_ticks = leaders.killed + leaders.too_late
    return [
        {
            "what": "every job succeeds at its first attempt, killed leaders or not",
            "needed": "0 do not",
            "reached": f"{not_once} of {len(course.jobs)} do not",
            "ok": not_once == 0,
        },
        {
            "what": "leaders that died in mid-sweep, of those meant to",
            "needed": "at least half",
            "reached": f"{leaders.killed} of {all_ticks}",
            "ok": 0 < all_ticks <= 2 * leaders.killed,
        },
    ]


def _notes(course: Course) -> list[str]:
    sweep = course.leaders.sweep_seconds()
    return [
        f"Real time and real processes: {WORKERS} workers, the HTTP API, a scheduler, and moto "
        "instead of AWS. moto processes one request after the other and shares two cores with all "
        "other processes. It is the bottleneck, so these figures do not apply to AWS.",
        f"All durations of the protocol are divided by {SPEED}: a tick takes "
        f"{TIMINGS.tick.total_seconds():g} s, the look-ahead is "
        f"{TIMINGS.look_ahead.total_seconds():g} s. Delays stay whole seconds.",
        f"{JOBS_A_SECOND:g} jobs/s, each submitted {AHEAD_SECONDS:g} s ahead, so that a tick sends "
        f"it. Jobs due in seconds {ALONE[0]:g} to {ALONE[1]:g} were sent by leaders that live; "
        f"those due in {KILLED[0]:g} to {KILLED[1]:g} only by leaders that are killed. With so "
        "few jobs the p99 is nearly the maximum.",
        "Killed: kill -9 at a random moment of each sweep (a complete sweep takes "
        f"{sweep:.2f} s here). The next tick starts a new process, imports included.",
    ]


def _plot(spans: dict[str, list[float]]) -> dict[str, Any]:
    return {
        "name": "lateness-local",
        "kind": "steps",
        "title": "Jobs started within a time (local cloud, moto)",
        "x": "seconds after the job was due",
        "y": "share of the jobs",
        "log_x": False,
        "log_y": False,
        "series": {f"leader {name}": steps(late) for name, late in spans.items()},
    }
