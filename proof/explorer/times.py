"""Where time may move to: it moves by choice alone, to the next instants that matter."""

from __future__ import annotations

from collections.abc import Iterator

from hourhand.domain.jobs.job import JobStatus
from hourhand.ports.control_store import Lease
from proof.explorer.effects import CONTROL, JOBS, QUEUES
from proof.explorer.script import MILLISECOND
from proof.explorer.states import Ground, State, Step, ms_of, without_actor


class Times:
    """Yields the moves of time."""

    def __init__(self, ground: Ground) -> None:
        """No instants were worked out yet."""
        self._ground = ground
        self._instants: dict[int, tuple[int, ...]] = {}

    def steps(self, state: State) -> Iterator[Step]:
        """Yield moves of time. To where a sleeper wakes it moves at no cost."""
        wakes = [
            call.args[0]
            for number in state.actors
            if (call := self._ground.call(self._ground.histories[number])).port == "clock"
            and call.args[0] > state.now_ms
        ]
        free = min(wakes, default=None)
        if free is not None:
            yield self._time(state, free)
        is_at_rest = not state.actors or not self._ground.scenario.rests
        if state.budget.expiries and is_at_rest:
            less = state.budget._replace(expiries=state.budget.expiries - 1)
            is_in_midst = state.actors and self._ground.limits.only_leases
            for instant in self._ends(state) if is_in_midst else self._next_instants(state):
                if instant != free:
                    yield self._time(state._replace(budget=less), instant)

    def _time(self, state: State, now_ms: int) -> Step:
        shown = state.shown if state.shown is not None and now_ms <= state.shown[1] else None
        return Step(
            f"time {now_ms}", self._without_ended(state._replace(now_ms=now_ms, shown=shown))
        )

    def _without_ended(self, state: State) -> State:
        """Return the state after the timers ended the processes that had to end by now."""
        runs = self._ground.runs(state)
        timed = [run for run in runs if run.ends_ms is not None]
        ended = {run.label for run in timed if (run.ends_ms or 0) <= state.now_ms}
        for label in ended:
            labels = [self._ground.histories[number].root.label for number in state.actors]
            place = labels.index(label)
            root = self._ground.histories[state.actors[place]].root
            state = without_actor(state, place, root)
        kept = tuple(run for run in runs if run.label not in ended)
        return self._ground.with_runs(state, kept) if ended else state

    def _ends(self, state: State) -> list[int]:
        """Return when the leases of jobs end, those that lie ahead."""
        leases = [job.lease.until for job in self._ground.jobs(state) if job.lease]
        offsets = self._ground.scenario.offsets
        instants = {ms_of(until + offset) for until in leases for offset in offsets}
        return sorted(instant for instant in instants if instant > state.now_ms)

    def _next_instants(self, state: State) -> list[int]:
        instants = set(self._instants_of(state.parts[JOBS]))
        for message in self._ground.value(state, QUEUES)[0]:
            instants.add(ms_of(message[5]))
        if self._ground.scenario.control == "real":
            tenures = self._ground.value(state, CONTROL)[0]
            for tenure in tenures.values():
                lease: Lease | None = tenure.lease
                if lease is not None:
                    instants.add(ms_of(lease.until + self._ground.scenario.offsets[0]))
        instants.update(offset // MILLISECOND for offset in self._ground.scenario.instants)
        return sorted(instant for instant in instants if instant > state.now_ms)

    def _instants_of(self, part: int) -> tuple[int, ...]:
        found = self._instants.get(part)
        if found is None:
            instants: set[int] = set()
            for job in self._ground.effects.jobs(part):
                if job.status is JobStatus.RUNNING and job.lease is not None:
                    for offset in self._ground.scenario.offsets:
                        instants.add(ms_of(job.lease.until + offset))
                elif job.status.is_waiting and job.due_at is not None:
                    instants.add(ms_of(job.due_at))
            found = self._instants[part] = tuple(sorted(instants))
        return found
