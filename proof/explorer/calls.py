"""What may come of the next call of somebody who is in the middle of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.services.jobs.submission import Submitted
from proof.explorer.copies import may_be_copied, sent_twice
from proof.explorer.effects import JOBS, QUEUES, SIDE_ITEMS
from proof.explorer.histories import History
from proof.explorer.process import PROCESS_ENDS
from proof.explorer.rules import Run
from proof.explorer.script import MILLISECOND, Answer, Call
from proof.explorer.sight import Sight
from proof.explorer.states import (
    Ground,
    State,
    Step,
    with_actor,
    with_part,
    without_actor,
)
from proof.explorer.world_parts import PORTS
from tests.world.faults import READS

THROTTLED = Answer(error=Unavailable("It was throttled on purpose."))
LOST = Answer(error=Unavailable("Its answer was lost on purpose."))


class Calls:
    """Yields the steps of those who have begun."""

    def __init__(self, ground: Ground, sight: Sight) -> None:
        """Give numbers to the answers that no port gives."""
        self._ground, self._sight = ground, sight
        answers = ground.histories.answers
        self._throttled = answers.number(THROTTLED)
        self._lost = answers.number(LOST)
        self._none = answers.number(Answer(None))
        self._chosen = {name: answers.number(Answer(name)) for name in ground.scenario.handlers}

    def commutes(self, state: State, history: History) -> bool:
        """Whether nobody else's doings, in any order, touch what the next call touches.

        A message that a worker holds is nobody else's while it is hidden; one that is being sent
        is nobody's yet (but for a look at how full the queues are, which nobody takes before
        messages can be missed); dead letters, and what is kept beside an attempt, are read by
        nobody who decides. Handlers start and end within their leases while no time passes. One
        that was handed back runs on beside whoever takes it, until its process ends.
        """
        call = self._ground.call(history)
        method = call.method
        if call.port == "handler":
            ends_process = method == "end" and call.args[2] == PROCESS_ENDS
            return not ends_process and method != "must end" and state.budget.expiries == 0
        if method in {"hide", "delete"}:
            return state.budget.duplicates == 0
        if method == "send":
            missed_ms = self._ground.scenario.timings.redispatch_first // MILLISECOND
            return state.now_ms < self._ground.start_ms + missed_ms
        return method in {"send_dead_letter", "put_failure"}

    def steps_of(self, state: State, place: int, history: History) -> Iterator[Step]:
        """Yield all that may come of somebody: its death, its next call now, or read late."""
        label = history.root.label
        has_begun = history.parent is not None or label.startswith("worker")
        if has_begun and state.budget.crashes:
            yield self._die(state, place, history)
        call = self._ground.call(history)
        if call.port == "clock" and call.args[0] > state.now_ms:
            return
        yield from self.ways(state, place, history, call, label)
        if history.at_ms != state.now_ms and history.reads_clock and history.parent is not None:
            late = self._ground.histories.belated(history, state.now_ms)
            moved = with_actor(state, place, late.number)
            if late.has_ended:
                yield self.ended(moved, place, late, f"late {label}", late.complaints)
            else:
                call = self._ground.call(late)
                if call.port != "clock" or call.args[0] <= state.now_ms:
                    yield from self.ways(moved, place, late, call, f"late {label}")

    def ways(
        self, state: State, place: int, history: History, call: Call, name: str
    ) -> Iterator[Step]:
        """Yield the ways in which the next call of an actor may come out."""
        if call.port == "handler":
            yield from self._handler(state, place, history, call, name)
            return
        if call.port == "clock":
            yield self._went_on(state, place, history, self._none, f"{name}", ())
            return
        budget = state.budget
        yield self._make(state, place, history, call, name)
        yield from self._sent_twice(state, place, history, call, name)
        if call.method in READS:
            if call.method in {"read_bucket", "read_buckets"} and state.shown is not None:
                yield self._make(state, place, history, call, f"stale {name}", is_stale=True)
        else:
            if budget.lost_answers:
                less = state._replace(budget=budget._replace(lost_answers=budget.lost_answers - 1))
                yield self._make(less, place, history, call, f"lost {name}", is_lost=True)
            if budget.stale and call.port == "jobs" and state.shown is None:
                lag_ms = self._ground.scenario.timings.index_lag // MILLISECOND
                shown = (state.parts[JOBS], state.now_ms + lag_ms)
                less = state._replace(budget=budget._replace(stale=budget.stale - 1), shown=shown)
                yield self._make(less, place, history, call, f"hidden {name}")
        if budget.throttles:
            less = state._replace(budget=budget._replace(throttles=budget.throttles - 1))
            if call.method == "send" and len(call.args[0]) > 1:
                for entry in range(len(call.args[0])):
                    yield self._refuse(less, place, history, entry, name)
            yield self._went_on(less, place, history, self._throttled, f"throttled {name}", ())

    def _sent_twice(
        self, state: State, place: int, history: History, call: Call, name: str
    ) -> Iterator[Step]:
        if may_be_copied(state, call):
            twice = sent_twice(state, history.call or 0, history.root)
            copied = self._make(twice, place, history, call, f"copied {name}")
            # One that was refused has left nothing to be seen: its copy is refused, too.
            if copied.state.parts[JOBS] != state.parts[JOBS]:
                yield copied

    def _make(
        self,
        state: State,
        place: int,
        history: History,
        call: Call,
        name: str,
        *,
        is_stale: bool = False,
        is_lost: bool = False,
    ) -> Step:
        port = PORTS.index(call.port)
        part = state.parts[port]
        shown = state.shown[0] if is_stale and state.shown is not None else part
        answer, after, broke = self._ground.effects.apply(
            history.call or 0,
            port,
            part,
            shown,
            state.now_ms,
            self._ground.writer(history.root),
            history.root.label,
        )
        if after != part:
            if port == SIDE_ITEMS and self._ground.scenario.in_order:
                broke = (*broke, *self._sight.grants(state, after))
            state = with_part(state, port, after)
        return self._went_on(state, place, history, self._lost if is_lost else answer, name, broke)

    def _refuse(self, state: State, place: int, history: History, entry: int, name: str) -> Step:
        """Send all messages of a batch but one, which SQS lists under ``Failed``."""
        call = self._ground.call(history)
        taken = tuple(one for number, one in enumerate(call.args[0]) if number != entry)
        part = state.parts[QUEUES]
        root = history.root
        _, after, broke = self._ground.effects.apply(
            self._ground.effects.calls.number(Call("queues", "send", (taken,))),
            QUEUES,
            part,
            part,
            state.now_ms,
            self._ground.writer(root),
            root.label,
        )
        told = [None if number != entry else "refused" for number in range(len(call.args[0]))]
        answer = self._ground.histories.answers.number(Answer(told))
        moved = with_part(state, QUEUES, after)
        return self._went_on(moved, place, history, answer, f"refused {entry} {name}", broke)

    def _went_on(
        self,
        state: State,
        place: int,
        history: History,
        answer: int,
        name: str,
        broke: tuple[str, ...],
    ) -> Step:
        after = self._ground.histories.after(history, answer, state.now_ms)
        broke = (*broke, *after.complaints)
        if after.has_ended:
            return self.ended(with_actor(state, place, after.number), place, after, name, broke)
        moved = with_actor(state, place, after.number)
        return Step(name, moved, (*broke, *self._sight.look(moved)))

    def ended(
        self, state: State, place: int, history: History, name: str, broke: tuple[str, ...]
    ) -> Step:
        """Return the step by which an operation comes to its end."""
        ended = without_actor(state, place, history.root)
        if self._ground.scenario.supersedes and isinstance(history.result, Submitted):
            acknowledged = {*ended.acknowledged, history.root.label}
            ended = ended._replace(acknowledged=tuple(sorted(acknowledged)))
        told = (*broke, *self._sight.look(ended), *self._sight.promises(ended, history))
        return Step(name, ended, told)

    def _die(self, state: State, place: int, history: History) -> Step:
        label = history.root.label
        budget = state.budget._replace(crashes=state.budget.crashes - 1)
        dead = without_actor(self._without_run(state, label), place, history.root)
        left = tuple(sorted({*state.left, *self._sight.written_by(history)}))
        dead = dead._replace(budget=budget, left=left)
        return Step(f"kill {label}", dead, tuple(self._sight.look(dead)))

    def _handler(
        self, state: State, place: int, history: History, call: Call, name: str
    ) -> Iterator[Step]:
        label = history.root.label
        if call.method == "must end":
            moved = self._with_timer(state, label, call.args[0])
            yield self._went_on(moved, place, history, self._none, name, ())
            return
        if call.method == "end":
            moved = self._without_run(state, label)
            yield self._went_on(moved, place, history, self._none, name, ())
            return
        job: Job = call.args[0]
        runs = self._ground.runs(state)
        broke = tuple(self._sight.start(state, job, runs, history))
        moved = self._ground.with_runs(state, (*runs, Run(job.id, job.token, label)))
        for chosen in self._ground.scenario.handlers:
            answer = self._chosen[chosen]
            told = f"{name}: {chosen}" if len(self._ground.scenario.handlers) > 1 else name
            yield self._went_on(moved, place, history, answer, told, broke)

    def _with_timer(self, state: State, label: str, ends_ms: int) -> State:
        runs = self._ground.runs(state)
        ending = (replace(run, ends_ms=ends_ms) for run in runs if run.label == label)
        others = (run for run in runs if run.label != label)
        return self._ground.with_runs(state, (*others, *ending))

    def _without_run(self, state: State, label: str) -> State:
        runs = self._ground.runs(state)
        left = tuple(run for run in runs if run.label != label)
        return self._ground.with_runs(state, left) if left != runs else state
