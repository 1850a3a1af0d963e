"""Looking back at a demo: everything is asked of the API once more, and held against the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hourhand.client import Client, NotFound
from hourhand.local.demo.ledger import read_runs
from hourhand.local.demo.nominal_times import problems_of_result
from hourhand.local.demo.plan import POISON, PlannedJob
from hourhand.local.demo.recurring import Recurring
from hourhand.local.demo.sabotage import LeaderKilled
from hourhand.local.demo.tracker import Tracker
from hourhand.local.demo.verdict import Disturbances, Observed, Verdict, judge


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """What is known of a demo once it is over; ``planned`` and ``ids`` are by the jobs' names."""

    planned: Mapping[str, PlannedJob]
    ids: Mapping[str, str]
    tracker: Tracker
    purge: tuple[datetime, datetime] | None
    killed: LeaderKilled | None
    recurring: Recurring

    def verdict(
        self, client: Client, *, ledger: Iterable[str], dead_letters: Iterable[str]
    ) -> Verdict:
        """Ask the API for every job and for each schedule's history, and judge."""
        observed = [
            _observe(self.planned[name], job_id, client) for name, job_id in self.ids.items()
        ]
        occurrences = [
            _observe(planned, job_id, client)
            for job_id, planned in self.recurring.read_jobs(client).items()
        ]
        deaths = {one.pid: one.at_monotonic for one in self.tracker.casualties}
        runs = read_runs(ledger, deaths)
        verdict = judge([*observed, *occurrences], runs, dead_letters, self.disturbances())
        problems = [*verdict.problems, *self.recurring.problems(client)]
        for one in occurrences:
            problems += problems_of_result(one.job)
        return replace(verdict, problems=tuple(problems), schedules=self.recurring.tallies())

    def disturbances(self) -> Disturbances:
        """Return what was done to the system, and what befell it besides."""
        poison = self.ids.get(POISON)
        poisoned = [one for one in self.tracker.casualties if poison in one.job_ids]
        killed = self.killed.pids if self.killed is not None else ()
        unplanned = [
            f"{one.name} (pid {one.pid}) died, and nobody meant it to"
            for one in self.tracker.casualties
            if one not in poisoned and one.pid not in killed
        ]
        led_again = self._led_again()
        if self.killed is None or self.killed.held_lease_until is None:
            unplanned.append("no leader could be killed in mid-tick")
        elif led_again is None:
            unplanned.append("nobody led after the leader was killed")
        return Disturbances(
            purge=self.purge,
            leaderless=(self.killed.at, led_again) if self.killed and led_again else None,
            beside_poison=frozenset(
                job_id for one in poisoned for job_id in one.job_ids if job_id != poison
            ),
            unplanned=tuple(unplanned),
        )

    @property
    def hand_off_seconds(self) -> float | None:
        """How long after the kill the next leader began to sweep."""
        led_again = self._led_again()
        if self.killed is None or led_again is None:
            return None
        return (led_again - self.killed.at).total_seconds()

    def _led_again(self) -> datetime | None:
        """Return when the next leader after the killed one began."""
        if self.killed is None:
            return None
        for tick in self.tracker.leading_ticks():
            if tick.report is not None and tick.report["epoch"] > self.killed.epoch:
                return tick.at - timedelta(seconds=tick.took_seconds)
        return None


def _observe(planned: PlannedJob, job_id: str, client: Client) -> Observed:
    try:
        job = client.get(job_id)
    except NotFound:
        return Observed(planned=planned, job_id=job_id, job=None)
    events = [event.raw for event in client.events(job_id)]
    return Observed(planned=planned, job_id=job_id, job=job.raw, events=events)
