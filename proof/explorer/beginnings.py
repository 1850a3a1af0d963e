"""What may begin: operations of callers, ticks, sweeps of shards that were handed over."""

from __future__ import annotations

from collections.abc import Iterator

from proof.explorer.calls import Calls
from proof.explorer.effects import INVOKER
from proof.explorer.histories import Root
from proof.explorer.states import (
    FIRST_DELIVERY,
    FIRST_SWEEP,
    FIRST_TICK,
    Ground,
    State,
    Step,
)


class Beginnings:
    """Yields the starts of those who have not begun."""

    def __init__(self, ground: Ground, calls: Calls) -> None:
        """Take what the first calls are worked out by."""
        self._ground, self._calls = ground, calls

    def steps(self, state: State) -> Iterator[Step]:
        """Yield every start that is possible."""
        counts, scenario = state.counts, self._ground.scenario
        for index, operation in enumerate(scenario.operations):
            bit = 1 << index
            if counts.begun & bit or not self._may_begin(operation.after, counts.over):
                continue
            root = Root(operation.name, index + 1, operation.act)
            begun = state._replace(counts=counts._replace(begun=counts.begun | bit))
            yield from self._start(begun, root)
        running = [self._ground.histories[number].root.number for number in state.actors]
        ticking = sum(FIRST_TICK <= number < FIRST_DELIVERY for number in running)
        if counts.ticks < scenario.ticks and ticking < scenario.schedulers:
            number = counts.ticks + 1
            root = Root(f"tick {number}", FIRST_TICK + number, lambda process: process.tick())
            begun = state._replace(counts=counts._replace(ticks=number))
            yield from self._start(begun, root)
        invoked = self._ground.value(state, INVOKER)[1]
        if counts.sweeps < len(invoked):
            asked, number = invoked[counts.sweeps], counts.sweeps + 1
            root = Root(
                f"sweeper {number}",
                FIRST_SWEEP + number,
                lambda p: p.sweep_shards(asked.shards, asked.epoch, asked.tick_at),
                self._ground.histories.answers.number(asked),
            )
            begun = state._replace(counts=counts._replace(sweeps=number))
            yield from self._start(begun, root)

    def _may_begin(self, after: tuple[str, ...], over: int) -> bool:
        names = [operation.name for operation in self._ground.scenario.operations]
        return all(over >> names.index(name) & 1 for name in after)

    def _start(self, state: State, root: Root) -> Iterator[Step]:
        """Yield the first call of an operation in all its ways; or its start alone.

        That somebody read its clock and stands still before its first call matters to some.
        """
        begun = self.begin(state, root, f"start {root.label}")
        stalls = self._ground.scenario.stalls and state.budget.expiries > 0
        if stalls or not self._ground.reduced or len(begun.state.actors) == len(state.actors):
            yield begun
            return
        place, history = len(state.actors), self._ground.histories[begun.state.actors[-1]]
        call = self._ground.call(history)
        for step in self._calls.ways(begun.state, place, history, call, root.label):
            yield step._replace(choice=f"start {step.choice}", broke=(*begun.broke, *step.broke))

    def begin(self, state: State, root: Root, name: str) -> Step:
        """Return the step by which an operation begins, up to its first call."""
        history = self._ground.histories.begin(root, state.now_ms)
        begun = state._replace(actors=(*state.actors, history.number))
        if history.has_ended:
            return self._calls.ended(begun, len(state.actors), history, name, history.complaints)
        return Step(name, begun, history.complaints)
