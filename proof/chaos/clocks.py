"""Whose clock was wrong, and when: a wrong clock excuses what its own process did, nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from hourhand.domain.jobs.job import EventKind, HistoryEvent
from proof.chaos.evidence import Evidence, Fault, Trouble

SWEEP = "tick"
"""Under this name every scheduler writes."""

SLACK_SECONDS = 1.0
"""Between a look at the clock and the driver's note of its step."""


@dataclass(frozen=True)
class Clocks:
    """The clocks of a run that were off by more than the product tolerates."""

    evidence: Evidence

    def were_wrong(self, places: Iterable[str], begin: float, end: float) -> bool:
        """Whether the clock of any of these places was wrong between two instants."""
        return any(
            fault.began_at <= end and fault.ended_at >= begin
            for place in places
            for fault in self._wrong.get(place, ())
        )

    def place_of(self, pid: int) -> set[str]:
        """Return the place of a process; empty where it is none of ours."""
        name = self.evidence.names.get(pid)
        return set() if name is None else {name}

    def places_of(self, actor: str) -> set[str]:
        """Return whose clock a history's ``actor`` may have read.

        Of the sweep any scheduler's; of a worker that nobody saw run anything, any worker's.
        """
        places = set(self.evidence.names.values())
        schedulers = {place for place in places if place.startswith("scheduler")}
        if actor == SWEEP:
            return schedulers
        known = self._actors.get(actor)
        return places - schedulers if known is None else {known}

    def possible_times(self, event: HistoryEvent) -> list[float]:
        """Return when an event may have been by the machine's own clock.

        At its own time, or at that less what the clock of who wrote it was ahead just then. A
        scheduler corrects its clock, so that either may be right.
        """
        at = event.at.timestamp()
        wrong = [f for place in self.places_of(event.actor) for f in self._wrong.get(place, ())]
        return [at] + [
            at - fault.seconds
            for fault in wrong
            if fault.began_at - SLACK_SECONDS
            <= at - fault.seconds
            <= fault.ended_at + SLACK_SECONDS
        ]

    @cached_property
    def _wrong(self) -> dict[str, list[Fault]]:
        margin = self.evidence.timings.clock_margin.total_seconds()
        wrong: dict[str, list[Fault]] = defaultdict(list)
        for fault in self.evidence.faults:
            if fault.trouble is Trouble.CLOCK and abs(fault.seconds) > margin:
                wrong[fault.name].append(fault)
        return wrong

    @cached_property
    def _actors(self) -> dict[str, str]:
        """The place of each worker by the name under which it writes.

        It is known by what it claimed: that attempt ran in a process whose place is known.
        """
        seen: dict[str, Counter[str]] = defaultdict(Counter)
        runs = self.evidence.runs_by_job()
        for job_id, ending in self.evidence.endings.items():
            for event in ending.history:
                if event.kind is not EventKind.CLAIMED:
                    continue
                of_attempt = [r for r in runs.get(job_id, ()) if r.attempt == event.attempt]
                # After a snooze the attempt is the same, and its worker may be another.
                if len(of_attempt) == 1 and of_attempt[0].pid in self.evidence.names:
                    seen[event.actor][self.evidence.names[of_attempt[0].pid]] += 1
        return {actor: places.most_common(1)[0][0] for actor, places in seen.items()}
