"""A write that was sent twice: its second copy arrives at any later time, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from proof.explorer.effects import JOBS
from proof.explorer.histories import Root
from proof.explorer.rules import ZERO, Writer
from proof.explorer.script import Call
from proof.explorer.states import Ground, State, Step, with_part

HARMLESS = frozenset({"unmark", "refile"})
"""``unmark`` names when the message was sent that it takes back. Time stands still here where every
call takes some on AWS, so what is sent anew may bear the very same time. ``refile`` of an entry
that lies where it should adds a second note to the record, and nothing else."""


class Copies:
    """Yields the arrivals of late copies."""

    def __init__(self, ground: Ground) -> None:
        """Nothing is on its way."""
        self._ground = ground

    def steps(self, state: State) -> Iterator[Step]:
        """Yield each arrival of a copy."""
        for place, (call, worker, label) in enumerate(state.flying):
            left = (*state.flying[:place], *state.flying[place + 1 :])
            part = state.parts[JOBS]
            writer = Writer(worker, self._ground.skews.get(worker, ZERO))
            _, after, broke = self._ground.effects.apply(
                call, JOBS, part, part, state.now_ms, writer, label
            )
            move = self._ground.effects.calls.value(call).args[0]
            told = () if after == part else (f"a late copy of {move.name} changed its job", *broke)
            arrived = with_part(state, JOBS, after)._replace(flying=left)
            yield Step(f"copy of {move.name} by {label}", arrived, told)


def may_be_copied(state: State, call: Call) -> bool:
    """Whether a second copy of the write may be sent."""
    is_write = call.port == "jobs" and call.method == "transition"
    return bool(state.budget.copies) and is_write and call.args[0].name not in HARMLESS


def sent_twice(state: State, call: int, root: Root) -> State:
    """Return the state in which a second copy of a write is on its way."""
    budget = state.budget._replace(copies=state.budget.copies - 1)
    flying = tuple(sorted((*state.flying, (call, root.worker, root.label))))
    return state._replace(budget=budget, flying=flying)
