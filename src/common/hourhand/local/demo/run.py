"""The run of the demo: start the cloud, submit, kill the leader, wait, gather the evidence."""

from __future__ import annotations

import contextlib
import json
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hourhand.client import Client, ClientError, NotFound
from hourhand.domain.errors import Unavailable
from hourhand.domain.ticks.leases import LEADER
from hourhand.domain.times import rfc3339
from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.demo.plan import SCHEDULES, Course, PlannedJob, make_plan, scheduled_times
from hourhand.local.demo.verdict import Evidence, Verdict, judge, read_runs
from hourhand.local.entry_points import examples_path
from hourhand.local.events import ChildDied, Logged, News, Ticked
from hourhand.ports.control_store import ControlStore

KILL_AT, SCHEDULES_END_AT = 0.4, 0.9
"""When the hunt for the leader begins and the schedules end, as shares of the course."""

HUNT_SECONDS = 0.001
"""How often the leader is looked for: it leads for 4 ms in a tick that finds nothing to do."""

SHOW_SECONDS, GATHER_SECONDS = 0.2, 1.0
QUIET_SECONDS = 30.0
"""If nothing changes for this long, nothing will: each duration of the protocol is shorter."""

PAGE = 200


@dataclass(slots=True)
class Demo:
    """One demo. ``say`` takes a sentence, from any thread.

    ``show`` takes the progress: seconds, jobs submitted and jobs succeeded.
    """

    course: Course
    say: Callable[[str], None]
    show: Callable[[float, int, int], None]
    port: int = 0
    evidence: Evidence = field(default_factory=Evidence)
    _control: ControlStore = field(init=False)
    _began_at: float = 0.0
    _killed: tuple[int, datetime] | None = None
    _succeeded: set[str] = field(default_factory=set)
    _deaths: dict[int, float] = field(default_factory=dict)

    def run(self) -> Verdict:
        """Run it and return the verdict. Every process has ended by then.

        Raises `InvalidInput` for a port that is taken, and `Unavailable` where the API fails.
        """
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hourhand-demo-")))
            cloud = LocalCloud(self._options(folder), self.hear)
            stack.callback(cloud.stop)
            self.say(f"Watch it live: {cloud.listen()}/console/")
            self.say("Starting real worker and scheduler processes. AWS is simulated in memory.")
            plan = make_plan(self.course)
            cloud.start()
            self._control = cloud.backend.control_store()
            client = stack.enter_context(Client(cloud.url, auth="none"))
            try:
                self._submit(plan, cloud, client)
                return self._wait_for_the_end(folder, cloud, client)
            except ClientError as error:
                raise Unavailable(f"The demo's API failed: {error}") from error

    def _options(self, folder: Path) -> CloudOptions:
        (folder / "index").mkdir()
        (folder / "ledger").touch()
        return CloudOptions(
            handlers="examples.library_index",
            port=self.port,
            tick_seconds=self.course.timings.tick.total_seconds(),
            schedulers=2,
            timings=self.course.timings,
            path=str(examples_path()),
            environment={
                "LIBRARY_INDEX": str(folder / "index"),
                "LIBRARY_LEDGER": str(folder / "ledger"),
            },
        )

    def hear(self, news: News) -> None:
        """Note what the local cloud reports, from any thread."""
        match news:
            case Logged(fields={"outcome": "SUCCEEDED", "job_id": job_id}):
                self._succeeded.add(job_id)
            case Ticked(report={"led": True, "epoch": epoch}) if self._killed is not None:
                killed_epoch, killed_at = self._killed
                if epoch > killed_epoch and self.evidence.leaderless is None:
                    led_at = news.at - timedelta(seconds=news.took_seconds)
                    self.evidence.leaderless = (killed_at, led_at)
                    self.say("Another scheduler took over.")
            case ChildDied():
                self._deaths[news.pid] = news.at_monotonic
                if news.name.startswith("worker"):
                    self.say("A job killed its worker process. Hourhand recovers the job.")
            case _:
                pass

    def _submit(self, plan: list[PlannedJob], cloud: LocalCloud, client: Client) -> None:
        self._began_at, start = time.monotonic(), datetime.now(UTC)
        self.say(f"Submitting {len(plan)} jobs, beside the schedules {' and '.join(SCHEDULES)}.")
        # Between two whole seconds, so that no scheduled time is at the edge.
        end = start.replace(microsecond=500_000) + timedelta(
            seconds=int(SCHEDULES_END_AT * self.course.seconds)
        )
        for expression, every in SCHEDULES.items():
            # On a busy machine an occurrence may run beside the next one. Neither is skipped.
            body = {"expression": expression, "handler": "census", "overlap": "allow"}
            body |= {"priority": "high", "end_at": rfc3339(end)}
            made = client.schedules.put(f"every-{every}-s", body)
            times = scheduled_times(every, made.anchor, made.created_at, end)
            self.evidence.times[expression] = times
        for job in plan:
            self._sleep(self._began_at + job.submit_seconds - time.monotonic(), cloud)
            self.evidence.planned[client.submit(**job.submission(start)).id] = job

    def _sleep(self, seconds: float, cloud: LocalCloud) -> None:
        """Wait. Meanwhile show the progress, and kill the leader when it is time."""
        until = time.monotonic() + seconds
        while True:
            taken = time.monotonic() - self._began_at
            is_hunting = self._killed is None and taken > KILL_AT * self.course.seconds
            if is_hunting:
                self._killed = kill_leader(cloud, self._control)
                if self._killed is not None:
                    self.say("Killed the leading scheduler in the middle of its work (kill -9).")
            succeeded = self._succeeded & self.evidence.planned.keys()
            self.show(taken, len(self.evidence.planned), len(succeeded))
            if (left := until - time.monotonic()) <= 0:
                return
            time.sleep(min(left, HUNT_SECONDS if is_hunting else SHOW_SECONDS))

    def _wait_for_the_end(self, folder: Path, cloud: LocalCloud, client: Client) -> Verdict:
        """Gather the evidence until it is good, or nothing changes any more."""
        last, changed_at = None, 0.0
        while True:
            self._gather(folder, cloud, client)
            verdict, now = judge(self.evidence), time.monotonic()
            if verdict != last:
                last, changed_at = verdict, now
            if verdict.is_good or now - changed_at > QUIET_SECONDS:
                return verdict
            self._sleep(GATHER_SECONDS, cloud)

    def _gather(self, folder: Path, cloud: LocalCloud, client: Client) -> None:
        evidence = self.evidence
        for expression, every in SCHEDULES.items():
            rows = client.schedules.occurrences(f"every-{every}-s", page_size=PAGE)
            # A reason says why an occurrence was skipped.
            found = [(row.at, None if row.reason else row.job_id) for row in rows]
            evidence.occurrences[expression] = found
        jobs = {job.id: job for job in client.list(page_size=PAGE)}
        for job_id in evidence.expected().keys() - jobs.keys():
            # The listing may lag behind. The job itself decides.
            with contextlib.suppress(NotFound):
                jobs[job_id] = client.get(job_id)
        evidence.jobs = jobs
        evidence.letters |= read_dead_letters(cloud)
        evidence.runs = read_runs((folder / "ledger").read_text().splitlines(), self._deaths)


def kill_leader(cloud: LocalCloud, control: ControlStore) -> tuple[int, datetime] | None:
    """Kill the scheduler that leads, if one does. Return its epoch and when it died.

    ``None`` if it gave its lease up just before: then it did not die at work.
    """
    lease, children = control.read_lease(LEADER), [slot.child for slot in cloud.schedulers]
    if lease is None or lease.until <= datetime.now(UTC):
        return None
    # An invocation holds the lease. Its id begins with the name of its process.
    child = next(child for child in children if lease.holder.startswith(f"{child.name}-"))
    child.signal(signal.SIGKILL)
    killed_at, after = datetime.now(UTC), control.read_lease(LEADER)
    # A dead process gives nothing up, so the lease that it died with still stands.
    if after is None or after.until <= killed_at:
        return None
    is_its_own = (after.epoch, after.holder) == (lease.epoch, lease.holder)
    return (lease.epoch, killed_at) if is_its_own else None


def read_dead_letters(cloud: LocalCloud) -> dict[str, str | None]:
    """Return the type of error in each new dead letter, by job."""
    letters = [json.loads(body) for body in cloud.backend.read_dead_letters()]
    return {one["job"]["id"]: (one["error"] or {}).get("type") for one in letters}
