"""The states of a scenario and the steps between them: all that may happen next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from proof.explorer.beginnings import Beginnings
from proof.explorer.calls import Calls
from proof.explorer.copies import Copies
from proof.explorer.deliveries import Deliveries
from proof.explorer.effects import JOBS, Effects
from proof.explorer.histories import Histories
from proof.explorer.rules import Bounds
from proof.explorer.scenario import Limits, Scenario
from proof.explorer.script import Answer, Call
from proof.explorer.sight import Sight
from proof.explorer.states import (
    Budget,
    Counts,
    Ground,
    State,
    Step,
    Violation,
    ms_of,
    skews_of,
)
from proof.explorer.times import Times
from proof.explorer.world_parts import PORTS, read_part
from tests.world.world import World

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Machine:
    """Knows the first state of a scenario, and the steps from any state."""

    def __init__(self, scenario: Scenario, limits: Limits, *, reduced: bool = True) -> None:
        """Arrange the world. ``reduced``: calls that nobody can change need no turn."""
        self.scenario, self.limits, self.reduced = scenario, limits, reduced
        world = World(
            timings=scenario.timings,
            fan_out_entries=scenario.fan_out_entries,
            dispatch=scenario.dispatch,
            handlers=tuple(scenario.directory.all()),
        )
        # An installation at work: what is done once, at the very first tick, is done.
        world.tick()
        scenario.arrange(world)
        self.start_ms = ms_of(world.clock.now())
        self._skews = skews_of(scenario)
        ahead = max((timedelta(0), *scenario.skews.values()))
        self._bounds = Bounds(ahead, scenario.bounded, self._skew_of)
        self.effects = Effects(
            lambda: self.histories.answers,
            _parts_of(world),
            self._bounds,
            scenario,
        )
        self._note_first()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget every history: more moves than was thought."""
        self.effects.forget()
        fixed = self.effects.fixed if self.reduced else _never_fixed
        self.histories = Histories(self.scenario, self.effects.calls, fixed)
        ground = Ground(
            self.scenario,
            self.limits,
            self.reduced,
            self.effects,
            self.histories,
            self._bounds,
            self._skews,
            self.start_ms,
        )
        sight = Sight(ground)
        self._calls = Calls(ground, sight)
        self._beginnings = Beginnings(ground, self._calls)
        self._deliveries = Deliveries(ground, sight, self._beginnings)
        self._copies = Copies(ground)
        self._times = Times(ground)

    @classmethod
    def for_replay(cls, scenario: Scenario, limits: Limits, violation: Violation) -> Machine:
        """Return one that knows what was known when ``violation`` was found."""
        machine = cls(scenario, limits, reduced=violation.reduced)
        machine.effects.moving |= set(map(_understood, violation.moving))
        machine.begin_anew()
        return machine

    def violation(self, sentence: str, choices: Iterable[str]) -> Violation:
        """Return a violation found here."""
        moving = tuple(sorted(map(_told, self.effects.moving)))
        return Violation(sentence, tuple(choices), moving, self.reduced)

    def first(self) -> State:
        """Return the state in which nothing has begun."""
        limits = self.limits
        budget = Budget(
            limits.crashes,
            limits.expiries,
            limits.throttles,
            limits.lost_answers,
            limits.stale,
            limits.duplicates,
            limits.losses,
            limits.copies,
        )
        counts = Counts(0, 0, 0, 0, 0)
        state = State(self.start_ms, self.effects.first, None, (), counts, budget)
        return state._replace(acknowledged=self.scenario.acknowledged)

    def steps(self, state: State) -> Iterator[Step]:
        """Yield everything that may happen next, in an order that is always the same.

        A call that commutes with all that others may do is made first, and nothing else is tried.
        """
        histories = [self.histories[number] for number in state.actors]
        if self.reduced:
            for place, history in enumerate(histories):
                if self._calls.commutes(state, history):
                    yield from self._calls.steps_of(state, place, history)
                    return
        for place, history in enumerate(histories):
            yield from self._calls.steps_of(state, place, history)
        yield from self._beginnings.steps(state)
        yield from self._deliveries.steps(state)
        yield from self._copies.steps(state)
        yield from self._times.steps(state)

    def _skew_of(self, worker: str | None) -> timedelta:
        return self._skews.get(worker or "", timedelta(0))

    def _note_first(self) -> None:
        for job in self.effects.jobs(self.effects.first[JOBS]):
            if job.due_at is not None:
                self.effects.moving.add(((job.due_at - _EPOCH) // timedelta(minutes=1), job.shard))


def _told(place: Any) -> str:
    return place if isinstance(place, str) else "/".join(map(str, place))


def _understood(told: str) -> Any:
    bucket, slash, shard = told.partition("/")
    return (int(bucket), int(shard)) if slash else told


def _never_fixed(_call: Call) -> Answer | None:
    return None


def _parts_of(world: World) -> tuple[Any, ...]:
    adapters = {
        "jobs": world.store,
        "control": world.control,
        "queues": world.queues,
        "keys": world.keys,
        "side_items": world.side_items,
        "schedules": world.schedules,
        "objects": world.objects,
        "invoker": world.invoker,
    }
    return (*(read_part(port, adapters[port]) for port in PORTS[:-1]), ())
